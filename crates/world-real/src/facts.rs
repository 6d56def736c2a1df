//! Facts about the system: plain structs, read from `/proc` and `/sys`.
//!
//! Everything the system may not report is optional: a report prints what is known and "unknown"
//! for the rest, and no run fails because a file in `/proc` is missing.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use brunt_units::ByteSize;

mod block_device;
#[cfg(test)]
mod captured;
mod clock_error;
mod direct_write;
mod disk_settings;
mod diskstats;
mod file_system_errors;
mod frequency;
mod host;
mod identity;
mod limits;
mod load;
mod mapped;
mod nvme;
mod place;
mod process;
mod redundancy;
mod room;
mod stack;
mod temperature;
mod tuning;

pub use block_device::{BlockDevice, Made, WriteCache};
pub use clock_error::{ClockError, clock_error};
pub use direct_write::direct_writes_are_cached;
pub use disk_settings::{DiskSettings, Transport, disk_settings};
pub use diskstats::{DiskCounters, disk_counters};
pub use file_system_errors::file_system_errors;
pub use frequency::frequency_mhz;
pub use host::{Host, host, memory_that_caches};
pub use identity::identities;
pub use limits::{GroupLimits, IoLimit, group_limits, io_limits};
pub use load::{
    Pressure, ProcessorTimes, memory_available, pressure, processor_times, thread_use, throttled,
};
pub use nvme::{controller_of, controllers, namespace_of_path};
pub use place::{Place, place};
pub use process::{ProcessUse, huge_page_memory, process_use};
pub use redundancy::{Redundancy, btrfs_redundancy, redundancy};
pub use room::{Room, bytes_there, room};
pub use stack::{Stack, stack};
pub use temperature::temperatures;
pub use tuning::{Swap, Tuning, tuning};

/// The trimmed text of a small file, if it is readable and not empty.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in a small file.
fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// The 0 or 1 in a small file.
fn switch(path: &Path) -> Option<bool> {
    number::<u8>(path).map(|value| value != 0)
}

/// The value after the first `key` and its colon.
fn value<'a>(table: &'a str, key: &str) -> Option<&'a str> {
    table.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// A size as printed in `/proc`: `16384 kB`, where a kB is 1,024 bytes.
fn kib(text: &str) -> Option<ByteSize> {
    text.strip_suffix(" kB")?.parse().ok().map(ByteSize::kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let table = "processor\t: 0\nmodel name\t: A CPU @ 2: fast\nmodel name : other\n";
        assert_eq!(value(table, "model name"), Some("A CPU @ 2: fast"));
        assert_eq!(value(table, "model"), None);
        assert_eq!(kib("2048 kB"), Some(ByteSize::mib(2)));
        assert_eq!(kib("2048"), None);
    }
}
