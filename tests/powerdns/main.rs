//! The PowerDNS door over a store of its own: the requests that controllers send, octet for octet where that matters, and
//! what owners mean behind them.

mod door;
mod patches;

#[path = "../support/service.rs"]
mod service;
