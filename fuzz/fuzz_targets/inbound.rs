//! Any bytes, in every state of a connection. See `arenatls_fuzz::inbound`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| arenatls_fuzz::inbound::run(data));
