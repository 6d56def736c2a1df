//! What records are like: their sizes, and how much of them says nothing new.

use brunt_workload::content::Shape;
use brunt_workload::profile::Version;

use super::keys::{PERCENT, Whole, keys, small_size};
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::Node;

keys! {
    RECORDS of Shape = "[records]";
    /// The short pad of a record, a text column: up to 255 bytes.
    short: u32 = [short], small_size(|node| bytes(node, SHORT_MAX), "size"), "by version";
    /// The long pad: up to 256 KiB.
    long: u32 = [long], small_size(|node| bytes(node, LONG_MAX), "size"), "by version";
    /// What compressing saves, in percent.
    compressible_percent: u32 = [compressible_percent], PERCENT, "0";
    /// Records that use the same bytes, in percent.
    duplicate_percent: u32 = [duplicate_percent], PERCENT, "0" is neutral;
    /// Records that lie beside the one before, in percent.
    beside_percent: u32 = [beside_percent], Whole(0..=BESIDE_MAX), "by version";
}

/// A record lies beside one other at most.
const BESIDE_MAX: u64 = 50;

/// Most bytes of a short pad, which is a text column.
const SHORT_MAX: u64 = 255;
/// As long as the large messages are.
const LONG_MAX: u64 = 256 << 10;

/// Reads `[records]`: as the version has them, or what is written instead.
pub(super) fn read(top: &mut Section, version: Version) -> Shape {
    let figures = version.profile();
    let mut shape = Shape {
        short: figures.short_pad.value,
        long: figures.long_pad.value,
        beside_percent: figures.beside_percent.value,
        ..Shape::JETSTRESS
    };
    RECORDS.read(top.table("records"), &mut shape);
    shape
}

fn bytes(node: &Node, most: u64) -> Result<u32, Refusal> {
    match u32::try_from(section::size(node)?.get()) {
        Ok(bytes) if (1..=most).contains(&u64::from(bytes)) => Ok(bytes),
        _ => Err(node.place.refuse(format!("is not between 1 and {most} bytes"))),
    }
}
