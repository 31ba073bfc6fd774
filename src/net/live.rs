//! The rules that all sockets answer by, which the configuration can exchange while they do.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::connections::{Crowd, IDLE_CROWDED};
use crate::answer::Rules;

/// The rules, and those for a connection among many, whose idle time-out is shorter (RFC 7828 section 3.3.2).
#[derive(Debug)]
pub(super) struct Both {
    few: Rules,
    many: Rules,
}

impl Both {
    #[inline]
    pub(super) fn of(&self, crowd: Crowd) -> &Rules {
        match crowd {
            Crowd::Few => &self.few,
            Crowd::Many => &self.many,
        }
    }
}

/// See the module. Clones share them; a reader waits for nobody.
#[derive(Clone, Debug)]
pub struct LiveRules(Arc<ArcSwap<Both>>);

impl LiveRules {
    /// Begins with these.
    pub fn new(rules: Rules) -> LiveRules {
        LiveRules(Arc::new(ArcSwap::from_pointee(both(rules))))
    }

    /// Answers by these from now on. Sizes of buffers are those of the first ones, so [`Rules::edns_size`] stays.
    pub fn set(&self, rules: Rules) {
        let edns_size = self.0.load().few.edns_size;
        self.0.store(Arc::new(both(Rules { edns_size, ..rules })));
    }

    /// Those of now, to keep.
    pub fn get(&self) -> Rules {
        self.0.load().few.clone()
    }

    #[inline]
    pub(super) fn load(&self) -> Guard<Arc<Both>> {
        self.0.load()
    }
}

fn both(few: Rules) -> Both {
    let crowded = u16::try_from(IDLE_CROWDED.as_millis() / 100).unwrap_or(u16::MAX);
    let many = Rules { keepalive: few.keepalive.min(crowded), ..few.clone() };
    Both { few, many }
}
