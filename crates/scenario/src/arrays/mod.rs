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

use brunt_array::drive::library;
use brunt_array::load::Simulation;
use brunt_array::{Array, ArrayDesign, DesignError, Level, SystemDesign};
use brunt_units::Span;
use brunt_world::random::Streams;

use super::document::Top;
use super::events::{Events, read_incidents};
use super::keys::{ABOVE_ZERO, Page, SEED, TIME, keys};
use super::place::Refusal;
use super::section::{Section, above_zero};
use super::tree::Node;

/// Tables of arrays whose keys are declared.
pub(super) static TABLES: [&dyn Page; 10] = [
    &SIMULATE,
    &front::FRONT,
    &front::CONTROLLER,
    &front::CACHE,
    &front::SCAN,
    &tier::TIER,
    &pages::PAGES,
    &pages::LUN,
    &pair::LINK,
    &replicas::REPLICATE,
];

/// What a scenario without an array lacks.
pub(super) const EXAMPLE: &str = "[array] with [[array.drives]] and [[array.group]]";
#[cfg(test)]
pub(super) use drives::KEYS as DRIVE_KEYS;
#[cfg(test)]
pub(super) use groups::GROUP_KEYS;
pub(super) use groups::find;
#[cfg(test)]
pub(super) use pair::KEYS as REPLICATION_KEYS;
pub(super) use replicas::read_luns;

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
    pub(super) fn read(top: Top, folder: &Path) -> Self {
        let Top { name, description, sections: mut top, .. } = top;
        let times = Times::read(&mut top);
        let node = top.needed("array", EXAMPLE);
        let mut design = read_system(&mut array_section(node, &["pages"]), folder);
        design = read_sites(&mut top, design, folder);
        let events = Events::take(&mut top).of_arrays();
        // Load may be on clones, which events make.
        let end = times.warm_up + times.duration;
        let incidents = read_incidents(events, &mut design, Some(end));
        let luns = load::Luns::of(&design, &incidents);
        let streams = load::read(&mut top, &luns, folder);
        let simulation = Simulation {
            design,
            streams,
            incidents,
            warm_up: times.warm_up,
            duration: times.duration,
            interval: times.interval,
            seed: times.seed,
        };
        Self { name, description, simulation }
    }
}

pub(crate) struct Times {
    duration: Span,
    warm_up: Span,
    interval: Span,
    seed: u64,
}

keys! {
    SIMULATE of Times = "[simulate]";
    /// How long is measured.
    duration: Span = [duration], ABOVE_ZERO, needs "duration = \"60s\"";
    /// How long load runs before that.
    warm_up: Span = [warm_up], TIME, "0";
    /// What a row of the result is about.
    interval: Span = [interval], ABOVE_ZERO, "a tenth of `duration`", |times| times.interval = Span(times.duration.0.div_ceil(10));
    /// The seed of all randomness.
    seed: u64 = [seed], SEED, "1";
}

impl Times {
    fn read(top: &mut Section) -> Self {
        let minute = Span::seconds(60);
        let mut times = Self { duration: minute, warm_up: Span::ZERO, interval: minute, seed: 1 };
        let node = top.needed("simulate", "[simulate] with duration = \"60s\"");
        let section = SIMULATE.read(node, &mut times);
        if times.duration.0.div_ceil(times.interval.0) > INTERVALS_MAX {
            let what = format!("makes more than {INTERVALS_MAX} intervals");
            section.refuse(section.place_of("interval").refuse(what));
        }
        times
    }
}

/// The table of an array, which may have `more` keys than its own.
pub(super) fn array_section(node: Node, more: &[&str]) -> Section {
    let keys: Vec<&str> = ARRAY_KEYS.iter().chain(more).copied().collect();
    Section::new(node, "[array]", &keys)
}

/// What the table of an array describes: one, or several under one map of pages. One drive stands
/// in for what cannot be built.
pub(super) fn read_system(section: &mut Section, folder: &Path) -> SystemDesign {
    let design = pages::read(section, folder);
    section.sink().catch(design).unwrap_or_else(|| {
        let model = library::names().find_map(library::find).expect("there are models");
        ArrayDesign::one_group(&model, 4, Level::Raid10).into()
    })
}

/// Adds the other site, if there is one.
pub(super) fn read_sites(top: &mut Section, source: SystemDesign, folder: &Path) -> SystemDesign {
    let design = replicas::read(top, source.clone(), folder);
    let design = design.and_then(|design| pair::read(top, design, folder));
    top.sink().catch(design).unwrap_or(source)
}

/// The array that a table describes, whatever is made of it.
fn read_array(section: &mut Section, folder: &Path) -> Result<ArrayDesign, Refusal> {
    let place = section.place().clone();
    let drives = drives::read(section, folder)?;
    let policy = drives::read_policy(section);
    let controller = front::read_controller(section);
    let (front, cache) = (front::read_front(section), front::read_cache(section));
    let scan = front::read_scan(section);
    let parts = groups::read(section, &drives, controller.count)?;
    let design = ArrayDesign {
        drives,
        policy,
        groups: parts.groups,
        spares: parts.spares,
        luns: parts.luns,
        front,
        controller,
        cache,
        scan,
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
pub(super) fn read_front_tables(section: &mut Section) {
    drives::read_policy(section);
    front::read_front(section);
    front::read_controller(section);
    front::read_cache(section);
    front::read_scan(section);
}

#[cfg(test)]
mod pair_tests;
#[cfg(test)]
mod template;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod volumes_tests;
