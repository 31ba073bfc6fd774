//! Whether the server is ready, and what is wrong with it that an operator should know (operations.md section 3).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most alarms that are kept; a row of the store that cannot be read is one alarm each.
pub const MAX_ALARMS: usize = 100;

/// The alarm of a store that takes no writes: the server is degraded while it is on.
pub const STORE_ALARM: &str = "store_unavailable";

/// The alarm of a store that cannot be read: requests with a token are refused while it is on.
pub const UNREADABLE_ALARM: &str = "store_unreadable";

/// What must have happened before the server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The Snapshot holds what the store holds.
    SnapshotLoaded,
    /// The zone files of `--zones` were imported.
    ZonesImported,
    /// The DNS sockets are bound.
    SocketsBound,
}

impl Stage {
    /// All stages, in the order of a start.
    pub const ALL: [Stage; 3] = [Stage::SnapshotLoaded, Stage::ZonesImported, Stage::SocketsBound];

    /// The word in `/readyz?verbose`.
    pub fn text(self) -> &'static str {
        match self {
            Stage::SnapshotLoaded => "snapshot",
            Stage::ZonesImported => "zones",
            Stage::SocketsBound => "sockets",
        }
    }
}

/// Where the server is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Some stage has not been reached.
    #[default]
    Starting,
    /// All stages were reached.
    Ready,
    /// It was asked to end: it still answers, and wants no new work.
    Stopping,
}

#[derive(Debug, Default)]
struct State {
    reached: Vec<Stage>,
    stopping: bool,
    alarms: BTreeMap<String, String>,
    notes: Vec<String>,
}

/// The state that the health routes show. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<State>>);

impl Readiness {
    /// No stage reached, no alarm.
    pub fn new() -> Readiness {
        Readiness::default()
    }

    /// A stage was reached.
    pub fn reach(&self, stage: Stage) {
        let mut state = self.state();
        if !state.reached.contains(&stage) {
            state.reached.push(stage);
        }
    }

    /// The server was asked to end.
    pub fn stop(&self) {
        self.state().stopping = true;
    }

    /// Begins an alarm, or gives it another sentence. The caller logs it. Over [`MAX_ALARMS`] new ones are left out.
    pub fn raise(&self, alarm: impl Into<String>, sentence: impl Into<String>) {
        let mut state = self.state();
        let alarm = alarm.into();
        if state.alarms.len() < MAX_ALARMS || state.alarms.contains_key(&alarm) {
            state.alarms.insert(alarm, sentence.into());
        }
    }

    /// Ends an alarm.
    pub fn clear(&self, alarm: &str) {
        self.state().alarms.remove(alarm);
    }

    /// Begins, changes or ends an alarm, with one line of the log when it begins and one when it ends.
    pub fn tell(&self, alarm: &str, sentence: Option<String>) {
        let before = self.state().alarms.contains_key(alarm);
        match sentence {
            Some(sentence) => {
                if !before {
                    tracing::error!("alarm {alarm}: {sentence}");
                }
                self.raise(alarm, sentence);
            }
            None if before => {
                tracing::info!("alarm {alarm} is over");
                self.clear(alarm);
            }
            None => {}
        }
    }

    /// Whether an alarm is on.
    pub fn is_on(&self, alarm: &str) -> bool {
        self.state().alarms.contains_key(alarm)
    }

    /// Where the server is in its life.
    pub fn phase(&self) -> Phase {
        let state = self.state();
        if state.stopping {
            Phase::Stopping
        } else if Stage::ALL.iter().all(|stage| state.reached.contains(stage)) {
            Phase::Ready
        } else {
            Phase::Starting
        }
    }

    /// Each stage and whether it was reached.
    pub fn stages(&self) -> Vec<(Stage, bool)> {
        let state = self.state();
        Stage::ALL.iter().map(|stage| (*stage, state.reached.contains(stage))).collect()
    }

    /// Notes what an operator should know and may have wanted, as long as the server runs.
    pub fn note(&self, sentence: impl Into<String>) {
        self.state().notes.push(sentence.into());
    }

    /// What was noted.
    pub fn notes(&self) -> Vec<String> {
        self.state().notes.clone()
    }

    /// Alarms by name.
    pub fn alarms(&self) -> Vec<(String, String)> {
        self.state().alarms.iter().map(|(alarm, sentence)| (alarm.clone(), sentence.clone())).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_when_all_stages_were_reached_and_until_it_stops() {
        let readiness = Readiness::new();
        assert_eq!(readiness.phase(), Phase::Starting);
        for stage in Stage::ALL {
            readiness.reach(stage);
        }
        assert_eq!(readiness.phase(), Phase::Ready);
        readiness.raise("store", "the store is locked");
        assert_eq!(readiness.phase(), Phase::Ready, "an alarm is no un-readiness");
        readiness.stop();
        assert_eq!(readiness.phase(), Phase::Stopping);
    }

    #[test]
    fn alarms_are_bounded() {
        let readiness = Readiness::new();
        for number in 0..=MAX_ALARMS {
            readiness.raise(format!("row {number}"), "cannot be read");
        }
        assert_eq!(readiness.alarms().len(), MAX_ALARMS);
    }
}
