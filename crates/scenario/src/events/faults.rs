//! Events of files: storage that misbehaves on purpose.
//!
//! ```toml
//! [[event]]
//! what = "lost-write"
//! file = "one.edb"                # the end of a database's path; or "one.jfm", "edb.chk", "*.log"
//! page = 1234                     # or offset = "40 MiB", and length = "64 KiB"; without both: see below
//! after = 100                     # requests to that place which pass before
//! times = 1                       # how often; without it: for ever
//! only = "reads"                  # io-error, stuck and slow alone: "reads" or "writes"
//! by = "64 KiB"                   # misdirected reads and writes alone: how far
//! delay = "500ms"                 # slow alone: how long
//! ```
//!
//! Without a place, the fault waits for the first request, after those that pass, to any page of
//! the file that holds data, and stays there: sessions draw their records, so it cannot be known
//! before which pages they will touch.
//!
//! Faults begin when the databases are open, so that they damage the test and not its preparation.

use std::mem::discriminant;
use std::ops::Range;
use std::path::Path;

use brunt_ese::format::flush_map::path_beside;
use brunt_qualify::plan::InstancePlan;
use brunt_units::{ByteSize, PageNumber, PageSize};
use brunt_world::fault::{Direction, Fault, FaultKind};

use super::super::format::{self, quoted, size, span};
use super::super::place::Refusal;
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::words::WORDS;
use super::{Entry, Event};

/// Words for the requests of a fault that can strike both.
const DIRECTIONS: [(&str, Direction); 2] =
    [("reads", Direction::Reads), ("writes", Direction::Writes)];

const FAULTS_MAX: usize = 100;
/// More than any test has of them.
const REQUESTS_MAX: u64 = 1_000_000_000_000;
/// The engine's own measure of a place: smaller ones cannot be told apart by it.
const PLACE_UNIT: u64 = 4096;
/// A log is damaged in pieces of this size, as the smallest frame is.
const LOG_PIECE: u64 = 4096;

/// The faults of a scenario with these instances and pages.
pub(crate) fn read(entries: Vec<Entry>, instances: &[InstancePlan], page: PageSize) -> Vec<Fault> {
    if let Some(entry) = entries.get(FAULTS_MAX) {
        let what = format!("more than {FAULTS_MAX} faults");
        entry.section.refuse(entry.place().refuse(what));
    }
    let read = |entry: Entry| {
        let sink = entry.section.sink().clone();
        sink.catch(One::read(entry, instances, page))
    };
    entries.into_iter().filter_map(read).collect()
}

/// One fault while it is read.
struct One<'a> {
    section: Section,
    instances: &'a [InstancePlan],
    page: PageSize,
}

impl One<'_> {
    fn read(entry: Entry, instances: &[InstancePlan], page: PageSize) -> Result<Fault, Refusal> {
        let Event::Fault(kind) = entry.word.event else {
            unreachable!("an event of a file is a fault");
        };
        let mut one = One { section: entry.section, instances, page };
        let kind = one.kind(kind)?;
        let (file, is_database) = one.file()?;
        let (bytes, settles) = one.bytes(kind, is_database)?;
        let section = &mut one.section;
        let count = |least| move |node: &Node| section::integer(node, least..=REQUESTS_MAX);
        let after = section.read_or("after", 0, count(0)).value;
        let times = section.read_or("times", u64::MAX, count(1)).value;
        let only = section.read("only", |node| section::choice(node, &DIRECTIONS));
        Ok(Fault {
            after,
            times,
            settles,
            only: only.map(|only| only.value),
            ..Fault::new(kind, file, bytes)
        })
    }

    /// `kind` with the value that has a key of its own.
    fn kind(&mut self, kind: FaultKind) -> Result<FaultKind, Refusal> {
        let by = self.section.read("by", |node| whole(node, PLACE_UNIT));
        // To the neighbour after next, unless it is said: the next one often goes with the same
        // request.
        let by = by.map_or(2 * self.page.bytes_u64(), |by| by.value);
        Ok(match kind {
            FaultKind::MisdirectedRead(_) => FaultKind::MisdirectedRead(by),
            FaultKind::MisdirectedWrite(_) => FaultKind::MisdirectedWrite(by),
            FaultKind::Slow(_) => {
                let delay = self.section.need("delay", "delay = \"500ms\"", section::span);
                FaultKind::Slow(delay.value)
            }
            kind => kind,
        })
    }

    /// The file, and whether it is a database.
    fn file(&mut self) -> Result<(String, bool), Refusal> {
        let Some(file) = self.section.read("file", section::text) else {
            return Err(self.section.lacks("file", "file = \"one.edb\""));
        };
        let pattern = Fault::new(FaultKind::Lost, file.value.as_str(), 0..0);
        let databases = || self.instances.iter().flat_map(|i| &i.databases);
        let is_database = databases().any(|database| pattern.is_in(&database.path));
        let is_beside = databases().any(|d| pattern.is_in(&path_beside(&d.path)));
        let is_log = self.instances.iter().any(|instance| {
            let names = ["edb.log", "edb.chk", "edb00001.log"];
            let own = |name: &&str| pattern.is_in(&instance.log.join(name));
            names.iter().any(own)
        });
        if file.value.is_empty() || !(is_database || is_beside || is_log) {
            let refusal = file.place.refuse("names no file of this scenario");
            let first = &self.instances[0].databases[0].path;
            let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned());
            let database = name(first).unwrap_or_default();
            return Err(refusal.hint(format!(
                "for example \"{database}\", \"{}\", \"*.log\" or \"edb.chk\"",
                name(&path_beside(first)).unwrap_or_default()
            )));
        }
        Ok((file.value, is_database))
    }

    /// Where it lies, or the width that it settles on.
    fn bytes(
        &mut self,
        kind: FaultKind,
        is_database: bool,
    ) -> Result<(Range<u64>, Option<u64>), Refusal> {
        let size = self.page;
        let page = self.section.read("page", |node| section::integer(node, 1..=(1 << 31) - 1));
        let offset = self.section.read("offset", |node| whole(node, 0));
        let length = self.section.read("length", |node| whole(node, PLACE_UNIT));
        let piece = match is_database {
            true => size.bytes_u64(),
            false => LOG_PIECE,
        };
        let width = length.as_ref().map_or(piece, |length| length.value);
        match (page, offset) {
            (Some(page), Some(_)) => {
                let refusal = page.place.refuse("says where, and so does `offset`");
                Err(refusal.hint("keep `page` or `offset`"))
            }
            (Some(page), None) if !is_database => {
                let refusal = page.place.refuse("only databases have pages");
                Err(refusal.hint("for example: offset = \"64 KiB\""))
            }
            (Some(page), None) => {
                let number = u32::try_from(page.value).expect("in range");
                let start = PageNumber(number).offset(size);
                Ok((start..start + width, None))
            }
            (None, Some(offset)) => {
                let end = offset.value.checked_add(width);
                let end = end.ok_or_else(|| offset.place.refuse("is too far out"))?;
                Ok((offset.value..end, None))
            }
            (None, None) if kind == FaultKind::DroppedSync => Ok((0..u64::MAX, None)),
            (None, None) if matches!(kind, FaultKind::Stuck | FaultKind::Slow(_)) => {
                // Not the matter of one page: the whole file is stuck, or late.
                Ok((0..u64::MAX, length.map(|length| length.value)))
            }
            (None, None) => {
                // Headers are read when a database is opened and hardly ever after.
                let first = match is_database {
                    true => 2 * size.bytes_u64(),
                    false => 0,
                };
                Ok((first..u64::MAX, Some(width)))
            }
        }
    }
}

/// A size of whole blocks, `least` or more.
fn whole(node: &Node, least: u64) -> Result<u64, Refusal> {
    let bytes = section::size(node)?.get();
    if bytes < least || !bytes.is_multiple_of(PLACE_UNIT) {
        let refusal = node.place.refuse("is not a multiple of 4 KiB");
        return Err(match bytes < least {
            true => node.place.refuse("is less than 4 KiB"),
            false => refusal,
        });
    }
    Ok(bytes)
}

/// Writes `faults` so that [`read`] gives them again.
pub(crate) fn write(faults: &[Fault], out: &mut String) {
    for fault in faults {
        let mut lines = vec![format!("what = {}", quoted(word(fault.kind)))];
        lines.push(format!("file = {}", quoted(&fault.file.to_string_lossy())));
        let bytes = |bytes| size(ByteSize::bytes(bytes));
        match (fault.settles, fault.kind) {
            (Some(width), _) => lines.push(format!("length = {}", bytes(width))),
            (None, _) if fault.bytes.end == u64::MAX => {}
            (None, _) => {
                let length = fault.bytes.end - fault.bytes.start;
                lines.push(format!("offset = {}", bytes(fault.bytes.start)));
                lines.push(format!("length = {}", bytes(length)));
            }
        }
        lines.push(format!("after = {}", fault.after));
        if fault.times < u64::MAX {
            lines.push(format!("times = {}", fault.times));
        }
        lines.extend(fault.only.map(|only| format!("only = {}", format::word(&DIRECTIONS, only))));
        match fault.kind {
            FaultKind::MisdirectedRead(by) | FaultKind::MisdirectedWrite(by) => {
                lines.push(format!("by = {}", bytes(by)));
            }
            FaultKind::Slow(delay) => lines.push(format!("delay = {}", span(delay))),
            _ => {}
        }
        *out += &format!("\n[[event]]\n{}\n", lines.join("\n"));
    }
}

/// The word of a kind, whatever value it carries.
fn word(kind: FaultKind) -> &'static str {
    let found = WORDS.iter().find(|word| match word.event {
        Event::Fault(other) => discriminant(&other) == discriminant(&kind),
        _ => false,
    });
    found.expect("every kind has a word").word
}
