//! Reading the configuration again while the server runs: what can change live does, and what cannot is named.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::rules;
use crate::api::reload::{ChangedKeyDocument, ReloadDocument};
use crate::config::{Config, Effect, PlaceFlags, ServeFlags, Settings};
use crate::net::{Certificates, LiveRules, Sampler};

/// What is in effect, and where it came from.
pub(super) struct Live {
    pub(super) place: PlaceFlags,
    pub(super) flags: ServeFlags,
    pub(super) settings: Mutex<Settings>,
    pub(super) rules: LiveRules,
    pub(super) sampler: Sampler,
    pub(super) certificates: Option<Certificates>,
    /// Seconds of the lame-duck time.
    pub(super) lame_duck: Arc<AtomicU16>,
}

/// The environment of the process, as far as it is text.
pub(super) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Live {
    /// Reads all sources again. An error changes nothing.
    pub(super) fn reload(&self) -> Result<ReloadDocument, String> {
        let next = Settings::load(&self.place, &self.flags, environment()).map_err(|error| error.to_string())?;
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = settings.differences(&next);
        let renewed = rules::renewed(&next.config, &settings.config, &self.rules.get())?;
        self.certify(&next.config)?;
        self.rules.set(renewed);
        self.sampler.set(next.config.log.queries);
        self.lame_duck.store(next.config.dns.lame_duck, Ordering::Relaxed);
        *settings = next;
        let shown: Vec<ChangedKeyDocument> = changes
            .into_iter()
            .map(|change| ChangedKeyDocument {
                key: change.key,
                before: change.before,
                after: change.after,
                effect: match change.effect {
                    Effect::Now => "now",
                    Effect::Restart => "restart",
                }
                .to_owned(),
            })
            .collect();
        log(&shown);
        Ok(ReloadDocument { changes: shown })
    }

    /// Takes the certificate of the new configuration, if there are listeners that show one.
    fn certify(&self, next: &Config) -> Result<(), String> {
        if let (Some(certificates), Some(identity)) = (&self.certificates, &next.tls.identity) {
            certificates.move_to(&identity.certificate, &identity.key)?;
        }
        Ok(())
    }
}

fn log(changes: &[ChangedKeyDocument]) {
    tracing::info!(changes = changes.len(), "the configuration was read again");
    for change in changes {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        let (before, after, key) = (value(&change.before), value(&change.after), &change.key);
        tracing::info!(%key, ?before, ?after, effect = %change.effect, "a setting changed");
    }
}
