//! Drive models as written in TOML: every figure states its source.
//!
//! ```toml
//! kind = "disk"
//! title = "Seagate Cheetah 15K.5, 146.8 GB, Fibre Channel"
//! rpm = { value = 15000, from = "data sheet", note = "ST3146855FC" }
//! ```
//!
//! Zones are given as a table, or derived from the sustained rates at both ends: sectors per track
//! fall linearly from the outermost of `zone_count` zones to the innermost, and the capacity fixes
//! how many cylinders there are.

use std::sync::Arc;

use brunt_units::Span;
use serde::Deserialize;

use super::disk::DiskModel;
use super::flash::FlashFigures;
use super::seek::SeekError;
use super::sheet::{DiskSheet, FlashSheet};

/// The source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Provenance {
    /// The manufacturer's data sheet or manual.
    #[serde(rename = "data sheet")]
    DataSheet,
    /// The manufacturer's figure as the trade press quotes it; the note says where.
    #[serde(rename = "quoted")]
    Quoted,
    /// Measured on such a drive.
    #[serde(rename = "measured")]
    Measured,
    /// Computed from other figures.
    #[serde(rename = "derived")]
    Derived,
    /// No source; plausible for the class.
    #[serde(rename = "assumed")]
    Assumed,
    /// Chosen to reproduce a published result; the note says which.
    #[serde(rename = "fitted")]
    Fitted,
}

impl Provenance {
    /// The word used in model files.
    pub fn word(self) -> &'static str {
        match self {
            Self::DataSheet => "data sheet",
            Self::Quoted => "quoted",
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
            Self::Fitted => "fitted",
        }
    }
}

/// A figure and its source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure<T> {
    /// The figure.
    pub value: T,
    /// The kind of source.
    pub from: Provenance,
    /// The source itself, or how the figure was derived.
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
    /// Not a model file. The message names line and column.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// The seek figures do not form a curve.
    #[error("{0}")]
    Seek(#[from] SeekError),
    /// A figure has an impossible value.
    #[error("`{figure}` {problem}")]
    Figure {
        /// The figure's name in the file.
        figure: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// A mechanism's model, shared by all drives of the model.
#[derive(Clone)]
pub(crate) enum Ready {
    Disk(Arc<DiskModel>),
    Flash(Arc<FlashFigures>),
}

/// A drive model from which drives are made.
#[derive(Clone)]
pub struct DriveModel {
    title: String,
    sheet: Sheet,
    sectors: u64,
    turn: Option<Span>,
    ready: Ready,
}

impl DriveModel {
    /// Parses a model file.
    ///
    /// # Errors
    /// [`ModelError`] when it is malformed, or its figures contradict each other.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let sheet: Sheet = toml::from_str(text)?;
        let (title, sectors, turn, ready) = match &sheet {
            Sheet::Disk(disk) => {
                let figures = disk.figures()?;
                let ready = Ready::Disk(Arc::new(DiskModel::new(&figures)?));
                (&disk.title, figures.shape.sectors, Some(figures.turn), ready)
            }
            Sheet::Flash(flash) => {
                let figures = flash.figures()?;
                let sectors = figures.sectors;
                (&flash.title, sectors, None, Ready::Flash(Arc::new(figures)))
            }
        };
        Ok(Self { title: title.clone(), sectors, turn, ready, sheet })
    }

    /// Full name.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The year in which such drives were new, if it is known.
    pub fn year(&self) -> Option<u32> {
        let year = match &self.sheet {
            Sheet::Disk(sheet) => &sheet.year,
            Sheet::Flash(sheet) => &sheet.year,
        };
        year.as_ref().map(|year| year.value)
    }

    /// Capacity in sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// The time of one revolution, for a disk.
    pub fn turn(&self) -> Option<Span> {
        self.turn
    }

    /// Revolutions per minute, for a disk.
    pub fn rpm(&self) -> Option<u64> {
        let rounded = |turn: Span| (60_000_000_000 + turn.0.div_euclid(2)).div_euclid(turn.0);
        self.turn.map(rounded)
    }

    /// Mean seek time of a read over all pairs of cylinders, for a disk.
    pub fn mean_read_seek(&self) -> Option<Span> {
        match &self.ready {
            Ready::Disk(disk) => Some(disk.mean_read_seek()),
            Ready::Flash(_) => None,
        }
    }

    /// Time to decode a command and answer it.
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
