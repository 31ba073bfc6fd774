//! ALIAS targets: which there are, what upstreams say of them, and what is published (alias.md).
//!
//! [`references`] knows which records lead to which targets; [`engine`] decides, pure, on a clock that it is handed;
//! [`resolver`] asks; [`actor`] runs the one by the other and watches the Snapshot; everybody else holds a
//! [`handle::AliasHandle`].

pub mod actor;
mod closed;
pub mod engine;
pub mod handle;
pub mod lookup;
pub mod measures;
pub mod pace;
mod probe;
pub mod references;
pub mod resolver;
mod servers;
pub mod slot;
