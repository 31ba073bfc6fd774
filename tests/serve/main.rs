//! The real binary, asked over DNS and HTTP.

mod crash;
#[path = "../support/dns.rs"]
mod dns;
mod hostile;
mod incidents;
mod ownership;
mod rate_limit;
mod samples;
#[path = "../support/server.rs"]
mod server;
