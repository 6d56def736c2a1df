//! `[array.pages]`: LUNs in pages over several arrays that are all like `[array]`.
//!
//! ```toml
//! [array.pages]
//! members = 3                # number of arrays like [array]; drives are counted on from one to the next
//! later = 1                  # of those, the last ones take part from an incident "member joins" on
//! size = "15 MiB"            # what is allocated and moved
//! grain = "64 KiB"           # what is redirected
//! balance_every = "5min"     # how often members are compared; without it, pages stay
//!
//! [[array.lun]]
//! name = "mail"
//! size = "2 TB"
//! thin = true
//! snapshot_reserve = 100     # set aside for its snapshots, in percent of its pages; without it, they have what is free
//! when_full = "delete oldest"
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use brunt_array::{
    ArrayDesign, BalanceDesign, PagedArray, PagedDesign, PagedError, PagedLunDesign, ReserveDesign,
    SystemDesign, WhenFull,
};
use brunt_units::ByteSize;
use brunt_world::random::Streams;

use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::{above_zero, read_array};

pub(crate) const KEYS: [&str; 8] = [
    "members",
    "later",
    "size",
    "grain",
    "balance_every",
    "balance_gap",
    "balance_pages",
    "balance_unit",
];
pub(super) const LUN_KEYS: [&str; 5] = ["name", "size", "thin", "snapshot_reserve", "when_full"];
const WHEN_FULL: [(&str, WhenFull); 3] = [
    ("delete oldest", WhenFull::DeleteOldest),
    ("offline", WhenFull::Offline),
    ("borrow", WhenFull::Borrow),
];

/// One array, or several under one map.
pub(super) fn read(array: &mut Section, folder: &Path) -> Result<SystemDesign, Refusal> {
    let Some(node) = array.take("pages") else {
        return Ok(read_array(array, folder)?.into());
    };
    let mut pages = Section::new(node, "[array.pages]", &KEYS);
    let own = pages.place().clone();
    let (luns, places) = read_luns(array)?;
    let member = read_member(array, folder, &own)?;
    let design = read_pages(&mut pages, member, luns)?;
    match PagedArray::new(&design, Streams::new(1)) {
        Ok(_) => Ok(design.into()),
        Err(error) => {
            let blamed = match &error {
                PagedError::Lun { lun, .. } | PagedError::Reserve { lun, .. } => places.get(lun),
                _ => None,
            };
            Err(blamed.unwrap_or(&own).refuse(error.to_string()))
        }
    }
}

/// A pool without LUNs; nothing without `pages`.
pub(super) fn read_pool(
    array: &mut Section,
    folder: &Path,
) -> Result<Option<PagedDesign>, Refusal> {
    let Some(node) = array.take("pages") else {
        return Ok(None);
    };
    let mut pages = Section::new(node, "[partner.pages]", &KEYS);
    let own = pages.place().clone();
    let member = read_member(array, folder, &own)?;
    read_pages(&mut pages, member, Vec::new()).map(Some)
}

fn read_member(array: &mut Section, folder: &Path, pages: &Place) -> Result<ArrayDesign, Refusal> {
    let member = read_array(array, folder)?;
    match member.groups.len() {
        1 => Ok(member),
        many => Err(pages.refuse(format!("lie on one group of a member, and there are {many}"))),
    }
}

fn read_pages(
    section: &mut Section,
    member: ArrayDesign,
    luns: Vec<PagedLunDesign>,
) -> Result<PagedDesign, Refusal> {
    let members = section.read_or("members", 1, |node| section::integer(node, 1..=64));
    let later = section.read_or("later", 0, |node| section::integer(node, 0..=64));
    if later.value >= members.value {
        let what = format!("leaves none of {} members to begin with", members.value);
        return Err(later.place.refuse(what));
    }
    let count = usize::try_from(members.value).expect("in range");
    let later = usize::try_from(later.value).expect("in range");
    let grain = section.read_or("grain", ByteSize::kib(64), section::size);
    Ok(PagedDesign {
        members: vec![member; count],
        later: (count - later..count).collect(),
        page: section.read_or("size", ByteSize::mib(15), section::size).value,
        grain: grain.value,
        luns,
        clones: Vec::new(),
        balance: read_balance(section, count, grain.value)?,
    })
}

fn read_balance(
    section: &mut Section,
    members: usize,
    grain: ByteSize,
) -> Result<Option<BalanceDesign>, Refusal> {
    let usual = BalanceDesign::default();
    let Some(every) = section.read("balance_every", above_zero) else {
        for key in ["balance_gap", "balance_pages", "balance_unit"] {
            if let Some(node) = section.take(key) {
                return Err(node.place.refuse("is for balancing, which needs `balance_every`"));
            }
        }
        return Ok(None);
    };
    if members < 2 {
        return Err(every.place.refuse("compares members, and there is only one"));
    }
    let pages = section.read_or("balance_pages", u64::from(usual.pages), |node| {
        section::integer(node, 1..=10_000)
    });
    let unit = section.read_or("balance_unit", usual.unit, section::size);
    if unit.value < grain {
        let what = format!("is less than a grain of {grain}, and nothing smaller is copied");
        return Err(unit.place.refuse(what));
    }
    Ok(Some(BalanceDesign {
        every: every.value,
        gap: section.read_or("balance_gap", usual.gap, section::span).value,
        pages: u32::try_from(pages.value).expect("in range"),
        unit: unit.value,
    }))
}

type Luns = (Vec<PagedLunDesign>, BTreeMap<String, Place>);

fn read_luns(array: &mut Section) -> Result<Luns, Refusal> {
    let (mut luns, mut places) = (Vec::new(), BTreeMap::new());
    for node in array.tables("lun") {
        let Some((lun, place)) = array.sink().catch(read_lun(node, luns.len())) else { continue };
        if places.insert(lun.name.clone(), place.clone()).is_some() {
            return Err(place.refuse(format!("there are two LUNs called \"{}\"", lun.name)));
        }
        luns.push(lun);
    }
    if !array.written("lun") {
        return Err(array.lacks("lun", "[[array.lun]] with size = \"500 GB\""));
    }
    if luns.is_empty() {
        return Err(Refusal::echo());
    }
    Ok((luns, places))
}

fn read_lun(node: Node, index: usize) -> Result<(PagedLunDesign, Place), Refusal> {
    let mut section = Section::new(node, "[[array.lun]]", &LUN_KEYS);
    let name = section.read_or("name", format!("lun {index}"), section::text).value;
    let size = section.need("size", "size = \"500 GB\"", section::size);
    if size.value.get() == 0 {
        return Err(size.place.refuse("is nothing"));
    }
    let is_thin = section.read_or("thin", false, section::switch).value;
    let lun =
        PagedLunDesign { name, size: size.value, is_thin, reserve: read_reserve(&mut section)? };
    Ok((lun, size.place))
}

/// The space for the snapshots of a LUN; without it, they have what is free.
fn read_reserve(section: &mut Section) -> Result<Option<ReserveDesign>, Refusal> {
    let percent = section.read("snapshot_reserve", |node| section::integer(node, 0..=10_000));
    let Some(percent) = percent else {
        return match section.read("when_full", |node| section::choice(node, &WHEN_FULL)) {
            Some(when_full) => Err(when_full
                .place
                .refuse("is for a reserve")
                .hint("for example: snapshot_reserve = 100")),
            None => Ok(None),
        };
    };
    let when_full = section.choice_or("when_full", WhenFull::default(), &WHEN_FULL);
    Ok(Some(ReserveDesign {
        percent: u32::try_from(percent.value).expect("in range"),
        when_full: when_full.value,
    }))
}
