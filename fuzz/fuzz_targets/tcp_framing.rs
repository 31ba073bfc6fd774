//! Fuzzes a stream in pieces of any size.
#![no_main]

#[path = "../../tests/fuzzed/tcp_framing.rs"]
#[allow(dead_code)] // The maker of seeds.
mod tcp_framing;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| tcp_framing::run(octets));
