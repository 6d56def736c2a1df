//! Pages between a passive copy and its active.
//!
//! ```text
//!   copy: a page is bad                            active
//!   Want --------------------------------------->  the page as it is now, which belongs to log position L;
//!                                                  L is durable, and its file is closed, so that it is sent
//!        <-------------------------------------- Page, L
//!   every log up to L is stored                    else nothing happens
//!   headers name the log up to L, page replaced    ([`mod@brunt_ese::instance::substitute`])
//!   opened as after a crash, replayed up to L
//!
//!   copy                                           active: a page is bad
//!        <---------------------------------------- Want, all log before L
//!   replayed up to L, page is good
//!   Page --------------------------------------->  judged by the engine ([`brunt_ese::patch`])
//! ```
//!
//! A page that comes from the active may be newer than the copy. So the copy cannot be activated at
//! an earlier log than the page's from then on, also when it crashes before it has replayed that
//! far: the headers say so before the page is there. A lagged copy replays up to there at once.
//!
//! Source: Microsoft, *Single page restore* and *lagged copy log play down*: a passive copy asks
//! the active for a bad page, waits until it has the log up to there, and replays it, lagged or
//! not.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use brunt_ese::error::{EngineError, PageFault};
use brunt_ese::instance::offer::PageOffer;
use brunt_ese::instance::substitute::substitute;
use brunt_ese::log::reader::Generation;
use brunt_ese::patch::{Outcome, PATIENCE, Patch};
use brunt_ese::policy::patch::{Refusal as PageRefusal, is_patchable};
use brunt_units::{LogPosition, PageNumber, Span, Time};
use brunt_world::Class;
use brunt_world::messages::Sender;
use brunt_world::sync::Alarm;

use crate::asking::{OPEN_MAX, answer};
use crate::error::CopyError;
use crate::files;
use crate::passive::{PassiveCopy, Step};
use crate::wire::{Refusal, Want};

/// How often the active is asked for one page.
const TRIES: u32 = 3;
/// From one request that led to nothing to the next.
const RETRY: Span = Span::seconds(5);
/// What the other side is called in reports.
const ACTIVE: &str = "the active";

/// A database, by its number in the instance, and a page of it.
type Place = (u8, PageNumber);

/// What a copy has done about bad pages.
#[derive(Default)]
pub(crate) struct Repairs {
    /// Requests for each page.
    tries: RefCell<BTreeMap<Place, u32>>,
    /// When a page that maintenance has found may be asked for.
    next: Cell<Time>,
    /// A page that was replaced, and not read since.
    unchecked: Cell<Option<Place>>,
    patches: RefCell<Vec<Patch>>,
}

impl PassiveCopy {
    /// The bad pages that the active was asked for, and what became of each.
    pub fn patches(&self) -> Vec<Patch> {
        self.0.repairs.patches.borrow().clone()
    }

    /// Repairs the page that replay found bad, if that is what ended it; else its error.
    pub(crate) async fn after(&self, error: CopyError) -> Result<Step, CopyError> {
        let CopyError::Engine(reason) = &error else {
            return Err(error);
        };
        let Some((place, fault)) = self.bad_page(reason) else {
            return Err(error);
        };
        while self.may_try(place) {
            if self.repair(place, fault).await? {
                return Ok(Step::Replayed);
            }
            self.pause(RETRY).await;
        }
        Err(error)
    }

    /// Repairs a page that maintenance has found bad. Whether the databases were closed for it.
    pub(crate) async fn repair_scanned(&self) -> Result<bool, CopyError> {
        let (now, repairs) = (self.0.world.clock.now(), &self.0.repairs);
        if now < repairs.next.get() || !self.0.asking.is_connected() {
            return Ok(false);
        }
        let bad = self.findings().into_iter().flat_map(|found| found.bad);
        let mut bad = bad.filter_map(|(_, error)| self.bad_page(&error));
        let Some((place, fault)) = bad.find(|(place, _)| self.may_try(*place)) else {
            return Ok(false);
        };
        let is_repaired = self.repair(place, fault).await?;
        if !is_repaired {
            repairs.next.set(self.0.world.clock.now() + RETRY);
        }
        Ok(is_repaired)
    }

    /// Reads a page that was replaced: it is what was written, and no newer than the log.
    pub(crate) async fn check_repaired(&self) -> Result<(), CopyError> {
        let Some((database, page)) = self.0.repairs.unchecked.take() else {
            return Ok(());
        };
        let replayer = self.take_replayer();
        match replayer.check_page(database, page).await {
            Ok(()) => {
                *self.0.replayer.borrow_mut() = Some(replayer);
                Ok(())
            }
            Err(error) => {
                self.leave(replayer).await;
                Err(error.into())
            }
        }
    }

    /// The page that an error names, if another copy may have it.
    fn bad_page(&self, error: &EngineError) -> Option<(Place, PageFault)> {
        let EngineError::Page { database, page, fault, .. } = error else {
            return None;
        };
        let mut paths = (0..).zip(&self.0.options.instance.databases);
        let (number, _) = paths.find(|(_, path)| *path == database)?;
        is_patchable(*fault).then_some(((number, *page), *fault))
    }

    fn may_try(&self, place: Place) -> bool {
        let tries = self.0.repairs.tries.borrow();
        !self.0.stopping.get() && tries.get(&place).is_none_or(|tries| *tries < TRIES)
    }

    /// Asks the active for a page and puts it in the place of the bad one. Whether the databases
    /// were closed for it: then they are opened again by the next step.
    async fn repair(&self, place: Place, fault: PageFault) -> Result<bool, CopyError> {
        *self.0.repairs.tries.borrow_mut().entry(place).or_default() += 1;
        let (database, page) = place;
        let replayed = LogPosition::start_of(self.queues().replayed.saturating_add(1));
        let Some(offer) = self.0.asking.ask(database, page, replayed).await else {
            self.told(place, fault, Err(PageRefusal::NoAnswer));
            return Ok(false);
        };
        if offer.replayed < replayed {
            self.told(place, fault, Err(PageRefusal::Behind));
            return Ok(false);
        }
        let needed = offer.replayed.generation;
        if !self.has_stored(needed).await {
            self.told(place, fault, Err(PageRefusal::Diverged));
            return Ok(false);
        }
        let logged = self.end_of(needed).await?;
        // From here on the copy needs that log, whatever happens.
        self.0.needed.set(self.0.needed.get().max(needed));
        let replayer = self.0.replayer.borrow_mut().take();
        if let Some(mut replayer) = replayer {
            replayer.begin(needed).await?;
            replayer.move_checkpoint().await?;
            self.leave(replayer).await;
        }
        let replaced = self.replace(place, &offer, logged).await?;
        if replaced.is_ok() {
            self.0.scans.iter().zip(0..).for_each(|(scan, number)| {
                if number == database {
                    scan.patched(page);
                }
            });
            self.0.repairs.unchecked.set(Some(place));
        }
        self.told(place, fault, replaced);
        Ok(true)
    }

    async fn replace(
        &self,
        place: Place,
        offer: &PageOffer,
        logged: LogPosition,
    ) -> Result<Result<(), PageRefusal>, EngineError> {
        let (world, options) = (&self.0.world, &self.0.options.instance);
        substitute(world, options, place, offer, logged).await
    }

    /// Waits until a log is stored.
    async fn has_stored(&self, generation: u32) -> bool {
        let (world, alarm) = (&self.0.world, Alarm::new(self.0.world.spawner.tasks()));
        let until = world.clock.now() + PATIENCE;
        let stored = || {
            let now = world.clock.now();
            alarm.set(now, until);
            let is_stored = self.queues().stored >= generation;
            let is_over = self.0.stopping.get() || now >= until;
            (is_stored || is_over).then_some(is_stored)
        };
        self.0.changed.wait(stored).await
    }

    /// Where a stored log ends.
    async fn end_of(&self, generation: u32) -> Result<LogPosition, CopyError> {
        let options = &self.0.options.instance;
        let path = files::archived(&options.log_directory, generation);
        let read = files::read_log(&self.0.world, Class::Recovery, &path, u64::MAX).await?;
        let bytes = read.ok_or_else(|| EngineError::LogMissing(path.clone()))?;
        let log =
            Generation::read(&bytes).map_err(|error| EngineError::LogHeader { path, error })?;
        // Nothing follows in its last segment.
        Ok(options.log.next_border(log.end()))
    }

    async fn pause(&self, span: Span) {
        let (world, alarm) = (&self.0.world, Alarm::new(self.0.world.spawner.tasks()));
        let until = world.clock.now() + span;
        let is_over = || {
            let now = world.clock.now();
            alarm.set(now, until);
            (now >= until || self.0.stopping.get()).then_some(())
        };
        self.0.changed.wait(is_over).await;
    }

    fn told(&self, (database, page): Place, fault: PageFault, outcome: Result<(), PageRefusal>) {
        let options = &self.0.options.instance;
        let (refused, outcome) = match outcome {
            Ok(()) => (Vec::new(), Outcome::Patched(ACTIVE.to_owned())),
            Err(refusal) => (vec![(ACTIVE.to_owned(), refusal)], Outcome::NoCopy),
        };
        self.0.repairs.patches.borrow_mut().push(Patch {
            database: options.databases[usize::from(database)].clone(),
            page,
            offset: page.offset(options.page_size),
            fault,
            refused,
            outcome,
        });
    }

    /// Takes note of a request of the active.
    ///
    /// # Errors
    /// [`Refusal::OutOfPlace`] when it has asked for too many pages.
    pub(crate) fn wanted(&self, line: &Sender, want: Want) -> Result<(), Refusal> {
        let mut wants = self.0.wants.borrow_mut();
        if wants.len() >= OPEN_MAX {
            return Err(Refusal::OutOfPlace);
        }
        wants.push((line.clone(), want));
        self.0.changed.notify();
        Ok(())
    }

    /// Answers the requests that ask for no more than what has been replayed. A lagged copy has
    /// none to give.
    pub(crate) async fn answer_wants(&self) {
        let (replayed, is_lagged) = (self.queues().replayed, self.0.options.lag > Span::ZERO);
        let due: Vec<(Sender, Want)> = {
            let is_due =
                |(_, want): &mut (Sender, Want)| is_lagged || want.replayed.generation <= replayed;
            self.0.wants.borrow_mut().extract_if(.., is_due).collect()
        };
        for (line, want) in due {
            let offer = match is_lagged {
                true => None,
                false => {
                    let replayer = self.take_replayer();
                    let offer = replayer.offer_page(want.database, want.page).await;
                    *self.0.replayer.borrow_mut() = Some(replayer);
                    // A page that is bad here as well is no answer.
                    offer.ok().flatten()
                }
            };
            answer(&line, want.number, offer).await;
        }
    }
}
