//! `[array.tier]`: solid-state drives as a second level of the read cache.

use brunt_array::TierDesign;
use brunt_units::ByteSize;

use super::super::keys::{At, Maybe, SIZE, SWITCH, Whole, keys};
use super::super::place::{Place, Placed, Refusal};
use super::super::section::Section;

/// A tier while it is read.
pub(crate) struct Tier {
    drives: Placed<u32>,
    design: TierDesign,
}

keys! {
    TIER of Tier = "[array.tier]";
    /// Its drives, after those of the groups and before the spares.
    drives: Placed<u32> = [drives], At(Whole(1..=64)), needs "drives = 1";
    /// How much is used of them together.
    size: Option<ByteSize> = [design.size], Maybe(SIZE), "all of them";
    /// What comes in and goes.
    block: ByteSize = [design.block], SIZE, "`\"64 KiB\"`";
    /// A block comes in after this number of misses by hosts.
    admit_after: u32 = [design.admit_after], Whole(1..=1000), "2";
    /// Whether pages that are destaged come in when their block is there.
    refresh: bool = [design.refreshes], SWITCH, "`true`";
}

/// The tier and where it stands; its drives begin with `next`, which is moved past them.
pub(super) fn read(
    array: &mut Section,
    next: &mut usize,
    drives: usize,
) -> Result<Option<(TierDesign, Place)>, Refusal> {
    let Some(node) = array.take("tier") else {
        return Ok(None);
    };
    let one = Placed { value: 1, place: Place::unwritten() };
    let mut tier = Tier { drives: one, design: TierDesign::on(Vec::new()) };
    let section = TIER.read(node, &mut tier);
    let (wanted, left) = (tier.drives.value as usize, drives - *next);
    if wanted > left {
        let what = format!("but only {left} of {drives} drives are in no group");
        return Err(tier.drives.place.refuse(what));
    }
    let number = |drive| u16::try_from(drive).expect("few drives");
    tier.design.drives = (*next..*next + wanted).map(number).collect();
    *next += wanted;
    Ok(Some((tier.design, section.place().clone())))
}
