//! ALIAS targets: which there are, what upstreams say of them, and what is published (alias.md).
//!
//! [`engine`] decides, pure, on a clock that it is handed.

pub mod addresses;
pub mod engine;
pub mod lookup;
mod probe;
