//! The real binary, asked over DNS and HTTP.

mod activation;
mod alias;
mod alias_upstreams;
#[path = "../support/encrypted.rs"]
mod client;
mod copies;
mod crash;
#[path = "../support/dns.rs"]
mod dns;
mod encrypted;
mod faults;
mod holds;
mod hostile;
mod incidents;
mod kill_model;
mod last_good;
mod leases;
mod metrics;
mod ownership;
mod quarantine;
mod rate_limit;
mod reload;
mod samples;
#[path = "../support/server.rs"]
mod server;
mod sockets;
mod sweeps;
mod transfers;
#[path = "../support/upstream.rs"]
mod upstream;
