//! `[array.tier]`: solid-state drives as a second level of the read cache.
//!
//! ```toml
//! [array.tier]
//! drives = 1               # after those of the groups and before the spares
//! size = "100 GB"          # together; all of them without it
//! block = "64 KiB"         # what comes in and goes
//! admit_after = 2          # a block comes in after this number of misses by hosts
//! refresh = true           # whether pages that are destaged come in when their block is there
//! ```

use brunt_array::TierDesign;

use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};

pub(crate) const KEYS: [&str; 5] = ["drives", "size", "block", "admit_after", "refresh"];

/// The tier and where it stands; its drives begin with `next`, which is moved past them.
pub(super) fn read(
    array: &mut Section,
    next: &mut usize,
    drives: usize,
) -> Result<Option<(TierDesign, Place)>, Refusal> {
    let Some(node) = array.take("tier") else {
        return Ok(None);
    };
    let mut section = Section::new(node, "[array.tier]", &KEYS);
    let place = section.place().clone();
    let count = section.need("drives", "drives = 1", |node| section::integer(node, 1..=64));
    let wanted = usize::try_from(count.value).expect("in range");
    if wanted > drives - *next {
        let left = drives - *next;
        let what = format!("but only {left} of {drives} drives are in no group");
        return Err(count.place.refuse(what));
    }
    let own = *next..*next + wanted;
    *next += wanted;
    let number = |drive| u16::try_from(drive).expect("few drives");
    let usual = TierDesign::on(own.map(number).collect());
    let admit_after = section.read_or("admit_after", u64::from(usual.admit_after), |node| {
        section::integer(node, 1..=1000)
    });
    let design = TierDesign {
        size: section.read("size", section::size).map(|size| size.value),
        block: section.read_or("block", usual.block, section::size).value,
        admit_after: u32::try_from(admit_after.value).expect("in range"),
        refreshes: section.read_or("refresh", usual.refreshes, section::switch).value,
        drives: usual.drives,
    };
    Ok(Some((design, place)))
}
