//! File descriptors: each connection is one, and a server without any left can neither accept, nor resolve, nor write.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::ConnectionLimits;

/// Descriptors for all else: HTTP connections (1,000), upstream lookups, the store, UDP sockets.
const OTHERS: u64 = 2_000;

/// The limits with no more connections than the process may have descriptors. The process's own limit is raised first
/// as far as it is needed and allowed; many systems start a service with 1,024 and allow it far more.
pub(super) fn within(limits: ConnectionLimits) -> ConnectionLimits {
    let needed = limits.all as u64 + OTHERS;
    let before = getrlimit(Resource::Nofile);
    if before.current.is_some_and(|current| current < needed) {
        let current = Some(before.maximum.map_or(needed, |maximum| maximum.min(needed)));
        // Without it the limit stays as it is, and what it allows is judged below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: before.maximum });
    }
    let all = connections(limits.all, getrlimit(Resource::Nofile).current);
    if all < limits.all {
        let wanted = limits.all;
        tracing::warn!("{all} TCP connections instead of {wanted}: the limit of open files needs to be {needed}");
    }
    ConnectionLimits { all, ..limits }
}

/// How many of the connections wanted a limit of descriptors allows: what [`OTHERS`] leave, or half if that is more.
fn connections(wanted: usize, descriptors: Option<u64>) -> usize {
    let Some(descriptors) = descriptors else { return wanted };
    let allowed = descriptors.saturating_sub(OTHERS).max(descriptors / 2);
    wanted.min(usize::try_from(allowed).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_all_else() {
        assert_eq!(connections(10_000, None), 10_000);
        assert_eq!(connections(10_000, Some(12_000)), 10_000);
        assert_eq!(connections(10_000, Some(11_999)), 9_999);
        assert_eq!(connections(10_000, Some(1_024)), 512);
        assert_eq!(connections(100, Some(1_024)), 100);
    }

    #[test]
    fn the_limit_of_the_process_is_raised_as_far_as_it_may_be() {
        let limits = ConnectionLimits { all: 10_000, per_client: None, idle: std::time::Duration::from_secs(30) };
        let within = within(limits);
        let now = getrlimit(Resource::Nofile);
        let raised = now.current.is_none_or(|current| current >= 12_000) || now.current == now.maximum;
        assert!(raised && within.all >= 1, "{now:?} {within:?}");
    }
}
