//! Is B better than A? Two sides of runs, compared sample by sample.
//!
//! ```text
//!   run folders -> sameness: did both do the same work?     no: an error that names the differences
//!                     |
//!                  figure: samples -> tracks -> brunt_stats: ratio, interval
//!                     |
//!                  controls: was the machine as fast?       no: no verdict
//!                     |
//!                  comparison: better, worse, cannot tell -> words, JSON, page
//! ```
//!
//! A *history* is one series of runs instead of two sides: where does it change?
//!
//! docs/compare.md has the method and its limits.

mod changed;
mod comparison;
mod controls;
mod exported;
mod figure;
mod history;
mod sameness;
mod words;

pub use changed::in_short;
pub use comparison::{
    Answer, COMPARISON_SCHEMA, Compared, ComparedFigure, Comparison, Difference, Options, compare,
};
pub use controls::Control;
pub use history::{Change, HISTORY_SCHEMA, History, HistoryFigure, HistoryRun, history};
pub use sameness::{CompareError, work_differs};

pub(crate) use figure::FIGURES;
pub(crate) use words::plain;
