//! Plots as inline SVG: two axes, curves, limit lines, a legend.
//!
//! ```text
//!   legend: ── mean  ── p99                    (0, 0) at the top left,
//!   y │      ╭╮                                 560 x 270 units, scaled by the page
//!     │- - - - - - - limit
//!     │_____╯╰______
//!       x
//! ```
//!
//! Colours are CSS classes (`c0` to `c3`, `limit`), so one picture serves a light page, a dark page, and paper. Curves differ in
//! colour and in dash pattern. A point that is not a number, or not above zero on a logarithmic axis, makes a gap in the curve.

use std::fmt::Write;

use self::Scale::{Linear, Log};
use super::escape::escape;
use crate::decimals;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 270.0;
/// Half the width of the dash that stands for a point without neighbours.
const LONE: f64 = 5.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 40.0;

/// How an axis maps values to positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic; both ends are above zero.
    Log,
}

/// One axis: its ends and its marks.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    marks: Vec<(f64, String)>,
    label: String,
}

/// One curve.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
    /// Whether the area below the curve is tinted.
    pub(super) filled: bool,
}

/// A dashed line at a value that should not be crossed.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) name: String,
    pub(super) at: f64,
    /// Whether the line is vertical, at a position on the x axis.
    pub(super) upright: bool,
}

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub(super) title: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
    pub(super) limits: Vec<Limit>,
}

impl Axis {
    /// From zero to a little above `highest`, with four to eight marks at round numbers.
    pub(super) fn from_zero(highest: f64, label: &str) -> Self {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = round_step(highest / 5.0);
        let steps = (highest * 1.02 / step).ceil();
        let marks = counted(steps).map(|at| at * step);
        let digits = digits_after_point(step);
        let text = |value: f64| match value {
            value if value >= 1000.0 => decimals(value),
            value => format!("{value:.digits$}"),
        };
        Self {
            scale: Linear,
            from: 0.0,
            to: steps * step,
            marks: marks.map(|value| (value, text(value))).collect(),
            label: label.to_owned(),
        }
    }

    /// From zero to `seconds`, marked in seconds, minutes or hours.
    pub(super) fn time(seconds: f64) -> Self {
        const STEPS: [f64; 19] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0,
            3600.0, 7200.0, 10_800.0, 14_400.0, 21_600.0, 43_200.0,
        ];
        let seconds = seconds.max(1.0);
        let fits = |step: &&f64| seconds / **step <= 8.0;
        let step = STEPS.iter().find(fits).copied().unwrap_or(86_400.0);
        let (unit, label) = match seconds {
            0.0..=180.0 => (1.0, "seconds of collection"),
            180.0..=10_800.0 => (60.0, "minutes of collection"),
            _ => (3600.0, "hours of collection"),
        };
        let marks = counted((seconds / step).floor()).map(|at| at * step);
        let text = |value: f64| {
            let text = format!("{:.2}", value / unit);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        Self {
            scale: Linear,
            from: 0.0,
            to: seconds,
            marks: marks.map(|value| (value, text(value))).collect(),
            label: label.to_owned(),
        }
    }

    /// Powers of ten that enclose `lowest` and `highest`, with a mark at each.
    pub(super) fn powers(lowest: f64, highest: f64, label: &str) -> Self {
        let low = lowest.clamp(1e-6, 1e9).log10().floor();
        let high = highest.clamp(1e-6, 1e9).log10().ceil().max(low + 1.0);
        let marks = counted(high - low).map(|at| 10_f64.powf(low + at));
        let text = |value: f64| match value.log10().round() {
            power if power < 0.0 => format!("{value:.*}", digits_after_point(value)),
            _ => decimals(value)
                .trim_end_matches(".00")
                .trim_end_matches(".0")
                .to_owned(),
        };
        Self {
            scale: Log,
            from: 10_f64.powf(low),
            to: 10_f64.powf(high),
            marks: marks.map(|value| (value, text(value))).collect(),
            label: label.to_owned(),
        }
    }

    /// The position of `value` between the ends, 0 to 1; `None` when it has none.
    fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Linear => (value - self.from) / (self.to - self.from),
            Log => (value / self.from).log10() / (self.to / self.from).log10(),
        };
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    fn x(&self, value: f64) -> Option<f64> {
        self.share(value).map(|share| LEFT + share * (RIGHT - LEFT))
    }

    fn y(&self, value: f64) -> Option<f64> {
        self.share(value)
            .map(|share| BOTTOM - share * (BOTTOM - TOP))
    }
}

/// How many digits after the point distinguish multiples of `step`; at most six.
fn digits_after_point(step: f64) -> usize {
    (0..6)
        .find(|digits| step * 10_f64.powi(*digits) > 0.999)
        .map_or(6, |d| d.unsigned_abs() as usize)
}

/// 0, 1, 2 ... `last`.
fn counted(last: f64) -> impl Iterator<Item = f64> {
    (0..=100_u32)
        .map(f64::from)
        .take_while(move |at| *at <= last)
}

/// The smallest of 1, 2, 5, 10 (times any power of ten) that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= step * 0.999);
    digit.unwrap_or(10.0) * power
}

impl Plot {
    /// The picture as an `svg` element.
    pub(super) fn to_svg(&self) -> String {
        let mut svg = String::with_capacity(16 << 10);
        let title = escape(self.title);
        write!(
            svg,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">"
        )
        .expect("a string takes all");
        self.draw_axes(&mut svg);
        for (index, curve) in self.curves.iter().enumerate() {
            self.draw_curve(&mut svg, index, curve);
        }
        for limit in &self.limits {
            self.draw_limit(&mut svg, limit);
        }
        self.draw_legend(&mut svg);
        svg.push_str("</svg>");
        svg
    }

    fn draw_axes(&self, svg: &mut String) {
        for (value, text) in &self.y.marks {
            let Some(y) = self.y.y(*value) else { continue };
            line(svg, "grid", [LEFT, y, RIGHT, y]);
            label(svg, "end", [LEFT - 7.0, y + 3.5], text);
        }
        for (value, text) in &self.x.marks {
            let Some(x) = self.x.x(*value) else { continue };
            line(svg, "grid", [x, TOP, x, BOTTOM]);
            label(svg, "middle", [x, BOTTOM + 15.0], text);
        }
        line(svg, "axis", [LEFT, BOTTOM, RIGHT, BOTTOM]);
        label(
            svg,
            "end",
            [RIGHT, BOTTOM + 32.0],
            &format!("{} \u{2192}", self.x.label),
        );
        label(
            svg,
            "start",
            [LEFT, BOTTOM + 32.0],
            &format!("\u{2191} {}", self.y.label),
        );
    }

    fn draw_curve(&self, svg: &mut String, index: usize, curve: &Curve) {
        let place = |(x, y): &(f64, f64)| Some((self.x.x(*x)?, self.y.y(*y)?));
        let places: Vec<Option<(f64, f64)>> = curve.points.iter().map(place).collect();
        let (mut path, mut surface) = (String::new(), String::new());
        for stretch in places.split(Option::is_none) {
            let mut stretch: Vec<(f64, f64)> = stretch.iter().copied().flatten().collect();
            // A single point would not be visible.
            if let [(x, y)] = stretch[..] {
                stretch = vec![(x - LONE, y), (x + LONE, y)];
            }
            let (Some((first, _)), Some((last, _))) = (stretch.first(), stretch.last()) else {
                continue;
            };
            write!(surface, "M{first:.1} {BOTTOM}").expect("a string takes all");
            for (at, (x, y)) in stretch.iter().enumerate() {
                let verb = if at == 0 { 'M' } else { 'L' };
                write!(path, "{verb}{x:.1} {y:.1}").expect("a string takes all");
                write!(surface, "L{x:.1} {y:.1}").expect("a string takes all");
            }
            write!(surface, "L{last:.1} {BOTTOM}Z").expect("a string takes all");
        }
        if curve.filled {
            write!(svg, "<path class=\"surface c{index}\" d=\"{surface}\"/>")
                .expect("a string takes all");
        }
        write!(svg, "<path class=\"curve c{index}\" d=\"{path}\"/>").expect("a string takes all");
    }

    fn draw_limit(&self, svg: &mut String, limit: &Limit) {
        let ends = if limit.upright {
            self.x.x(limit.at).map(|x| [x, TOP, x, BOTTOM])
        } else {
            self.y.y(limit.at).map(|y| [LEFT, y, RIGHT, y])
        };
        if let Some(ends) = ends {
            line(svg, "limit", ends);
        }
    }

    fn draw_legend(&self, svg: &mut String) {
        // Letters are at most this wide, even on a narrow page, where they are drawn larger.
        const LETTER: f64 = 7.2;
        let curves = self.curves.iter().enumerate();
        let curves = curves.map(|(index, curve)| (format!("curve c{index}"), curve.name));
        let limits = self
            .limits
            .iter()
            .map(|limit| ("limit".to_owned(), limit.name.as_str()));
        let mut x = 10.0;
        // Lines without a name belong to the last one that has one.
        for (class, name) in curves.chain(limits).filter(|(_, name)| !name.is_empty()) {
            line(svg, &class, [x, 16.0, x + 20.0, 16.0]);
            label(svg, "start", [x + 24.0, 19.5], name);
            x += 34.0 + LETTER * name.chars().count() as f64;
        }
    }
}

fn line(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    write!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    )
    .expect("a string takes all");
}

fn label(svg: &mut String, anchor: &str, [x, y]: [f64; 2], text: &str) {
    let text = escape(text);
    write!(
        svg,
        "<text text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
    )
    .expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(
            marks(&Axis::from_zero(0.0, "")),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]
        );
        assert_eq!(
            marks(&Axis::from_zero(21_480.0, "")),
            ["0", "5,000", "10,000", "15,000", "20,000", "25,000"]
        );
        assert_eq!(
            marks(&Axis::time(90.0)),
            ["0", "15", "30", "45", "60", "75", "90"]
        );
        assert_eq!(
            marks(&Axis::time(7200.0)),
            ["0", "15", "30", "45", "60", "75", "90", "105", "120"]
        );
        assert_eq!(
            marks(&Axis::time(86_400.0)),
            ["0", "3", "6", "9", "12", "15", "18", "21", "24"]
        );
        assert_eq!(
            marks(&Axis::powers(0.03, 120.0, "")),
            ["0.01", "0.1", "1", "10", "100", "1,000"]
        );
    }

    #[test]
    fn places_follow_the_scale() {
        let linear = Axis::time(100.0);
        assert_eq!(linear.x(0.0), Some(LEFT));
        assert_eq!(linear.x(50.0), Some((LEFT + RIGHT) / 2.0));
        assert_eq!(linear.x(1e9), Some(RIGHT));
        let log = Axis::powers(1.0, 100.0, "");
        assert_eq!(log.y(10.0), Some((TOP + BOTTOM) / 2.0));
        assert_eq!(log.y(0.0), None);
        assert_eq!(log.y(f64::NAN), None);
    }

    #[test]
    fn a_point_alone_is_seen() {
        let plot = Plot {
            title: "one sample",
            x: Axis::time(2.0),
            y: Axis::from_zero(10.0, "/s"),
            curves: vec![Curve {
                name: "reads",
                points: vec![(1.0, 5.0)],
                filled: false,
            }],
            limits: Vec::new(),
        };
        let middle = (LEFT + RIGHT) / 2.0;
        let ends = [middle - LONE, middle + LONE].map(|x| format!("{x:.1} "));
        let svg = plot.to_svg();
        let (_, path) = svg.split_once("class=\"curve c0\" d=\"").unwrap();
        assert!(ends.iter().all(|end| path.contains(end)), "{path}");
    }

    #[test]
    fn a_gap_breaks_the_curve() {
        let plot = Plot {
            title: "a < b",
            x: Axis::time(4.0),
            y: Axis::powers(1.0, 10.0, "ms"),
            curves: vec![Curve {
                name: "mean",
                points: vec![
                    (0.0, 2.0),
                    (1.0, 2.0),
                    (2.0, f64::NAN),
                    (3.0, 2.0),
                    (4.0, 2.0),
                ],
                filled: true,
            }],
            limits: Vec::new(),
        };
        let svg = plot.to_svg();
        let (_, path) = svg.split_once("class=\"curve c0\" d=\"").unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2);
        assert_eq!(path.matches('L').count(), 2);
        assert!(svg.contains("a &lt; b"));
        assert!(!svg.contains("NaN"));
    }
}
