//! What recovery needs to know about the log of an instance without content.
//!
//! The twin's log has only a length. Recovery needs to know which pages each change touched, where
//! the change is in the log, and which pages it created: those are written without being read. The
//! journal stores that, in a few bytes per page of a change, and only for tests that end with a
//! recovery or have passive copies.

use std::collections::{BTreeSet, VecDeque};

use brunt_units::{LogPosition, PageNumber};

use crate::log::Appended;

/// The changes of one instance, in the order of its log.
#[derive(Debug, Default)]
pub struct Journal {
    changes: VecDeque<Change>,
    pages: VecDeque<Touched>,
    /// Pages that were forgotten.
    gone: usize,
    /// Pages created by a change, by database.
    begun: BTreeSet<(u8, PageNumber)>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    appended: Appended,
    database: u8,
    /// Start of its pages, those forgotten included; they end where those of the next start.
    first: usize,
}

/// A page of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) page: PageNumber,
    /// The change starts the page from zeros, so its old content does not matter.
    pub(crate) is_fresh: bool,
}

/// A change as read by recovery.
#[derive(Clone, Debug)]
pub(crate) struct Noted<'j> {
    pub(crate) appended: Appended,
    pub(crate) database: u8,
    pub(crate) pages: std::collections::vec_deque::Iter<'j, Touched>,
}

impl Journal {
    /// Records a change of `touched` in `database`, whose trees were loaded with the pages before
    /// `loaded`.
    pub(super) fn note(
        &mut self,
        appended: Appended,
        database: u8,
        touched: &[PageNumber],
        loaded: PageNumber,
    ) {
        self.changes.push_back(Change { appended, database, first: self.gone + self.pages.len() });
        for &page in touched {
            let is_fresh = page >= loaded && self.begun.insert((database, page));
            self.pages.push_back(Touched { page, is_fresh });
        }
    }

    /// Forgets the changes before `position`, which no recovery will need.
    pub fn forget_before(&mut self, position: LogPosition) {
        let old = self.changes.partition_point(|change| change.appended.start < position);
        self.changes.drain(..old);
        let end = self.gone + self.pages.len();
        let kept = self.changes.front().map_or(end, |first| first.first);
        self.pages.drain(..kept - self.gone);
        self.gone = kept;
    }

    /// A copy of what it knows of `generation`.
    pub(super) fn part(&self, generation: u32) -> Self {
        let mut part = Self::default();
        for noted in self.of_generation(generation, LogPosition::default()) {
            part.changes.push_back(Change {
                appended: noted.appended,
                database: noted.database,
                first: part.pages.len(),
            });
            part.pages.extend(noted.pages);
        }
        part
    }

    /// The changes of `generation`, starting at `from`.
    pub(crate) fn of_generation(
        &self,
        generation: u32,
        from: LogPosition,
    ) -> impl Iterator<Item = Noted<'_>> {
        let from = from.max(LogPosition::start_of(generation));
        let first = self.changes.partition_point(|change| change.appended.start < from);
        let changes = (first..).zip(self.changes.range(first..));
        changes.take_while(move |(_, change)| change.appended.start.generation == generation).map(
            |(at, change)| {
                let end = self.changes.get(at + 1);
                let end = end.map_or(self.pages.len(), |next| next.first - self.gone);
                Noted {
                    appended: change.appended,
                    database: change.database,
                    pages: self.pages.range(change.first - self.gone..end),
                }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(generation: u32, segment: u16) -> Appended {
        let start = LogPosition { generation, segment, byte: 16 };
        Appended { start, end: LogPosition { byte: 90, ..start } }
    }

    #[test]
    fn a_page_is_fresh_once_in_each_database() {
        let mut journal = Journal::default();
        let loaded = PageNumber(100);
        let pages = |numbers: &[u32]| numbers.iter().copied().map(PageNumber).collect::<Vec<_>>();
        journal.note(at(3, 5), 0, &pages(&[7, 100]), loaded);
        journal.note(at(3, 9), 1, &pages(&[100]), loaded);
        journal.note(at(4, 2), 0, &pages(&[100, 8]), loaded);
        let seen = |generation, from| {
            let noted = journal.of_generation(generation, from);
            noted
                .flat_map(|noted| noted.pages)
                .map(|touched| (touched.page.0, touched.is_fresh))
                .collect::<Vec<_>>()
        };
        let all = LogPosition::default();
        assert_eq!(seen(3, all), [(7, false), (100, true), (100, true)]);
        assert_eq!(seen(3, at(3, 6).start), [(100, true)]);
        assert_eq!(seen(4, all), [(100, false), (8, false)]);
        assert_eq!(seen(5, all), []);
        let part = journal.part(3);
        let noted = part.of_generation(3, all).flat_map(|noted| noted.pages);
        let noted: Vec<_> = noted.map(|touched| (touched.page.0, touched.is_fresh)).collect();
        assert_eq!(noted, seen(3, all));
        assert_eq!(part.of_generation(4, all).count(), 0);
    }
}
