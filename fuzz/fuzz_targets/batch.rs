#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brunt_fuzz::targets::batch(bytes));
