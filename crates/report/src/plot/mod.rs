//! Pictures: curves between two axes. One geometry ([`Plot::shapes`]) has several writers: `svg`
//! for web pages, others for papers.
//!
//! ```text
//!   -- mean  - - p99                     legend: each writer sets it in its own way
//!   ms (log scale)                       (0, 0) at the top left, 560 x 280 units, scaled by the page
//!     │                read limit 20 ms
//!     │─────────────────────────────────
//!     │_____╭╮________
//!           minutes
//! ```
//!
//! Shapes say what they stand for, and writers choose colours: one picture serves a light page, a
//! dark page, and paper. Curves differ in colour and in dash pattern; only limits are thin and
//! solid. A point that is not a number, or not above zero on a logarithmic axis, makes a gap in the
//! curve.

mod axis;
mod intervals;
mod limit;
mod panels;
mod readings;
mod shape;
mod svg;
mod timeline;
mod words;

pub(crate) use self::axis::Axis;
pub(crate) use self::intervals::{Span, intervals};
pub(crate) use self::limit::Limit;
pub(crate) use self::panels::{Panel, Panels, letter};
pub use self::shape::{Anchor, Look, RING, Shape};
use self::shape::{label, line};
pub(crate) use self::timeline::{Band, Moment, Timeline};
pub(crate) use self::words::clock;

/// Width of a picture, in its own units.
pub const WIDTH: f64 = 560.0;
/// Height of a picture.
pub const HEIGHT: f64 = 280.0;
/// Half the width of the dash that stands for a point without neighbours.
const LONE: f64 = 5.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 18.0;
const TOP: f64 = 36.0;
/// Where the area below a curve ends.
pub const BOTTOM: f64 = HEIGHT - 44.0;

#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether the area below the curve is tinted.
    pub(crate) filled: bool,
}

/// A point that is marked.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) at: (f64, f64),
    /// The curve whose colour it has.
    pub(crate) curve: usize,
}

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What the curve or mark is.
    pub name: String,
    /// The number of the curve, which gives the colour.
    pub number: usize,
    /// Whether it is a mark on the curve.
    pub is_mark: bool,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Plot {
    pub(crate) title: &'static str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) curves: Vec<Curve>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) marks: Vec<Mark>,
    /// What happened meanwhile, where the x axis is time.
    pub(crate) timeline: Timeline,
    /// Whether curves are staircases: a value holds from its point to the next one.
    pub(crate) is_stairs: bool,
}

impl Plot {
    /// A picture of `curves` alone.
    pub(crate) fn new(title: &'static str, x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
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

    /// Its elements, the lowest first.
    pub fn shapes(&self) -> Vec<Shape> {
        let mut shapes = Vec::new();
        self.timeline.draw_states(&mut shapes, &self.x);
        self.draw_axes(&mut shapes);
        self.timeline.draw_events(&mut shapes, &self.x);
        let curves = self.curves.iter().enumerate();
        shapes.extend(curves.map(|(number, curve)| self.curve(number, curve)));
        limit::draw(&mut shapes, &self.limits, &self.x, &self.y);
        let marks = self.marks.iter().filter_map(|mark| {
            let at = [self.x.x(mark.at.0)?, self.y.y(mark.at.1)?];
            let number = mark.curve;
            Some(Shape::Ring { number, at })
        });
        shapes.extend(marks);
        shapes
    }

    /// What its curves and marks are.
    pub fn legend(&self) -> Vec<Key> {
        let curves = self.curves.iter().enumerate().map(|(number, curve)| Key {
            name: curve.name.to_owned(),
            number,
            is_mark: false,
        });
        let marks = self.marks.iter().map(|mark| Key {
            name: mark.name.clone(),
            number: mark.curve,
            is_mark: true,
        });
        curves.chain(marks).collect()
    }

    pub fn title(&self) -> &'static str {
        self.title
    }

    /// What it shows, in words, for those who do not see it.
    pub fn in_words(&self) -> String {
        words::equivalent(self)
    }

    fn draw_axes(&self, shapes: &mut Vec<Shape>) {
        for (value, text) in &self.y.marks {
            let Some(y) = self.y.y(*value) else { continue };
            line(shapes, Look::Grid, [LEFT, y, RIGHT, y]);
            let at = [LEFT - 7.0, y + 4.5];
            label(shapes, Look::Label, Anchor::End, at, text);
        }
        for (value, text) in &self.x.marks {
            let Some(x) = self.x.x(*value) else { continue };
            line(shapes, Look::Grid, [x, TOP, x, BOTTOM]);
            let at = [x, BOTTOM + 18.0];
            label(shapes, Look::Label, Anchor::Middle, at, text);
        }
        line(shapes, Look::Axis, [LEFT, BOTTOM, RIGHT, BOTTOM]);
        let at = [(LEFT + RIGHT) / 2.0, HEIGHT - 5.0];
        label(shapes, Look::Label, Anchor::Middle, at, &self.x.label());
        let at = [4.0, 15.0];
        label(shapes, Look::Label, Anchor::Start, at, &self.y.label());
    }

    fn curve(&self, number: usize, curve: &Curve) -> Shape {
        let place = |(x, y): &(f64, f64)| Some((self.x.x(*x)?, self.y.y(*y)?));
        let places: Vec<Option<(f64, f64)>> = curve.points.iter().map(place).collect();
        let stretches = places.split(Option::is_none).map(|stretch| {
            let stretch: Vec<(f64, f64)> = stretch.iter().copied().flatten().collect();
            match stretch[..] {
                // A single point would not be visible.
                [(x, y)] => vec![(x - LONE, y), (x + LONE, y)],
                _ => stretch,
            }
        });
        Shape::Curve {
            number,
            stretches: stretches.filter(|stretch| !stretch.is_empty()).collect(),
            filled: curve.filled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Vec<(f64, f64)>, filled: bool) -> Curve {
        Curve { name: "mean", points, filled }
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
