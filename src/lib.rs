//! tenured: an authoritative DNS server in which every record has an owner.

pub mod alias;
pub mod answer;
pub mod api;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod control;
pub mod ledger;
pub mod net;
pub mod store;
pub mod wire;
pub mod zone;
