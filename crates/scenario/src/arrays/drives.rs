//! `[[array.drives]]`: models by name or from a file, and how many of each.

use std::path::{Path, PathBuf};

use brunt_array::drive::{DriveModel, library};

use super::super::files::Files;
use super::super::keys::{At, Maybe, PATH, Whole, keys, own};
use super::super::nearest::nearest;
use super::super::place::{Cause, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;

keys! {
    /// Drives that are alike, while they are read.
    pub(crate) struct Alike; DRIVES = "[[array.drives]]";
    /// How many; all drives are numbered from 0 as they are written.
    count: usize = 5, Whole(1..=DRIVES_MAX), needs "count = 5";
    /// Their model: `brunt models` lists them.
    model: Option<String> = None, Maybe(own(read_model, "name of a model")), "by `file`";
    /// A file with a model of your own.
    file: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "by `model`";
}

const USUAL: &str = "cheetah-15k5-146-fc";
/// Drives are numbered in 16 bits.
pub(super) const DRIVES_MAX: u64 = 4096;

pub(super) fn read(array: &mut Section, files: &Files) -> Result<Vec<DriveModel>, Refusal> {
    const EXAMPLE: &str = "[[array.drives]] with model = \"cheetah-15k5-146-fc\" and count = 5";
    let mut drives = Vec::new();
    for node in array.tables("drives") {
        let mut own = Alike::default();
        let section = DRIVES.read(node, &mut own);
        let model = match (own.model, own.file) {
            (model, Some(file)) => {
                let path = files.at(&file.value);
                // What is kept lies in another folder.
                section.keep("file", &path);
                let read = from_file(files, &path).map_err(|what| file.place.refuse(what));
                let read = read.map_err(|refusal| refusal.because(Cause::Value));
                let read = section.sink().catch(read);
                if let (Some(_), Some(_)) = (model, &read) {
                    return Err(file.place.refuse("a drive has a `model` or a `file`, not both"));
                }
                read
            }
            (Some(name), None) => library::find(&name),
            (None, None) => {
                section.refuse(section.lacks("model", &format!("model = \"{USUAL}\"")));
                None
            }
        };
        let usual = || library::find(USUAL).expect("it is there");
        drives.extend(std::iter::repeat_n(model.unwrap_or_else(usual), own.count));
        if drives.len() as u64 > DRIVES_MAX {
            let what = format!("makes more than {DRIVES_MAX} drives");
            return Err(section.place_of("count").refuse(what));
        }
    }
    if drives.is_empty() {
        return Err(array.lacks("drives", EXAMPLE));
    }
    Ok(drives)
}

/// A name of the library.
fn read_model(node: &Node) -> Result<String, Refusal> {
    let name = section::text(node)?;
    if library::find(&name).is_some() {
        return Ok(name);
    }
    let names: Vec<&str> = library::names().collect();
    let refusal = node.place.refuse("there is no such drive model");
    Err(refusal.hint(match nearest(&name, &names) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("models are {}; `file` names one of your own", names.join(", ")),
    }))
}

/// The model in a file, or why there is none.
fn from_file(files: &Files, path: &Path) -> Result<DriveModel, String> {
    let text = files.read(path).map_err(|error| format!("cannot be read: {error}"))?;
    DriveModel::from_toml(&text).map_err(|error| {
        let text = error.to_string();
        format!("is not a valid drive model: {}", text.trim_end().replace('\n', "\n  "))
    })
}
