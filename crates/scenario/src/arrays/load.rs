//! `[[load]]`: random, sequential, or a trace.

use std::path::Path;

use brunt_array::load::{Access, Pace, Stream};
use brunt_array::{Incident, Scheduled, SystemDesign, Verb};
use brunt_units::ByteSize;

use super::super::place::Refusal;
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::{groups, trace};

pub(super) const KEYS: [&str; 9] =
    ["kind", "lun", "luns", "size", "read_percent", "verb", "outstanding", "rate_per_s", "file"];
const KINDS: [&str; 3] = ["random", "sequential", "trace"];
const VERBS: [(&str, Verb); 2] = [("read", Verb::Read), ("write", Verb::Write)];
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

pub(super) fn read(top: &mut Section, luns: &Luns<'_>, folder: &Path) -> Vec<Stream> {
    let nodes = top.tables("load");
    if nodes.is_empty() {
        let example = "[[load]] with kind = \"random\", size = \"8 KiB\" and outstanding = 16";
        top.refuse(top.lacks("load", example));
    }
    let streams = nodes.into_iter().map(|node| read_stream(node, luns, folder));
    streams.filter_map(|stream| top.sink().catch(stream)).collect()
}

fn read_stream(node: Node, all: &Luns<'_>, folder: &Path) -> Result<Stream, Refusal> {
    let names = &all.names[..];
    let mut section = Section::new(node, "[[load]]", &KEYS);
    let kind = section.need("kind", "kind = \"random\"", |node| section::word(node, &KINDS));
    let (access, pace) = match KINDS[kind.value] {
        "random" => (random(&mut section, all)?, pace(&mut section)?),
        "sequential" => (sequential(&mut section, all)?, pace(&mut section)?),
        _ => {
            let entries = section.read_beside("file", |node| trace::read(node, folder, names));
            let entries = entries.ok_or_else(|| section.lacks("file", "file = \"trace.csv\""))?;
            (Access::Trace(entries.value.into()), Pace::Traced)
        }
    };
    // What is left was written for another kind.
    match KEYS.into_iter().find_map(|key| Some((key, section.take(key)?))) {
        Some((key, node)) => {
            let kind = KINDS[kind.value];
            Err(node.place.refuse(format!("`{key}` is not for kind = \"{kind}\"")))
        }
        None => Ok(Stream { access, pace }),
    }
}

fn lun(node: &Node, names: &[&str]) -> Result<u32, Refusal> {
    let number = groups::find(node, names, "LUN")?;
    Ok(u32::try_from(number).expect("few LUNs"))
}

/// Sectors of a request, which fit on at least one LUN of `sizes`.
fn sectors(section: &mut Section, sizes: &[Option<ByteSize>]) -> Result<u64, Refusal> {
    let size = section.need("size", "size = \"8 KiB\"", section::size);
    let bytes = size.value.get();
    if bytes == 0 || !bytes.is_multiple_of(512) || bytes > SIZE_MAX {
        let most = ByteSize::bytes(SIZE_MAX);
        return Err(size.place.refuse(format!("is not a multiple of 512 bytes up to {most}")));
    }
    let largest = sizes.iter().copied().collect::<Option<Vec<_>>>();
    if let Some(largest) = largest.and_then(|sizes| sizes.into_iter().max())
        && largest < size.value
    {
        let what = format!("does not fit on a LUN of {largest}");
        return Err(size.place.refuse(what));
    }
    Ok(bytes.div_euclid(512))
}

fn random(section: &mut Section, all: &Luns<'_>) -> Result<Access, Refusal> {
    let names = &all.names[..];
    let luns = section.read_beside("luns", |node| match &node.value {
        Value::List(nodes) if !nodes.is_empty() => {
            nodes.iter().map(|node| lun(node, names)).collect()
        }
        _ => Err(node.place.refuse("is not a list of LUNs").hint("for example [\"data\"]")),
    });
    let luns: Vec<u32> = luns.map_or_else(|| (0..).take(names.len()).collect(), |luns| luns.value);
    let sizes: Vec<_> = luns.iter().map(|lun| all.sizes[*lun as usize]).collect();
    let percent = section.read_or("read_percent", 100, |node| section::integer(node, 0..=100));
    Ok(Access::Random {
        luns,
        read_percent: u32::try_from(percent.value).expect("in range"),
        sectors: sectors(section, &sizes)?,
    })
}

fn sequential(section: &mut Section, all: &Luns<'_>) -> Result<Access, Refusal> {
    let names = &all.names[..];
    let lun = section.read_beside("lun", |node| lun(node, names));
    let lun: u32 = match (lun, names) {
        (Some(lun), _) => lun.value,
        (None, [_]) => 0,
        (None, [first, ..]) => {
            return Err(section.lacks("lun", &format!("lun = \"{first}\"")));
        }
        (None, []) => unreachable!("an array has a LUN"),
    };
    let verb = section.choice_or("verb", VERBS[0].1, &VERBS);
    Ok(Access::Sequential {
        lun,
        verb: verb.value,
        sectors: sectors(section, &[all.sizes[lun as usize]])?,
    })
}

fn pace(section: &mut Section) -> Result<Pace, Refusal> {
    let outstanding =
        section.read("outstanding", |node| section::integer(node, 1..=OUTSTANDING_MAX));
    let rate = section.read("rate_per_s", section::positive);
    match (outstanding, rate) {
        (Some(count), None) => Ok(Pace::Outstanding(u32::try_from(count.value).expect("in range"))),
        (None, Some(rate)) => Ok(Pace::Rate(rate.value)),
        (Some(_), Some(rate)) => Err(rate
            .place
            .refuse("load has `outstanding` requests or comes at a `rate_per_s`, not both")),
        (None, None) => Err(section.lacks("outstanding", "outstanding = 16")),
    }
}
