//! What a run leaves behind: its folder, its result in a versioned form, and the report made from them.
//!
//! ```text
//! runs/2026-11-21-181503-demo/
//!   scenario.toml    the scenario, with everything resolved: run it again with it
//!   result.json      verdict, rules, numbers: [`RunResult`]
//!   counters.csv     every stream in every sample: [`Counters`]
//!   latency.hlog     every stream's histogram in every sample: [`brunt_stats::LatencyLog`]
//!   events.log       what happened when: [`Event`]
//!   report.html      all of it for a reader, in one file that needs no network
//! ```
//!
//! The three tables in the middle are written while the run goes on, so that a run whose host dies has a report as well.
//! [`RunFolder`] finds a name that is free; [`Run::read`] reads a run back; [`report_html`] is a function of a [`Run`] and
//! of nothing else. [`together`] makes one of the runs of several hosts.

mod counters;
mod event;
mod folder;
pub mod host_counters;
mod html;
mod number;
mod rebuilt;
pub mod recorded;
pub mod result;
mod run;
mod side_by_side;
pub mod streams;
pub mod table;
mod text;
mod timestamp;
mod together;
mod unfinished;
mod whole_file;

pub use counters::Counters;
pub use event::Event;
pub use folder::{FolderError, RunFolder};
pub use html::{
    StorageInterval, StoragePage, SweepFigures, SweepPoint, report_html, side_by_side_html,
    storage_html, sweep_html,
};
pub use number::{counted, decimals, grouped};
pub use result::RunResult;
pub use run::{ReadError, Run};
pub use side_by_side::side_by_side;
pub use table::{Cell, Column, Row, Table};
pub use text::{escaped, one_line};
pub use timestamp::Timestamp;
pub use together::{TogetherError, are_one_test, together};
pub use whole_file::write_report;
