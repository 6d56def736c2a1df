//! `[[array.drives]]`: models by name or from a file, and how many of each.

use std::fs;
use std::path::{Path, PathBuf};

use brunt_array::drive::{DriveModel, Order, Policy, library};
use brunt_units::Span;

use super::super::nearest::nearest;
use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::above_zero;

pub(crate) const KEYS: [&str; 3] = ["model", "file", "count"];
const ORDERS: [(&str, Order); 3] =
    [("sptf", Order::Sptf), ("elevator", Order::Elevator), ("fcfs", Order::Fcfs)];
const EXAMPLE_MODEL: &str = "model = \"cheetah-15k5-146-fc\"";
/// Drives are numbered in 16 bits.
const DRIVES_MAX: u64 = 4096;

pub(super) fn read(array: &mut Section, folder: &Path) -> Result<Vec<DriveModel>, Refusal> {
    const EXAMPLE: &str = "[[array.drives]] with model = \"cheetah-15k5-146-fc\" and count = 5";
    let mut drives = Vec::new();
    for node in array.tables("drives") {
        let mut section = Section::new(node, "[[array.drives]]", &KEYS);
        let count =
            section.need("count", "count = 5", |node| section::integer(node, 1..=DRIVES_MAX));
        let model = section.read("model", named);
        let file = section.read("file", |node| from_file(node, folder));
        let model = match (model, file) {
            (Some(model), None) => model.value,
            (None, Some(Placed { value: (path, model), .. })) => {
                // What is kept lies in another folder.
                section.keep("file", &path.to_string_lossy().into_owned());
                model
            }
            (Some(_), Some(file)) => {
                return Err(file.place.refuse("a drive has a `model` or a `file`, not both"));
            }
            (None, None) => section.need("model", EXAMPLE_MODEL, named).value,
        };
        let count_of = usize::try_from(count.value).expect("in range");
        drives.extend(std::iter::repeat_n(model, count_of));
        if drives.len() as u64 > DRIVES_MAX {
            return Err(count.place.refuse(format!("makes more than {DRIVES_MAX} drives")));
        }
    }
    if drives.is_empty() {
        return Err(array.lacks("drives", EXAMPLE));
    }
    Ok(drives)
}

fn named(node: &Node) -> Result<DriveModel, Refusal> {
    let name = section::text(node)?;
    library::find(&name).ok_or_else(|| {
        let names: Vec<&str> = library::names().collect();
        let refusal = node.place.refuse("there is no such drive model");
        refusal.hint(match nearest(&name, &names) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("models are {}; `file` names one of your own", names.join(", ")),
        })
    })
}

fn from_file(node: &Node, folder: &Path) -> Result<(PathBuf, DriveModel), Refusal> {
    let path = folder.join(section::path(node)?);
    let text = fs::read_to_string(&path)
        .map_err(|error| node.place.refuse(format!("cannot be read: {error}")))?;
    let model = DriveModel::from_toml(&text).map_err(|error| {
        let text = error.to_string();
        node.place.refuse(format!(
            "is not a valid drive model: {}",
            text.trim_end().replace('\n', "\n  ")
        ))
    })?;
    Ok((path, model))
}

pub(super) fn read_policy(array: &mut Section) -> Policy {
    let order = array.choice_or("queue", ORDERS[0].1, &ORDERS);
    let wait_max = array.read_or("wait_max", Span::millis(500), above_zero);
    Policy { order: order.value, wait_max: wait_max.value }
}
