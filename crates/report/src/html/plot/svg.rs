//! Elements of a picture.

use std::fmt::Write;

use crate::html::escape::escape;

/// The widest letters, on a narrow page, where they are drawn larger; most are narrower.
const LETTER: f64 = 9.0;

/// The room that `text` needs.
pub(super) fn width_of(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

pub(super) fn line(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    write!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    )
    .expect("a string takes all");
}

/// A text whose start, middle or end is at a place.
pub(super) fn label(svg: &mut String, class: &str, anchor: &str, [x, y]: [f64; 2], text: &str) {
    let text = escape(text);
    write!(
        svg,
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
    )
    .expect("a string takes all");
}

pub(super) fn rectangle(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let (width, height) = (x2 - x1, y2 - y1);
    write!(
        svg,
        "<rect class=\"{class}\" x=\"{x1:.1}\" y=\"{y1:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    )
    .expect("a string takes all");
}
