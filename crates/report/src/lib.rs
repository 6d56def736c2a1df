//! What a run leaves behind: its folder, its versioned result, and the report made from them.
//!
//! ```text
//! runs/2026-11-21-181503-demo-performance/
//!   scenario.toml    the scenario with every default filled in; it repeats the run
//!   result.json      verdict, rules, numbers: [`RunResult`]
//!   journal          every record of the run: [`brunt_run`]
//!   counters.csv     every stream in every sample: [`Counters`]
//!   latency.hlog     every stream's histogram in every sample: [`brunt_stats::LatencyLog`]
//!   events.log       the test log: [`Event`]
//!   report.html      the report: one file that needs no network
//! ```
//!
//! The journal and the three tables, which have the same records, are written while the run goes on,
//! so there is a report even when the host dies. [`RunFolder`] finds a free name, [`Run::read`] reads a run back, and
//! [`report_html`] depends on a [`Run`] alone. [`together`] combines the runs of several hosts into
//! one; [`compare`] says which of two sides of runs is better.

pub mod compare;
mod condensed;
mod counters;
mod ending;
pub mod event;
mod figures;
mod folder;
pub mod host_counters;
mod html;
mod measured;
mod news;
pub mod parts;
mod pictures;
pub mod plot;
pub mod points;
pub mod recorded;
mod records;
pub mod result;
mod run;
#[cfg(test)]
mod schema;
mod side_by_side;
pub mod streams;
pub mod table;
mod text;
mod timestamp;
mod together;
mod whole_file;

pub use brunt_units::{counted, decimals, grouped};
pub use condensed::{condensed_counters, condensed_latencies};
pub use counters::Counters;
pub use ending::{TEST_ENDS, ending};
pub use event::Event;
pub use folder::{FolderError, RunFolder};
pub use html::{
    ReportTables, SCRIPT, STYLE, Served, StorageInterval, StoragePage, SweepOutcome, SweepPage,
    SweepPicture, SweepPoint, comparison_html, framed_html, history_html, lies_on, report_html,
    served_comparison_html, served_history_html, served_html, served_report_html,
    side_by_side_html, storage_html, sweep_html,
};
pub use html::{escape, in_address};
pub use measured::{JOURNAL, JournalFile, Seekable, each_sample, journal_in};
pub use news::NewsLine;
pub use pictures::{Part, Pictures, View};
pub use records::{RECORDS_SCHEMA, Records};
pub use result::RunResult;
pub use run::{
    OTHER_RESULTS, Opened, ReadError, Run, Tables, folder_of, open_in, regular_file, result_in,
};
pub use side_by_side::{Listed, in_a_sentence, missing, side_by_side};
pub use table::{Cell, Column, Row, Table};
pub use text::{capitalised, escaped, is_measured, one_line};
pub use timestamp::Timestamp;
pub use together::{TogetherError, are_one_test, of_fleet, sum_in, sum_of, together};
pub use whole_file::{write_new, write_report};
