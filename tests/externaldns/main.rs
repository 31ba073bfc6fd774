//! The external-dns door: golden vectors of its protocol, a small planner that drives cycles, and every scenario of a
//! client by DNS and by API.

mod cycles;
#[allow(dead_code, reason = "a part of what other test programs need")]
#[path = "../support/dns.rs"]
mod dns;
mod door;
mod emptied;
mod names;
mod planner;
mod proxy;
#[allow(dead_code, reason = "a part of what other test programs need")]
#[path = "../support/server.rs"]
mod server;
#[allow(dead_code, reason = "a part of what other test programs need")]
#[path = "../support/service.rs"]
mod service;
mod several;
mod story;
mod swaps;
mod texts;
mod trouble;
mod vectors;
