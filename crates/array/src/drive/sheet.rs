//! Drive figures as written in model files.

use brunt_units::Span;
use serde::Deserialize;

use super::disk::DiskFigures;
use super::flash::FlashFigures;
use super::geometry::{Shape, Zone};
use super::model::{Figure, ModelError, Provenance};
use super::seek::SeekFigures;

/// Figures of a hard disk, as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiskSheet {
    pub(super) title: String,
    /// When such drives were new.
    pub(super) year: Option<Figure<u32>>,
    rpm: Figure<f64>,
    /// User capacity in sectors of 512 bytes.
    sectors: Figure<u64>,
    heads: Figure<u32>,
    /// Pairs of cylinders and sectors per track, from the outside in.
    zones: Option<Figure<Vec<(u32, u32)>>>,
    /// Sustained MB/s (10^6 bytes) in the outermost and the innermost zone, when the zones are not
    /// known.
    sustained_mb_per_s: Option<Figure<(f64, f64)>>,
    zone_count: Option<Figure<u32>>,
    serpentine_cylinders: Option<Figure<u32>>,
    /// In turns.
    skew: Figure<f64>,
    /// Track to track, average and full stroke.
    read_seek_ms: Option<Figure<(f64, f64, f64)>>,
    /// The same for writes.
    write_seek_ms: Option<Figure<(f64, f64, f64)>>,
    /// Measured alternative: pairs of cylinders and milliseconds.
    read_seek_curve_ms: Option<Figure<Vec<(u32, f64)>>>,
    /// Additional settle time of a write, beside a measured curve.
    write_settle_ms: Option<Figure<f64>>,
    head_switch_ms: Figure<f64>,
    overhead_ms: Figure<f64>,
    interface_mb_per_s: Figure<f64>,
    cache_segments: Figure<u32>,
    segment_kib: Figure<u32>,
    tags: Figure<u32>,
}

/// Figures of a solid-state drive, as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlashSheet {
    pub(super) title: String,
    /// When such drives were new.
    pub(super) year: Option<Figure<u32>>,
    /// User capacity in sectors of 512 bytes.
    sectors: Figure<u64>,
    dies: Figure<u32>,
    page_kib: Figure<u32>,
    read_us: Figure<f64>,
    program_us: Figure<f64>,
    erase_ms: Figure<f64>,
    block_pages: Figure<u32>,
    /// In percent of the user capacity.
    spare_percent: Figure<f64>,
    buffer_kib: Figure<u32>,
    overhead_us: Figure<f64>,
    interface_mb_per_s: Figure<f64>,
}

/// A figure for display: name, value, source and note.
pub(super) type Listed<'a> = (&'static str, String, Provenance, &'a str);

fn listed<'a, T: std::fmt::Debug>(name: &'static str, figure: &'a Figure<T>) -> Listed<'a> {
    (name, format!("{:?}", figure.value), figure.from, &figure.note)
}

fn wrong(figure: &'static str, problem: impl Into<String>) -> ModelError {
    ModelError::Figure { figure, problem: problem.into() }
}

/// Converts milliseconds as written.
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
    pub(super) fn figures(&self) -> Result<DiskFigures, ModelError> {
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
            let write = read.iter().map(|(far, time)| (*far, *time + settle)).collect();
            return Ok((SeekFigures::Measured(read), SeekFigures::Measured(write)));
        }
        match (&self.read_seek_ms, &self.write_seek_ms) {
            (Some(read), Some(write)) => Ok((sheet(read.value), sheet(write.value))),
            (None, _) => {
                Err(wrong("read_seek_ms", "is missing, and there is no `read_seek_curve_ms`"))
            }
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
                return Err(wrong("zones", "is missing, and there is no `sustained_mb_per_s`"));
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
            return Err(wrong("zones", "has a zone of more than 2^32 sectors; split it"));
        }
        Ok(shape)
    }

    /// Zones that hold the capacity, with sustained transfers from `outer` to `inner` MB/s.
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
        let cylinders = self.sectors.value.div_ceil(sectors * u64::from(self.heads.value));
        let cylinders =
            u32::try_from(cylinders).map_err(|_| wrong(NAME, "is too small for the capacity"))?;
        let zone = |zone| Zone { cylinders, sectors_per_track: tracks_of(zone) };
        Ok((0..count).map(zone).collect())
    }

    pub(super) fn listed(&self) -> Vec<Listed<'_>> {
        let always = [
            listed("rpm", &self.rpm),
            listed("sectors", &self.sectors),
            listed("heads", &self.heads),
            listed("skew", &self.skew),
            listed("head_switch_ms", &self.head_switch_ms),
            listed("overhead_ms", &self.overhead_ms),
            listed("interface_mb_per_s", &self.interface_mb_per_s),
            listed("cache_segments", &self.cache_segments),
            listed("segment_kib", &self.segment_kib),
            listed("tags", &self.tags),
        ];
        let curve = self.read_seek_curve_ms.as_ref();
        let rates = self.sustained_mb_per_s.as_ref();
        let sometimes = [
            self.year.as_ref().map(|f| listed("year", f)),
            self.zones.as_ref().map(|f| listed("zones", f)),
            rates.map(|f| listed("sustained_mb_per_s", f)),
            self.zone_count.as_ref().map(|f| listed("zone_count", f)),
            self.serpentine_cylinders.as_ref().map(|f| listed("serpentine_cylinders", f)),
            self.read_seek_ms.as_ref().map(|f| listed("read_seek_ms", f)),
            self.write_seek_ms.as_ref().map(|f| listed("write_seek_ms", f)),
            curve.map(|f| listed("read_seek_curve_ms", f)),
            self.write_settle_ms.as_ref().map(|f| listed("write_settle_ms", f)),
        ];
        always.into_iter().chain(sometimes.into_iter().flatten()).collect()
    }
}

impl FlashSheet {
    pub(super) fn figures(&self) -> Result<FlashFigures, ModelError> {
        let some = |figure: &'static str, value: u64| match value {
            0 => Err(wrong(figure, "is zero")),
            value => Ok(value),
        };
        let rate = positive("interface_mb_per_s", self.interface_mb_per_s.value)?;
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        let interface_bytes_per_s = (rate * 1e6) as u64;
        some("dies", self.dies.value.into())?;
        some("block_pages", self.block_pages.value.into())?;
        Ok(FlashFigures {
            sectors: some("sectors", self.sectors.value)?,
            dies: self.dies.value,
            page_sectors: some("page_kib", u64::from(self.page_kib.value) * 2)?,
            read: at_least_zero("read_us", self.read_us.value / 1e3)?,
            program: at_least_zero("program_us", self.program_us.value / 1e3)?,
            erase: at_least_zero("erase_ms", self.erase_ms.value)?,
            block_pages: self.block_pages.value,
            spare: positive("spare_percent", self.spare_percent.value)? / 100.0,
            buffer_sectors: u64::from(self.buffer_kib.value) * 2,
            overhead: at_least_zero("overhead_us", self.overhead_us.value / 1e3)?,
            interface_bytes_per_s,
        })
    }

    pub(super) fn listed(&self) -> Vec<Listed<'_>> {
        let always = [
            listed("sectors", &self.sectors),
            listed("dies", &self.dies),
            listed("page_kib", &self.page_kib),
            listed("read_us", &self.read_us),
            listed("program_us", &self.program_us),
            listed("erase_ms", &self.erase_ms),
            listed("block_pages", &self.block_pages),
            listed("spare_percent", &self.spare_percent),
            listed("buffer_kib", &self.buffer_kib),
            listed("overhead_us", &self.overhead_us),
            listed("interface_mb_per_s", &self.interface_mb_per_s),
        ];
        always.into_iter().chain(self.year.as_ref().map(|f| listed("year", f))).collect()
    }
}
