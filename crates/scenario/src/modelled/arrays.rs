//! `[array]`, or `[[array]]` when there are several, and their events.

use std::collections::BTreeMap;

use brunt_array::{Scheduled, SystemDesign};
use brunt_units::Span;

use super::super::arrays;
use super::super::events::{self, Entry, Written};
use super::super::files::Files;
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
    files: &Files,
) -> (Vec<ArrayPlan>, Vec<Written>) {
    let place = node.place.clone();
    let nodes = match node.value {
        Value::List(nodes) if nodes.is_empty() => {
            let refusal = place.refuse("names no array");
            storage.refuse(refusal.hint(format!("for example: {}", arrays::EXAMPLE)));
            Vec::new()
        }
        Value::List(nodes) => nodes,
        _ => vec![node],
    };
    let several = nodes.len() > 1;
    let plans = (1..).zip(nodes).map(|(number, node)| read_one(node, number, several, files));
    let mut plans: Vec<ArrayPlan> = plans.collect();
    if let [plan] = plans.as_mut_slice() {
        plan.design = arrays::read_sites(storage, plan.design.clone(), files);
    } else if let Some(node) = storage.take("replication") {
        storage.refuse(node.place.refuse("is for a single array, and there are several"));
    }
    storage.sink().catch(check_names(&plans, &place));
    let mut own: Vec<Vec<Entry>> = plans.iter().map(|_| Vec::new()).collect();
    for mut event in events {
        let array = array_of(&mut event, &plans);
        let array = array.and_then(|array| event.check_under_test().map(|()| array));
        if let Some(array) = storage.sink().catch(array) {
            own[array].push(event);
        }
    }
    let mut written = Vec::new();
    for (plan, events) in plans.iter_mut().zip(own) {
        written.extend(events.iter().map(|event| event.written(several.then_some(&plan.name))));
        plan.incidents = events::read_incidents(events, &mut plan.design, end);
    }
    (plans, written)
}

/// The array that `event` names; the only one without a name.
fn array_of(event: &mut Entry, plans: &[ArrayPlan]) -> Result<usize, Refusal> {
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    match (event.take_array(), names.as_slice()) {
        (Some(node), _) => arrays::find(&node, &names, "array"),
        (None, [_]) => Ok(0),
        (None, []) => Err(Refusal::echo()),
        (None, names) => Err(event
            .place()
            .refuse("on which array?")
            .hint(format!("for example: array = \"{}\"", names[0]))),
    }
}

fn read_one(node: Node, number: u32, several: bool, files: &Files) -> ArrayPlan {
    let mut section = arrays::array_section(node, &OWN_KEYS);
    let usual = match several {
        true => format!("array {number}"),
        false => "array".to_owned(),
    };
    ArrayPlan {
        name: section.read_or("name", usual, section::text).value,
        design: arrays::read_system(&mut section, files),
        incidents: Vec::new(),
    }
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
