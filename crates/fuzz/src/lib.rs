//! Fuzz targets: arbitrary bytes give a result or an error, never a panic and never unbounded
//! memory.
//!
//! ```text
//!    fuzz/fuzz_targets/NAME.rs    cargo fuzz: coverage-guided, for as long as you like   ---+
//!                                                                                           +--> targets::NAME(&[u8])
//!    tests/smoke.rs               seeds, mutated at random, for seconds                  ---+
//! ```
//!
//! A target is a plain function, so running it needs neither a nightly compiler nor libFuzzer.
//! Where a checksum would reject nearly every input, a target processes the bytes as they are *and*
//! with the checksum recomputed.
//!
//! * [`targets`]: the targets; [`seal`]: recomputes checksums.
//! * [`instance`]: an engine over files with a few corrupted bytes, the broadest target;
//!   [`messages`]: over pages with valid checksums and inconsistent content, without log replay.
//! * [`batch`]: plans of predictions, and what their parts leave.
//! * [`sessions`]: clients of mail protocols, whatever their server says.
//! * [`mail`]: what mail servers send, and the file of a ledger.
//! * [`fleet`]: what coordinators and agents hear.
//! * [`seeds`]: the initial inputs; [`mutate`]: mutations of them.

pub mod batch;
pub mod fleet;
pub mod instance;
pub mod mail;
pub mod messages;
pub mod mutate;
pub mod seal;
pub mod seeds;
pub mod sessions;
pub mod targets;
