//! The protocol on the wire: names, codes, RDATA, reading queries and writing responses. Pure.

pub mod codes;
pub mod hashed;
pub mod name;
pub mod presentation;
pub mod rdata;
