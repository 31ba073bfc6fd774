//! The PowerDNS door over a store of its own: the requests that controllers send, octet for octet where that matters, and
//! what owners mean behind them.

mod brake;
mod door;
mod keys;
mod owners;
mod patches;
mod requests;
mod serials;
mod waves;
mod zones;

#[path = "../support/service.rs"]
#[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
mod service;
