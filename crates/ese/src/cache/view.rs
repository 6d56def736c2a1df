//! The resident pages of one database, as the trees see them.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use brunt_units::{DatabaseTime, PageNumber, PageSize, Time};
use brunt_world::Frames;
use smallvec::SmallVec;

use super::frames::Phase;
use super::{Cache, PageKey, State};
use crate::content::Bytes;
use crate::page::{Need, Pages, Remains};

/// A database's resident pages; see [`Cache::pages`].
pub struct CachedPages<'a> {
    state: RefMut<'a, State<Bytes>>,
    database: u8,
    size: PageSize,
    pool: Frames,
    now: Time,
    remains_percent: Option<u32>,
    /// Frames that were looked at, with few duplicates. They count as referenced when the view
    /// ends.
    used: RefCell<SmallVec<[u32; 16]>>,
}

impl Cache<Bytes> {
    /// The resident pages of `database`, valid until the next event.
    ///
    /// # Panics
    /// When two views exist at the same time.
    pub fn pages(&self, database: u8) -> CachedPages<'_> {
        CachedPages {
            state: self.0.state.borrow_mut(),
            database,
            size: self.0.options.page_size,
            pool: self.0.world.frames.clone(),
            now: self.0.world.clock.now(),
            remains_percent: self.0.options.remains_percent,
            used: RefCell::default(),
        }
    }
}

impl CachedPages<'_> {
    fn frame(&self, page: PageNumber) -> Option<u32> {
        let frame = self.state.frames.find(PageKey { database: self.database, page })?;
        (self.state.frames.phase(frame) != Phase::Reading).then_some(frame)
    }
}

impl Drop for CachedPages<'_> {
    fn drop(&mut self) {
        for frame in self.used.take() {
            self.state.frames.touch(frame, self.now);
        }
    }
}

impl Pages for CachedPages<'_> {
    fn page_size(&self) -> PageSize {
        self.size
    }

    fn last(&self) -> PageNumber {
        PageNumber(self.state.databases[usize::from(self.database)].pages)
    }

    fn resident(&self, page: PageNumber) -> Result<&[u8], Need> {
        let frame = self.frame(page).ok_or(Need::Page(page))?;
        let mut used = self.used.borrow_mut();
        if used.last() != Some(&frame) {
            used.push(frame);
        }
        let page = self.state.frames.page(frame).expect("a frame past reading holds a page");
        Ok(page)
    }

    fn claimed(&self, page: PageNumber) -> Result<(), Need> {
        self.frame(page).map(|_| ()).ok_or(Need::Fresh(page))
    }

    fn change(&mut self, page: PageNumber) -> &mut [u8] {
        let frame = self.frame(page).expect("a changed page is resident");
        let slot =
            self.state.frames.page_mut(frame).as_mut().expect("a frame past reading holds a page");
        if Rc::get_mut(slot).is_none() {
            // A write of the page is in flight and keeps the old bytes, so the change goes to a
            // copy.
            let mut copy = self.pool.take(self.size.bytes());
            copy.copy_from_slice(slot);
            *slot = Rc::new(copy);
        }
        Rc::get_mut(slot).expect("it is ours alone now")
    }

    fn time(&self) -> DatabaseTime {
        self.state.databases[usize::from(self.database)].time
    }

    fn remains(&self, page: PageNumber) -> Remains {
        let noise = |percent| Remains::noise(percent, self.database, page, self.time());
        self.remains_percent.map_or(Remains::ZEROS, noise)
    }
}
