//! Immutable zone content: nodes, lookup, building with sharing, checks, zone files, and the published Snapshot. Pure.

pub mod alias;
pub mod check;
pub mod content;
pub mod file;
pub mod node;
pub mod published;
pub mod serial;
pub mod served;
pub mod snapshot;
pub mod table;
pub mod walk;
