//! The native API over a store of its own: what writes do, what is refused, and who may ask.

mod access;
mod explain;
mod lifecycle;
mod ownership;
mod strictness;

#[path = "../support/service.rs"]
mod service;
