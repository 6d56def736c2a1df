//! Limits: a thin solid line each, with its name beside it.
//!
//! ```text
//!   ──────────── read limit 20 ms       the highest has its name above its line, the others below theirs
//!   ────────────
//!                log limit 10 ms        one name for limits at the same value
//! ```

use super::svg::{label, line, width_of};
use super::{Axis, BOTTOM, LEFT, RIGHT, TOP};

/// A value that should not be exceeded.
#[derive(Clone, Debug)]
pub(in crate::html) struct Limit {
    pub(in crate::html) name: String,
    pub(in crate::html) at: f64,
    /// Whether it is a value of the x axis.
    pub(in crate::html) upright: bool,
}

/// Between a line and its name.
const GAP: f64 = 5.0;
/// From one row of names to the next.
const ROW: f64 = 19.0;

/// Draws all limits of a picture.
pub(super) fn draw(svg: &mut String, limits: &[Limit], x: &Axis, y: &Axis) {
    let (upright, level): (Vec<&Limit>, Vec<&Limit>) =
        limits.iter().partition(|limit| limit.upright);
    for (number, (at, name)) in by_value(&level).iter().rev().enumerate() {
        let Some(y) = y.y(*at) else { continue };
        line(svg, "limit", [LEFT, y, RIGHT, y]);
        let below = if number == 0 && y > TOP + ROW {
            -GAP
        } else {
            ROW - GAP
        };
        label(svg, "limit", "end", [RIGHT - GAP, y + below], name);
    }
    // The first row of names is above the picture.
    let first = TOP - GAP;
    let mut left = first;
    for (number, (at, name)) in by_value(&upright).iter().rev().enumerate() {
        let Some(x) = x.x(*at) else { continue };
        line(svg, "limit", [x, TOP, x, BOTTOM]);
        // The largest is named to the right of its line if there is room, the others to the left, one below the other.
        if number == 0 && x + GAP + width_of(name) <= RIGHT {
            label(svg, "limit", "start", [x + GAP, first], name);
        } else {
            label(svg, "limit", "end", [x - GAP, left], name);
            left += ROW;
        }
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
        Limit {
            name: name.to_owned(),
            at,
            upright,
        }
    }

    fn drawn(limits: &[Limit]) -> String {
        let mut svg = String::new();
        let axis = || Axis::powers(0.01, 100.0, "ms");
        draw(&mut svg, limits, &axis(), &axis());
        svg
    }

    /// The place of each text: anchor, x and y.
    fn places(svg: &str) -> Vec<(String, f64, f64)> {
        let texts = svg.split("<text ").skip(1);
        let attribute = |text: &str, name: &str| {
            let (_, rest) = text.split_once(&format!("{name}=\"")).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        let number = |text: &str, name: &str| attribute(text, name).parse().unwrap();
        texts
            .map(|text| {
                (
                    attribute(text, "anchor"),
                    number(text, "x"),
                    number(text, "y"),
                )
            })
            .collect()
    }

    #[test]
    fn two_limits_have_their_names_on_either_side() {
        let svg = drawn(&[limit("read", 20.0, false), limit("log", 10.0, false)]);
        assert_eq!(svg.matches("<line").count(), 2);
        let [(_, _, read), (_, _, log)] = &places(&svg)[..] else {
            panic!("two names: {svg}")
        };
        assert!(log - read > 2.0 * ROW - 2.0 * GAP, "{svg}");
    }

    #[test]
    fn limits_at_one_value_share_a_line() {
        let svg = drawn(&[limit("read", 20.0, false), limit("log", 20.0, false)]);
        assert_eq!(svg.matches("<line").count(), 1);
        assert!(svg.contains(">read, log<"), "{svg}");
    }

    #[test]
    fn upright_limits_near_the_edge_are_named_in_rows_inside() {
        let svg = drawn(&[
            limit("read limit 20 ms", 20.0, true),
            limit("log limit 10 ms", 10.0, true),
        ]);
        let [(one, _, upper), (other, _, lower)] = &places(&svg)[..] else {
            panic!("two names: {svg}")
        };
        assert_eq!((one.as_str(), other.as_str()), ("end", "end"));
        assert!(lower - upper >= ROW, "{svg}");
        let svg = drawn(&[limit("read", 0.2, true), limit("log", 0.1, true)]);
        let anchors: Vec<_> = places(&svg)
            .into_iter()
            .map(|(anchor, ..)| anchor)
            .collect();
        assert_eq!(anchors, ["start", "end"]);
    }
}
