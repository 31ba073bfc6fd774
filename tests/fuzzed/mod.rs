//! What is fuzzed: one function per target from octets to nothing, which panics where a promise is broken. The targets
//! in `fuzz/` call these with what the fuzzer thinks of, `tests/fuzz_seeds.rs` with the seeds.

// Each target is a crate of its own and uses its own part of this.
#![allow(dead_code, unreachable_pub)]

pub mod message;
pub mod record_text;
pub mod tcp_framing;
pub mod zone_file;
