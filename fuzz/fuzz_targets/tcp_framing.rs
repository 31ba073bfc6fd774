//! Fuzzes a stream in pieces of any size.
#![no_main]

#[path = "../../tests/fuzzed/tcp_framing.rs"]
mod tcp_framing;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| tcp_framing::run(octets));
