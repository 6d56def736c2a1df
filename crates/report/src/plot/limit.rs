//! Limits and goals: a thin solid line each, with its name beside it.
//!
//! ```text
//!     read p99.9 limit 100 ms
//!   ─────────────────────────────────────────   names stand above or below their lines, right or left,
//!      ╷               mean read limit 20 ms    where they cover the least; with a line to theirs
//!   ───┴─────────────────────────────────────   when they stand apart from it
//!                                               one name for limits at the same value
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
    let level = by_value(&level);
    let lines: Vec<f64> = level.iter().filter_map(|limit| y.y(limit.at)).collect();
    for limit in level.iter().rev() {
        let Some(y) = y.y(limit.at) else { continue };
        line(shapes, limit.look, [LEFT, y, RIGHT, y]);
        let others: Vec<f64> = lines.iter().copied().filter(|other| *other != y).collect();
        let name = free_place(&curves, &others, &names, y, width_of(&limit.name));
        if let Some(to) = name.away_from(y) {
            let x = f64::midpoint(name.from, name.until);
            line(shapes, Look::Axis, [x, to, x, y]);
        }
        let (anchor, x) = match name.until < RIGHT - GAP {
            true => (Anchor::Start, name.from),
            false => (Anchor::End, name.until),
        };
        label(shapes, limit.look, anchor, [x, name.y], &limit.name);
        names.push(name);
    }
    names.clear();
    for Limit { name, at, look, .. } in by_value(&upright).iter().rev() {
        let Some(x) = x.x(*at) else { continue };
        line(shapes, *look, [x, TOP, x, BOTTOM]);
        let (anchor, place) = upright_place(&curves, &names, x, width_of(name));
        let at = if anchor == Anchor::Start { place.from } else { place.until };
        label(shapes, *look, anchor, [at, place.y], name);
        names.push(place);
    }
}

/// Where a name of `width` beside the upright line at `x` covers the least: above the picture, to
/// the right of the line if there is room, else to the left, in a second row or inside.
fn upright_place(curves: &[[f64; 2]], names: &[Name], x: f64, width: f64) -> (Anchor, Name) {
    const FIRST: f64 = TOP - GAP;
    /// The unit of the y axis stands at the left of the second row.
    const SECOND_FROM: f64 = LEFT + 60.0;
    let sides = [(Anchor::Start, x + GAP), (Anchor::End, x - GAP - width)];
    let rows = [FIRST, FIRST - ROW, FIRST + ROW, FIRST + 2.0 * ROW, FIRST + 3.0 * ROW];
    let places = rows
        .into_iter()
        .flat_map(|y| sides.map(|(anchor, from)| (anchor, Name { from, until: from + width, y })));
    let cost = |(_, name): &(Anchor, Name)| {
        let from = if name.y < FIRST { SECOND_FROM } else { LEFT };
        let is_outside = name.from < from || name.until > RIGHT;
        let meets = names.iter().any(|other| name.meets(other));
        (is_outside, meets, curves.iter().filter(|point| name.covers(**point)).count())
    };
    places.min_by_key(cost).expect("there are ten places")
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

    /// Its edge towards the line at `y`, if it does not stand at that line.
    fn away_from(&self, y: f64) -> Option<f64> {
        let (above, below) = (y - self.y, self.y - y);
        match (above > ROW, below > ROW) {
            (true, _) => Some(self.y + GAP),
            (_, true) => Some(self.y + GAP - ROW),
            _ => None,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.from < other.until && other.from < self.until && (self.y - other.y).abs() < ROW
    }
}

/// Where a name of `width` near the line at `y` covers the least of `curves` and other `lines`, and
/// none of `names`. Above the line, on the right, is the first choice. It stands apart from the line
/// only where it would lie along a curve.
fn free_place(curves: &[[f64; 2]], lines: &[f64], names: &[Name], y: f64, width: f64) -> Name {
    /// Points that a name may cover before it leaves its line by a row.
    const APART: usize = 6;
    let rows = (0_u8..3).flat_map(|away| {
        let far = f64::from(away) * ROW;
        [y - GAP - far, y + ROW - GAP + far].map(|row| (usize::from(away), row))
    });
    let places = rows.flat_map(|(away, y)| {
        [RIGHT - GAP - width, LEFT + GAP].map(|from| (away, Name { from, until: from + width, y }))
    });
    let cost = |(away, name): &(usize, Name)| {
        let is_outside = !(TOP + ROW - GAP..=BOTTOM).contains(&name.y);
        let meets = names.iter().any(|other| name.meets(other));
        let crosses = lines.iter().any(|line| name.covers([name.from, *line]));
        let covered = curves.iter().filter(|point| name.covers(**point)).count();
        (is_outside, meets, crosses, covered + away * APART)
    };
    places.min_by_key(cost).expect("there are twelve places").1
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
    fn a_name_between_curves_stands_apart_with_a_line_to_its_own() {
        let y = Axis::powers(0.01, 100.0, "ms");
        let at = y.y(10.0).unwrap();
        let along = |away: f64| Stretch {
            line: vec![(LEFT, at + away), (RIGHT, at + away)],
            edge: Vec::new(),
        };
        let stretches = vec![along(-ROW / 2.0), along(ROW / 2.0)];
        let mut shapes = vec![Shape::Curve { number: 0, stretches }];
        draw(&mut shapes, &[limit("log limit 10 ms", 10.0, false)], &Axis::time(1.0), &y);
        let name = texts(&shapes)[0].1;
        assert!((name - at).abs() > ROW, "{name} of {at}");
        assert_eq!(lines(&shapes), 2, "the limit, and the line from its name");
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
        let [(one, first, _), (other, second, _)] = texts(&shapes)[..] else {
            panic!("two names: {shapes:?}")
        };
        assert_eq!((one, other), (Anchor::End, Anchor::End));
        assert_eq!(second, first - ROW, "both above the picture: {shapes:?}");
        let shapes = drawn(&[limit("read", 0.2, true), limit("log", 0.1, true)]);
        let anchors: Vec<_> = texts(&shapes).iter().map(|text| text.0).collect();
        assert_eq!(anchors, [Anchor::Start, Anchor::Start]);
        let shapes =
            drawn(&[limit("read", 0.2, true), limit("limits hold with one path lost", 0.02, true)]);
        let [(_, above, _), (anchor, inside, _)] = texts(&shapes)[..] else {
            panic!("two names: {shapes:?}")
        };
        assert_eq!((anchor, inside), (Anchor::Start, above + ROW), "the unit stands above");
    }
}
