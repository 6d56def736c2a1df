//! `[[load]]`: random, sequential, or a trace.

use std::path::PathBuf;

use brunt_array::load::{Access, Pace, Stream};
use brunt_array::{Incident, Scheduled, SystemDesign, Verb};
use brunt_units::ByteSize;

use super::super::files::Files;
use super::super::format::bare_word;
use super::super::keys::{At, Maybe, PATH, PERCENT, SIZE, TEXT, Whole, Word, keys, list, number};
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::{groups, trace};

keys! {
    /// Load while it is read.
    pub(crate) struct Said; LOAD = "[[load]]";
    /// What is read and written.
    kind: Kind = Kind::Random, Word(&KINDS), needs "kind = \"random\"";
    /// Random load is on these LUNs.
    luns: Option<Vec<String>> = None, Maybe(list(read_luns, "list of LUNs")), "all of them";
    /// Sequential load is on this one.
    lun: Option<Placed<String>> = None, Maybe(At(TEXT)), "the only LUN";
    /// A request.
    size: Option<ByteSize> = None, Maybe(SIZE), "has to be there but for a trace";
    /// Reads among random requests.
    read_percent: u32 = 100, PERCENT, "100";
    /// What sequential requests do.
    verb: Verb = Verb::Read, Word(&VERBS), "`\"read\"`";
    /// Requests at a time.
    outstanding: Option<u32> = None, Maybe(Whole(1..=OUTSTANDING_MAX)), "by `rate_per_s`";
    /// Requests a second, at random times.
    rate_per_s: Option<f64> = None, Maybe(number(section::positive, "number above 0")), "by `outstanding`";
    /// The trace: time_s, lun, offset_bytes, length_bytes, read or write.
    file: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "has to be there for a trace";
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Random,
    Sequential,
    Trace,
}

static KINDS: [(&str, Kind); 3] =
    [("random", Kind::Random), ("sequential", Kind::Sequential), ("trace", Kind::Trace)];
static VERBS: [(&str, Verb); 2] = [("read", Verb::Read), ("write", Verb::Write)];
const OUTSTANDING_MAX: u64 = 100_000;
const SIZE_MAX: u64 = 64 << 20;

/// LUNs that load can be on.
pub(super) struct Luns<'a> {
    names: Vec<&'a str>,
    /// Bytes that each will ever have; nothing where that is known later.
    sizes: Vec<Option<ByteSize>>,
}

impl<'a> Luns<'a> {
    /// Those of `design`, to which `incidents` happen.
    pub(super) fn of(design: &'a SystemDesign, incidents: &[Scheduled]) -> Self {
        let names = design.lun_names();
        let mut sizes = written_sizes(design);
        // Clones come after the LUNs that are written.
        sizes.resize(names.len(), None);
        for one in incidents {
            if let Incident::LunGrows(lun, _) = one.incident {
                sizes[lun as usize] = None;
            }
        }
        Self { names, sizes }
    }
}

fn written_sizes(design: &SystemDesign) -> Vec<Option<ByteSize>> {
    let known = |size: ByteSize| Some(size).filter(|size| size.get() > 0);
    match design {
        SystemDesign::One(design) => design.luns.iter().map(|lun| known(lun.size)).collect(),
        SystemDesign::Paged(design) => design.luns.iter().map(|lun| known(lun.size)).collect(),
        SystemDesign::Pair(design) => written_sizes(&design.source),
        SystemDesign::Sites(design) => {
            let luns = design.source.luns.iter();
            luns.map(|lun| known(lun.size)).collect()
        }
    }
}

pub(super) fn read(top: &mut Section, luns: &Luns<'_>, files: &Files) -> Vec<Stream> {
    let nodes = top.tables("load");
    if nodes.is_empty() {
        let example = "[[load]] with kind = \"random\", size = \"8 KiB\" and outstanding = 16";
        top.refuse(top.lacks("load", example));
    }
    let streams = nodes.into_iter().map(|node| read_stream(node, luns, files));
    streams.filter_map(|stream| top.sink().catch(stream)).collect()
}

fn read_stream(node: Node, all: &Luns<'_>, files: &Files) -> Result<Stream, Refusal> {
    let mut said = Said::default();
    let section = LOAD.read(node, &mut said);
    let (access, own): (_, &[&str]) = match said.kind {
        Kind::Random => (random(&section, &said, all)?, &["luns", "read_percent"]),
        Kind::Sequential => (sequential(&section, &said, all)?, &["lun", "verb"]),
        Kind::Trace => (traced(&section, &said, all, files)?, &["file"]),
    };
    let pace = match said.kind {
        Kind::Trace => Pace::Traced,
        Kind::Random | Kind::Sequential => pace(&section, &said)?,
    };
    let of_all: &[&str] = match said.kind {
        Kind::Trace => &["kind"],
        Kind::Random | Kind::Sequential => &["kind", "size", "outstanding", "rate_per_s"],
    };
    let mut others = LOAD.names().into_iter().filter(|key| section.written(key));
    match others.find(|key| !own.contains(key) && !of_all.contains(key)) {
        Some(key) => {
            let kind = bare_word(&KINDS, said.kind);
            let what = format!("`{key}` is not for kind = \"{kind}\"");
            Err(section.place_of(key).refuse(what))
        }
        None => Ok(Stream { access, pace }),
    }
}

fn lun(name: &str, place: &Place, names: &[&str]) -> Result<u32, Refusal> {
    let number = groups::find_name(name, place, names, "LUN")?;
    Ok(u32::try_from(number).expect("few LUNs"))
}

/// Names of LUNs, at least one.
fn read_luns(node: &Node) -> Result<Vec<String>, Refusal> {
    match &node.value {
        Value::List(nodes) if !nodes.is_empty() => nodes.iter().map(section::text).collect(),
        _ => Err(node.place.refuse("is not a list of LUNs").hint("for example [\"data\"]")),
    }
}

/// Sectors of a request, which fit on at least one LUN of `sizes`.
fn sectors(section: &Section, said: &Said, sizes: &[Option<ByteSize>]) -> Result<u64, Refusal> {
    let Some(size) = said.size else {
        return Err(section.lacks("size", "size = \"8 KiB\""));
    };
    let refuse = |what: String| Err(section.place_of("size").refuse(what));
    let bytes = size.get();
    if bytes == 0 || !bytes.is_multiple_of(512) || bytes > SIZE_MAX {
        let most = ByteSize::bytes(SIZE_MAX);
        return refuse(format!("is not a multiple of 512 bytes up to {most}"));
    }
    let largest = sizes.iter().copied().collect::<Option<Vec<_>>>();
    match largest.and_then(|sizes| sizes.into_iter().max()) {
        Some(largest) if largest < size => refuse(format!("does not fit on a LUN of {largest}")),
        _ => Ok(bytes.div_euclid(512)),
    }
}

fn random(section: &Section, said: &Said, all: &Luns<'_>) -> Result<Access, Refusal> {
    let place = section.place_of("luns");
    let luns = match &said.luns {
        Some(luns) => {
            luns.iter().map(|name| lun(name, place, &all.names)).collect::<Result<_, _>>()?
        }
        None => (0..).take(all.names.len()).collect::<Vec<u32>>(),
    };
    let sizes: Vec<_> = luns.iter().map(|lun| all.sizes[*lun as usize]).collect();
    let sectors = sectors(section, said, &sizes)?;
    Ok(Access::Random { luns, read_percent: said.read_percent, sectors })
}

fn sequential(section: &Section, said: &Said, all: &Luns<'_>) -> Result<Access, Refusal> {
    let lun = match (&said.lun, &all.names[..]) {
        (Some(Placed { value, place }), names) => lun(value, place, names)?,
        (None, [_]) => 0,
        (None, [first, ..]) => {
            return Err(section.lacks("lun", &format!("lun = \"{first}\"")));
        }
        (None, []) => unreachable!("an array has a LUN"),
    };
    let sectors = sectors(section, said, &[all.sizes[lun as usize]])?;
    Ok(Access::Sequential { lun, verb: said.verb, sectors })
}

fn traced(
    section: &Section,
    said: &Said,
    all: &Luns<'_>,
    files: &Files,
) -> Result<Access, Refusal> {
    let file = said.file.as_ref().ok_or_else(|| section.lacks("file", "file = \"trace.csv\""))?;
    Ok(Access::Trace(trace::read(file, files, &all.names)?.into()))
}

fn pace(section: &Section, said: &Said) -> Result<Pace, Refusal> {
    match (said.outstanding, said.rate_per_s) {
        (Some(count), None) => Ok(Pace::Outstanding(count)),
        (None, Some(rate)) => Ok(Pace::Rate(rate)),
        (Some(_), Some(_)) => Err(section
            .place_of("rate_per_s")
            .refuse("load has `outstanding` requests or comes at a `rate_per_s`, not both")),
        (None, None) => Err(section.lacks("outstanding", "outstanding = 16")),
    }
}
