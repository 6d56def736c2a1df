//! Raw load: a modelled array, what it is asked to do, and scheduled events.
//!
//! ```toml
//! [simulate]                          how long
//! [array]                             [[array.drives]] [[array.group]] [[array.lun]]
//!                                     [array.front] [array.controller] [array.cache] [array.tier] [array.scan] [array.pages]
//! [replication] [link] [replica]      a second array at another site
//! [[replicate]] [link] [partner]      a second pool at another site, with replicas of LUNs in pages
//! [[load]]                            random, sequential, or a trace
//! [[event]]                           what happens when
//! ```
//!
//! Drives are numbered in the order in which they are written, from 0. Groups take them in that
//! order, then the solid-state tier, then the spares.

mod drives;
mod front;
mod groups;
mod load;
mod pages;
mod pair;
mod replicas;
mod tier;
mod trace;

use std::path::Path;

use brunt_array::load::Simulation;
use brunt_array::{Array, ArrayDesign, DesignError, SystemDesign};
use brunt_units::Span;
use brunt_world::random::Streams;

use super::document::Top;
use super::events::{Events, read_incidents};
use super::keys::Table;
use super::place::Refusal;
use super::section::{self, Section, above_zero};
use super::tree::Node;

/// Tables of an array whose keys are declared.
pub(super) static TABLES: [&Table; 4] =
    [&front::FRONT, &front::CONTROLLER, &front::CACHE, &front::SCAN];

/// What a scenario without an array lacks.
pub(super) const EXAMPLE: &str = "[array] with [[array.drives]] and [[array.group]]";
#[cfg(test)]
pub(super) use drives::KEYS as DRIVE_KEYS;
#[cfg(test)]
pub(super) use groups::GROUP_KEYS;
pub(super) use groups::find;
#[cfg(test)]
pub(super) use pages::KEYS as PAGES_KEYS;
#[cfg(test)]
pub(super) use pair::{KEYS as REPLICATION_KEYS, LINK_KEYS};
pub(super) use pair::{read_bandwidth, read_per_million, read_round_trip};
pub(super) use replicas::read_luns;
#[cfg(test)]
pub(super) use tier::KEYS as TIER_KEYS;

const SIMULATE_KEYS: [&str; 4] = ["duration", "warm_up", "interval", "seed"];
pub(super) const ARRAY_KEYS: [&str; 11] = [
    "drives",
    "queue",
    "wait_max",
    "group",
    "spares",
    "lun",
    "front",
    "controller",
    "cache",
    "scan",
    "tier",
];
/// The largest number of TOML.
const SEED_MAX: u64 = i64::MAX.unsigned_abs();
/// More rows would not be read.
const INTERVALS_MAX: u64 = 10_000;

/// A scenario of `brunt simulate`.
#[derive(Clone)]
pub struct ArrayScenario {
    /// What it is called.
    pub name: String,
    /// Free text.
    pub description: String,
    /// What is simulated.
    pub simulation: Simulation,
}

impl ArrayScenario {
    /// Reads the sections of raw load. Model and trace files are looked for in `folder`.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong.
    pub(super) fn read(top: Top, folder: &Path) -> Result<Self, Refusal> {
        let Top { name, description, sections: mut top, .. } = top;
        let times = Times::read(&mut top)?;
        let Some(node) = top.take("array") else {
            return Err(top.lacks("array", EXAMPLE));
        };
        let design = read_system(&mut array_section(node, &["pages"])?, folder)?;
        let mut design = read_sites(&mut top, design, folder)?;
        let events = Events::take(&mut top)?.of_arrays()?;
        // Load may be on clones, which events make.
        let end = times.warm_up + times.duration;
        let incidents = read_incidents(events, &mut design, Some(end))?;
        let luns = load::Luns::of(&design, &incidents);
        let streams = load::read(&mut top, &luns, folder)?;
        let simulation = Simulation {
            design,
            streams,
            incidents,
            warm_up: times.warm_up,
            duration: times.duration,
            interval: times.interval,
            seed: times.seed,
        };
        Ok(Self { name, description, simulation })
    }
}

struct Times {
    duration: Span,
    warm_up: Span,
    interval: Span,
    seed: u64,
}

impl Times {
    fn read(top: &mut Section) -> Result<Self, Refusal> {
        let Some(node) = top.take("simulate") else {
            return Err(top.lacks("simulate", "[simulate] with duration = \"60s\""));
        };
        let mut section = Section::new(node, "[simulate]", &SIMULATE_KEYS)?;
        let duration = section.read("duration", above_zero)?;
        let duration = duration.ok_or_else(|| section.lacks("duration", "duration = \"60s\""))?;
        let warm_up = section.read_or("warm_up", Span::ZERO, section::span)?.value;
        let tenth = Span(duration.value.0.div_ceil(10));
        let interval = section.read_or("interval", tenth, above_zero)?;
        if duration.value.0.div_ceil(interval.value.0) > INTERVALS_MAX {
            let what = format!("makes more than {INTERVALS_MAX} intervals");
            return Err(interval.place.refuse(what));
        }
        let seed = section.read_or("seed", 1, |node| section::integer(node, 0..=SEED_MAX))?;
        Ok(Self { duration: duration.value, warm_up, interval: interval.value, seed: seed.value })
    }
}

/// The table of an array, which may have `more` keys than its own.
pub(super) fn array_section(node: Node, more: &[&str]) -> Result<Section, Refusal> {
    let keys: Vec<&str> = ARRAY_KEYS.iter().chain(more).copied().collect();
    Section::new(node, "[array]", &keys)
}

/// What the table of an array describes: one, or several under one map of pages.
pub(super) fn read_system(section: &mut Section, folder: &Path) -> Result<SystemDesign, Refusal> {
    pages::read(section, folder)
}

/// Adds the other site, if there is one.
pub(super) fn read_sites(
    top: &mut Section,
    source: SystemDesign,
    folder: &Path,
) -> Result<SystemDesign, Refusal> {
    let design = replicas::read(top, source, folder)?;
    pair::read(top, design, folder)
}

/// The array that a table describes, whatever is made of it.
fn read_array(section: &mut Section, folder: &Path) -> Result<ArrayDesign, Refusal> {
    let place = section.place().clone();
    let drives = drives::read(section, folder)?;
    let policy = drives::read_policy(section)?;
    let controller = front::read_controller(section)?;
    let parts = groups::read(section, &drives, controller.count)?;
    let design = ArrayDesign {
        drives,
        policy,
        groups: parts.groups,
        spares: parts.spares,
        luns: parts.luns,
        front: front::read_front(section)?,
        controller,
        cache: front::read_cache(section)?,
        scan: front::read_scan(section)?,
        tier: parts.tier,
    };
    // Built once to see whether it can be; places are those of the part that cannot.
    if let Err(error) = Array::new(&design, Streams::new(1)) {
        let blamed = match &error {
            DesignError::Lun { lun, .. } | DesignError::NoGroup(lun) => parts.lun_places.get(lun),
            DesignError::Tier(_) => parts.tier_place.as_ref(),
            DesignError::TooSmall(group) => parts.group_places.get(group),
            _ => None,
        };
        return Err(blamed.unwrap_or(&place).refuse(error.to_string()));
    }
    Ok(design)
}

/// Reads of an array what its drives do not decide, only to refuse what is wrong.
pub(super) fn read_front_tables(node: Node) -> Result<(), Refusal> {
    let section = &mut array_section(node, &[])?;
    drives::read_policy(section)?;
    front::read_front(section)?;
    front::read_controller(section)?;
    front::read_cache(section)?;
    front::read_scan(section)?;
    Ok(())
}

/// The tables of the list `key`; none without the key.
fn tables(section: &mut Section, key: &str) -> Result<Vec<Node>, Refusal> {
    let node = section.take(key);
    node.map_or(Ok(Vec::new()), |node| section::tables(node, key))
}

#[cfg(test)]
mod pair_tests;
#[cfg(test)]
mod template;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod volumes_tests;
