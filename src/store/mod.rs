//! The store: the only SQL. One [`writer::Writer`] changes it; [`Reader`]s look at what is committed.

pub mod error;
pub mod reader;
pub mod rows;
pub mod token;

pub use error::StoreError;
pub use reader::Reader;
