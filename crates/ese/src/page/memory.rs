//! Pages in a map, for tests: some are resident, others must be requested.

use std::collections::{BTreeMap, BTreeSet};

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::{Change, Changed, Need, PageChanges, Pages, Remains};

/// A database that consists only of pages.
#[derive(Clone)]
pub(crate) struct MemoryPages {
    size: PageSize,
    time: DatabaseTime,
    pages: BTreeMap<PageNumber, Vec<u8>>,
    absent: BTreeSet<PageNumber>,
    last: PageNumber,
    /// Images of all changes with their times.
    pub(crate) log: Vec<(DatabaseTime, Vec<u8>)>,
}

impl MemoryPages {
    pub(crate) fn new(size: PageSize) -> Self {
        let (pages, absent) = (BTreeMap::new(), BTreeSet::new());
        Self {
            size,
            time: DatabaseTime(0),
            pages,
            absent,
            last: PageNumber(u32::MAX),
            log: Vec::new(),
        }
    }

    /// Makes one change: satisfies its needs and retries until it succeeds.
    pub(crate) fn change_with<T>(
        &mut self,
        mut work: impl FnMut(&mut Change<'_, Self>) -> Result<T, Need>,
    ) -> T {
        loop {
            let mut change = Change::new(self);
            match work(&mut change) {
                Ok(value) => {
                    let changed = change.finish();
                    self.record(changed);
                    return value;
                }
                Err(need) => {
                    assert!(change.is_empty(), "{need:?} was noticed after a change");
                    self.fulfil(need);
                }
            }
        }
    }

    /// Records a finished change.
    pub(crate) fn record(&mut self, changed: Changed) {
        if !changed.touched.is_empty() {
            self.time = changed.time;
            self.log.push((changed.time, changed.image));
        }
    }

    /// Satisfies a need.
    pub(crate) fn fulfil(&mut self, need: Need) {
        match need {
            Need::Page(page) => assert!(self.absent.remove(&page), "page {page} does not exist"),
            Need::Fresh(page) => {
                self.absent.remove(&page);
                self.pages.entry(page).or_insert_with(|| vec![0xEE; self.size.bytes()]);
            }
            Need::Growth(_) => panic!("the test gave too little space"),
            Need::Repair(page) => panic!("page {page} is not what its tree says"),
        }
    }

    /// Stores a whole page, as a bulk load does.
    pub(crate) fn put(&mut self, page: PageNumber, bytes: Vec<u8>) {
        assert_eq!(bytes.len(), self.size.bytes());
        self.pages.insert(page, bytes);
    }

    /// Sets the time of the latest change, after pages were stored.
    pub(crate) fn set_time(&mut self, time: DatabaseTime) {
        self.time = time;
    }

    /// Ends the file after page `last`; by default it has every page.
    pub(crate) fn end_behind(&mut self, last: PageNumber) {
        self.last = last;
    }

    /// Whether the page exists, in memory or not.
    pub(crate) fn exists(&self, page: PageNumber) -> bool {
        self.pages.contains_key(&page)
    }

    /// Marks all pages as not resident.
    pub(crate) fn evict_all(&mut self) {
        self.absent = self.pages.keys().copied().collect();
    }

    pub(crate) fn bytes(&self, page: PageNumber) -> &[u8] {
        &self.pages[&page]
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = PageNumber> {
        self.pages.keys().copied()
    }

    /// Replays every change over `pages` unconditionally, as recovery does with torn pages.
    pub(crate) fn replay_over(&self, pages: &mut BTreeMap<PageNumber, Vec<u8>>) {
        for (time, image) in &self.log {
            for entry in PageChanges::new(image, self.size) {
                let entry = entry.expect("our own images make sense");
                let page = pages.entry(entry.page).or_insert_with(|| vec![0xEE; self.size.bytes()]);
                entry.apply(page, *time);
            }
        }
    }
}

impl Pages for MemoryPages {
    fn page_size(&self) -> PageSize {
        self.size
    }

    fn last(&self) -> PageNumber {
        self.last
    }

    fn resident(&self, page: PageNumber) -> Result<&[u8], Need> {
        match self.pages.get(&page) {
            Some(bytes) if !self.absent.contains(&page) => Ok(bytes),
            _ => Err(Need::Page(page)),
        }
    }

    fn claimed(&self, page: PageNumber) -> Result<(), Need> {
        self.resident(page).map(|_| ()).map_err(|_| Need::Fresh(page))
    }

    fn change(&mut self, page: PageNumber) -> &mut [u8] {
        assert!(!self.absent.contains(&page), "page {page} is not resident");
        self.pages.get_mut(&page).expect("the page exists")
    }

    fn time(&self) -> DatabaseTime {
        self.time
    }

    fn remains(&self, page: PageNumber) -> Remains {
        Remains::noise(30, 0, page, self.time)
    }
}
