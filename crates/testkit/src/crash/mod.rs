//! The crash search: no commit is ever lost, in whatever state a crash leaves the files.
//!
//! ```text
//!   Configuration --> Story: sessions work; everything that reaches the disk is recorded, and the state of the
//!                       |                                                       records after each commit (History)
//!                       v
//!   step: a cut of the record, a sample of what may have survived of the non-durable data  -->  files
//!                       |
//!                       v
//!   Recovery: opened, read, walked, closed; sometimes cut off itself, and recovered again
//!                       |
//!                       v
//!   judge: the state existed once, and is not older than the newest commit acknowledged before the cut
//!                       |
//!                       '--> sometimes the next generation: another Story on those files, which is cut in the same way
//! ```
//!
//! The oracle is an ordered list of small maps, one for each commit. Content is a function of a
//! version, so a mix of two versions is detected. The oracle shares no code with the engine.
//!
//! Requirements on a state: it contains all acknowledged hard commits; a commit that was requested
//! but not acknowledged is in it completely or not at all; lazy commits are a prefix in log order;
//! it contains nothing that was rolled back or never committed; and every index agrees with its
//! table.
//!
//! * [`configuration`]: the parameters of a story, drawn from a seed.
//! * [`mod@story`]: runs it; `pages`, `records` and `messages` are the three kinds of work, and
//!   `sessions` the transactions that the latter two share.
//! * [`flush_types`]: an audit of the record: two different consecutive writes of a page differ in
//!   their flush type.
//! * [`recovery`]: opens the remains of a crash.
//! * `copy`: a passive copy that is fed the story's log, cut, fed again, and activated.
//! * [`rot`]: pages that are damaged while the power is off.
//! * [`search`]: one story, cut everywhere; [`proof`]: many stories, a given number of steps;
//!   [`coverage`]: its statistics.

pub mod configuration;
mod copy;
pub mod coverage;
pub mod flush_types;
mod messages;
mod pages;
pub mod proof;
mod records;
pub mod recovery;
pub mod rot;
pub mod search;
mod sessions;
pub mod story;

use std::collections::BTreeMap;

pub use configuration::{Configuration, Mistake, Work};
pub use coverage::Coverage;
pub use proof::{Proof, Proven, Violation};
pub use search::Search;
pub use story::Story;

/// The version of each record or page, by database.
pub type State = BTreeMap<(u8, u32), u64>;
