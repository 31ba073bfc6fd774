//! The protocol on the wire: names, codes, RDATA, reading queries and writing responses. Pure.

pub mod codes;
pub mod compression;
pub mod cookie;
pub mod edns;
pub mod hashed;
pub mod name;
pub mod presentation;
pub mod query;
pub mod rdata;
pub mod writer;
