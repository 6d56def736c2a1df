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
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use brunt_array::{
    ArrayDesign, BalanceDesign, PagedArray, PagedDesign, PagedError, PagedLunDesign, SystemDesign,
};
use brunt_units::ByteSize;
use brunt_world::random::Streams;

use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::{above_zero, read_array, tables};

pub(super) const KEYS: [&str; 8] = [
    "members",
    "later",
    "size",
    "grain",
    "balance_every",
    "balance_gap",
    "balance_pages",
    "balance_unit",
];
pub(super) const LUN_KEYS: [&str; 3] = ["name", "size", "thin"];

/// One array, or several under one map.
pub(super) fn read(array: &mut Section, folder: &Path) -> Result<SystemDesign, Refusal> {
    let Some(node) = array.take("pages") else {
        return Ok(read_array(array, folder)?.into());
    };
    let mut pages = Section::new(node, "[array.pages]", &KEYS)?;
    let own = pages.place().clone();
    let (luns, places) = read_luns(array)?;
    let member = read_array(array, folder)?;
    if member.groups.len() != 1 {
        let what = format!(
            "lie on one group of a member, and there are {}",
            member.groups.len()
        );
        return Err(own.refuse(what));
    }
    let design = read_pages(&mut pages, member, luns)?;
    match PagedArray::new(&design, Streams::new(1)) {
        Ok(_) => Ok(design.into()),
        Err(error) => {
            let blamed = match &error {
                PagedError::Lun { lun, .. } => places.get(lun),
                _ => None,
            };
            Err(blamed.unwrap_or(&own).refuse(error.to_string()))
        }
    }
}

fn read_pages(
    section: &mut Section,
    member: ArrayDesign,
    luns: Vec<PagedLunDesign>,
) -> Result<PagedDesign, Refusal> {
    let members = section.read_or("members", 1, |node| section::integer(node, 1..=64))?;
    let later = section.read_or("later", 0, |node| section::integer(node, 0..=64))?;
    if later.value >= members.value {
        let what = format!("leaves none of {} members to begin with", members.value);
        return Err(later.place.refuse(what));
    }
    let count = usize::try_from(members.value).expect("in range");
    let later = usize::try_from(later.value).expect("in range");
    let grain = section.read_or("grain", ByteSize::kib(64), section::size)?;
    Ok(PagedDesign {
        members: vec![member; count],
        later: (count - later..count).collect(),
        page: section
            .read_or("size", ByteSize::mib(15), section::size)?
            .value,
        grain: grain.value,
        luns,
        balance: read_balance(section, count, grain.value)?,
    })
}

fn read_balance(
    section: &mut Section,
    members: usize,
    grain: ByteSize,
) -> Result<Option<BalanceDesign>, Refusal> {
    let usual = BalanceDesign::default();
    let Some(every) = section.read("balance_every", above_zero)? else {
        for key in ["balance_gap", "balance_pages", "balance_unit"] {
            if let Some(node) = section.take(key) {
                return Err(node
                    .place
                    .refuse("is for balancing, which needs `balance_every`"));
            }
        }
        return Ok(None);
    };
    if members < 2 {
        return Err(every
            .place
            .refuse("compares members, and there is only one"));
    }
    let pages = section.read_or("balance_pages", u64::from(usual.pages), |node| {
        section::integer(node, 1..=10_000)
    })?;
    let unit = section.read_or("balance_unit", usual.unit, section::size)?;
    if unit.value < grain {
        let what = format!("is less than a grain of {grain}, and nothing smaller is copied");
        return Err(unit.place.refuse(what));
    }
    Ok(Some(BalanceDesign {
        every: every.value,
        gap: section
            .read_or("balance_gap", usual.gap, section::span)?
            .value,
        pages: u32::try_from(pages.value).expect("in range"),
        unit: unit.value,
    }))
}

type Luns = (Vec<PagedLunDesign>, BTreeMap<String, Place>);

fn read_luns(array: &mut Section) -> Result<Luns, Refusal> {
    let (mut luns, mut places) = (Vec::new(), BTreeMap::new());
    for node in tables(array, "lun")? {
        let (lun, place) = read_lun(node, luns.len())?;
        if places.insert(lun.name.clone(), place.clone()).is_some() {
            return Err(place.refuse(format!("there are two LUNs called \"{}\"", lun.name)));
        }
        luns.push(lun);
    }
    if luns.is_empty() {
        return Err(array.lacks("lun", "[[array.lun]] with size = \"500 GB\""));
    }
    Ok((luns, places))
}

fn read_lun(node: Node, index: usize) -> Result<(PagedLunDesign, Place), Refusal> {
    let mut section = Section::new(node, "[[array.lun]]", &LUN_KEYS)?;
    let name = section
        .read_or("name", format!("lun {index}"), section::text)?
        .value;
    let size = section.read("size", section::size)?;
    let size = size.ok_or_else(|| section.lacks("size", "size = \"500 GB\""))?;
    if size.value.get() == 0 {
        return Err(size.place.refuse("is nothing"));
    }
    let is_thin = section.read_or("thin", false, section::switch)?.value;
    let lun = PagedLunDesign {
        name,
        size: size.value,
        is_thin,
    };
    Ok((lun, size.place))
}
