//! What a picture shows, in words: for those who do not see it.

use super::{Curve, Plot};
use crate::decimals;

/// The title, the range and the mean of each curve, the limits, and what is marked.
pub(super) fn equivalent(plot: &Plot) -> String {
    let curves = plot.curves.iter().filter_map(|curve| match plot.is_stairs {
        true => peak(curve, plot),
        false => range(curve, &plot.y.unit),
    });
    let limits = plot.limits.iter().map(|limit| limit.name.clone());
    let marks = plot.marks.iter().map(|mark| mark.name.clone());
    let events = plot.timeline.events.iter();
    let events = events.map(|event| format!("at {}: {}", clock(event.at_s), event.text));
    let parts: Vec<String> = curves.chain(limits).chain(marks).chain(events).collect();
    format!("{}: {}", plot.title, parts.join("; "))
}

/// A time since the beginning: `8.3 s`, `2:05 min`, `1:02:05 h`.
pub(crate) fn clock(seconds: f64) -> String {
    match seconds {
        0.0 => return "0 s".to_owned(),
        short if short < 59.95 => return format!("{short:.1} s"),
        _ => {}
    }
    let (minutes, seconds) = (seconds.div_euclid(60.0), seconds.rem_euclid(60.0).floor());
    let (hours, minutes) = (minutes.div_euclid(60.0), minutes.rem_euclid(60.0));
    match hours > 0.0 {
        false => format!("{minutes}:{seconds:02} min"),
        true => format!("{hours}:{minutes:02}:{seconds:02} h"),
    }
}

/// `read, mean: 0.20 to 3.10, mean 0.91 ms`; nothing for a curve without points.
pub(super) fn range(curve: &Curve, unit: &str) -> Option<String> {
    let values = || curve.points.iter().map(|(_, y)| *y).filter(|y| y.is_finite());
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let mean = values().sum::<f64>() / values().count() as f64;
    let [least, most, mean] = [least, most, mean].map(decimals);
    Some(format!("{} {least} to {most}, mean {mean} {unit}", curve.name))
}

/// `read: most often 0.13 ms, with 12.1 % of I/Os, never above 1.26 ms`; nothing for a curve
/// without points.
fn peak(curve: &Curve, plot: &Plot) -> Option<String> {
    let highest = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
    let (at, most) = curve.points.iter().max_by(highest)?;
    let last = curve.points.last()?.0;
    Some(format!(
        "{}: most often {} {x}, with {} {}, never above {} {x}",
        curve.name,
        decimals(*at),
        decimals(*most),
        plot.y.unit,
        decimals(last),
        x = plot.x.unit,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Drawn, Limit, Plot};
    use super::*;

    #[test]
    fn a_clock_shows_hours_where_there_are_some() {
        let shown = [0.0, 8.26, 125.9, 3_725.0].map(clock);
        assert_eq!(shown, ["0 s", "8.3 s", "2:05 min", "1:02:05 h"]);
    }

    #[test]
    fn a_picture_is_said_with_its_limits() {
        let curve = |name: &'static str, values: [f64; 3]| Curve {
            name: name.into(),
            points: (0..3).map(f64::from).zip(values).collect(),
            drawn: Drawn::Line,
        };
        let curves = vec![curve("read", [1.0, 3.0, f64::NAN]), curve("log", [f64::NAN; 3])];
        let (x, y) = (Axis::time(3.0), Axis::powers(1.0, 10.0, "ms"));
        let plot = Plot {
            limits: vec![Limit::level("read limit 20 ms".to_owned(), 20.0)],
            ..Plot::new("Latency", x, y, curves)
        };
        assert_eq!(equivalent(&plot), "Latency: read 1.00 to 3.00, mean 2.00 ms; read limit 20 ms");
    }
}
