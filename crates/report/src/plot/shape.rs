//! What a picture is made of: the geometry that every writer draws.

/// The widest letters, on a narrow page, where they are drawn larger; most are narrower.
const LETTER: f64 = 9.0;

/// What a line, a text or a rectangle stands for; writers choose its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A name or number beside an axis.
    Label,
    /// A line at a mark of an axis.
    Grid,
    Axis,
    /// A value that should not be exceeded.
    Limit,
    /// A value that should be reached.
    Goal,
    /// Something that happened.
    Event,
    /// A state that lasted.
    State,
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    Middle,
    /// Its right end.
    End,
}

/// An element of a picture. (0, 0) is at the top left, ([`super::WIDTH`], [`super::HEIGHT`]) at the
/// bottom right.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A straight line: x and y of its ends.
    Line(Look, [f64; 4]),
    /// A rectangle: x and y of opposite corners, the top left first.
    Rectangle(Look, [f64; 4]),
    /// A text whose baseline is at a place.
    Text(Look, Anchor, [f64; 2], String),
    Curve {
        /// Its number, which gives its colour and its dashes.
        number: usize,
        /// It is interrupted between stretches.
        stretches: Vec<Stretch>,
    },
    /// A ring in the colour of a curve.
    Ring {
        /// The number of the curve.
        number: usize,
        /// Its centre.
        at: [f64; 2],
    },
}

/// A part of a curve without a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    pub line: Vec<(f64, f64)>,
    /// The lower edge of the tinted area below the line, from the left; empty without an area.
    pub edge: Vec<(f64, f64)>,
}

impl Stretch {
    /// The border of the tinted area.
    pub fn area(&self) -> impl Iterator<Item = (f64, f64)> {
        self.line.iter().chain(self.edge.iter().rev()).copied()
    }
}

/// Radius of a ring.
pub const RING: f64 = 4.0;

/// The room that `text` needs.
pub(super) fn width_of(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

pub(super) fn line(shapes: &mut Vec<Shape>, look: Look, ends: [f64; 4]) {
    shapes.push(Shape::Line(look, ends));
}

pub(super) fn label(shapes: &mut Vec<Shape>, look: Look, anchor: Anchor, at: [f64; 2], text: &str) {
    shapes.push(Shape::Text(look, anchor, at, text.to_owned()));
}

pub(super) fn rectangle(shapes: &mut Vec<Shape>, look: Look, corners: [f64; 4]) {
    shapes.push(Shape::Rectangle(look, corners));
}
