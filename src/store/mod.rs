//! The store: the only SQL. One [`Writer`] changes it; [`Reader`]s look at what is committed.

pub mod alias;
pub mod attachments;
pub mod backup;
mod codec;
mod columns;
mod door;
pub mod error;
pub mod history;
mod holds;
mod leases;
mod ledger;
pub mod load;
pub mod once;
pub mod open;
mod page;
pub mod paging;
mod quarantine;
pub mod reader;
pub mod refused;
pub mod rows;
mod sql;
pub mod sweeps;
pub mod targets;
pub mod token;
pub mod writer;

pub use error::StoreError;
pub use reader::Reader;
pub use writer::Writer;
