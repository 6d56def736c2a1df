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

use std::borrow::Cow;

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
pub use self::shape::{Anchor, Look, RING, Shape, Stretch};
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
    pub(crate) name: Cow<'static, str>,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) drawn: Drawn,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    Line,
    /// A line, with the area below it tinted.
    Area,
    /// A band from the least to the greatest of this many neighbours: percentiles of many short
    /// samples would be a comb.
    Band(usize),
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
    /// Whether each point of a curve is marked.
    pub(crate) is_dotted: bool,
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
            is_dotted: false,
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
        if self.is_dotted {
            shapes.extend(self.dots());
        }
        shapes
    }

    /// A ring at each point of each curve.
    fn dots(&self) -> impl Iterator<Item = Shape> {
        let curves = self.curves.iter().enumerate();
        curves.flat_map(|(number, curve)| {
            let at = |(x, y): &(f64, f64)| Some([self.x.x(*x)?, self.y.y(*y)?]);
            curve.points.iter().filter_map(at).map(move |at| Shape::Ring { number, at })
        })
    }

    /// What its curves and marks are.
    pub fn legend(&self) -> Vec<Key> {
        let curves = self.curves.iter().enumerate().map(|(number, curve)| Key {
            name: curve.name.to_string(),
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
        let stretches = places.split(Option::is_none).filter_map(|stretch| {
            let stretch: Vec<(f64, f64)> = stretch.iter().copied().flatten().collect();
            let (first, last) = (stretch.first()?.0, stretch.last()?.0);
            Some(match curve.drawn {
                Drawn::Line => Stretch { line: seen(stretch), edge: Vec::new() },
                Drawn::Area => {
                    Stretch { line: seen(stretch), edge: vec![(first, BOTTOM), (last, BOTTOM)] }
                }
                Drawn::Band(each) => {
                    let middle = |points: &[(f64, f64)]| {
                        f64::midpoint(points[0].0, points[points.len() - 1].0)
                    };
                    let side = |choose: fn(f64, f64) -> f64| {
                        let chunks = stretch.chunks(each);
                        let values = chunks.filter_map(|points| {
                            let values = points.iter().map(|(_, y)| *y);
                            Some((middle(points), values.reduce(choose)?))
                        });
                        seen(values.collect())
                    };
                    // Up is less.
                    Stretch { line: side(f64::min), edge: side(f64::max) }
                }
            })
        });
        Shape::Curve { number, stretches: stretches.collect() }
    }
}

/// A single point would not be visible.
fn seen(line: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    match line[..] {
        [(x, y)] => vec![(x - LONE, y), (x + LONE, y)],
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Vec<(f64, f64)>, drawn: Drawn) -> Curve {
        Curve { name: "mean".into(), points, drawn }
    }

    fn path_of(html: &str) -> &str {
        let (_, path) = html.split_once("class=\"curve c0\" d=\"").unwrap();
        path.split('"').next().unwrap()
    }

    #[test]
    fn a_point_alone_is_seen() {
        let curves = vec![curve(vec![(1.0, 5.0)], Drawn::Line)];
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
        let html = Plot::new("a < b", x, y, vec![curve(points, Drawn::Area)]).to_html();
        let path = path_of(&html);
        assert_eq!(path.matches('M').count(), 2);
        assert_eq!(path.matches('L').count(), 2);
        assert!(html.contains("a &lt; b"));
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn a_band_holds_every_point_and_a_gap_breaks_it() {
        let values = [1.0, 9.0, 5.0, f64::NAN, 3.0, 7.0, 2.0, 8.0];
        let points = (0..8).map(f64::from).zip(values).collect();
        let (x, y) = (Axis::time(8.0), Axis::from_zero(10.0, "ms"));
        let plot = Plot::new("", x, y, vec![curve(points, Drawn::Band(2))]);
        let Shape::Curve { stretches, .. } = plot.curve(0, &plot.curves[0]) else { panic!() };
        let of = |y: f64| plot.y.y(y).unwrap();
        let sides = |stretch: &Stretch| {
            let side = |points: &[(f64, f64)]| points.iter().map(|(_, y)| *y).collect::<Vec<_>>();
            (side(&stretch.line), side(&stretch.edge))
        };
        assert_eq!(stretches.len(), 2);
        let (high, low) = sides(&stretches[0]);
        assert_eq!((high, low), (vec![of(9.0), of(5.0)], vec![of(1.0), of(5.0)]));
        let (high, low) = sides(&stretches[1]);
        assert_eq!((high, low), (vec![of(7.0), of(8.0)], vec![of(3.0), of(2.0)]));
    }
}
