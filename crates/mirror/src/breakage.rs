//! Mirrors that do not keep their word, for controls: checks that have only ever been green prove
//! little.
//!
//! Dropped and swapped are writes of logs, because a recovery reads all of a log. The receiver
//! acknowledges them like all others.

use std::collections::VecDeque;

use brunt_units::{Span, Time};
use brunt_world::{Class, FileId};

use crate::wire::Request;

/// How a receiver breaks its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// One write of a log is acknowledged and dropped.
    DropOne,
    /// Two writes of a log change places: each gets the bytes of the other.
    SwapTwo,
    /// From now on everything is acknowledged, and nothing is done.
    Stale,
    /// From now on everything is acknowledged at once and done half a second later; a promotion
    /// loses what is not done.
    LoseTail,
}

/// How late [`Breakage::LoseTail`] does what it has acknowledged.
pub(crate) const TAIL: Span = Span::millis(500);

/// What becomes of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is done, with these bytes.
    Done(Vec<u8>),
    /// It is acknowledged and not done.
    Dropped,
}

/// A broken receiver, or one that is not.
#[derive(Default)]
pub(crate) struct Broken {
    how: Option<Breakage>,
    /// Whether it has broken something.
    struck: bool,
    /// The first of two writes that change places.
    held: Option<(FileId, u64, Vec<u8>)>,
    /// Changes to be done late, the oldest first.
    late: VecDeque<(Time, Request)>,
}

impl Broken {
    /// Breaks it from now on.
    pub(crate) fn set(&mut self, how: Breakage) {
        self.how = Some(how);
    }

    /// Whether something was broken.
    pub(crate) fn struck(&self) -> bool {
        self.struck
    }

    /// The request, if it is to be done now; otherwise it is only acknowledged.
    pub(crate) fn pass(&mut self, now: Time, request: Request) -> Option<Request> {
        match self.how {
            Some(Breakage::Stale) => self.struck = true,
            Some(Breakage::LoseTail) => self.late.push_back((now, request)),
            _ => return Some(request),
        }
        None
    }

    /// When the oldest late change is due.
    pub(crate) fn due_at(&self) -> Option<Time> {
        self.late.front().map(|(at, _)| *at + TAIL)
    }

    /// Takes the oldest late change out.
    pub(crate) fn take_late(&mut self) -> Option<Request> {
        self.late.pop_front().map(|(_, request)| request)
    }

    /// Loses what is late.
    pub(crate) fn lose_tail(&mut self) {
        self.struck |= !self.late.is_empty();
        self.late.clear();
    }

    /// What becomes of a write of `bytes` at `offset` of `file`; also of an earlier one that was
    /// held back.
    pub(crate) fn write(
        &mut self,
        class: Class,
        file: FileId,
        offset: u64,
        bytes: Vec<u8>,
    ) -> (Fate, Option<(FileId, u64, Vec<u8>)>) {
        let is_log = class == Class::Log;
        match self.how {
            Some(Breakage::DropOne) if is_log && !self.struck => {
                self.struck = true;
                return (Fate::Dropped, None);
            }
            Some(Breakage::SwapTwo) if is_log && !self.struck => match self.held.take() {
                None => {
                    self.held = Some((file, offset, bytes));
                    return (Fate::Dropped, None);
                }
                Some((other, there, held)) => {
                    self.struck = true;
                    // Pieces of one size: the longer one is cut, the shorter one leaves the rest as
                    // it is.
                    return (Fate::Done(held), Some((other, there, bytes)));
                }
            },
            _ => {}
        }
        (Fate::Done(bytes), None)
    }

    /// A file is closed: nothing is held back for it any more.
    pub(crate) fn closed(&mut self, file: FileId) {
        self.held.take_if(|(held, ..)| *held == file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1);

    fn log(broken: &mut Broken, offset: u64, byte: u8) -> (Fate, Option<(FileId, u64, Vec<u8>)>) {
        broken.write(Class::Log, FILE, offset, vec![byte])
    }

    #[test]
    fn one_is_dropped_and_only_of_a_log() {
        let mut broken = Broken::default();
        assert_eq!(log(&mut broken, 0, 1), (Fate::Done(vec![1]), None));
        broken.set(Breakage::DropOne);
        let page = broken.write(Class::Database, FILE, 0, vec![2]);
        assert_eq!(page, (Fate::Done(vec![2]), None));
        assert!(!broken.struck());
        assert_eq!(log(&mut broken, 512, 3), (Fate::Dropped, None));
        assert_eq!(log(&mut broken, 1024, 4), (Fate::Done(vec![4]), None));
        assert!(broken.struck());
    }

    #[test]
    fn two_change_places() {
        let mut broken = Broken::default();
        broken.set(Breakage::SwapTwo);
        assert_eq!(log(&mut broken, 0, 1), (Fate::Dropped, None));
        let swapped = (Fate::Done(vec![1]), Some((FILE, 0, vec![2])));
        assert_eq!(log(&mut broken, 512, 2), swapped);
        assert_eq!(log(&mut broken, 1024, 3), (Fate::Done(vec![3]), None));
    }

    #[test]
    fn what_is_late_at_a_promotion_is_lost() {
        let mut broken = Broken::default();
        let change = |file| Request::Close { file };
        assert_eq!(broken.pass(Time::ZERO, change(1)), Some(change(1)));
        broken.set(Breakage::LoseTail);
        for file in 2..5 {
            assert_eq!(broken.pass(Time(file.into()), change(file)), None);
        }
        assert_eq!(broken.due_at(), Some(Time(2) + TAIL));
        assert_eq!(broken.take_late(), Some(change(2)));
        assert!(!broken.struck());
        broken.lose_tail();
        assert_eq!((broken.take_late(), broken.struck()), (None, true));
    }
}
