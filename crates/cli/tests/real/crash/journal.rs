//! The journal, and whether what was found can have come of it.

use std::collections::BTreeMap;
use std::fmt;

/// A record: instance, database in it, number.
pub(crate) type Key = (usize, u8, u64);
/// The version of every record that is there.
pub(crate) type State = BTreeMap<Key, u32>;

/// A change of one record, committed by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    key: Key,
    /// The version that the record has then; nothing when it was deleted.
    after: Option<u32>,
    is_hard: bool,
    is_acknowledged: bool,
}

/// What was seen, over all crashes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) hard: u64,
    lazy: u64,
    in_flight: u64,
    lazy_lost: u64,
    pub(crate) killed_again: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.hard += other.hard;
        self.lazy += other.lazy;
        self.in_flight += other.in_flight;
        self.lazy_lost += other.lazy_lost;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} hard commits acknowledged, all there; {} lazy ones, {} of them lost at the log's end; {} in flight; \
             {} kills more during recovery",
            self.hard, self.lazy, self.lazy_lost, self.in_flight, self.killed_again
        )
    }
}

/// Reads the lines of `crates/cli/src/commands/run/witness.rs`.
pub(crate) fn commits(told: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for line in told.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[mark, instance, database, kind, number, version, commit] = &words[..] else {
            panic!("not a line of the journal: {line}");
        };
        let key = (instance.parse().unwrap(), database.parse().unwrap(), number.parse().unwrap());
        let after = (kind != "delete").then(|| version.parse().unwrap());
        if mark == "?" {
            changes.push(Change { key, after, is_hard: commit == "hard", is_acknowledged: false });
        } else {
            let asked = changes.iter_mut().rev().find(|change| change.key == key);
            asked.expect("asked for before").is_acknowledged = true;
        }
    }
    changes
}

/// Whether `after` can be what a crash left of `before` and these changes: nothing acknowledged
/// hard is lost, and each log stream ends at one place.
pub(crate) fn compare(before: &State, after: &State, changes: &[Change]) -> Result<Tally, String> {
    let mut of = BTreeMap::<Key, Vec<usize>>::new();
    for (place, change) in changes.iter().enumerate() {
        of.entry(change.key).or_default().push(place);
    }
    for key in before.keys().chain(after.keys()) {
        of.entry(*key).or_default();
    }
    // By instance: the last change that must have survived, and the first that must be lost.
    let mut ends = BTreeMap::<usize, (Option<usize>, Option<usize>)>::new();
    let mut tally = Tally::default();
    for (key, places) in &of {
        let found = after.get(key).copied();
        let states = places.iter().map(|place| changes[*place].after);
        let states = std::iter::once(before.get(key).copied()).chain(states);
        let fitting: Vec<usize> = states
            .enumerate()
            .filter(|(_, state)| *state == found)
            .map(|(count, _)| count)
            .collect();
        let (Some(least), Some(most)) = (fitting.first(), fitting.last()) else {
            return Err(format!("{key:?} is {found:?}, which it never was"));
        };
        let end = ends.entry(key.0).or_default();
        end.0 = end.0.max(places[..*least].last().copied());
        if let Some(lost) = places.get(*most) {
            end.1 = Some(end.1.map_or(*lost, |first| first.min(*lost)));
        }
        for place in &places[*most..] {
            let change = &changes[*place];
            if change.is_hard && change.is_acknowledged {
                return Err(format!("acknowledged, and lost: {change:?}"));
            }
            tally.lazy_lost += u64::from(!change.is_hard && change.is_acknowledged);
        }
    }
    for (instance, (survived, lost)) in ends {
        if let (Some(survived), Some(lost)) = (survived, lost)
            && lost < survived
        {
            return Err(format!(
                "instance {instance}: {:?} is lost, and {:?}, which came later, is there",
                changes[lost], changes[survived]
            ));
        }
    }
    for change in changes {
        let counted = match (change.is_acknowledged, change.is_hard) {
            (true, true) => &mut tally.hard,
            (true, false) => &mut tally.lazy,
            (false, _) => &mut tally.in_flight,
        };
        *counted += 1;
    }
    Ok(tally)
}

#[test]
fn a_comparison_sees_what_is_wrong() {
    let told = "? 0 0 replace 1 1 hard\n! 0 0 replace 1 1 hard\n\
                ? 0 0 replace 2 1 lazy\n! 0 0 replace 2 1 lazy\n\
                ? 0 0 delete 3 0 lazy\n! 0 0 delete 3 0 lazy\n\
                ? 0 0 insert 4 0 hard\n";
    let changes = commits(told);
    let state = |records: [Option<u32>; 4]| -> State {
        let numbered = (1..).zip(records);
        numbered.filter_map(|(number, version)| Some(((0, 0, number), version?))).collect()
    };
    let before = state([Some(0), Some(0), Some(0), None]);
    let after = |records| compare(&before, &state(records), &changes);
    assert!(after([Some(1), Some(1), None, Some(0)]).is_ok());
    let lazy_lost = after([Some(1), Some(0), Some(0), None]).unwrap();
    assert_eq!((lazy_lost.lazy_lost, lazy_lost.hard), (2, 1));
    let said = after([Some(0), Some(0), Some(0), None]).unwrap_err();
    assert!(said.starts_with("acknowledged, and lost"), "{said}");
    let said = after([Some(1), Some(0), None, None]).unwrap_err();
    assert!(said.contains("which came later, is there"), "{said}");
    let said = after([Some(2), Some(1), None, None]).unwrap_err();
    assert!(said.contains("which it never was"), "{said}");
}
