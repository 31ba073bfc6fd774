//! How the upstreams have been doing, and who is asked first (alias.md section 3.4). Pure: times are durations since
//! some beginning.

use std::time::Duration;

use super::lookup::{Ask, Upstream};

/// Most upstreams (alias.md section 3.3).
pub(super) const MAX_UPSTREAMS: usize = 8;
/// After so many timeouts and network errors in a row a server rests.
const FAILURES_TO_REST: u32 = 5;
/// How long it rests before it gets one trial.
const REST: Duration = Duration::from_secs(5);
/// Least wait for a server before the next is asked as well.
const LEAST_HEDGE: Duration = Duration::from_millis(300);

/// How it stands with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may be asked again.
    Fit,
    /// It rests.
    Rests,
}

/// The record of all upstreams.
#[derive(Debug)]
pub(super) struct Servers(Vec<Server>);

#[derive(Clone, Debug, Default)]
struct Server {
    /// Smoothed round-trip time; none before the first answer, so that every server is tried early.
    smoothed: Option<Duration>,
    failures: u32,
    rests_until: Option<Duration>,
}

impl Servers {
    pub(super) fn new(count: usize) -> Servers {
        Servers(vec![Server::default(); count.min(MAX_UPSTREAMS)])
    }

    /// Whom to ask, best first. Those that rest come last; one whose rest is over is tried by this lookup only.
    pub(super) fn order(&mut self, ask: Ask, now: Duration) -> Vec<Upstream> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        if let Ask::OtherThan(Upstream(avoided)) = ask
            && order.len() > 1
        {
            order.retain(|one| *one != usize::from(avoided));
        }
        // By time alone within those that are fit; the sort is stable, so that ties keep the configured order.
        order.sort_by_key(|one| {
            let server = &self.0[*one];
            (server.rests_until.is_some_and(|until| now < until), server.smoothed.unwrap_or_default())
        });
        for one in &order {
            let server = &mut self.0[*one];
            if server.rests_until.is_some_and(|until| now >= until) {
                server.rests_until = Some(now + REST);
            }
        }
        order.into_iter().map(|one| Upstream(one as u8)).collect()
    }

    /// How long to wait for a server before the next is asked as well.
    pub(super) fn hedge_after(&self, upstream: Upstream) -> Duration {
        let smoothed = self.0.get(usize::from(upstream.0)).and_then(|server| server.smoothed).unwrap_or_default();
        (smoothed * 2).max(LEAST_HEDGE)
    }

    /// How it stands with a server.
    pub(super) fn standing(&self, upstream: Upstream, now: Duration) -> Standing {
        let server = self.0.get(usize::from(upstream.0));
        if server.is_some_and(|server| server.rests_until.is_some_and(|until| now < until)) {
            Standing::Rests
        } else {
            Standing::Fit
        }
    }

    /// A server had not answered when another one did: it takes at least so long.
    pub(super) fn overtaken(&mut self, upstream: Upstream, waited: Duration) {
        if let Some(server) = self.0.get_mut(usize::from(upstream.0)) {
            server.smoothed = Some(server.smoothed.map_or(waited, |before| before.max(before * 7 / 8 + waited / 8)));
        }
    }

    /// A server answered, whatever it said.
    pub(super) fn answered(&mut self, upstream: Upstream, took: Duration) {
        if let Some(server) = self.0.get_mut(usize::from(upstream.0)) {
            // RFC 6298 section 2.3 with its weight of one eighth.
            server.smoothed = Some(server.smoothed.map_or(took, |before| before * 7 / 8 + took / 8));
            server.failures = 0;
            server.rests_until = None;
        }
    }

    /// A server did not answer in time, or could not be reached.
    pub(super) fn failed(&mut self, upstream: Upstream, now: Duration) -> Standing {
        let Some(server) = self.0.get_mut(usize::from(upstream.0)) else { return Standing::Rests };
        server.failures = server.failures.saturating_add(1);
        if server.failures < FAILURES_TO_REST {
            return Standing::Fit;
        }
        server.rests_until = Some(now + REST);
        Standing::Rests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn order(servers: &mut Servers, ask: Ask, now: u64) -> Vec<u8> {
        servers.order(ask, seconds(now)).into_iter().map(|one| one.0).collect()
    }

    #[test]
    fn the_fastest_server_goes_first() {
        let mut servers = Servers::new(3);
        assert_eq!(order(&mut servers, Ask::Any, 0), [0, 1, 2]);
        for (upstream, milliseconds) in [(0, 80), (1, 20), (2, 50)] {
            servers.answered(Upstream(upstream), Duration::from_millis(milliseconds));
        }
        assert_eq!(order(&mut servers, Ask::Any, 0), [1, 2, 0]);
        assert_eq!(servers.hedge_after(Upstream(1)), Duration::from_millis(300));
        servers.answered(Upstream(1), seconds(4));
        assert_eq!(order(&mut servers, Ask::Any, 0), [2, 0, 1]);
        assert_eq!(servers.hedge_after(Upstream(1)), Duration::from_micros(1_035_000));
    }

    #[test]
    fn a_server_that_was_overtaken_goes_behind_the_one_that_answered() {
        let mut servers = Servers::new(2);
        for upstream in [0, 1] {
            servers.answered(Upstream(upstream), Duration::from_millis(10));
        }
        servers.overtaken(Upstream(0), Duration::from_millis(310));
        servers.answered(Upstream(1), Duration::from_millis(11));
        assert_eq!(order(&mut servers, Ask::Any, 0), [1, 0]);
        servers.overtaken(Upstream(1), Duration::from_millis(1));
        assert_eq!(order(&mut servers, Ask::Any, 0), [1, 0], "waiting a moment tells nothing");
    }

    #[test]
    fn another_server_than_the_first_is_asked_if_there_is_one() {
        assert_eq!(order(&mut Servers::new(2), Ask::OtherThan(Upstream(0)), 0), [1]);
        assert_eq!(order(&mut Servers::new(1), Ask::OtherThan(Upstream(0)), 0), [0]);
    }

    #[test]
    fn a_server_that_fails_five_times_rests_and_then_gets_one_trial() {
        let mut servers = Servers::new(2);
        for _ in 0..4 {
            servers.failed(Upstream(0), seconds(0));
        }
        assert_eq!(order(&mut servers, Ask::Any, 0), [0, 1]);
        servers.failed(Upstream(0), seconds(0));
        assert_eq!(order(&mut servers, Ask::Any, 4), [1, 0]);
        assert_eq!(order(&mut servers, Ask::Any, 5), [0, 1], "one trial");
        assert_eq!(order(&mut servers, Ask::Any, 5), [1, 0], "and no more until it is over");
        servers.answered(Upstream(0), seconds(0));
        assert_eq!(order(&mut servers, Ask::Any, 6), [0, 1]);
    }

    #[test]
    fn if_all_rest_all_are_asked() {
        let mut servers = Servers::new(2);
        for _ in 0..5 {
            servers.failed(Upstream(0), seconds(0));
            servers.failed(Upstream(1), seconds(0));
        }
        assert_eq!(order(&mut servers, Ask::Any, 1), [0, 1]);
    }
}
