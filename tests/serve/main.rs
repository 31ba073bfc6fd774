//! The real binary, asked over DNS and HTTP.

#[path = "../support/dns.rs"]
mod dns;
mod hostile;
mod incidents;
mod ownership;
mod samples;
#[path = "../support/server.rs"]
mod server;
