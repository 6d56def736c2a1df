//! Intervals of several figures around zero, one below the other.
//!
//! ```text
//!                    -6    -3     0     3     6   change in percent
//!   read                    ░░░░░░░░░░░░░               the tinted band holds what is too small to matter
//!   log write              |──●──|░░░░░░          worse
//!   write p99        ◂────────░░░●░░░──────────▸        one that reaches beyond the picture
//! ```

use std::fmt::Write;

use super::svg::{label, line, rectangle};
use crate::html::escape;

/// The interval of one figure, in percent.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) at: f64,
    pub(crate) high: f64,
    /// What is said of it: a CSS class, and a word at its end.
    pub(crate) word: &'static str,
    pub(crate) class: &'static str,
}

const WIDTH: f64 = 560.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 10.0;
const ROW: f64 = 22.0;
/// Few figures stand farther apart: the picture is as high as those beside it.
const LEAST: f64 = super::HEIGHT - BELOW;
/// Room for the marks of the axis and its name.
const BELOW: f64 = 40.0;
/// Half the height of the ends of an interval.
const END: f64 = 4.0;

/// The picture of `spans`, with a band of `smallest` percent on either side of zero.
pub(crate) fn intervals(title: &str, spans: &[Span], smallest: f64) -> String {
    let reach = reach(spans, smallest);
    let x = |percent: f64| {
        let share = (percent / reach).clamp(-1.0, 1.0);
        (LEFT + RIGHT) / 2.0 + share * (RIGHT - LEFT) / 2.0
    };
    let row = ROW.max((LEAST - TOP) / spans.len().max(1) as f64);
    let bottom = TOP + row * spans.len() as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">",
        bottom + BELOW,
        escape(&equivalent(title, spans)),
    );
    rectangle(&mut svg, "band", [x(-smallest), TOP, x(smallest), bottom]);
    for mark in marks(reach) {
        line(&mut svg, "grid", [x(mark), TOP, x(mark), bottom]);
        let text = format!("{}{mark}", if mark > 0.0 { "+" } else { "" });
        label(&mut svg, "", "middle", [x(mark), bottom + 16.0], &text);
    }
    line(&mut svg, "axis", [x(0.0), TOP, x(0.0), bottom]);
    let middle = (LEFT + RIGHT) / 2.0;
    label(&mut svg, "", "middle", [middle, bottom + 36.0], "change from A to B in percent");
    for (at, span) in spans.iter().enumerate() {
        let y = TOP + row * (at as f64 + 0.5);
        label(&mut svg, "", "end", [LEFT - 10.0, y + 4.5], &span.name);
        let class = format!("span {}", span.class);
        line(&mut svg, &class, [x(span.low), y, x(span.high), y]);
        for (end, inward) in [(span.low, END), (span.high, -END)] {
            match end.abs() > reach {
                // An arrow: it goes on.
                true => {
                    line(&mut svg, &class, [x(end), y, x(end) + inward, y - END]);
                    line(&mut svg, &class, [x(end), y, x(end) + inward, y + END]);
                }
                false => line(&mut svg, &class, [x(end), y - END, x(end), y + END]),
            }
        }
        write!(
            svg,
            "<circle class=\"point {}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>",
            span.class,
            x(span.at)
        )
        .expect("a string takes all");
        label(&mut svg, span.class, "start", [RIGHT + 10.0, y + 4.5], span.word);
    }
    svg.push_str("</svg>");
    svg
}

/// How far the picture goes: to the end of the longest interval, but one that is much longer than
/// most does not squeeze the others.
fn reach(spans: &[Span], smallest: f64) -> f64 {
    let mut ends: Vec<f64> = spans.iter().map(|span| span.low.abs().max(span.high.abs())).collect();
    ends.sort_by(f64::total_cmp);
    let middle = ends.get(ends.len().div_euclid(2)).copied().unwrap_or(0.0);
    let longest = ends.last().copied().unwrap_or(0.0);
    longest.min(4.0 * middle).max(2.0 * smallest).max(1e-3) * 1.05
}

/// Round numbers on both sides of zero.
fn marks(reach: f64) -> Vec<f64> {
    let step = super::axis::round_step(reach / 3.0);
    let digits = 10_f64.powi(4);
    let all = (-9..=9).map(|at| f64::from(at) * step);
    all.filter(|mark| mark.abs() <= reach).map(|mark| (mark * digits).round() / digits).collect()
}

/// What the picture shows, in words.
fn equivalent(title: &str, spans: &[Span]) -> String {
    let words = spans.iter().map(|span| {
        let numbers =
            format!("{} {:+.1} % ({:+.1} to {:+.1} %)", span.name, span.at, span.low, span.high);
        match span.word {
            "" => numbers,
            word => format!("{numbers}, {word}"),
        }
    });
    format!("{title}: {}", words.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(name: &str, low: f64, high: f64) -> Span {
        Span {
            name: name.to_owned(),
            low,
            at: (low + high) / 2.0,
            high,
            word: "worse",
            class: "worse",
        }
    }

    #[test]
    fn a_long_interval_has_an_arrow_and_leaves_room_for_the_others() {
        let spans = [span("<a>", 1.0, 3.0), span("b", -2.0, 2.0), span("c", -300.0, 300.0)];
        assert!(reach(&spans, 3.0) < 14.0);
        let html = intervals("Change", &spans, 3.0);
        assert!(html.contains("aria-label=\"Change: &lt;a&gt; +2.0 % (+1.0 to +3.0 %), worse; b"));
        assert_eq!(html.matches("<circle").count(), 3);
        // Two ends each, of one line or of an arrow of two, the lines between them, the grid and
        // the axis.
        assert_eq!(html.matches("<line class=\"span").count(), 3 + 2 + 2 + 4);
        assert!(!html.contains("NaN"));
        assert!(!intervals("Change", &[], 0.0).contains("NaN"));
    }

    #[test]
    fn marks_are_round_and_on_both_sides() {
        assert_eq!(marks(7.0), [-5.0, 0.0, 5.0]);
        assert_eq!(marks(0.35), [-0.2, 0.0, 0.2]);
    }
}
