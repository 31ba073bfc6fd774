//! tenured: an authoritative DNS server in which every record has an owner.

pub mod answer;
pub mod clock;
pub mod wire;
pub mod zone;
