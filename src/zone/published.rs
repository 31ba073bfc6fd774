//! Where the Snapshot is swapped: one writer, and readers that never wait.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::snapshot::Snapshot;

/// The published Snapshot, for readers. Clones see the same.
#[derive(Clone, Debug)]
pub struct Published(Arc<ArcSwap<Snapshot>>);

impl Published {
    /// The current Snapshot, without a lock; kept alive while the guard lives, so hold it for one batch, not for long.
    #[inline]
    pub fn load(&self) -> Guard<Arc<Snapshot>> {
        self.0.load()
    }

    /// The current Snapshot to keep.
    pub fn get(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }
}

/// The one that publishes; there is one in a process, and the controller owns it.
#[derive(Debug)]
pub struct SnapshotWriter(Published);

impl SnapshotWriter {
    /// Begins with `first`.
    pub fn new(first: Snapshot) -> SnapshotWriter {
        SnapshotWriter(Published(Arc::new(ArcSwap::from_pointee(first))))
    }

    /// For readers.
    pub fn published(&self) -> Published {
        self.0.clone()
    }

    /// Swaps in the next Snapshot: the next query of every thread sees it whole.
    pub fn publish(&mut self, next: Snapshot) {
        self.0.0.store(Arc::new(next));
    }
}
