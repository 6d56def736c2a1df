//! Limits and goals: a thin solid line each, with its name beside it.
//!
//! ```text
//!     read p99.9 limit 100 ms
//!   ─────────────────────────────────────────   names stand above or below their lines, right or left,
//!                      mean read limit 20 ms    where they cover the least
//!   ─────────────────────────────────────────   one name for limits at the same value
//! ```

use super::shape::{label, line, width_of};
use super::{Anchor, Axis, BOTTOM, LEFT, Look, RIGHT, Shape, TOP};

/// A value that should not be exceeded.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) name: String,
    pub(crate) at: f64,
    /// Whether it is a value of the x axis.
    pub(crate) upright: bool,
    /// [`Look::Limit`], or [`Look::Goal`] for one that should be reached.
    pub(crate) look: Look,
}

impl Limit {
    /// A limit of the y axis.
    pub(crate) fn level(name: String, at: f64) -> Self {
        Self { name, at, upright: false, look: Look::Limit }
    }
}

/// Between a line and its name.
const GAP: f64 = 5.0;
/// From one row of names to the next.
const ROW: f64 = 19.0;

/// Draws all limits of a picture.
pub(super) fn draw(shapes: &mut Vec<Shape>, limits: &[Limit], x: &Axis, y: &Axis) {
    let (upright, level): (Vec<&Limit>, Vec<&Limit>) =
        limits.iter().partition(|limit| limit.upright);
    let curves = drawn_points(shapes);
    let mut names = Vec::new();
    for limit in by_value(&level).iter().rev() {
        let Some(y) = y.y(limit.at) else { continue };
        line(shapes, limit.look, [LEFT, y, RIGHT, y]);
        let name = free_place(&curves, &names, y, width_of(&limit.name));
        let (anchor, x) = match name.until < RIGHT - GAP {
            true => (Anchor::Start, name.from),
            false => (Anchor::End, name.until),
        };
        label(shapes, limit.look, anchor, [x, name.y], &limit.name);
        names.push(name);
    }
    // The first row of names is above the picture.
    let first = TOP - GAP;
    let mut left = first;
    for (number, Limit { name, at, look, .. }) in by_value(&upright).iter().rev().enumerate() {
        let Some(x) = x.x(*at) else { continue };
        line(shapes, *look, [x, TOP, x, BOTTOM]);
        // The largest is named to the right of its line if there is room, the others to the left,
        // one below the other. A name that would cover the axis stands inside.
        let width = GAP + width_of(name);
        if number == 0 && x + width <= RIGHT {
            label(shapes, *look, Anchor::Start, [x + GAP, first], name);
            continue;
        }
        let (anchor, at) = match x - width >= LEFT {
            true => (Anchor::End, x - GAP),
            false => {
                left = left.max(first + ROW);
                (Anchor::Start, x + GAP)
            }
        };
        label(shapes, *look, anchor, [at, left], name);
        left += ROW;
    }
}

/// Points of all curves, close enough for names to avoid them.
fn drawn_points(shapes: &[Shape]) -> Vec<[f64; 2]> {
    const APART: f64 = 5.0;
    let curves = shapes.iter().filter_map(|shape| match shape {
        Shape::Curve { stretches, .. } => Some(stretches),
        _ => None,
    });
    let lines = curves.flatten().flat_map(|stretch| [&stretch.line, &stretch.edge]);
    let between = |pair: &[(f64, f64)]| {
        let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
        let steps = ((next_x - x).hypot(next_y - y) / APART).ceil().max(1.0);
        (0..=1_000_u32).map(f64::from).take_while(move |at| *at <= steps).map(move |at| {
            let share = at / steps;
            [x + share * (next_x - x), y + share * (next_y - y)]
        })
    };
    lines.flat_map(|line| line.windows(2).flat_map(between)).collect()
}

/// The place of a name: its ends and its baseline.
#[derive(Clone, Copy)]
struct Name {
    from: f64,
    until: f64,
    y: f64,
}

impl Name {
    fn covers(&self, [x, y]: [f64; 2]) -> bool {
        (self.from..=self.until).contains(&x) && (self.y - ROW + GAP..=self.y + GAP).contains(&y)
    }

    fn meets(&self, other: &Self) -> bool {
        self.from < other.until && other.from < self.until && (self.y - other.y).abs() < ROW
    }
}

/// Where a name of `width` beside the line at `y` covers the least of `curves` and none of `names`.
/// Above the line, on the right, is the first choice.
fn free_place(curves: &[[f64; 2]], names: &[Name], y: f64, width: f64) -> Name {
    let rows = [y - GAP, y + ROW - GAP];
    let places = [RIGHT - GAP - width, LEFT + GAP]
        .into_iter()
        .flat_map(|from| rows.into_iter().map(move |y| Name { from, until: from + width, y }));
    let covered = |name: &Name| {
        let is_outside = !(TOP + ROW - GAP..=BOTTOM).contains(&name.y);
        let meets = names.iter().any(|other| name.meets(other));
        (is_outside, meets, curves.iter().filter(|point| name.covers(**point)).count())
    };
    places.min_by_key(covered).expect("there are four places")
}

/// The limits, smallest first; those at one value are one with all names.
fn by_value(limits: &[&Limit]) -> Vec<Limit> {
    let mut all: Vec<Limit> = Vec::new();
    for limit in limits {
        match all.iter_mut().find(|known| known.at == limit.at) {
            Some(known) => known.name = format!("{}, {}", known.name, limit.name),
            None => all.push((*limit).clone()),
        }
    }
    all.sort_by(|one, other| one.at.total_cmp(&other.at));
    all
}

#[cfg(test)]
mod tests {
    use super::super::Stretch;
    use super::*;

    fn limit(name: &str, at: f64, upright: bool) -> Limit {
        Limit { name: name.to_owned(), at, upright, look: Look::Limit }
    }

    fn drawn(limits: &[Limit]) -> Vec<Shape> {
        let mut shapes = Vec::new();
        let axis = || Axis::powers(0.01, 100.0, "ms");
        draw(&mut shapes, limits, &axis(), &axis());
        shapes
    }

    fn lines(shapes: &[Shape]) -> usize {
        let is_line = |shape: &&Shape| matches!(shape, Shape::Line(..));
        shapes.iter().filter(is_line).count()
    }

    /// The texts and their places.
    fn texts(shapes: &[Shape]) -> Vec<(Anchor, f64, &str)> {
        let text = |shape| match shape {
            &Shape::Text(_, anchor, [_, y], ref text) => Some((anchor, y, text.as_str())),
            _ => None,
        };
        shapes.iter().filter_map(text).collect()
    }

    #[test]
    fn two_limits_have_their_names_on_either_side() {
        let shapes = drawn(&[limit("read", 20.0, false), limit("log", 10.0, false)]);
        assert_eq!(lines(&shapes), 2);
        let [(_, read, _), (_, log, _)] = texts(&shapes)[..] else {
            panic!("two names: {shapes:?}")
        };
        assert!(log - read >= ROW, "{shapes:?}");
    }

    #[test]
    fn names_never_meet() {
        let three =
            [limit("tail", 22.0, false), limit("read", 20.0, false), limit("log", 10.0, false)];
        let shapes = drawn(&three);
        let places: Vec<_> = texts(&shapes).into_iter().map(|(anchor, y, _)| (anchor, y)).collect();
        assert_eq!(places.len(), 3);
        for (at, (anchor, y)) in places.iter().enumerate() {
            let meets = |(other, above): &(Anchor, f64)| anchor == other && (y - above).abs() < ROW;
            assert!(!places[..at].iter().any(meets), "{places:?}");
        }
    }

    #[test]
    fn a_name_leaves_the_curve_readable() {
        let y = Axis::powers(0.01, 100.0, "ms");
        let at = y.y(20.0).unwrap();
        let stretch =
            |height: f64| Stretch { line: vec![(LEFT, height), (RIGHT, height)], edge: Vec::new() };
        let mut shapes = vec![Shape::Curve { number: 0, stretches: vec![stretch(at - ROW / 2.0)] }];
        draw(&mut shapes, &[limit("read", 20.0, false)], &Axis::time(1.0), &y);
        assert_eq!(texts(&shapes)[0].1, at + ROW - GAP, "below, where no curve is");
    }

    #[test]
    fn limits_at_one_value_share_a_line() {
        let shapes = drawn(&[limit("read", 20.0, false), limit("log", 20.0, false)]);
        assert_eq!(lines(&shapes), 1);
        assert_eq!(texts(&shapes)[0].2, "read, log");
    }

    #[test]
    fn upright_limits_near_the_edge_are_named_in_rows_inside() {
        let shapes =
            drawn(&[limit("read limit 20 ms", 20.0, true), limit("log limit 10 ms", 10.0, true)]);
        let [(one, upper, _), (other, lower, _)] = texts(&shapes)[..] else {
            panic!("two names: {shapes:?}")
        };
        assert_eq!((one, other), (Anchor::End, Anchor::End));
        assert!(lower - upper >= ROW, "{shapes:?}");
        let shapes = drawn(&[limit("read", 0.2, true), limit("log", 0.1, true)]);
        let anchors: Vec<_> = texts(&shapes).iter().map(|text| text.0).collect();
        assert_eq!(anchors, [Anchor::Start, Anchor::End]);
        let shapes = drawn(&[limit("read", 0.2, true), limit("one path lost", 0.02, true)]);
        let [(_, above, _), (anchor, inside, _)] = texts(&shapes)[..] else {
            panic!("two names: {shapes:?}")
        };
        assert_eq!((anchor, inside), (Anchor::Start, above + ROW));
    }
}
