//! The values of curves as attributes of the picture, where the script of the page finds them: the
//! page holds no other data.
//!
//! ```text
//!   <svg data-x="7.5 22.5" data-axis="time 0 30 60 542 36 236" data-unit="..." data-y-unit="ms">
//!     <path data-name="read, mean" data-values="0.31 0.29">
//! ```

use super::{BOTTOM, Curve, LEFT, Plot, RIGHT, TOP};
use crate::decimals;
use crate::html::escape;

/// More values of a curve than this are thinned out: there are no more pixels.
const VALUES_MAX: usize = 500;

/// The values of x that have readings: those of all points, or the middles of all steps.
pub(super) fn places(plot: &Plot) -> Vec<f64> {
    let points = plot.curves.iter().flat_map(|curve| &curve.points);
    let mut all: Vec<f64> = points.map(|(x, _)| *x).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    if plot.is_stairs {
        let middle = |pair: &[f64]| (pair[0] * pair[1]).sqrt();
        all = all.windows(2).map(middle).collect();
    }
    let every = all.len().div_ceil(VALUES_MAX).max(1);
    all.into_iter().step_by(every).collect()
}

/// The attributes of the picture; none when there is nothing to read.
pub(super) fn attributes(plot: &Plot, at: &[f64]) -> String {
    if at.is_empty() {
        return String::new();
    }
    let places: Vec<String> = at.iter().map(|x| rounded(*x)).collect();
    format!(
        " data-x=\"{}\" data-axis=\"{} {LEFT} {RIGHT} {TOP} {BOTTOM}\" data-unit=\"{}\" data-y-unit=\"{}\"",
        places.join(" "),
        plot.x.ends(),
        escape(&plot.x.unit),
        escape(&plot.y.unit),
    )
}

/// The attributes of a curve: its value at each place, `-` where it has none.
pub(super) fn of_curve(curve: &Curve, at: &[f64], is_stairs: bool) -> String {
    let value = |x: &f64| {
        let (before, after) = curve.points.split_at(curve.points.partition_point(|(p, _)| p <= x));
        let (place, value) = *before.last()?;
        let holds = if is_stairs { !after.is_empty() } else { place == *x };
        (holds && value.is_finite()).then_some(value)
    };
    let values: Vec<String> =
        at.iter().map(|x| value(x).map_or_else(|| "-".to_owned(), shown)).collect();
    let name = escape(&curve.name);
    format!(" data-name=\"{name}\" data-values=\"{}\"", values.join(" "))
}

/// As people read it; latencies of fast storage need more decimals than other numbers.
pub(super) fn shown(value: f64) -> String {
    match value.abs() {
        small if small > 0.0 && small < 0.995 => rounded(value),
        _ => decimals(value),
    }
}

/// With three digits at least, four of large numbers, and without zeros at the end.
pub(super) fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size >= 100.0 => 1,
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 20")]
        size => (2.0 - size.max(1e-9).log10().floor()) as usize,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Drawn};
    use super::*;

    fn curve(points: Vec<(f64, f64)>) -> Curve {
        Curve { name: "a <b>".into(), points, drawn: Drawn::Line }
    }

    #[test]
    fn every_point_can_be_read() {
        let curves = vec![
            curve(vec![(7.5, 0.3146), (22.5, f64::NAN), (37.5, 21_480.0)]),
            curve(vec![(7.5, 1.0)]),
        ];
        let plot = Plot::new("", Axis::time(45.0), Axis::from_zero(2.0, "ms"), curves);
        let at = places(&plot);
        assert_eq!(at, [7.5, 22.5, 37.5]);
        let values = plot.curves.iter().map(|curve| of_curve(curve, &at, false));
        let values: Vec<String> = values.collect();
        assert_eq!(values[0], " data-name=\"a &lt;b&gt;\" data-values=\"0.315 - 21,480\"");
        assert!(values[1].ends_with("\"1.00 - -\""), "{}", values[1]);
        let attributes = attributes(&plot, &at);
        assert!(attributes.contains("data-x=\"7.5 22.5 37.5\""), "{attributes}");
        assert!(attributes.contains("data-axis=\"time 0 45 60 542 "), "{attributes}");
    }

    #[test]
    fn a_step_has_its_value_and_nothing_lies_outside() {
        let stairs = curve(vec![(1.0, 0.0), (1.0, 5.0), (4.0, 5.0), (4.0, 0.0)]);
        assert!(of_curve(&stairs, &[0.5, 2.0, 5.0], true).ends_with("\"- 5.00 -\""));
    }

    #[test]
    fn a_day_is_thinned_out() {
        let points = (0..5_760).map(|at| (f64::from(at), 1.0)).collect();
        let plot =
            Plot::new("", Axis::time(5_760.0), Axis::from_zero(2.0, ""), vec![curve(points)]);
        assert_eq!(places(&plot).len(), 480);
    }

    #[test]
    fn numbers_are_short() {
        let text = [0.0, 0.003_146, 0.5, 7.5, 86_392.5, 1_000.0].map(rounded);
        assert_eq!(text, ["0", "0.00315", "0.5", "7.5", "86392.5", "1000"]);
    }
}
