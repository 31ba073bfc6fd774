//! Immutable zone content: nodes, lookup, building with sharing, checks, zone files, and the published Snapshot. Pure.

pub mod addresses;
pub mod alias;
pub mod bulk;
pub mod check;
pub mod content;
pub mod file;
pub mod flat;
pub mod kept;
pub mod lent;
pub mod node;
pub mod policy;
pub mod published;
pub mod reach;
pub mod serial;
pub mod served;
pub mod snapshot;
pub mod table;
pub mod walk;
