#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haleway_fuzz_targets::events(data));
