//! tenured: an authoritative DNS server in which every record has an owner.

pub mod alias;
pub mod clock;
pub mod wire;
pub mod zone;
