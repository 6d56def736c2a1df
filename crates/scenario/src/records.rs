//! What records are like: their sizes, and how much of them says nothing new.

use std::fmt::{self, Write};

use brunt_units::ByteSize;
use brunt_workload::content::Shape;
use brunt_workload::profile::Version;

use super::format::size;
use super::place::Refusal;
use super::section::{self, Section};

pub(super) const KEYS: [&str; 5] =
    ["short", "long", "compressible_percent", "duplicate_percent", "beside_percent"];

/// A record lies beside one other at most.
const BESIDE_MAX: u64 = 50;

/// Most bytes of a short pad, which is a text column.
const SHORT_MAX: u64 = 255;
/// As long as the large messages are.
const LONG_MAX: u64 = 256 << 10;

/// Reads `[records]`: as the version has them, or what is written instead.
pub(super) fn read(top: &mut Section, version: Version) -> Result<Shape, Refusal> {
    let section = &mut top.section("records", &KEYS)?;
    let figures = version.profile();
    let usual = Shape {
        short: figures.short_pad.value,
        long: figures.long_pad.value,
        beside_percent: figures.beside_percent.value,
        ..Shape::JETSTRESS
    };
    let mut bytes = |key, usual: u32, most: u64| {
        let usual = ByteSize::bytes(usual.into());
        let size = section.read_or(key, usual, section::size)?;
        match u32::try_from(size.value.get()) {
            Ok(bytes) if (1..=most).contains(&u64::from(bytes)) => Ok(bytes),
            _ => Err(size.place.refuse(format!("is not between 1 and {most} bytes"))),
        }
    };
    let (short, long) =
        (bytes("short", usual.short, SHORT_MAX)?, bytes("long", usual.long, LONG_MAX)?);
    let mut percent = |key, usual: u32, most| {
        let share = section.read_or(key, usual.into(), |node| section::integer(node, 0..=most))?;
        Ok(u32::try_from(share.value).expect("in range"))
    };
    Ok(Shape {
        short,
        long,
        compressible_percent: percent("compressible_percent", 0, 100)?,
        duplicate_percent: percent("duplicate_percent", 0, 100)?,
        beside_percent: percent("beside_percent", usual.beside_percent, BESIDE_MAX)?,
        ..usual
    })
}

/// Writes `[records]`.
pub(super) fn write(records: &Shape, out: &mut String) -> fmt::Result {
    let bytes = |bytes: u32| size(ByteSize::bytes(bytes.into()));
    writeln!(out, "\n[records]\nshort = {}", bytes(records.short))?;
    writeln!(out, "long = {}", bytes(records.long))?;
    writeln!(out, "compressible_percent = {}", records.compressible_percent)?;
    writeln!(out, "duplicate_percent = {}", records.duplicate_percent)?;
    writeln!(out, "beside_percent = {}", records.beside_percent)
}
