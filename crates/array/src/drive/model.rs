//! Drive models as they are written down: every figure with where it comes from.
//!
//! ```toml
//! kind = "disk"
//! title = "Seagate Cheetah 15K.5, 146.8 GB, Fibre Channel"
//! rpm = { value = 15000, from = "data sheet", note = "ST3146855FC" }
//! ```
//!
//! Zones are given as a table, or derived from the sustained rates at both ends: sectors per track fall linearly from the
//! outermost of `zone_count` zones to the innermost, and the capacity fixes how many cylinders there are.

use std::rc::Rc;

use brunt_units::Span;
use serde::Deserialize;

use super::disk::DiskModel;
use super::flash::FlashFigures;
use super::seek::SeekError;
use super::sheet::{DiskSheet, FlashSheet};

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Provenance {
    /// The maker's data sheet or manual.
    #[serde(rename = "data sheet")]
    DataSheet,
    /// Measured on such a drive.
    #[serde(rename = "measured")]
    Measured,
    /// Computed from other figures.
    #[serde(rename = "derived")]
    Derived,
    /// Nobody said so; it is plausible for the class.
    #[serde(rename = "assumed")]
    Assumed,
    /// Chosen so that a published result came out; the note says which.
    #[serde(rename = "fitted")]
    Fitted,
}

impl Provenance {
    /// The word of model files.
    pub fn word(self) -> &'static str {
        match self {
            Self::DataSheet => "data sheet",
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
            Self::Fitted => "fitted",
        }
    }
}

/// A figure, and where it comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure<T> {
    /// The figure.
    pub value: T,
    /// What kind of source.
    pub from: Provenance,
    /// Which source, or how it was derived.
    #[serde(default)]
    pub note: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Sheet {
    Disk(Box<DiskSheet>),
    Flash(Box<FlashSheet>),
}

/// A model file that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// It is not a model file. The message names line and column.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// The seek figures are no curve.
    #[error("{0}")]
    Seek(#[from] SeekError),
    /// A figure is impossible.
    #[error("`{figure}` {problem}")]
    Figure {
        /// Its name in the file.
        figure: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// A mechanism's model, shared by all its drives.
#[derive(Clone)]
pub(crate) enum Ready {
    Disk(Rc<DiskModel>),
    Flash(Rc<FlashFigures>),
}

/// A drive model, ready to make drives of.
#[derive(Clone)]
pub struct DriveModel {
    title: String,
    sheet: Sheet,
    sectors: u64,
    turn: Option<Span>,
    ready: Ready,
}

impl DriveModel {
    /// Reads a model file.
    ///
    /// # Errors
    /// [`ModelError`] when it is not one, or its figures contradict each other.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let sheet: Sheet = toml::from_str(text)?;
        let (title, sectors, turn, ready) = match &sheet {
            Sheet::Disk(disk) => {
                let figures = disk.figures()?;
                let ready = Ready::Disk(Rc::new(DiskModel::new(&figures)?));
                (
                    &disk.title,
                    figures.shape.sectors,
                    Some(figures.turn),
                    ready,
                )
            }
            Sheet::Flash(flash) => {
                let figures = flash.figures()?;
                let sectors = figures.sectors;
                (&flash.title, sectors, None, Ready::Flash(Rc::new(figures)))
            }
        };
        Ok(Self {
            title: title.clone(),
            sectors,
            turn,
            ready,
            sheet,
        })
    }

    /// What it is called in full.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Capacity in sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// One turn, if it turns.
    pub fn turn(&self) -> Option<Span> {
        self.turn
    }

    /// Mean seek time of a read over all pairs of cylinders, if it seeks.
    pub fn mean_read_seek(&self) -> Option<Span> {
        match &self.ready {
            Ready::Disk(disk) => Some(disk.mean_read_seek()),
            Ready::Flash(_) => None,
        }
    }

    /// Decoding a command and answering it.
    pub fn overhead(&self) -> Span {
        match &self.ready {
            Ready::Disk(disk) => disk.overhead,
            Ready::Flash(flash) => flash.overhead,
        }
    }

    /// Every figure: name, value, source and note.
    pub fn figures(&self) -> Vec<(&'static str, String, Provenance, &str)> {
        match &self.sheet {
            Sheet::Disk(sheet) => sheet.listed(),
            Sheet::Flash(sheet) => sheet.listed(),
        }
    }

    /// Whether it has no moving parts.
    pub fn is_solid_state(&self) -> bool {
        matches!(self.ready, Ready::Flash(_))
    }

    pub(crate) fn ready(&self) -> &Ready {
        &self.ready
    }
}
