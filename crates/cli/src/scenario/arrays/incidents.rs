//! `[[incident]]`: what befalls the array, and when.

use brunt_array::{ArrayDesign, Incident, Priority};
use brunt_units::Time;

use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::{groups, tables};

const KEYS: [&str; 8] = [
    "at",
    "what",
    "drive",
    "times",
    "group",
    "priority",
    "controller",
    "path",
];
const WORDS: [&str; 11] = [
    "drive fails",
    "drive slows",
    "drive returns",
    "rebuild priority",
    "pool grows",
    "controller fails",
    "controller returns",
    "battery lost",
    "battery returns",
    "path down",
    "path up",
];

pub(super) fn read(
    top: &mut Section,
    design: &ArrayDesign,
) -> Result<Vec<(Time, Incident)>, Refusal> {
    let nodes = tables(top, "incident")?;
    nodes
        .into_iter()
        .map(|node| read_one(node, design))
        .collect()
}

fn read_one(node: Node, design: &ArrayDesign) -> Result<(Time, Incident), Refusal> {
    let mut section = Section::new(node, "[[incident]]", &KEYS)?;
    let at = section.read("at", section::span)?;
    let at = at.ok_or_else(|| section.lacks("at", "at = \"20s\""))?;
    let what = section.read("what", |node| section::word(node, &WORDS))?;
    let what = what.ok_or_else(|| section.lacks("what", "what = \"drive fails\""))?;
    let drives = design.drives.len();
    let controllers = design.controller.count as usize;
    let ports = controllers * design.front.ports as usize;
    let drive = |section: &mut Section| {
        let number = which(section, "drive", drives)?;
        Ok::<u16, Refusal>(u16::try_from(number).expect("few drives"))
    };
    let incident = match WORDS[what.value] {
        "drive fails" => Incident::DriveFails(drive(&mut section)?),
        "drive slows" => {
            let times = section.read("times", section::positive)?;
            let times = times.ok_or_else(|| section.lacks("times", "times = 3"))?;
            Incident::DriveSlows(drive(&mut section)?, at_least_one(&times)?)
        }
        "drive returns" => Incident::DriveReturns(drive(&mut section)?),
        "rebuild priority" => read_priority(&mut section, design)?,
        "pool grows" => {
            let group = read_group(&mut section, design)?;
            Incident::PoolGrows(group, drive(&mut section)?)
        }
        "controller fails" => {
            Incident::ControllerFails(which(&mut section, "controller", controllers)?)
        }
        "controller returns" => {
            Incident::ControllerReturns(which(&mut section, "controller", controllers)?)
        }
        "battery lost" => Incident::BatteryLost,
        "battery returns" => Incident::BatteryReturns,
        "path down" => Incident::PathDown(which(&mut section, "path", ports)?),
        _ => Incident::PathUp(which(&mut section, "path", ports)?),
    };
    match KEYS
        .into_iter()
        .find_map(|key| Some((key, section.take(key)?)))
    {
        Some((key, node)) => {
            let what = WORDS[what.value];
            Err(node
                .place
                .refuse(format!("`{key}` is not for what = \"{what}\"")))
        }
        None => Ok((Time::ZERO + at.value, incident)),
    }
}

fn at_least_one(times: &Placed<f64>) -> Result<f64, Refusal> {
    if times.value >= 1.0 {
        Ok(times.value)
    } else {
        Err(times
            .place
            .refuse("is less than 1: a slow drive is not faster"))
    }
}

/// The number that `key` gives, below `count`.
fn which(section: &mut Section, key: &str, count: usize) -> Result<usize, Refusal> {
    let number = section.read(key, |node| section::integer(node, 0..=u64::from(u16::MAX)))?;
    let number = number.ok_or_else(|| section.lacks(key, &format!("{key} = 0")))?;
    let index = usize::try_from(number.value).expect("in range");
    if index < count {
        Ok(index)
    } else {
        let what = format!(
            "there is no such {key}: they are numbered from 0 to {}",
            count - 1
        );
        Err(number.place.refuse(what))
    }
}

/// The group that is named; the first without a name.
fn read_group(section: &mut Section, design: &ArrayDesign) -> Result<usize, Refusal> {
    let names: Vec<&str> = design
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    let group = section.read("group", |node| groups::find(node, &names, "group"))?;
    Ok(group.map_or(0, |group| group.value))
}

fn read_priority(section: &mut Section, design: &ArrayDesign) -> Result<Incident, Refusal> {
    let group = read_group(section, design)?;
    let words = Priority::WORDS.map(|(word, _)| word);
    let priority = section.read("priority", |node| section::word(node, &words))?;
    let priority = priority.ok_or_else(|| section.lacks("priority", "priority = \"low\""))?;
    Ok(Incident::RepairPriority(
        group,
        Priority::WORDS[priority.value].1,
    ))
}
