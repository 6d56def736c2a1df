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

use super::disk::{DiskFigures, DiskModel};
use super::geometry::{Shape, Zone};
use super::seek::{SeekError, SeekFigures};

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

/// Figures of a hard disk, as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSheet {
    title: String,
    rpm: Figure<f64>,
    /// User capacity in sectors of 512 bytes.
    sectors: Figure<u64>,
    heads: Figure<u32>,
    /// Pairs of cylinders and sectors per track, from the outside in.
    zones: Option<Figure<Vec<(u32, u32)>>>,
    /// Sustained MB/s (10^6 bytes) at the outermost and the innermost zone, where the zones are not known.
    sustained_mb_per_s: Option<Figure<(f64, f64)>>,
    zone_count: Option<Figure<u32>>,
    serpentine_cylinders: Option<Figure<u32>>,
    /// In turns.
    skew: Figure<f64>,
    /// Track to track, average, full stroke.
    read_seek_ms: Option<Figure<(f64, f64, f64)>>,
    /// The same for writes.
    write_seek_ms: Option<Figure<(f64, f64, f64)>>,
    /// Measured instead: pairs of cylinders and milliseconds.
    read_seek_curve_ms: Option<Figure<Vec<(u32, f64)>>>,
    /// What a write settles longer, beside a measured curve.
    write_settle_ms: Option<Figure<f64>>,
    head_switch_ms: Figure<f64>,
    overhead_ms: Figure<f64>,
    interface_mb_per_s: Figure<f64>,
    cache_segments: Figure<u32>,
    segment_kib: Figure<u32>,
    tags: Figure<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Sheet {
    Disk(DiskSheet),
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
        let Sheet::Disk(disk) = &sheet;
        let figures = disk.figures()?;
        Ok(Self {
            title: disk.title.clone(),
            sectors: figures.shape.sectors,
            turn: Some(figures.turn),
            ready: Ready::Disk(Rc::new(DiskModel::new(&figures)?)),
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
        let Ready::Disk(disk) = &self.ready;
        Some(disk.mean_read_seek())
    }

    /// Decoding a command and answering it.
    pub fn overhead(&self) -> Span {
        let Ready::Disk(disk) = &self.ready;
        disk.overhead
    }

    /// Every figure: name, value, source and note.
    pub fn figures(&self) -> Vec<(&'static str, String, Provenance, &str)> {
        let Sheet::Disk(sheet) = &self.sheet;
        sheet.listed()
    }

    pub(crate) fn ready(&self) -> &Ready {
        &self.ready
    }
}

fn wrong(figure: &'static str, problem: impl Into<String>) -> ModelError {
    ModelError::Figure {
        figure,
        problem: problem.into(),
    }
}

/// Milliseconds as written.
fn millis(value: f64) -> Span {
    Span::from_seconds(value / 1e3)
}

fn positive(figure: &'static str, value: f64) -> Result<f64, ModelError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(wrong(figure, "is not above zero"))
    }
}

fn at_least_zero(figure: &'static str, value: f64) -> Result<Span, ModelError> {
    if value.is_finite() && value >= 0.0 {
        Ok(millis(value))
    } else {
        Err(wrong(figure, "is below zero"))
    }
}

impl DiskSheet {
    fn figures(&self) -> Result<DiskFigures, ModelError> {
        let rpm = positive("rpm", self.rpm.value)?;
        let skew = self.skew.value;
        if !(0.0..1.0).contains(&skew) {
            return Err(wrong("skew", "is not between 0 and 1 turn"));
        }
        if self.heads.value == 0 || self.heads.value > 64 {
            return Err(wrong("heads", "is not between 1 and 64"));
        }
        if self.tags.value == 0 {
            return Err(wrong("tags", "is zero: the drive would take no request"));
        }
        if self.sectors.value == 0 {
            return Err(wrong("sectors", "is zero"));
        }
        let (read_seek, write_seek) = self.seeks()?;
        let interface = positive("interface_mb_per_s", self.interface_mb_per_s.value)?;
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        let interface_bytes_per_s = (interface * 1e6) as u64;
        Ok(DiskFigures {
            shape: self.shape(rpm, skew)?,
            turn: Span::from_seconds(60.0 / rpm),
            read_seek,
            write_seek,
            head_switch: at_least_zero("head_switch_ms", self.head_switch_ms.value)?,
            overhead: at_least_zero("overhead_ms", self.overhead_ms.value)?,
            interface_bytes_per_s,
            cache_segments: self.cache_segments.value,
            segment_sectors: self.segment_kib.value.saturating_mul(2),
            tags: self.tags.value,
        })
    }

    fn seeks(&self) -> Result<(SeekFigures, SeekFigures), ModelError> {
        let sheet = |(track, average, full): (f64, f64, f64)| SeekFigures::DataSheet {
            track_to_track: millis(track),
            average: millis(average),
            full_stroke: millis(full),
        };
        if let Some(curve) = &self.read_seek_curve_ms {
            let settle = self.write_settle_ms.as_ref().map_or(0.0, |f| f.value);
            let settle = at_least_zero("write_settle_ms", settle)?;
            let points = curve.value.iter();
            let read: Vec<_> = points.map(|(far, ms)| (*far, millis(*ms))).collect();
            let write = read
                .iter()
                .map(|(far, time)| (*far, *time + settle))
                .collect();
            return Ok((SeekFigures::Measured(read), SeekFigures::Measured(write)));
        }
        match (&self.read_seek_ms, &self.write_seek_ms) {
            (Some(read), Some(write)) => Ok((sheet(read.value), sheet(write.value))),
            (None, _) => Err(wrong(
                "read_seek_ms",
                "is missing, and there is no `read_seek_curve_ms`",
            )),
            (_, None) => Err(wrong("write_seek_ms", "is missing")),
        }
    }

    fn shape(&self, rpm: f64, skew: f64) -> Result<Shape, ModelError> {
        let zones = match (&self.zones, &self.sustained_mb_per_s) {
            (Some(zones), _) => {
                let zone = |(cylinders, sectors_per_track): &(u32, u32)| Zone {
                    cylinders: *cylinders,
                    sectors_per_track: *sectors_per_track,
                };
                zones.value.iter().map(zone).collect()
            }
            (None, Some(rates)) => self.derived_zones(rates.value, rpm, skew)?,
            (None, None) => {
                return Err(wrong(
                    "zones",
                    "is missing, and there is no `sustained_mb_per_s`",
                ));
            }
        };
        let heads = self.heads.value;
        let shape = Shape {
            heads,
            serpentine: self.serpentine_cylinders.as_ref().map_or(1, |f| f.value),
            skew,
            zones,
            sectors: self.sectors.value,
        };
        let all_positive = |zone: &Zone| zone.cylinders > 0 && zone.sectors_per_track > 0;
        if shape.zones.is_empty() || !shape.zones.iter().all(all_positive) {
            return Err(wrong("zones", "has a zone without tracks or sectors"));
        }
        let holds = |zone: &Zone| {
            u64::from(zone.cylinders) * u64::from(zone.sectors_per_track) * u64::from(heads)
        };
        let held: u64 = shape.zones.iter().map(holds).sum();
        if held < shape.sectors {
            let problem = format!("is {}, but the zones hold {held}", shape.sectors);
            return Err(wrong("sectors", problem));
        }
        if shape.zones.iter().any(|zone| holds(zone) >= 1 << 32) {
            return Err(wrong(
                "zones",
                "has a zone of more than 2^32 sectors; split it",
            ));
        }
        Ok(shape)
    }

    /// Zones whose long transfers run at `outer` to `inner` MB/s and that hold the capacity.
    fn derived_zones(
        &self,
        (outer, inner): (f64, f64),
        rpm: f64,
        skew: f64,
    ) -> Result<Vec<Zone>, ModelError> {
        const NAME: &str = "sustained_mb_per_s";
        positive(NAME, inner)?;
        if outer < inner {
            return Err(wrong(NAME, "is faster inside than outside"));
        }
        let count = self.zone_count.as_ref().map_or(16, |f| f.value);
        if count == 0 || count > 1000 {
            return Err(wrong("zone_count", "is not between 1 and 1000"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        let per_track = |rate: f64| (rate * 1e6 * (1.0 + skew) * 60.0 / rpm / 512.0).round() as u32;
        let tracks_of = |zone: u32| {
            let share = f64::from(zone) / f64::from((count - 1).max(1));
            per_track(outer + (inner - outer) * share)
        };
        let sectors: u64 = (0..count).map(|zone| u64::from(tracks_of(zone))).sum();
        if sectors == 0 {
            return Err(wrong(NAME, "is less than a sector per turn"));
        }
        let cylinders = self
            .sectors
            .value
            .div_ceil(sectors * u64::from(self.heads.value));
        let cylinders =
            u32::try_from(cylinders).map_err(|_| wrong(NAME, "is too small for the capacity"))?;
        let zone = |zone| Zone {
            cylinders,
            sectors_per_track: tracks_of(zone),
        };
        Ok((0..count).map(zone).collect())
    }

    fn listed(&self) -> Vec<(&'static str, String, Provenance, &str)> {
        fn figure<'a, T: std::fmt::Debug>(
            name: &'static str,
            figure: &'a Figure<T>,
        ) -> (&'static str, String, Provenance, &'a str) {
            (
                name,
                format!("{:?}", figure.value),
                figure.from,
                &figure.note,
            )
        }
        let always = [
            figure("rpm", &self.rpm),
            figure("sectors", &self.sectors),
            figure("heads", &self.heads),
            figure("skew", &self.skew),
            figure("head_switch_ms", &self.head_switch_ms),
            figure("overhead_ms", &self.overhead_ms),
            figure("interface_mb_per_s", &self.interface_mb_per_s),
            figure("cache_segments", &self.cache_segments),
            figure("segment_kib", &self.segment_kib),
            figure("tags", &self.tags),
        ];
        let sometimes = [
            self.zones.as_ref().map(|f| figure("zones", f)),
            self.sustained_mb_per_s
                .as_ref()
                .map(|f| figure("sustained_mb_per_s", f)),
            self.zone_count.as_ref().map(|f| figure("zone_count", f)),
            self.serpentine_cylinders
                .as_ref()
                .map(|f| figure("serpentine_cylinders", f)),
            self.read_seek_ms
                .as_ref()
                .map(|f| figure("read_seek_ms", f)),
            self.write_seek_ms
                .as_ref()
                .map(|f| figure("write_seek_ms", f)),
            self.read_seek_curve_ms
                .as_ref()
                .map(|f| figure("read_seek_curve_ms", f)),
            self.write_settle_ms
                .as_ref()
                .map(|f| figure("write_settle_ms", f)),
        ];
        always
            .into_iter()
            .chain(sometimes.into_iter().flatten())
            .collect()
    }
}
