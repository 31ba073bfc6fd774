//! Looks after the certificate of the encrypted listeners: files that changed are read, and its end is an alarm before it
//! comes.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::api::Readiness;
use crate::clock::Clock;
use crate::net::{Certificates, Renewal};

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(5);
/// How long before its end a certificate is an alarm, in seconds: what is renewed by itself was renewed long before.
const NEAR: u64 = 7 * 86_400;
const FILES: &str = "certificate_files";
const END: &str = "certificate_expiry";

/// Looks until the task is aborted.
pub(super) fn watch(certificates: Certificates, readiness: Readiness, clock: Clock) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut turns = tokio::time::interval(PERIOD);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            let own = certificates.clone();
            // A panic of it is one look less.
            let renewed = tokio::task::spawn_blocking(move || own.renew()).await;
            let broken = match renewed {
                Ok(Ok(Renewal::Renewed)) => {
                    tracing::info!("the certificate was read again: new connections get it");
                    None
                }
                Ok(Ok(Renewal::Same)) | Err(_) => None,
                Ok(Err(sentence)) => Some(format!(
                    "the certificate that was read before is used, since its files are not in order: {sentence}; put the \
                     chain and its key there"
                )),
            };
            readiness.tell(FILES, broken);
            readiness.tell(END, ending(certificates.not_after(), clock.now().0 / 1_000));
        }
    })
}

/// The sentence of a certificate that is near its end or past it.
fn ending(not_after: Option<u64>, now: u64) -> Option<String> {
    let end = not_after?;
    let shown = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + Duration::from_secs(end));
    if end <= now {
        Some(format!(
            "the certificate of DNS over TLS, QUIC and HTTPS ended at {shown}: clients refuse it; put a new one into its \
             file, no restart is needed"
        ))
    } else if end - now < NEAR {
        Some(format!("the certificate of DNS over TLS, QUIC and HTTPS ends at {shown}: renew it"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_an_alarm_a_week_before_its_end_and_after_it() {
        let now = 1_796_083_605;
        assert_eq!(ending(None, now), None);
        assert_eq!(ending(Some(now + NEAR), now), None);
        assert!(ending(Some(now + NEAR - 1), now).is_some_and(|sentence| sentence.contains("ends at 2026-12-08T")));
        assert!(ending(Some(now), now).is_some_and(|sentence| sentence.contains("no restart")));
    }
}
