//! What the system says about itself: plain structs, read from `/proc` and `/sys`.
//!
//! Everything the system may not say is optional: a report prints what is there and "unknown" for the rest, and no run
//! fails because a file in `/proc` is missing.

use std::fs;
use std::path::Path;
use std::str::FromStr;

mod device;
mod diskstats;
mod host;
mod process;

pub use device::{BlockDevice, Place, WriteCache, place};
pub use diskstats::{DiskCounters, disk_counters};
pub use host::{Host, host};
pub use process::{ProcessUse, process_use};

/// The trimmed text of a small file, if it can be read and is not empty.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in a small file.
fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// The switch, 0 or 1, in a small file.
fn switch(path: &Path) -> Option<bool> {
    number::<u8>(path).map(|value| value != 0)
}
