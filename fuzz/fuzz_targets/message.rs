//! Fuzzes octets as a message, through the whole query path.
#![no_main]

#[path = "../../tests/asking/mod.rs"]
mod asking;
#[path = "../../tests/fuzzed/message.rs"]
mod message;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| message::run(octets));
