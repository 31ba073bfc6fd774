//! The real binary, asked over DNS and HTTP.

mod crash;
#[path = "../support/dns.rs"]
mod dns;
mod hostile;
mod incidents;
mod metrics;
mod ownership;
mod samples;
#[path = "../support/server.rs"]
mod server;
mod rate_limit;
mod sockets;
