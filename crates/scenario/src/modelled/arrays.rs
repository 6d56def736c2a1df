//! `[array]`, or `[[array]]` when there are several, and their events.

use std::collections::BTreeMap;
use std::path::Path;

use brunt_array::{Scheduled, SystemDesign};
use brunt_units::Span;

use super::super::arrays;
use super::super::events::{self, Entry, Written};
use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};

#[derive(Clone)]
pub struct ArrayPlan {
    /// What it is called; no two have the same name.
    pub name: String,
    /// What it is made of: an array, or several under one map of pages.
    pub design: SystemDesign,
    /// Its scheduled events; times count from the start of the simulation.
    pub incidents: Vec<Scheduled>,
}

/// Keys of an array here, besides its own.
const OWN_KEYS: [&str; 2] = ["name", "pages"];

/// The arrays, and their events; none comes after `end`.
pub(super) fn read(
    node: Node,
    storage: &mut Section,
    events: Vec<Entry>,
    end: Option<Span>,
    folder: &Path,
) -> Result<(Vec<ArrayPlan>, Vec<Written>), Refusal> {
    let place = node.place.clone();
    let nodes = match node.value {
        Value::List(nodes) => nodes,
        _ => vec![node],
    };
    if nodes.is_empty() {
        return Err(place
            .refuse("names no array")
            .hint(format!("for example: {}", arrays::EXAMPLE)));
    }
    let mut plans: Vec<ArrayPlan> = Vec::new();
    let several = nodes.len() > 1;
    for (number, node) in (1..).zip(nodes) {
        plans.push(read_one(node, number, several, folder)?);
    }
    if let [plan] = plans.as_mut_slice() {
        plan.design = arrays::read_sites(storage, plan.design.clone(), folder)?;
    } else if let Some(node) = storage.take("replication") {
        let what = "is for a single array, and there are several";
        return Err(node.place.refuse(what));
    }
    check_names(&plans, &place)?;
    let mut own: Vec<Vec<Entry>> = plans.iter().map(|_| Vec::new()).collect();
    for mut event in events {
        let array = array_of(&mut event, &plans)?;
        own[array].push(event);
    }
    let mut written = Vec::new();
    for (plan, events) in plans.iter_mut().zip(own) {
        for event in &events {
            event.check_under_test()?;
            written.push(event.written(several.then_some(&plan.name)));
        }
        plan.incidents = events::read_incidents(events, &mut plan.design, end)?;
    }
    Ok((plans, written))
}

/// The array that `event` names; the only one without a name.
fn array_of(event: &mut Entry, plans: &[ArrayPlan]) -> Result<usize, Refusal> {
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    match (event.take_array(), names.as_slice()) {
        (Some(node), _) => arrays::find(&node, &names, "array"),
        (None, [_]) => Ok(0),
        (None, names) => Err(event
            .place()
            .refuse("on which array?")
            .hint(format!("for example: array = \"{}\"", names[0]))),
    }
}

fn read_one(node: Node, number: u32, several: bool, folder: &Path) -> Result<ArrayPlan, Refusal> {
    let mut section = arrays::array_section(node, &OWN_KEYS)?;
    let usual = match several {
        true => format!("array {number}"),
        false => "array".to_owned(),
    };
    Ok(ArrayPlan {
        name: section.read_or("name", usual, section::text)?.value,
        design: arrays::read_system(&mut section, folder)?,
        incidents: Vec::new(),
    })
}

/// Volumes name LUNs, so no two of them may be called the same, on whatever array.
fn check_names(plans: &[ArrayPlan], place: &Place) -> Result<(), Refusal> {
    let mut luns = BTreeMap::<&str, &str>::new();
    let mut names: Vec<&str> = Vec::new();
    for plan in plans {
        if names.contains(&plan.name.as_str()) {
            return Err(place.refuse(format!("there are two arrays called \"{}\"", plan.name)));
        }
        names.push(&plan.name);
        for lun in plan.design.lun_names() {
            if let Some(other) = luns.insert(lun, &plan.name) {
                let what = format!(
                    "LUN \"{lun}\" is there twice, on \"{other}\" and on \"{}\"",
                    plan.name
                );
                return Err(place.refuse(what));
            }
        }
    }
    Ok(())
}
