//! Conversions whose loss does not matter here.

/// A place on a page, which has a few hundred points.
#[expect(
    clippy::cast_possible_truncation,
    reason = "places on a page need no more than seven digits"
)]
pub(crate) fn place(number: f64) -> f32 {
    number as f32
}

/// A small count.
#[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
pub(crate) fn count(number: usize) -> f32 {
    number as f32
}

/// A size or a count in computations.
#[expect(clippy::cast_precision_loss, reason = "numbers are shown with three digits")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
