//! `[storage]`: what is known of the storage under test.

use std::fmt::{self, Write};

use brunt_units::ByteSize;

use super::format::size;
use super::place::Refusal;
use super::section::{self, Section};

pub(super) const KEYS: [&str; 1] = ["cache"];

/// Reads `[storage]`: how much the storage itself caches.
pub(super) fn read(top: &mut Section) -> Result<Option<ByteSize>, Refusal> {
    let mut section = top.section("storage", &KEYS)?;
    let cache = section.read("cache", section::size)?;
    Ok(cache.map(|cache| cache.value))
}

/// Writes `[storage]`.
pub(super) fn write(cache: Option<ByteSize>, out: &mut String) -> fmt::Result {
    match cache {
        Some(cache) => writeln!(out, "\n[storage]\ncache = {}", size(cache)),
        None => Ok(()),
    }
}
