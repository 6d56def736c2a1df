//! Crash images hold what the durability contract allows, all of it, and nothing else.
//!
//! * `random`: random work on tiny files, every cut, many samples, and the slow `oracle` beside them.
//! * `scenarios`: short stories of what a crash does to a log, a replaced file, a file that shrinks.

mod files;
mod oracle;
mod random;
mod scenarios;
