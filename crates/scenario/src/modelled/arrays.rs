//! `[array]`, or `[[array]]` when there are several, and what befalls them.

use std::collections::BTreeMap;
use std::path::Path;

use brunt_array::{Scheduled, SystemDesign};

use super::super::arrays;
use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};

/// One array.
#[derive(Clone)]
pub struct ArrayPlan {
    /// What it is called; no two have the same name.
    pub name: String,
    /// What it is made of: an array, or several under one map of pages.
    pub design: SystemDesign,
    /// What befalls it, counted from the begin of the simulation.
    pub incidents: Vec<Scheduled>,
}

/// What arrays have here besides.
const OWN_KEYS: [&str; 3] = ["name", "incident", "pages"];

pub(super) fn read(storage: &mut Section, folder: &Path) -> Result<Vec<ArrayPlan>, Refusal> {
    let node = storage.take("array").expect("a modelled test has one");
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
    check_names(&plans, &place)?;
    if let Some(node) = storage.take("incident") {
        if several {
            let refusal = node.place.refuse("befalls which array?");
            return Err(refusal.hint("write [[array.incident]] below the array that is meant"));
        }
        plans[0].incidents = arrays::incidents_of(node, &plans[0].design)?;
    }
    Ok(plans)
}

fn read_one(node: Node, number: u32, several: bool, folder: &Path) -> Result<ArrayPlan, Refusal> {
    let mut section = arrays::array_section(node, &OWN_KEYS)?;
    let usual = match several {
        true => format!("array {number}"),
        false => "array".to_owned(),
    };
    let name = section.read_or("name", usual, section::text)?.value;
    let incidents = section.take("incident");
    let design = arrays::read_system(&mut section, folder)?;
    let incidents = incidents.map(|node| arrays::incidents_of(node, &design));
    Ok(ArrayPlan {
        name,
        incidents: incidents.transpose()?.unwrap_or_default(),
        design,
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
