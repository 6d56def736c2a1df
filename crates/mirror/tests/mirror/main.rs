//! A mirrored world keeps the promises of any world, and both sites keep what it acknowledges.

mod conformance;
mod engine;
mod receiver;
mod sites;
