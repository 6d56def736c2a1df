//! Limits: a thin solid line each, with its name beside it.
//!
//! ```text
//!   ──────────── read limit 20 ms       the highest has its name above its line, the others below theirs
//!   ────────────
//!                log limit 10 ms        one name for limits at the same value
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
}

/// Between a line and its name.
const GAP: f64 = 5.0;
/// From one row of names to the next.
const ROW: f64 = 19.0;

/// Draws all limits of a picture.
pub(super) fn draw(shapes: &mut Vec<Shape>, limits: &[Limit], x: &Axis, y: &Axis) {
    let (upright, level): (Vec<&Limit>, Vec<&Limit>) =
        limits.iter().partition(|limit| limit.upright);
    for (number, (at, name)) in by_value(&level).iter().rev().enumerate() {
        let Some(y) = y.y(*at) else { continue };
        line(shapes, Look::Limit, [LEFT, y, RIGHT, y]);
        let below = if number == 0 && y > TOP + ROW { -GAP } else { ROW - GAP };
        label(shapes, Look::Limit, Anchor::End, [RIGHT - GAP, y + below], name);
    }
    // The first row of names is above the picture.
    let first = TOP - GAP;
    let mut left = first;
    for (number, (at, name)) in by_value(&upright).iter().rev().enumerate() {
        let Some(x) = x.x(*at) else { continue };
        line(shapes, Look::Limit, [x, TOP, x, BOTTOM]);
        // The largest is named to the right of its line if there is room, the others to the left,
        // one below the other. A name that would cover the axis stands inside.
        let width = GAP + width_of(name);
        if number == 0 && x + width <= RIGHT {
            label(shapes, Look::Limit, Anchor::Start, [x + GAP, first], name);
            continue;
        }
        let (anchor, at) = match x - width >= LEFT {
            true => (Anchor::End, x - GAP),
            false => {
                left = left.max(first + ROW);
                (Anchor::Start, x + GAP)
            }
        };
        label(shapes, Look::Limit, anchor, [at, left], name);
        left += ROW;
    }
}

/// Values with the names of all limits there, smallest first.
fn by_value(limits: &[&Limit]) -> Vec<(f64, String)> {
    let mut all: Vec<(f64, String)> = Vec::new();
    for limit in limits {
        match all.iter_mut().find(|(at, _)| *at == limit.at) {
            Some((_, name)) => *name = format!("{name}, {}", limit.name),
            None => all.push((limit.at, limit.name.clone())),
        }
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, at: f64, upright: bool) -> Limit {
        Limit { name: name.to_owned(), at, upright }
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
        assert!(log - read > 2.0 * ROW - 2.0 * GAP, "{shapes:?}");
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
