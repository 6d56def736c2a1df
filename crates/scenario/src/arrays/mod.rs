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

use brunt_array::drive::{Order, Policy, library};
use brunt_array::load::Simulation;
use brunt_array::{Array, ArrayDesign, DesignError, Level, SystemDesign};
use brunt_units::Span;
use brunt_world::random::Streams;

use super::events::{Events, read_incidents};
use super::files::Files;
use super::keys::{ABOVE_ZERO, Page, SEED, TIME, Whole, Word, keys, time};
use super::place::Refusal;
use super::section::{Section, above_zero};
use super::top::Top;
use super::tree::Node;

/// Tables of arrays whose keys are declared.
pub(super) static TABLES: [&dyn Page; 17] = [
    &SIMULATE,
    &ARRAY,
    &drives::DRIVES,
    &groups::GROUP,
    &groups::LUN,
    &front::FRONT,
    &front::CONTROLLER,
    &front::CACHE,
    &front::SCAN,
    &tier::TIER,
    &pages::PAGES,
    &pages::LUN,
    &pair::LINK,
    &pair::REPLICATION,
    &pair::GROUP,
    &replicas::REPLICATE,
    &load::LOAD,
];

/// What a scenario without an array lacks.
pub(super) const EXAMPLE: &str = "[array] with [[array.drives]] and [[array.group]]";
use drives::DRIVES_MAX;
pub(super) use groups::find;
pub(super) use replicas::read_luns;

keys! {
    /// What an array says itself.
    pub(crate) struct Own; ARRAY = "[array]";
    /// The order in the queue of a drive: shortest positioning time first, by place, or as they came.
    queue: Order = ORDERS[0].1, Word(&ORDERS), "`\"sptf\"`";
    /// A request that has waited this long goes first.
    wait_max: Span = Span::millis(500), time(above_zero, "time above 0"), "`\"500ms\"`";
    /// Drives that take over for failed ones: the last ones.
    spares: usize = 0, Whole(0..=DRIVES_MAX), "0";
}

static ORDERS: [(&str, Order); 3] =
    [("sptf", Order::Sptf), ("elevator", Order::Elevator), ("fcfs", Order::Fcfs)];
/// Tables of an array.
const PARTS: [&str; 8] = ["drives", "group", "lun", "front", "controller", "cache", "scan", "tier"];
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
    /// Reads the sections of raw load. Model and trace files are read from `files`.
    pub(super) fn read(top: Top, files: &Files) -> Self {
        let Top { name, description, sections: mut top, .. } = top;
        let times = Times::read(&mut top);
        let node = top.needed("array", EXAMPLE);
        let mut design = read_system(&mut array_section(node, &["pages"]), files);
        design = read_sites(&mut top, design, files);
        let events = Events::take(&mut top).of_arrays();
        // Load may be on clones, which events make.
        let end = times.warm_up + times.duration;
        let incidents = read_incidents(events, &mut design, Some(end));
        let luns = load::Luns::of(&design, &incidents);
        let streams = load::read(&mut top, &luns, files);
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

keys! {
    pub(crate) struct Times; SIMULATE = "[simulate]";
    /// How long is measured.
    duration: Span = Span::seconds(60), ABOVE_ZERO, needs "duration = \"60s\"";
    /// How long load runs before that.
    warm_up: Span = Span::ZERO, TIME, "0";
    /// What a row of the result is about.
    interval: Span = Span::seconds(60), ABOVE_ZERO, "a tenth of `duration`", |times| times.interval = Span(times.duration.0.div_ceil(10));
    /// The seed of all randomness.
    seed: u64 = 1, SEED, "1";
}

impl Times {
    fn read(top: &mut Section) -> Self {
        let mut times = Self::default();
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
    titled_section(node, "[array]", more)
}

/// The same under another name.
fn titled_section(node: Node, title: &str, more: &[&str]) -> Section {
    Section::new(node, title, &[&ARRAY.names(), &PARTS[..], more].concat())
}

/// What an array says itself.
fn read_own(section: &mut Section) -> Own {
    let mut own = Own::default();
    ARRAY.read_keys(section, &mut own);
    own
}

/// What the table of an array describes: one, or several under one map of pages. One drive stands
/// in for what cannot be built.
pub(super) fn read_system(section: &mut Section, files: &Files) -> SystemDesign {
    let design = pages::read(section, files);
    section.sink().catch(design).unwrap_or_else(|| {
        let model = library::names().find_map(library::find).expect("there are models");
        ArrayDesign::one_group(&model, 4, Level::Raid10).into()
    })
}

/// Adds the other site, if there is one.
pub(super) fn read_sites(top: &mut Section, source: SystemDesign, files: &Files) -> SystemDesign {
    let design = replicas::read(top, source.clone(), files);
    let design = design.and_then(|design| pair::read(top, design, files));
    top.sink().catch(design).unwrap_or(source)
}

/// The array that a table describes, whatever is made of it.
fn read_array(section: &mut Section, files: &Files) -> Result<ArrayDesign, Refusal> {
    let place = section.place().clone();
    let drives = drives::read(section, files)?;
    let own = read_own(section);
    let controller = front::read_controller(section);
    let (front, cache) = (front::read_front(section), front::read_cache(section));
    let scan = front::read_scan(section);
    let parts = groups::read(section, &drives, own.spares, controller.count)?;
    let design = ArrayDesign {
        drives,
        policy: Policy { order: own.queue, wait_max: own.wait_max },
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
    read_own(section);
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
