//! `[faults]`: what is to go wrong on purpose.
//!
//! ```toml
//! [[faults]]                      # one table for each; a single one may be [faults]
//! kind = "lost-write"
//! file = "one.edb"                # the end of a database's path; or "one.jfm", "edb.chk", "*.log"
//! page = 1234                     # or offset = "40 MiB", and length = "64 KiB"; without both: see below
//! after = 100                     # requests to that place which pass before
//! times = 1                       # how often; without it: for ever
//! only = "reads"                  # io-error, stuck and slow alone: "reads" or "writes"
//! by = "64 KiB"                   # misdirected reads and writes alone: how far
//! delay = "500ms"                 # slow alone: how long
//! ```
//!
//! Without a place the fault lies in wait for the first request, after those that pass, to any page of the file that holds data,
//! and settles there: sessions draw their records, so nobody can say beforehand which pages they will touch.
//!
//! They begin when the databases are open, so that what is damaged is the test and not its making.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use brunt_ese::format::flush_map::path_beside;
use brunt_units::{ByteSize, PageNumber, PageSize, Span};
use brunt_world::fault::{Direction, Fault, FaultKind};

use super::format::{self, quoted, size, span};
use super::instances::InstancePlan;
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::{Node, Value};

const KEYS: [&str; 10] = [
    "kind", "file", "page", "offset", "length", "after", "times", "only", "by", "delay",
];

/// Words for the requests of a fault that can strike both.
const DIRECTIONS: [(&str, Direction); 2] =
    [("reads", Direction::Reads), ("writes", Direction::Writes)];

/// Words for kinds, with the values that have no key of their own yet.
const KINDS: [(&str, FaultKind); 15] = [
    ("bit-flip", FaultKind::BitFlip),
    ("two-bit-flip", FaultKind::TwoBitFlip),
    ("zeroed", FaultKind::Zeroed),
    ("stale-read", FaultKind::Stale),
    ("misdirected-read", FaultKind::MisdirectedRead(0)),
    ("short-read", FaultKind::ShortRead),
    ("torn-write", FaultKind::Torn),
    ("lost-write", FaultKind::Lost),
    ("misdirected-write", FaultKind::MisdirectedWrite(0)),
    ("io-error", FaultKind::DeviceError),
    ("medium-error", FaultKind::MediumError),
    ("no-space", FaultKind::NoSpace),
    ("dropped-sync", FaultKind::DroppedSync),
    ("stuck", FaultKind::Stuck),
    ("slow", FaultKind::Slow(Span::ZERO)),
];

const FAULTS_MAX: usize = 100;
/// More than any test has of them.
const REQUESTS_MAX: u64 = 1_000_000_000_000;
/// The engine's own measure of a place: smaller ones cannot be told apart by it.
const PLACE_UNIT: u64 = 4096;
/// A log is damaged in pieces of this size, as the smallest frame is.
const LOG_PIECE: u64 = 4096;

/// Reads `[faults]` of a scenario with these instances and pages.
///
/// # Errors
/// [`Refusal`] for the first thing that is wrong: a kind, a file that the scenario has not, a key that says nothing of its
/// kind.
pub(super) fn read(
    node: Option<Node>,
    instances: &[InstancePlan],
    page: PageSize,
) -> Result<Vec<Fault>, Refusal> {
    let nodes = match node {
        None => Vec::new(),
        Some(Node {
            value: Value::List(nodes),
            place,
        }) => match nodes.len() {
            count if count > FAULTS_MAX => {
                return Err(place.refuse(format!("more than {FAULTS_MAX} faults")));
            }
            _ => nodes,
        },
        Some(node) => vec![node],
    };
    let read = |node| One::read(node, instances, page);
    nodes.into_iter().map(read).collect()
}

/// One fault while it is read.
struct One<'a> {
    section: Section,
    instances: &'a [InstancePlan],
    page: PageSize,
}

impl One<'_> {
    fn read(node: Node, instances: &[InstancePlan], page: PageSize) -> Result<Fault, Refusal> {
        let section = Section::new(node, "[[faults]]", &KEYS)?;
        let mut one = One {
            section,
            instances,
            page,
        };
        let kind = one.kind()?;
        let (file, is_database) = one.file()?;
        let (bytes, settles) = one.bytes(kind, is_database)?;
        let section = &mut one.section;
        let count = |least| move |node: &Node| section::integer(node, least..=REQUESTS_MAX);
        let after = section.read_or("after", 0, count(0))?.value;
        let times = section.read_or("times", u64::MAX, count(1))?.value;
        let only = one.only(kind)?;
        Ok(Fault {
            after,
            times,
            settles,
            only,
            ..Fault::new(kind, file, bytes)
        })
    }

    fn kind(&mut self) -> Result<FaultKind, Refusal> {
        let words = KINDS.map(|(word, _)| word);
        let read = self
            .section
            .read("kind", |node| section::word(node, &words))?;
        let Some(at) = read else {
            return Err(self.section.lacks("kind", "kind = \"lost-write\""));
        };
        let (word, kind) = KINDS[at.value];
        let by = self.section.read("by", |node| whole(node, PLACE_UNIT))?;
        let delay = self.section.read("delay", section::span)?;
        let is_astray = matches!(
            kind,
            FaultKind::MisdirectedRead(_) | FaultKind::MisdirectedWrite(_)
        );
        if let Some(by) = by.as_ref().filter(|_| !is_astray) {
            return Err(by.place.refuse(format!("{word} does not lead astray")));
        }
        if let Some(delay) = delay.as_ref().filter(|_| !is_slow(kind)) {
            return Err(delay.place.refuse(format!("{word} is not late")));
        }
        // To the neighbour after next, unless it is said: the next one often goes with the same request.
        let by = by.map_or(2 * self.page.bytes_u64(), |by| by.value);
        Ok(match kind {
            FaultKind::MisdirectedRead(_) => FaultKind::MisdirectedRead(by),
            FaultKind::MisdirectedWrite(_) => FaultKind::MisdirectedWrite(by),
            FaultKind::Slow(_) => {
                let delay = delay.ok_or_else(|| self.section.lacks("delay", "delay = \"500ms\""));
                FaultKind::Slow(delay?.value)
            }
            kind => kind,
        })
    }

    fn only(&mut self, kind: FaultKind) -> Result<Option<Direction>, Refusal> {
        let read = self
            .section
            .read("only", |node| section::choice(node, &DIRECTIONS))?;
        let strikes_both = matches!(
            kind,
            FaultKind::DeviceError | FaultKind::Stuck | FaultKind::Slow(_)
        );
        match read {
            Some(at) if !strikes_both => Err(at.place.refuse(format!(
                "{} can strike nothing else, or needs both",
                word(kind)
            ))),
            read => Ok(read.map(|only| only.value)),
        }
    }

    /// The file, and whether it is a database.
    fn file(&mut self) -> Result<(String, bool), Refusal> {
        let Some(file) = self.section.read("file", section::text)? else {
            return Err(self.section.lacks("file", "file = \"one.edb\""));
        };
        let pattern = Fault::new(FaultKind::Lost, file.value.as_str(), 0..0);
        let databases = || self.instances.iter().flat_map(|i| &i.databases);
        let is_database = databases().any(|database| pattern.is_in(&database.path.value));
        let is_beside = databases().any(|d| pattern.is_in(&path_beside(&d.path.value)));
        let is_log = self.instances.iter().any(|instance| {
            let names = ["edb.log", "edb.chk", "edb00001.log"];
            let own = |name: &&str| pattern.is_in(&instance.log.value.join(name));
            names.iter().any(own)
        });
        if file.value.is_empty() || !(is_database || is_beside || is_log) {
            let refusal = file.place.refuse("names no file of this scenario");
            let first = &self.instances[0].databases[0].path.value;
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
        let page = self
            .section
            .read("page", |node| section::integer(node, 1..=(1 << 31) - 1))?;
        let offset = self.section.read("offset", |node| whole(node, 0))?;
        let length = self
            .section
            .read("length", |node| whole(node, PLACE_UNIT))?;
        let piece = match is_database {
            true => size.bytes_u64(),
            false => LOG_PIECE,
        };
        let width = length.as_ref().map_or(piece, |length| length.value);
        let spoken = page.as_ref().map(|page| &page.place);
        let spoken = spoken.or(offset.as_ref().map(|offset| &offset.place));
        let spoken = spoken.or(length.as_ref().map(|length| &length.place));
        if let (FaultKind::DroppedSync, Some(place)) = (kind, spoken) {
            return Err(place.refuse("a sync is of a whole file"));
        }
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

fn is_slow(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Slow(_))
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
pub(super) fn write(faults: &[Fault], out: &mut String) -> std::fmt::Result {
    for fault in faults {
        writeln!(out, "\n[[faults]]\nkind = {}", quoted(word(fault.kind)))?;
        writeln!(out, "file = {}", quoted(&fault.file.to_string_lossy()))?;
        let bytes = |bytes| size(ByteSize::bytes(bytes));
        match (fault.settles, fault.kind) {
            (Some(width), _) => writeln!(out, "length = {}", bytes(width))?,
            (None, _) if fault.bytes.end == u64::MAX => {}
            (None, _) => {
                let length = fault.bytes.end - fault.bytes.start;
                writeln!(out, "offset = {}", bytes(fault.bytes.start))?;
                writeln!(out, "length = {}", bytes(length))?;
            }
        }
        writeln!(out, "after = {}", fault.after)?;
        if fault.times < u64::MAX {
            writeln!(out, "times = {}", fault.times)?;
        }
        if let Some(only) = fault.only {
            writeln!(out, "only = {}", format::word(&DIRECTIONS, only))?;
        }
        match fault.kind {
            FaultKind::MisdirectedRead(by) | FaultKind::MisdirectedWrite(by) => {
                writeln!(out, "by = {}", bytes(by))?;
            }
            FaultKind::Slow(delay) => writeln!(out, "delay = {}", span(delay))?,
            _ => {}
        }
    }
    Ok(())
}

/// The word of a kind, whatever value it carries.
fn word(kind: FaultKind) -> &'static str {
    let same = |other: FaultKind| std::mem::discriminant(&other) == std::mem::discriminant(&kind);
    let found = KINDS.iter().find(|(_, other)| same(*other));
    found.expect("every kind has a word").0
}
