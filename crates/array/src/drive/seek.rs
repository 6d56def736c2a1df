//! Seek time by distance.
//!
//! Either a measured curve, interpolated linearly, or a curve derived from the three figures of a
//! data sheet:
//!
//! ```text
//!    t(d) = a + b sqrt(d)                    below a third of the stroke: acceleration and braking
//!    t(d) = linear from there to the stroke  beyond: coasting at full speed
//! ```
//!
//! `t(1)` is the track-to-track time, `t(stroke)` the full-stroke time. The time at the knee is the
//! one free parameter, chosen so that the mean over all pairs of cylinders is the average seek
//! time: the mean is linear in it, so two evaluations give it exactly. Curve form: Ruemmler and
//! Wilkes, "An introduction to disk drive modeling", 1994.
//!
//! Choosing from a queue looks up a seek time per request, so the curve must stay in the
//! processor's cache: beyond [`NEAR`] cylinders, where it is nearly straight, only every sixteenth
//! point is kept and the rest are interpolated. Distances are random, so both parts use the same
//! look-up code: a mispredicted branch would cost more than the look-up itself.

use brunt_units::Span;

/// Seek figures of an arm.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekFigures {
    /// Three figures of a data sheet.
    DataSheet {
        /// To the adjacent cylinder.
        track_to_track: Span,
        /// Mean over all pairs of cylinders.
        average: Span,
        /// From the first cylinder to the last.
        full_stroke: Span,
    },
    /// Distances in cylinders with their times, ascending.
    Measured(Vec<(u32, Span)>),
}

/// Figures that do not form a seek curve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeekError {
    /// Track-to-track, average and full stroke are not ascending.
    #[error("the seek times are not ascending: track to track {0}, average {1}, full stroke {2}")]
    NotAscending(Span, Span, Span),
    /// No curve of this form has the average.
    #[error(
        "no seek curve through {0} (track to track) and {2} (full stroke) has the average {1}; give a measured curve"
    )]
    NoCurve(Span, Span, Span),
    /// A measured curve has fewer than two points, or its points are not ascending.
    #[error(
        "a measured seek curve has at least two points, ascending in distance and not falling in time"
    )]
    Points,
}

/// Every distance up to here has its own point.
const NEAR: u32 = 4096;
/// Beyond it, the step between points is two to this power.
const STEP_BITS: u32 = 4;
const STEP: u32 = 1 << STEP_BITS;

/// Seek times in nanoseconds by distance in cylinders; zero for distance 0.
pub(crate) struct SeekCurve {
    /// Times of distances from 0 to [`NEAR`], then in steps of [`STEP`], to one point beyond the
    /// stroke.
    points: Box<[u32]>,
    mean: f64,
}

impl SeekCurve {
    /// The curve for an arm over `cylinders`.
    pub(crate) fn new(figures: &SeekFigures, cylinders: u32) -> Result<Self, SeekError> {
        match figures {
            SeekFigures::DataSheet { track_to_track, average, full_stroke } => {
                Self::through(*track_to_track, *average, *full_stroke, cylinders)
            }
            SeekFigures::Measured(points) => Self::measured(points, cylinders),
        }
    }

    fn through(track: Span, average: Span, full: Span, cylinders: u32) -> Result<Self, SeekError> {
        if !(track <= average && average <= full) {
            return Err(SeekError::NotAscending(track, average, full));
        }
        let draw = |knee: f64| Self::drawn(track.0 as f64, knee, full.0 as f64, cylinders);
        let (low, high) = (track.0 as f64, full.0 as f64);
        let (mean_low, mean_high) = (draw(low).mean(), draw(high).mean());
        let knee = if mean_high > mean_low {
            low + (high - low) * (average.0 as f64 - mean_low) / (mean_high - mean_low)
        } else {
            low
        };
        if knee < low || knee > high {
            return Err(SeekError::NoCurve(track, average, full));
        }
        Ok(draw(knee))
    }

    fn drawn(track: f64, knee: f64, full: f64, cylinders: u32) -> Self {
        let stroke = f64::from(cylinders.max(2) - 1);
        let bend = (stroke / 3.0).max(1.0);
        let slope = if bend > 1.0 { (knee - track) / (bend.sqrt() - 1.0) } else { 0.0 };
        Self::of(cylinders, |distance| {
            if distance <= bend {
                track + slope * (distance.sqrt() - 1.0)
            } else {
                knee + (full - knee) * (distance - bend) / (stroke - bend)
            }
        })
    }

    fn measured(points: &[(u32, Span)], cylinders: u32) -> Result<Self, SeekError> {
        let ascending = points.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1);
        if points.len() < 2 || !ascending {
            return Err(SeekError::Points);
        }
        Ok(Self::of(cylinders, |distance| {
            let after = points.partition_point(|(at, _)| f64::from(*at) < distance);
            // Beyond the ends, extrapolates from the outermost two points.
            let after = after.clamp(1, points.len() - 1);
            let (d0, t0) = points[after - 1];
            let (d1, t1) = points[after];
            let share = (distance - f64::from(d0)) / f64::from(d1 - d0);
            (t0.0 as f64 + share * (t1.0 as f64 - t0.0 as f64)).max(0.0)
        }))
    }

    fn of(cylinders: u32, time: impl Fn(f64) -> f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float cast saturates, and four seconds are enough for a seek"
        )]
        let nanos = |distance: u32| match distance {
            0 => 0,
            _ => (time(f64::from(distance)) + 0.5) as u32,
        };
        let count = cylinders.max(2);
        let steps = count.saturating_sub(NEAR).div_ceil(STEP) + 1;
        let far = (0..=steps).map(|step| NEAR + step * STEP);
        Self { points: (0..NEAR).chain(far).map(nanos).collect(), mean: mean(count, nanos) }
    }

    /// Nanoseconds to seek over `distance` cylinders.
    pub(crate) fn nanos(&self, distance: u32) -> u32 {
        let beyond = distance.saturating_sub(NEAR);
        let (steps, rest) = (beyond >> STEP_BITS, beyond % STEP);
        let at = (distance.min(NEAR) + steps) as usize;
        let (before, after) = (self.points[at], self.points[at + 1]);
        let between = u64::from(after - before) * u64::from(rest) + u64::from(STEP >> 1);
        before + u32::try_from(between >> STEP_BITS).expect("it lies between them")
    }

    /// Mean over all ordered pairs of different cylinders, in nanoseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }
}

/// Mean of `nanos` over all ordered pairs of different cylinders.
fn mean(cylinders: u32, nanos: impl Fn(u32) -> u32) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for distance in 1..cylinders {
        let weight = f64::from(cylinders - distance);
        sum += weight * f64::from(nanos(distance));
        pairs += weight;
    }
    sum / pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(track: u64, average: u64, full: u64) -> SeekFigures {
        SeekFigures::DataSheet {
            track_to_track: Span::micros(track),
            average: Span::micros(average),
            full_stroke: Span::micros(full),
        }
    }

    #[test]
    fn the_curve_passes_through_its_three_figures() {
        for (figures, cylinders) in [
            (sheet(200, 3500, 7400), 72_170),
            (sheet(400, 4000, 7900), 72_170),
            (sheet(230, 7500, 17_060), 165_800),
        ] {
            let SeekFigures::DataSheet { track_to_track, average, full_stroke } = figures.clone()
            else {
                unreachable!()
            };
            let curve = SeekCurve::new(&figures, cylinders).unwrap();
            assert_eq!(u64::from(curve.nanos(1)), track_to_track.0);
            let stroke = u64::from(curve.nanos(cylinders - 1));
            assert!(stroke.abs_diff(full_stroke.0) <= 1, "{stroke}");
            assert!((curve.mean() / average.0 as f64 - 1.0).abs() < 1e-4);
            let mut distances = 1..cylinders;
            assert!(
                distances.all(|distance| curve.nanos(distance - 1) <= curve.nanos(distance)),
                "it never falls"
            );
            assert_eq!(curve.nanos(0), 0);
        }
    }

    #[test]
    fn impossible_figures_are_refused() {
        assert!(matches!(
            SeekCurve::new(&sheet(4000, 3500, 7400), 1000),
            Err(SeekError::NotAscending(..))
        ));
        assert!(matches!(
            SeekCurve::new(&sheet(200, 7300, 7400), 1000),
            Err(SeekError::NoCurve(..))
        ));
        assert!(SeekCurve::new(&SeekFigures::Measured(vec![(1, Span::millis(1))]), 10).is_err());
    }

    #[test]
    fn a_measured_curve_is_followed() {
        let points =
            vec![(1, Span::micros(300)), (101, Span::micros(1300)), (1000, Span::millis(5))];
        let curve = SeekCurve::new(&SeekFigures::Measured(points), 1001).unwrap();
        assert_eq!(curve.nanos(51), 800_000);
        assert_eq!(curve.nanos(101), 1_300_000);
        assert_eq!(curve.nanos(1000), 5_000_000);
    }
}
