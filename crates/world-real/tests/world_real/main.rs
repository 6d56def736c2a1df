//! Tests of the real world, in one program.

mod backends;
mod conformance;
mod net;
mod refused;
mod skipped;
