//! What every scenario begins with, whatever it describes: text, overrides, name and description.

use std::path::Path;

use super::overrides::Override;
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::{self, Node};

/// A scenario of which name and description are read.
pub(super) struct Head {
    /// What it is called; the file's stem when it does not say.
    pub(super) name: String,
    /// Free text.
    pub(super) description: String,
    /// Everything else.
    pub(super) top: Section,
}

impl Head {
    /// Reads `text`, called `file` in messages, with `overrides` in their order; `known` are the keys of its top.
    ///
    /// # Errors
    /// [`Refusal`] for what is no TOML, an override that leads nowhere, an unknown key, or a name that is no text.
    pub(super) fn read(
        file: &str,
        text: &str,
        overrides: &[Override],
        known: &[&str],
    ) -> Result<Self, Refusal> {
        let mut root = tree::parse(file, text)?;
        for change in overrides {
            change.apply(&mut root)?;
        }
        Self::of_root(file, root, known)
    }

    /// The same of a scenario that has been parsed, and changed by every override.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown key, or a name that is no text.
    pub(super) fn of_root(file: &str, root: Node, known: &[&str]) -> Result<Self, Refusal> {
        let mut top = Section::new(root, "the scenario", known)?;
        let stem = Path::new(file).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let name = top.read_or("name", stem, section::name)?.value;
        let description = top
            .read_or("description", String::new(), section::text)?
            .value;
        Ok(Self {
            name,
            description,
            top,
        })
    }
}
