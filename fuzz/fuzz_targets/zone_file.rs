//! Fuzzes text as a zone file.
#![no_main]

#[path = "../../tests/fuzzed/zone_file.rs"]
mod zone_file;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| zone_file::run(octets));
