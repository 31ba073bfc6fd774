//! Fuzzes text and octets as the data of a record.
#![no_main]

#[path = "../../tests/fuzzed/record_text.rs"]
#[allow(dead_code)] // The maker of seeds.
mod record_text;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| record_text::run(octets));
