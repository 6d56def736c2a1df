//! What an attempt leaves of a point.
//!
//! ```text
//!   "brunt point 1\n" | SHA-256 of the rest | postcard: plan, point, part, attempt, node, outcome
//! ```
//!
//! JSON would be readable, but floating-point numbers do not always survive it, and the result must
//! be that of one process to the last bit.

use brunt_scenario::Place;
use serde::{Deserialize, Serialize};

use super::{Digest, hex, sha256};
use crate::{Judged, Tried};

const MAGIC: &[u8] = b"brunt point 1\n";

/// No record is larger.
pub const BYTES_MAX: usize = 1 << 20;

/// One computation of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of its plan.
    pub plan: Digest,
    pub point: String,
    /// The part that computed it.
    pub part: u64,
    /// Which attempt of that part, by its job.
    pub attempt: String,
    /// The machine.
    pub node: String,
    outcome: Outcome,
}

/// What came of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Outcome {
    Simulated(Box<Judged>),
    Refused { what: String, is_for_room: bool },
}

/// Why bytes are no record of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("is damaged")]
    Damaged,
    #[error("belongs to another plan")]
    OtherPlan,
    #[error("belongs to another point")]
    OtherPoint,
}

impl Record {
    /// The record of a point that came to `tried`.
    pub fn new(
        plan: Digest,
        point: &str,
        part: u64,
        (attempt, node): (&str, &str),
        tried: &Tried,
    ) -> Self {
        let outcome = match tried {
            Tried::Simulated(judged) => Outcome::Simulated(judged.clone()),
            Tried::Refused(refusal) => Outcome::Refused {
                what: refusal.what().to_owned(),
                is_for_room: refusal.is_for_room(),
            },
        };
        Self {
            plan,
            point: point.to_owned(),
            part,
            attempt: attempt.to_owned(),
            node: node.to_owned(),
            outcome,
        }
    }

    /// As bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        sealed(&postcard::to_allocvec(self).expect("memory takes every write"))
    }

    /// Reads the record of `point` in `plan`.
    ///
    /// # Errors
    /// [`RecordError`] when it is damaged, or the record of something else.
    pub fn read(bytes: &[u8], plan: &Digest, point: &str) -> Result<Self, RecordError> {
        let record = Self::decode(bytes).ok_or(RecordError::Damaged)?;
        match (record.plan == *plan, record.point == point) {
            (true, true) => Ok(record),
            (true, false) => Err(RecordError::OtherPoint),
            (false, _) => Err(RecordError::OtherPlan),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC).filter(|rest| rest.len() <= BYTES_MAX)?;
        let (digest, body) = rest.split_first_chunk::<32>()?;
        if *digest != sha256(body) {
            return None;
        }
        postcard::from_bytes(body).ok()
    }

    /// What came of the point.
    pub fn tried(&self) -> Tried {
        match &self.outcome {
            Outcome::Simulated(judged) => Tried::Simulated(judged.clone()),
            Outcome::Refused { what, is_for_room } => {
                let refusal = Place::flag(&self.point).refuse(what.as_str());
                Tried::Refused(match is_for_room {
                    true => refusal.for_want_of_room(),
                    false => refusal,
                })
            }
        }
    }

    /// The digest of what came of it: attempts of a point that agree have the same.
    pub fn digest(&self) -> Digest {
        let outcome = postcard::to_allocvec(&self.outcome);
        sha256(&outcome.expect("memory takes every write"))
    }
}

/// `body` as the bytes of a file whose digest fits.
pub fn sealed(body: &[u8]) -> Vec<u8> {
    [MAGIC, &sha256(body), body].concat()
}

/// The name of the folder of a point's records: readable, and different for different points.
pub fn point_name(point: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => c,
        _ => '-',
    };
    let start: String = point.chars().take(40).map(plain).collect();
    format!("{}-{}", start.trim_matches(['.', '-']), &hex(&sha256(point.as_bytes()))[..12])
}
