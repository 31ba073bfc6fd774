//! ALIAS targets: which there are, what upstreams say of them, and what is published (alias.md).
//!
//! [`references`] knows which records lead to which targets; [`engine`] decides, pure, on a clock that it is handed.

pub mod addresses;
pub mod engine;
pub mod lookup;
mod probe;
pub mod references;
mod servers;
