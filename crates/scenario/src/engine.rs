//! `[engine]`: how I/O reaches the kernel.

use std::fmt::{self, Write};

use brunt_world_real::{Choice, Kind};

use super::format::word;
use super::place::Refusal;
use super::section::{self, Section};

const KEYS: [&str; 1] = ["backend"];

/// Words for ways to the kernel; the first is the default.
const BACKENDS: [(&str, Choice); 4] = [
    ("auto", Choice::Best),
    ("registered", Choice::Only(Kind::Registered)),
    ("unregistered", Choice::Only(Kind::Unregistered)),
    ("threads", Choice::Only(Kind::Threads)),
];

/// Reads `[engine]`.
pub(super) fn read(top: &mut Section) -> Result<Choice, Refusal> {
    let mut section = top.section("engine", &KEYS)?;
    let backend = section.read_or("backend", BACKENDS[0].1, |node| {
        section::choice(node, &BACKENDS)
    })?;
    Ok(backend.value)
}

/// Writes `[engine]`.
pub(super) fn write(backend: Choice, out: &mut String) -> fmt::Result {
    writeln!(out, "\n[engine]\nbackend = {}", word(&BACKENDS, backend))
}
