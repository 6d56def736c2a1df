//! Traces: CSV of time, LUN, offset, length, and read or write.
//!
//! ```csv
//! time_s,lun,offset_bytes,length_bytes,verb
//! 0.000125,data,1048576,8192,read
//! ```
//!
//! The first line may be a heading. Times do not fall; offsets and lengths are multiples of 512.
//! Lines that begin with `#` are remarks.

use std::path::PathBuf;

use brunt_array::load::TraceEntry;
use brunt_array::{Extent, Verb};
use brunt_units::{Span, Time};

use super::super::files::Files;
use super::super::place::{Place, Placed, Refusal};

/// Reads the trace in the file `path`.
pub(super) fn read(
    path: &Placed<PathBuf>,
    files: &Files,
    luns: &[&str],
) -> Result<Vec<TraceEntry>, Refusal> {
    let text = files
        .read(&files.at(&path.value))
        .map_err(|error| path.place.refuse(format!("cannot be read: {error}")))?;
    let file = path.value.display().to_string();
    let mut entries: Vec<TraceEntry> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let is_heading = number == 0 && line.starts_with("time");
        if is_heading || line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let place = Place::line(&file, number + 1, line);
        let entry = parse(line, luns).map_err(|what| {
            place.refuse(what).hint("a line is time_s,lun,offset_bytes,length_bytes,read|write")
        })?;
        if entries.last().is_some_and(|last| last.at > entry.at) {
            return Err(place.refuse("is earlier than the line before"));
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        return Err(path.place.refuse("has no requests"));
    }
    Ok(entries)
}

fn parse(line: &str, luns: &[&str]) -> Result<TraceEntry, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time, lun, offset, length, verb] = cells.as_slice() else {
        return Err(format!("has {} columns, not 5", cells.len()));
    };
    let time: f64 = time.parse().map_err(|_| format!("`{time}` is not a time in seconds"))?;
    if !(0.0..1e9).contains(&time) {
        return Err(format!("`{time}` is not a time in seconds"));
    }
    let found = luns.iter().position(|name| name == lun);
    let found = found.ok_or_else(|| format!("there is no LUN called \"{lun}\""))?;
    let sectors = |text: &str| {
        let bytes = text.parse::<u64>().ok().filter(|bytes| bytes.is_multiple_of(512));
        let sectors = bytes.map(|bytes| bytes.div_euclid(512));
        sectors.ok_or_else(|| format!("`{text}` is not a multiple of 512 bytes"))
    };
    let extent = Extent::new(sectors(offset)?, sectors(length)?);
    if extent.length == 0 {
        return Err("has no length".into());
    }
    let verb = match verb.to_ascii_lowercase().as_str() {
        "read" | "r" => Verb::Read,
        "write" | "w" => Verb::Write,
        other => return Err(format!("`{other}` is neither read nor write")),
    };
    Ok(TraceEntry {
        at: Time::ZERO + Span::from_seconds(time),
        lun: u32::try_from(found).expect("few LUNs"),
        verb,
        extent,
    })
}
