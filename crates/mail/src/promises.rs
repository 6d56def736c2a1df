//! Changes that a server has promised: flags, moves, removals.
//!
//! A tagged OK is a promise, as 250 is. NO and BAD change nothing. A command without an answer
//! leaves two possibilities, and what follows applies to both, so a message has a few *fates*, one of
//! which its mailbox must show. What an APPEND promises is a delivery in the ledger, with its folder
//! and flags here.
//!
//! Changes of one message follow each other: a session waits for the answer before the next one
//! begins, and no two sessions change the same message at a time.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::{SmallVec, smallvec};

/// Flags of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flags(pub u8);

impl Flags {
    /// `\Seen`
    pub const SEEN: Self = Self(1);
    /// `\Answered`
    pub const ANSWERED: Self = Self(2);
    /// `\Flagged`
    pub const FLAGGED: Self = Self(4);
    /// `\Deleted`
    pub const DELETED: Self = Self(8);
    /// `\Draft`
    pub const DRAFT: Self = Self(16);

    const NAMES: [&str; 5] = ["\\Seen", "\\Answered", "\\Flagged", "\\Deleted", "\\Draft"];

    /// Those of these names that are system flags; keywords and `\Recent` are not promised.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut flags = 0;
        for name in names {
            let at = Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name));
            flags |= at.map_or(0, |at| 1 << at);
        }
        Self(flags)
    }

    /// Whether all of `others` are set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// Where a message may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Nowhere.
    Gone,
    /// In a folder, with these flags and no other system flags.
    In(u16, Flags),
}

/// A change that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// STORE: flags to set, and flags to clear.
    Store(Flags, Flags),
    /// MOVE to a folder.
    Move(u16),
    /// EXPUNGE, which removes the message if `\Deleted` is set.
    Expunge,
}

/// What the server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// OK
    Ok,
    /// NO or BAD
    No,
    /// Nothing: the connection broke.
    Nothing,
}

/// More possibilities than this are any.
const FATES_MAX: usize = 8;

/// What a mailbox must show of the messages that were changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promises {
    fates: BTreeMap<(u32, u32), SmallVec<[Fate; 1]>>,
    /// Messages that a session saw after they were removed.
    again: BTreeSet<(u32, u32)>,
}

/// Whether a mailbox shows what was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    /// It is nowhere, and may be.
    Removed,
    /// It is nowhere, and must not be.
    Missing,
    /// It is there, and must not be.
    Resurrected,
    Misplaced(u16),
    /// It is in the right folder with these flags, which are wrong.
    Flags(Flags),
}

impl Promises {
    /// A session sees a message before it changes it. What is known already stays.
    pub fn sees(&mut self, account: u32, number: u32, fate: Fate) {
        let key = (number, account);
        let known = self.fates.entry(key).or_insert_with(|| smallvec![fate]);
        if known.iter().all(|fate| *fate == Fate::Gone) {
            self.again.insert(key);
        }
    }

    /// Whether a session saw a message that had been removed, whatever became of it then.
    pub fn came_again(&self, account: u32, number: u32) -> bool {
        self.again.contains(&(number, account))
    }

    /// A message was appended; where that is not sure, it may also be nowhere.
    pub fn appended(&mut self, account: u32, number: u32, fate: Fate, is_sure: bool) {
        let fates = self.fates.entry((number, account));
        fates
            .or_insert_with(|| if is_sure { smallvec![fate] } else { smallvec![Fate::Gone, fate] });
    }

    /// A change was answered, or was not. Of a message that was not seen before nothing is known.
    pub fn change(&mut self, account: u32, number: u32, change: Change, reply: Reply) {
        let key = (number, account);
        let Some(fates) = self.fates.get_mut(&key) else { return };
        let changed = fates.iter().map(|fate| fate.after(change));
        let mut after: SmallVec<[Fate; 1]> = match reply {
            Reply::Ok => changed.collect(),
            Reply::No => return,
            Reply::Nothing => fates.iter().copied().chain(changed).collect(),
        };
        after.sort_unstable();
        after.dedup();
        *fates = after;
        if fates.len() > FATES_MAX {
            self.fates.remove(&key);
        }
    }

    /// What a message may be; `None` when nothing was promised about it.
    pub fn fates(&self, account: u32, number: u32) -> Option<&[Fate]> {
        self.fates.get(&(number, account)).map(SmallVec::as_slice)
    }

    /// Whether the one copy that is shown, or that none is, is as promised.
    pub(crate) fn judge(fates: &[Fate], shown: Option<(u16, Option<Flags>)>) -> Kept {
        let Some((folder, flags)) = shown else {
            return if fates.contains(&Fate::Gone) { Kept::Removed } else { Kept::Missing };
        };
        let there = fates.iter().filter_map(|fate| match fate {
            Fate::In(its, with) => Some((*its, *with)),
            Fate::Gone => None,
        });
        let mut here = there.clone().filter(|(its, _)| *its == folder);
        if there.count() == 0 {
            Kept::Resurrected
        } else if here.clone().count() == 0 {
            Kept::Misplaced(folder)
        } else {
            match flags {
                Some(flags) if !here.any(|(_, with)| with == flags) => Kept::Flags(flags),
                _ => Kept::Yes,
            }
        }
    }
}

impl Fate {
    fn after(self, change: Change) -> Self {
        match (self, change) {
            (Self::Gone, _) => Self::Gone,
            (Self::In(folder, flags), Change::Store(set, clear)) => {
                Self::In(folder, Flags((flags.0 | set.0) & !clear.0))
            }
            (Self::In(_, flags), Change::Move(to)) => Self::In(to, flags),
            (Self::In(_, flags), Change::Expunge) if flags.has(Flags::DELETED) => Self::Gone,
            (unchanged, Change::Expunge) => unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn change() -> impl Strategy<Value = (Change, Reply)> {
        let flags = || (0_u8..32).prop_map(Flags);
        let change = prop_oneof![
            (flags(), flags()).prop_map(|(set, clear)| Change::Store(set, clear)),
            (0_u16..3).prop_map(Change::Move),
            Just(Change::Expunge),
        ];
        (change, prop::sample::select(&[Reply::Ok, Reply::No, Reply::Nothing]))
    }

    proptest! {
        /// A server that does what it answered, and either of both where it did not answer, shows
        /// what was promised.
        #[test]
        fn an_honest_server_keeps_them(changes in vec((change(), any::<bool>()), 0..9)) {
            let (mut promises, begin) = (Promises::default(), Fate::In(0, Flags::SEEN));
            promises.sees(3, 7, begin);
            let mut truth = begin;
            for ((change, reply), does) in changes {
                promises.change(3, 7, change, reply);
                if reply == Reply::Ok || (reply == Reply::Nothing && does) {
                    truth = truth.after(change);
                }
            }
            if let Some(fates) = promises.fates(3, 7) {
                prop_assert!(fates.contains(&truth) && fates.len() <= FATES_MAX);
                let shown = match truth {
                    Fate::Gone => None,
                    Fate::In(folder, flags) => Some((folder, Some(flags))),
                };
                let kept = Promises::judge(fates, shown);
                prop_assert!(matches!(kept, Kept::Yes | Kept::Removed), "{kept:?}");
            }
        }
    }

    #[test]
    fn each_way_to_break_one_is_told() {
        let mut promises = Promises::default();
        promises.sees(0, 1, Fate::In(0, Flags::default()));
        let judge =
            |promises: &Promises, shown| Promises::judge(promises.fates(0, 1).unwrap(), shown);
        let with = |flags| Some((2, Some(flags)));
        let none = Flags::default();
        promises.change(0, 1, Change::Move(2), Reply::Ok);
        assert_eq!(judge(&promises, Some((0, None))), Kept::Misplaced(0));
        assert_eq!(judge(&promises, None), Kept::Missing);
        promises.change(0, 1, Change::Store(Flags::FLAGGED, none), Reply::Nothing);
        assert_eq!(judge(&promises, with(none)), Kept::Yes);
        assert_eq!(judge(&promises, with(Flags::FLAGGED)), Kept::Yes);
        promises.change(0, 1, Change::Store(Flags::DELETED, Flags::FLAGGED), Reply::Ok);
        assert_eq!(judge(&promises, with(none)), Kept::Flags(none));
        promises.change(0, 1, Change::Expunge, Reply::Nothing);
        assert_eq!(judge(&promises, with(Flags::DELETED)), Kept::Yes);
        assert_eq!(judge(&promises, None), Kept::Removed);
        promises.change(0, 1, Change::Expunge, Reply::Ok);
        assert_eq!(judge(&promises, with(Flags::DELETED)), Kept::Resurrected);
        assert!(!promises.came_again(0, 1));
        promises.sees(0, 1, Fate::In(0, none));
        assert!(promises.came_again(0, 1));
    }

    #[test]
    fn only_system_flags_are_promised() {
        let flags = Flags::named(["\\seen", "$Junk", "\\Recent", "\\Deleted"]);
        assert_eq!(flags, Flags(Flags::SEEN.0 | Flags::DELETED.0));
        assert!(flags.has(Flags::DELETED) && !flags.has(Flags::DRAFT));
    }
}
