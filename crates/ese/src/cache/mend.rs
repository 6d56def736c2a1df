//! Repairing a bad page from a copy of the database ([`crate::patch`]).
//!
//! The page's frame stays occupied while copies are asked, so other operations wait for the page
//! and it cannot change. Its latest version is therefore covered by the log that was durable when
//! it was read, and a copy must have replayed that much.
//!
//! The repair keeps the page's remembered flush type. No log record informs recovery of the repair,
//! so after a crash both the old and the new flush map must agree with it. If this write is lost,
//! the disk has the bad page again, which is detected as before.

use std::cell::Cell;
use std::rc::Rc;

use brunt_units::{DatabaseTime, PageNumber, Span};
use brunt_world::sync::Event;
use brunt_world::{Class, Io, IoError, Op, Segments, World};

use super::frames::Phase;
use super::past::tell;
use super::{Cache, PageKey, Trust};
use crate::content::{Content, Flips};
use crate::error::PageFault;
use crate::format::flush_map::next_flush_type;
use crate::overwrite::overwrite;
use crate::patch::{Copies, Outcome, PATIENCE, Patch, REMEMBERED_MAX, Wanted};
use crate::policy::coalesce::Run;
use crate::policy::patch::{Demand, Offered, Refusal, is_patchable, judge};

/// What is wrong with a page that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) fault: PageFault,
    /// The time of the version that was found, if that is valid but outdated.
    pub(super) found: Option<DatabaseTime>,
}

impl From<PageFault> for Bad {
    fn from(fault: PageFault) -> Self {
        Self { fault, found: None }
    }
}

impl<C: Content> Cache<C> {
    /// Asks `copies` for bad pages from now on.
    pub fn patch_from(&self, copies: Rc<dyn Copies>) {
        *self.0.copies.borrow_mut() = Some(copies);
    }

    /// Whether there are copies to ask.
    pub(crate) fn has_copies(&self) -> bool {
        self.0.copies.borrow().is_some()
    }

    /// Takes the attempted repairs recorded since the last call.
    pub fn take_patches(&self) -> Vec<Patch> {
        self.0.patches.take()
    }

    /// The page from a copy, durably written back; `None` when no copy has an acceptable one. The
    /// caller has the page's frame to itself.
    pub(super) async fn mend(&self, key: PageKey, bad: Bad, trust: Trust) -> Option<C::Page> {
        let copies = self.0.copies.borrow().clone()?;
        if !is_patchable(bad.fault) {
            return None;
        }
        let (wanted, demand) = self.demand(key, bad, trust);
        let mut refused = Vec::new();
        let mut taken = None;
        for (number, name) in copies.names(&wanted).into_iter().enumerate() {
            match self.ask(&*copies, number, key, &wanted, demand).await {
                Err(refusal) => refused.push((name, refusal)),
                Ok(page) => {
                    taken = Some((name, page));
                    break;
                }
            }
        }
        let (page, outcome) = match taken {
            None => (None, Outcome::NoCopy),
            Some((name, page)) => match self.write_back(key, page, trust).await {
                Ok(page) => (Some(page), Outcome::Patched(name)),
                Err(error) => (None, Outcome::NotWritten(name, error)),
            },
        };
        self.remember(
            Patch {
                database: wanted.database,
                page: key.page,
                offset: key.page.offset(self.0.options.page_size),
                fault: bad.fault,
                refused,
                outcome,
            },
            key.database,
        );
        page
    }

    /// Replaces a page that recovery finds outdated by a copy's page. The page is pinned. Returns
    /// whether it was replaced.
    pub(crate) async fn exchange(&self, database: u8, page: PageNumber) -> bool {
        let key = PageKey { database, page };
        let frame = {
            let state = self.0.state.borrow();
            let frame = state.frames.find(key).expect("it is pinned");
            let is_idle = state.frames.phase(frame) == Phase::Resident;
            match is_idle && !state.is_dirty(frame) {
                true => frame,
                false => return false,
            }
        };
        let found = {
            let state = self.0.state.borrow();
            let page = state.frames.page(frame).expect("it is resident");
            C::time(page, self.0.options.page_size)
        };
        let bad = Bad { fault: PageFault::LostFlush, found };
        let mended = self.mend(key, bad, Trust::Recovering).await;
        let is_mended = mended.is_some();
        if is_mended {
            *self.0.state.borrow_mut().frames.page_mut(frame) = mended;
        }
        is_mended
    }

    /// The request to a copy, and what is known about the page here.
    fn demand(&self, key: PageKey, bad: Bad, trust: Trust) -> (Wanted, Demand) {
        self.with_database(key.database, |entry| {
            let durable = entry.log.durable();
            let wanted = Wanted {
                database: entry.path.clone(),
                signature: entry.signature,
                page: key.page,
                replayed: durable,
            };
            // Unread log may be newer than what recovery knows.
            let is_known = trust == Trust::Verified;
            let demand = Demand {
                signature: entry.signature,
                replayed: durable,
                durable,
                newest: is_known.then_some(entry.time),
                newer_than: bad.found,
                low_bits: entry.flush.low_bits(key.page).filter(|_| is_known),
            };
            (wanted, demand)
        })
    }

    /// Asks one copy and judges its answer.
    async fn ask(
        &self,
        copies: &dyn Copies,
        number: usize,
        key: PageKey,
        wanted: &Wanted,
        demand: Demand,
    ) -> Result<C::Page, Refusal> {
        let answering = copies.ask(number, wanted);
        let answer = within(&self.0.world, PATIENCE, answering).await;
        let offer = answer.flatten().ok_or(Refusal::NoAnswer)?;
        let mut page = C::arrived(offer.page);
        let (durable, pages) =
            self.with_database(key.database, |entry| (entry.log.durable(), entry.pages));
        let size = self.0.options.page_size;
        let offered = Offered {
            signature: offer.signature,
            replayed: offer.replayed,
            page: C::verify(&mut page, key.page, pages, size, Flips::Correct),
        };
        judge(&offered, &Demand { durable, ..demand })?;
        Ok(page)
    }

    /// Writes the page to its place durably.
    ///
    /// What is there is bad, except during recovery: then it may be a torn page that the log could
    /// rebuild, and nothing of it is spoiled.
    async fn write_back(
        &self,
        key: PageKey,
        mut page: C::Page,
        trust: Trust,
    ) -> Result<C::Page, IoError> {
        let size = self.0.options.page_size;
        let run = Run { first: key.page, count: 1 };
        let (file, segment) = {
            let mut state = self.0.state.borrow_mut();
            let state = &mut *state;
            let entry = &mut state.databases[usize::from(key.database)];
            let flush_type = match entry.flush.flush_type(key.page) {
                0 => next_flush_type(0),
                known => known,
            };
            let segment = C::depart(&mut page, key.page, size, flush_type);
            let time = C::time(&page, size);
            entry.flush.written(key.page, flush_type, time);
            state.mending.insert(key);
            tell(&mut state.watches, key.database, run);
            (entry.file, segment.expect("nobody else has it"))
        };
        let (world, begun) = (&self.0.world, self.0.world.clock.now());
        let (offset, tag) = (key.page.offset(size), u64::from(key.page.0));
        let written = match C::bytes(&page).filter(|_| trust == Trust::Verified) {
            Some(bytes) => overwrite(world, file, (offset, tag), bytes).await,
            None => {
                let segments = Segments::from_buf([segment]);
                let io = Io::new(Class::Database, Op::WriteThrough, file, offset, segments);
                world.disk.submit(Io { tag, ..io }).await.result
            }
        };
        let (bytes, latency) = (size.bytes_u64(), world.clock.now() - begun);
        let meters = &self.0.meters;
        meters.database(key.database, |meters| &mut meters.writes, bytes, latency);
        self.0.state.borrow_mut().mending.remove(&key);
        self.0.progress.notify();
        written.map(|()| page)
    }

    fn remember(&self, patch: Patch, database: u8) {
        self.0.meters.with(|meters| {
            let meters = &mut meters.databases[usize::from(database)];
            match patch.outcome {
                Outcome::Patched(_) => meters.patched.tick(),
                Outcome::NoCopy | Outcome::NotWritten(..) => meters.unpatched.tick(),
            }
            patch.refused.iter().for_each(|_| meters.refused_copies.tick());
        });
        let mut patches = self.0.patches.borrow_mut();
        if patches.len() < REMEMBERED_MAX {
            patches.push(patch);
        }
    }
}

/// The result of `work` if it finishes within `span`; a later result is dropped.
async fn within<T: 'static>(
    world: &World,
    span: Span,
    work: impl Future<Output = T> + 'static,
) -> Option<T> {
    let tasks = world.spawner.tasks();
    let (slot, came) = (Rc::new(Cell::new(None)), Event::new(tasks));
    let (into, telling) = (Rc::clone(&slot), came.clone());
    drop(world.spawner.spawn(async move {
        into.set(Some(work.await));
        telling.notify();
    }));
    let until = world.clock.now() + span;
    let mut is_set = false;
    came.wait(|| {
        if !std::mem::replace(&mut is_set, true) {
            tasks.wake_at(until, tasks.current());
        }
        match slot.take() {
            Some(value) => Some(Some(value)),
            None => (world.clock.now() >= until).then_some(None),
        }
    })
    .await
}
