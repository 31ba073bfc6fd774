//! tenured: an authoritative DNS server in which every record has an owner.

pub mod alias;
pub mod answer;
pub mod clock;
pub mod net;
pub mod control;
pub mod ledger;
pub mod store;
pub mod wire;
pub mod zone;
