//! The native API over a store of its own: what writes do, what is refused, and who may ask.

mod access;
mod conflicts;
mod explain;
mod flaps;
mod history;
mod lifecycle;
mod matrix;
mod once;
mod openapi;
mod orphans;
mod overload;
mod ownership;
mod page;
mod pages;
mod permissions;
mod propagation;
mod strictness;

#[path = "../support/service.rs"]
mod service;
