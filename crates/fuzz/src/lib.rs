//! Fuzz targets: bytes from anywhere give answers or errors, never a panic and never memory without end.
//!
//! ```text
//!    fuzz/fuzz_targets/NAME.rs    cargo fuzz: coverage leads, as long as you like      ---+
//!                                                                                         +--> targets::NAME(&[u8])
//!    tests/smoke.rs               seeds, mutated by a stream of random numbers, seconds ---+
//! ```
//!
//! A target is a plain function, so that it needs neither a nightly compiler nor libFuzzer to be tried. Where a checksum would
//! turn nearly every input away, a target looks at the bytes as they are *and* with the checksum made right again.
//!
//! * [`targets`]: what is tried; [`seal`]: checksums made right.
//! * [`instance`]: an engine over files with a few bytes changed, the widest target; [`messages`]: over pages that are sealed and
//!   make no sense, which nothing is replayed over.
//! * [`seeds`]: files that begin it; [`mutate`]: what becomes of them.

pub mod instance;
pub mod messages;
pub mod mutate;
pub mod seal;
pub mod seeds;
pub mod targets;
