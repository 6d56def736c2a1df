//! Where each log ends at the survivor, from the records that are found there.
//!
//! A record that was changed three times has four states; the one that is found says between which
//! two of its commits the log ends. All records of a log must agree on one place:
//!
//! ```text
//!   commits of a log    1  2  3  4  5  6  7
//!   record A            *        *           found after 1: the log ends before 4
//!   record B               *        *        found after 2: it ends before 5, and not before 2
//!   together            kept: 1 2 (3) | lost: 4 5 6 7
//! ```
//!
//! When they do not, something is there that came later than something that is lost: a write was
//! dropped, or two changed places.

use std::collections::BTreeMap;
use std::fmt;

use crate::ledger::{Key, Ledger};

/// The version of each record that was looked at; `None` when it is not there.
pub type Found = BTreeMap<Key, Option<u32>>;

/// How many commits of each log the survivor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// By log stream, from its first commit.
    pub kept: BTreeMap<usize, usize>,
}

/// Why what survived is not a prefix of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The survivor could not be opened, or served nothing.
    Unusable(String),
    /// Writes reached the survivor in another order than that of the hosts.
    Order(String),
    /// A record is in a state that it never had.
    Never {
        /// The record.
        key: Key,
        /// The version that was found.
        found: Option<u32>,
    },
    /// A commit is there, and an earlier one of the same log is lost.
    Gap {
        /// The log stream.
        stream: usize,
        /// Number of the lost commit in its log.
        lost: usize,
        /// Number of a later one that is there.
        kept: usize,
        /// Records of both.
        keys: [Key; 2],
    },
}

impl std::error::Error for Broken {}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = |(stream, database, number): &Key| {
            format!("record {number} of database {database} of log {stream}")
        };
        match self {
            Self::Unusable(why) | Self::Order(why) => f.write_str(why),
            Self::Never { key, found: None } => {
                write!(f, "{} is gone, and was never deleted", record(key))
            }
            Self::Never { key, found: Some(version) } => {
                write!(f, "{} has version {version}, which it never had", record(key))
            }
            Self::Gap { stream, lost, kept, keys } => write!(
                f,
                "log {stream}: commit {lost} ({}) is lost, and commit {kept} ({}), which came later, is there",
                record(&keys[0]),
                record(&keys[1])
            ),
        }
    }
}

impl Cut {
    /// The cut of `ledger` where every log was kept up to the position that `end` says, for ledgers
    /// that know where commits end.
    pub fn at(ledger: &Ledger, mut end: impl FnMut(usize) -> brunt_units::LogPosition) -> Self {
        let kept = ledger.streams().map(|stream| {
            let until = end(stream);
            let commits = ledger.commits(stream);
            let kept = commits.partition_point(|one| one.end.is_some_and(|end| end <= until));
            (stream, kept)
        });
        Self { kept: kept.collect() }
    }

    /// The cut of `ledger` at a survivor that holds `found`, which has every changed record.
    ///
    /// # Errors
    /// [`Broken`] when no cut explains it.
    pub fn of(ledger: &Ledger, found: &Found) -> Result<Self, Broken> {
        let kept = ledger.streams().map(|stream| {
            let kept = of_stream(ledger, stream, found)?;
            Ok((stream, kept))
        });
        Ok(Self { kept: kept.collect::<Result<_, Broken>>()? })
    }
}

/// Commits of `stream` that are kept: the most that explain `found`.
fn of_stream(ledger: &Ledger, stream: usize, found: &Found) -> Result<usize, Broken> {
    let commits = ledger.commits(stream);
    let mut of = BTreeMap::<Key, Vec<usize>>::new();
    for (place, commit) in commits.iter().enumerate() {
        of.entry(commit.key).or_default().push(place);
    }
    // The last commit that must be there, and the first that must be lost, with their records.
    let mut last: Option<(usize, Key)> = None;
    let mut first: Option<(usize, Key)> = None;
    for (key, places) in &of {
        let is = found.get(key).copied().flatten();
        let states = places.iter().map(|place| commits[*place].after);
        let states = std::iter::once(ledger.base().version(*key)).chain(states);
        let fitting: Vec<usize> =
            (0..).zip(states).filter(|(_, state)| *state == is).map(|(count, _)| count).collect();
        let (Some(least), Some(most)) = (fitting.first(), fitting.last()) else {
            return Err(Broken::Never { key: *key, found: is });
        };
        if let Some(place) = places[..*least].last()
            && last.is_none_or(|(at, _)| at < *place)
        {
            last = Some((*place, *key));
        }
        if let Some(place) = places.get(*most)
            && first.is_none_or(|(at, _)| at > *place)
        {
            first = Some((*place, *key));
        }
    }
    match (last, first) {
        (Some((kept, kept_key)), Some((lost, lost_key))) if lost < kept => {
            Err(Broken::Gap { stream, lost, kept, keys: [lost_key, kept_key] })
        }
        (_, Some((lost, _))) => Ok(lost),
        (_, None) => Ok(commits.len()),
    }
}

#[cfg(test)]
mod tests {
    use brunt_qualify::truth::witness::Change;
    use brunt_workload::mix::Kind;
    use brunt_world::random::Streams;

    use super::*;
    use crate::ledger::Base;
    use crate::ledger::tests::replace;

    /// Random commits of two logs over few records, and the state after each.
    fn story(seed: u64) -> (Ledger, Vec<Vec<Found>>) {
        let mut draw = Streams::new(seed).named("story");
        let base = Base::created([((0, 0), 6), ((1, 0), 6)]);
        let mut ledger = Ledger::new(base);
        let start: Found = (0..2)
            .flat_map(|stream| (0..6).map(move |number| ((stream, 0, number), Some(0))))
            .collect();
        let of = |stream: usize| start.clone().into_iter().filter(move |(key, _)| key.0 == stream);
        let mut states: Vec<Vec<Found>> = (0..2).map(|stream| vec![of(stream).collect()]).collect();
        let mut next = 6;
        for _ in 0..draw.below(30) {
            let stream = usize::try_from(draw.below(2)).unwrap();
            let mut state = states[stream].last().unwrap().clone();
            let there: Vec<Key> = state
                .iter()
                .filter(|(_, version)| version.is_some())
                .map(|(key, _)| *key)
                .collect();
            let pick = draw.below(8);
            let (kind, number, version) = if pick == 0 || there.is_empty() {
                next += 1;
                (Kind::Insert, next - 1, 0)
            } else {
                let at = usize::try_from(draw.below(there.len() as u64)).unwrap();
                let version = state[&there[at]].unwrap();
                match pick {
                    1 => (Kind::Delete, there[at].2, 0),
                    _ => (Kind::Replace, there[at].2, version + 1),
                }
            };
            let change = Change { kind, ..replace(stream, number, version) };
            ledger.asked(&change);
            let after = (kind != Kind::Delete).then_some(version);
            state.insert((stream, 0, number), after);
            states[stream].push(state);
        }
        (ledger, states)
    }

    #[test]
    fn a_log_that_was_cut_anywhere_is_found_to_end_there() {
        for seed in 0..300 {
            let (ledger, states) = story(seed);
            let mut draw = Streams::new(seed).named("cut");
            let kept = [0, 1].map(|stream: usize| {
                usize::try_from(draw.below(states[stream].len() as u64)).unwrap()
            });
            let held = (0..2).flat_map(|stream| states[stream][kept[stream]].clone());
            let found: Found = held.collect();
            let cut = Cut::of(&ledger, &found).unwrap();
            for stream in ledger.streams() {
                // Commits that leave everything as it was cannot be told apart; there are none here
                // but a delete after an insert.
                let place = cut.kept[&stream];
                assert!(place >= kept[stream], "seed {seed}");
                assert_eq!(
                    states[stream][place].iter().filter(|one| one.1.is_some()).collect::<Vec<_>>(),
                    states[stream][kept[stream]]
                        .iter()
                        .filter(|one| one.1.is_some())
                        .collect::<Vec<_>>(),
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn a_dropped_commit_and_two_that_changed_places_are_found() {
        let mut ledger = Ledger::new(Base::created([((0, 0), 10)]));
        for number in 0..5 {
            ledger.asked(&replace(0, number, 1));
        }
        let with = |versions: [u32; 5]| -> Found {
            (0..).zip(versions).map(|(number, version)| ((0, 0, number), Some(version))).collect()
        };
        let cut = |versions| Cut::of(&ledger, &with(versions)).map(|cut| cut.kept[&0]);
        assert_eq!(cut([1, 1, 1, 1, 1]), Ok(5));
        assert_eq!(cut([1, 1, 0, 0, 0]), Ok(2));
        assert_eq!(cut([0, 0, 0, 0, 0]), Ok(0));
        let gap = cut([1, 0, 1, 1, 0]).unwrap_err();
        assert_eq!(
            gap.to_string(),
            "log 0: commit 1 (record 1 of database 0 of log 0) is lost, and commit 3 (record 3 of database 0 of log 0), \
             which came later, is there"
        );
        let never = cut([1, 2, 0, 0, 0]).unwrap_err();
        assert!(never.to_string().contains("has version 2, which it never had"));
    }
}
