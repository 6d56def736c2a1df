//! Predictions in parts, on machines that share nothing but a folder: plan, parts, merge.
//!
//! ```text
//!   plan    what is to be computed, with every text it needs        part 0 --+
//!             |                                                     part 1 --+--> records --> merge: the result
//!             +--> the same search or sweep runs in each part       part 2 --+
//! ```
//!
//! A part and the merge run the same sweep or search as one process does. Each time it asks for a
//! point, [`Sharing`] answers: there is a record of it, or this part computes it, or another one
//! does. The merge computes nothing, so it comes to the same result, or to the points that are
//! missing. A search goes on in rounds: its next points follow from the records of the last.
//!
//! * `plan`: what is written down. A part of another version does not take it.
//! * `share`: which points a part computes, by their number in the order of asking.
//! * `record`: what a part leaves of a point. It holds floating-point numbers bit by bit.
//! * `sharing`: who answers for a point, whether attempts agree, and what is missing.
//!
//! Nobody hands out work and nothing waits: which points a part computes follows from its number,
//! and a scheduler decides where and when it runs. A part that is killed, started twice or started
//! again harms nothing, because each attempt leaves records of its own.
//!
//! There is no I/O here; a [`Shelf`] is handed in.

mod plan;
mod record;
mod share;
mod sharing;
#[cfg(test)]
mod tests;

use sha2::{Digest as _, Sha256};

pub use plan::{PARTS_MAX, Plan, PlanError, Text, Work};
pub use record::{BYTES_MAX, Record, RecordError, point_name, sealed};
pub use share::{Share, ShareError, ranges};
pub use sharing::{Answer, Checks, Disagreement, Sharing, Shelf};

/// A SHA-256 digest.
pub type Digest = [u8; 32];

fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
