//! Tests of the real world, in one program.

mod backends;
mod conformance;
mod refused;
mod skipped;
