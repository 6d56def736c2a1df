//! What may never go back: UIDVALIDITY, UIDs and MODSEQ of a folder.
//!
//! A client that has a folder cached throws everything away when its UIDVALIDITY changes, and shows
//! the wrong message when a UID comes again (RFC 9051, 2.3.1.1; RFC 7162, 3.1). And at a checkpoint,
//! when no change is under way, all sessions of a folder must see the same.

use std::collections::BTreeMap;

use crate::audit::Place;
use crate::promises::Flags;

/// What a server says of a folder, by SELECT or STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderStatus {
    /// UIDVALIDITY
    pub validity: u32,
    /// UIDNEXT
    pub next: u32,
    /// HIGHESTMODSEQ, if the server has it.
    pub modseq: Option<u64>,
}

/// What is wrong with a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderBreach {
    /// UIDVALIDITY changed: from and to.
    Validity(u32, u32),
    /// UIDNEXT became smaller: from and to.
    Next(u32, u32),
    /// HIGHESTMODSEQ became smaller: from and to.
    Modseq(u64, u64),
    /// A message has a UID that was promised to be free, or that APPENDUID or COPYUID gave to
    /// another one.
    Uid(u32),
    /// At a checkpoint one session shows this UID, and another does not, or with other flags.
    Disagree(u32),
}

/// The folders of all accounts, as they were last seen.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    known: BTreeMap<Place, FolderStatus>,
    breaches: Vec<(Place, FolderBreach)>,
}

/// More breaches than this are not kept: a folder that breaks once breaks again.
const BREACHES_MAX: usize = 1000;

impl Folders {
    /// A server says this of a folder, after everything it said before.
    pub fn says(&mut self, place: Place, status: FolderStatus) {
        let Some(before) = self.known.insert(place, status) else { return };
        let breach = if status.validity != before.validity {
            Some(FolderBreach::Validity(before.validity, status.validity))
        } else if status.next < before.next {
            Some(FolderBreach::Next(before.next, status.next))
        } else {
            let both = before.modseq.zip(status.modseq).filter(|(old, new)| new < old);
            both.map(|(old, new)| FolderBreach::Modseq(old, new))
        };
        breach.into_iter().for_each(|breach| self.breach(place, breach));
    }

    /// A message has arrived that no session had seen before: its UID is not below the UIDNEXT that
    /// was said before it arrived.
    pub fn arrives(&mut self, place: Place, uid: u32) {
        let promised = self.known.get(&place).map(|status| status.next);
        if promised.is_some_and(|next| uid < next) {
            self.breach(place, FolderBreach::Uid(uid));
        }
    }

    /// What the sessions of a folder show while no change is under way: UIDs in ascending order, with
    /// their flags.
    pub fn checkpoint(&mut self, place: Place, views: &[&[(u32, Flags)]]) {
        for pair in views.windows(2) {
            if let Some(uid) = first_difference(pair[0], pair[1]) {
                self.breach(place, FolderBreach::Disagree(uid));
            }
        }
    }

    /// What was broken, in the order in which it was seen.
    pub fn breaches(&self) -> &[(Place, FolderBreach)] {
        &self.breaches
    }

    fn breach(&mut self, place: Place, breach: FolderBreach) {
        if self.breaches.len() < BREACHES_MAX {
            self.breaches.push((place, breach));
        }
    }
}

/// The smallest UID that is not the same in both.
fn first_difference(one: &[(u32, Flags)], other: &[(u32, Flags)]) -> Option<u32> {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let uids = [one, other].into_iter().filter_map(|view| view.get(same));
    uids.map(|(uid, _)| *uid).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { account: 3, folder: 0 };

    fn status(validity: u32, next: u32, modseq: u64) -> FolderStatus {
        FolderStatus { validity, next, modseq: Some(modseq) }
    }

    #[test]
    fn nothing_goes_back() {
        let mut folders = Folders::default();
        for (validity, next, modseq) in [(7, 1, 1), (7, 5, 9), (7, 5, 9), (7, 6, 12)] {
            folders.says(PLACE, status(validity, next, modseq));
        }
        folders.arrives(PLACE, 6);
        folders.says(PLACE, FolderStatus { modseq: None, ..status(7, 7, 0) });
        assert!(folders.breaches().is_empty());
        folders.says(PLACE, status(7, 6, 12));
        folders.says(PLACE, status(7, 6, 11));
        folders.arrives(PLACE, 5);
        folders.says(PLACE, status(8, 1, 1));
        folders.says(Place { account: 4, ..PLACE }, status(1, 1, 1));
        let breaches: Vec<_> = folders.breaches().iter().map(|(_, breach)| *breach).collect();
        let expected = [
            FolderBreach::Next(7, 6),
            FolderBreach::Modseq(12, 11),
            FolderBreach::Uid(5),
            FolderBreach::Validity(7, 8),
        ];
        assert_eq!(breaches, expected);
    }

    #[test]
    fn sessions_agree_at_a_checkpoint() {
        let (seen, none) = (Flags::SEEN, Flags::default());
        for (one, other, uid) in [
            (&[(1, none), (4, seen)][..], &[(1, none), (4, seen)][..], None),
            (&[(1, none), (4, seen)], &[(1, none), (4, none)], Some(4)),
            (&[(1, none), (4, seen)], &[(1, none), (3, none), (4, seen)], Some(3)),
            (&[(1, none), (4, seen)], &[(1, none)], Some(4)),
        ] {
            let mut folders = Folders::default();
            folders.checkpoint(PLACE, &[one, one, other]);
            let breaches = folders.breaches().iter().map(|(_, breach)| *breach);
            let expected = uid.map(FolderBreach::Disagree);
            assert_eq!(breaches.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
