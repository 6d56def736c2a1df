//! The crash search: nothing committed is ever lost, whatever a crash leaves.
//!
//! ```text
//!   Configuration --> Story: sessions work, everything that reaches the disk is recorded, and what every commit made
//!                       |                                                            of the records is kept (History)
//!                       v
//!   step: a cut of the record, a sample of what may have survived of what was not yet durable  -->  files
//!                       |
//!                       v
//!   Recovery: opened, read, walked, closed; sometimes cut off itself, and recovered again
//!                       |
//!                       v
//!   judge: the state is one that was, and not older than the newest commit that was acknowledged before the cut
//!                       |
//!                       '--> sometimes the next generation: another Story on those files, which is cut likewise
//! ```
//!
//! The oracle is an ordered list of small maps, one for each commit; content is a function of a version, so a mixture
//! of two versions is seen. It shares no code with the engine.
//!
//! What a state must be: hard commits that were acknowledged are in it; a commit that was asked for and not acknowledged is
//! in it wholly or not at all; lazy commits are a prefix in the order of the log; nothing that was taken back or never
//! committed is in it; and every index agrees with its table.
//!
//! * [`configuration`]: what is run, drawn from a seed.
//! * [`mod@story`]: running it; `pages`, `records` and `messages` are the three kinds of work, and `sessions` the
//!   transactions that the latter two have in common.
//! * [`flush_types`]: an audit of the record: two different writes of a page in a row differ in their flush type.
//! * [`recovery`]: opening what a crash left.
//! * `copy`: a passive copy that is fed the story's log, cut, fed on, and activated.
//! * [`rot`]: pages that are spoiled while the power is off.
//! * [`search`]: one story, cut everywhere; [`proof`]: many stories, a given number of steps; [`coverage`]: what that
//!   has seen.

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

/// Which record, or which page, of which database holds which version.
pub type State = BTreeMap<(u8, u32), u64>;
