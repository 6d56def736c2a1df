//! The real world from outside, in one program.

mod backends;
mod conformance;
mod refused;
mod skipped;
