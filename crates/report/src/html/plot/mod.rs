//! Pictures: curves between two axes, as inline SVG with a legend in HTML.
//!
//! ```text
//!   -- mean  - - p99                     legend: HTML, so that it wraps on a narrow page
//!   ms (log scale)                       (0, 0) at the top left, 560 x 280 units, scaled by the page
//!     │                read limit 20 ms
//!     │─────────────────────────────────
//!     │_____╭╮________
//!           minutes
//! ```
//!
//! Colours are CSS classes (`c0` to `c3`, `limit`), so one picture serves a light page, a dark page, and paper. Curves differ in
//! colour and in dash pattern; only limits are thin and solid. A point that is not a number, or not above zero on a logarithmic
//! axis, makes a gap in the curve.

mod axis;
mod intervals;
mod limit;
mod panels;
mod readings;
mod svg;
mod timeline;
mod words;

use std::fmt::Write;

pub(super) use self::axis::Axis;
pub(super) use self::intervals::{Span, intervals};
pub(super) use self::limit::Limit;
pub(super) use self::panels::{Panel, Panels, letter};
use self::svg::{label, line};
pub(super) use self::timeline::{Band, Moment, Timeline};
pub(super) use self::words::clock;
use super::escape::escape;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
/// Half the width of the dash that stands for a point without neighbours.
const LONE: f64 = 5.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 18.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = HEIGHT - 44.0;

/// One curve.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
    /// Whether the area below the curve is tinted.
    pub(super) filled: bool,
}

/// A point that is marked.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) name: String,
    pub(super) at: (f64, f64),
    /// The curve whose colour it has.
    pub(super) curve: usize,
}

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub(super) title: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
    pub(super) limits: Vec<Limit>,
    pub(super) marks: Vec<Mark>,
    /// What happened meanwhile, where the x axis is time.
    pub(super) timeline: Timeline,
    /// Whether curves are staircases: a value holds from its point to the next one.
    pub(super) is_stairs: bool,
}

impl Plot {
    /// A picture of `curves` alone.
    pub(super) fn new(title: &'static str, x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
        Self {
            title,
            x,
            y,
            curves,
            limits: Vec::new(),
            marks: Vec::new(),
            timeline: Timeline::default(),
            is_stairs: false,
        }
    }

    /// The legend, and the picture as an `svg` element.
    pub(super) fn to_html(&self) -> String {
        let mut svg = self.legend();
        let at = readings::places(self);
        write!(
            svg,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"{}>",
            escape(&words::equivalent(self)),
            readings::attributes(self, &at),
        )
        .expect("a string takes all");
        self.timeline.draw_states(&mut svg, &self.x);
        self.draw_axes(&mut svg);
        self.timeline.draw_events(&mut svg, &self.x);
        for (index, curve) in self.curves.iter().enumerate() {
            self.draw_curve(&mut svg, index, curve, &at);
        }
        limit::draw(&mut svg, &self.limits, &self.x, &self.y);
        for mark in &self.marks {
            if let (Some(x), Some(y)) = (self.x.x(mark.at.0), self.y.y(mark.at.1)) {
                svg.push_str(&sign(mark, x, y));
            }
        }
        svg.push_str("</svg>");
        svg
    }

    fn legend(&self) -> String {
        let key = |drawn: &str, name: &str| {
            format!(
                "<li><svg viewBox=\"0 0 22 10\" aria-hidden=\"true\">{drawn}</svg>{}</li>",
                escape(name)
            )
        };
        let curves = self.curves.iter().enumerate().map(|(index, curve)| {
            let mut drawn = String::new();
            line(
                &mut drawn,
                &format!("curve c{index}"),
                [0.0, 5.0, 22.0, 5.0],
            );
            key(&drawn, curve.name)
        });
        let marks = self.marks.iter();
        let marks = marks.map(|mark| key(&sign(mark, 11.0, 5.0), &mark.name));
        let keys: String = curves.chain(marks).collect();
        format!("<ul class=\"legend\">{keys}</ul>")
    }

    fn draw_axes(&self, svg: &mut String) {
        for (value, text) in &self.y.marks {
            let Some(y) = self.y.y(*value) else { continue };
            line(svg, "grid", [LEFT, y, RIGHT, y]);
            label(svg, "", "end", [LEFT - 7.0, y + 4.5], text);
        }
        for (value, text) in &self.x.marks {
            let Some(x) = self.x.x(*value) else { continue };
            line(svg, "grid", [x, TOP, x, BOTTOM]);
            label(svg, "", "middle", [x, BOTTOM + 18.0], text);
        }
        line(svg, "axis", [LEFT, BOTTOM, RIGHT, BOTTOM]);
        let middle = (LEFT + RIGHT) / 2.0;
        label(svg, "", "middle", [middle, HEIGHT - 5.0], &self.x.label());
        label(svg, "", "start", [4.0, 15.0], &self.y.label());
    }

    fn draw_curve(&self, svg: &mut String, index: usize, curve: &Curve, at: &[f64]) {
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
        let values = readings::of_curve(curve, at, self.is_stairs);
        write!(svg, "<path class=\"curve c{index}\" d=\"{path}\"{values}/>")
            .expect("a string takes all");
    }
}

/// The sign of a mark: a ring.
fn sign(mark: &Mark, x: f64, y: f64) -> String {
    let curve = mark.curve;
    format!("<circle class=\"mark c{curve}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Vec<(f64, f64)>, filled: bool) -> Curve {
        Curve {
            name: "mean",
            points,
            filled,
        }
    }

    fn path_of(html: &str) -> &str {
        let (_, path) = html.split_once("class=\"curve c0\" d=\"").unwrap();
        path.split('"').next().unwrap()
    }

    #[test]
    fn a_point_alone_is_seen() {
        let curves = vec![curve(vec![(1.0, 5.0)], false)];
        let (x, y) = (Axis::time(2.0), Axis::from_zero(10.0, "per second"));
        let html = Plot::new("one sample", x, y, curves).to_html();
        let middle = (LEFT + RIGHT) / 2.0;
        let ends = [middle - LONE, middle + LONE].map(|x| format!("{x:.1} "));
        let path = path_of(&html);
        assert!(ends.iter().all(|end| path.contains(end)), "{path}");
    }

    #[test]
    fn a_gap_breaks_the_curve() {
        let points = [2.0, 2.0, f64::NAN, 2.0, 2.0];
        let points = (0..5).map(f64::from).zip(points).collect();
        let (x, y) = (Axis::time(4.0), Axis::powers(1.0, 10.0, "ms"));
        let html = Plot::new("a < b", x, y, vec![curve(points, true)]).to_html();
        let path = path_of(&html);
        assert_eq!(path.matches('M').count(), 2);
        assert_eq!(path.matches('L').count(), 2);
        assert!(html.contains("a &lt; b"));
        assert!(!html.contains("NaN"));
    }
}
