//! Crash images contain exactly the states that the durability contract allows.
//!
//! * `random`: random work on tiny files, every cut, many samples, compared with the slow `oracle`.
//! * `scenarios`: what a crash does to a log, a replaced file, a file that shrinks.

mod files;
mod oracle;
mod random;
mod scenarios;
