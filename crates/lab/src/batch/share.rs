//! Which points a part computes.
//!
//! Points are numbered in the order in which the sweep or search asks for them. Of `n` parts, number
//! `i` computes every point whose number leaves `i` when it is divided by `n`: neighbours on the
//! axis, which take about as long, go to different parts.
//!
//! Two points in a hundred are computed by two parts, so that a machine that computes wrongly is
//! seen. That is against broken machines; a user who can write records can forge them.

use std::fmt;
use std::str::FromStr;

use super::PARTS_MAX;

/// Of this many points, one is computed twice.
const CHECKED: u64 = 50;
/// The first of them: short sweeps have none.
const FIRST_CHECKED: u64 = 24;

/// Part number `part` of `of`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    part: u64,
    of: u64,
}

/// Why there is no such part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    #[error("`{0}` is no part\n  for example: 0/4 for the first of four, or auto in an array job")]
    Unreadable(String),
    #[error("there is no part {part} of {of}: they are numbered from 0")]
    Number { part: u64, of: u64 },
    #[error("{0} parts are not from 1 to {PARTS_MAX}")]
    Parts(u64),
}

impl Share {
    /// Part `part` of `of`.
    ///
    /// # Errors
    /// [`ShareError`] when there is none.
    pub fn new(part: u64, of: u64) -> Result<Self, ShareError> {
        match (1..=PARTS_MAX).contains(&of) {
            false => Err(ShareError::Parts(of)),
            true if part < of => Ok(Self { part, of }),
            true => Err(ShareError::Number { part, of }),
        }
    }

    /// Its number, from 0.
    pub fn part(self) -> u64 {
        self.part
    }

    /// Whether it computes point `number`, alone or as one of two.
    pub(super) fn takes(self, number: u64) -> bool {
        number % self.of == self.part || self.is_checked(number) && self.checks(number)
    }

    /// Whether point `number` is computed by two parts.
    pub(super) fn is_checked(self, number: u64) -> bool {
        is_checked(number, self.of)
    }

    fn checks(self, number: u64) -> bool {
        (number + 1) % self.of == self.part
    }
}

/// Whether point `number` is computed twice, by two of `parts`.
pub(super) fn is_checked(number: u64, parts: u64) -> bool {
    parts > 1 && number % CHECKED == FIRST_CHECKED
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let numbers = text.split_once('/');
        let numbers = numbers
            .and_then(|(part, of)| Some((part.trim().parse().ok()?, of.trim().parse().ok()?)));
        let (part, of) = numbers.ok_or_else(|| ShareError::Unreadable(text.to_owned()))?;
        Self::new(part, of)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// `numbers`, which ascend, as lists of array jobs take them: `0,3-5`.
pub fn ranges(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}
