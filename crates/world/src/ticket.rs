//! I/Os in flight: a slab of them, and the future that waits for one.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use brunt_units::{Span, Time};

use crate::{Frame, IoError, Segment, Segments, TaskId, Tasks};

/// Identifies an I/O in flight: its slot, and how often the slot was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketId {
    /// Slot in the slab.
    pub slot: u32,
    /// How often the slot was used before.
    pub turn: u32,
}

/// The result of an I/O.
#[derive(Debug)]
pub struct Completion {
    /// Success, or the error.
    pub result: Result<(), IoError>,
    /// When it was passed to [`crate::Disk::submit`].
    pub submitted_at: Time,
    /// When the world saw its completion, before any continuation ran.
    pub done_at: Time,
    /// Its memory.
    pub segments: Segments,
}

impl Completion {
    /// From submission to completion.
    pub fn latency(&self) -> Span {
        self.done_at - self.submitted_at
    }

    /// The frames that were read into, in file order.
    pub fn into_frames(self) -> impl Iterator<Item = Frame> {
        self.segments.into_iter().filter_map(|segment| match segment {
            Segment::Fill(frame) => Some(frame),
            Segment::Drain { .. } | Segment::Ghost(_) => None,
        })
    }

    /// The only frame that was read into.
    ///
    /// # Panics
    /// When the I/O was not a read into one frame.
    pub fn into_frame(self) -> Frame {
        let mut frames = self.into_frames();
        frames.next().expect("the I/O was a read")
    }
}

/// Hears of the completion of I/Os.
pub trait Watcher {
    /// The world saw an I/O complete at `done_at`; no continuation has run yet.
    fn completed(&self, done_at: Time);
}

enum Slot {
    /// Unused; the next free slot, if any.
    Free(Option<u32>),
    Pending {
        submitted_at: Time,
        waiter: Option<TaskId>,
        detached: bool,
        watcher: Option<Rc<dyn Watcher>>,
    },
    Done(Completion),
}

struct Entry {
    turn: u32,
    slot: Slot,
}

#[derive(Default)]
struct Slab {
    entries: Vec<Entry>,
    free: Option<u32>,
    pending: usize,
}

/// The I/Os in flight of one executor. A clone is another handle.
#[derive(Clone)]
pub struct Tickets {
    tasks: Tasks,
    slab: Rc<RefCell<Slab>>,
}

impl Tickets {
    /// A slab without I/O; completions wake tasks of `tasks`.
    pub fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), slab: Rc::default() }
    }

    /// A ticket for an I/O submitted now, and its id for [`Self::complete`].
    pub fn issue(&self, submitted_at: Time) -> (Ticket, TicketId) {
        let mut slab = self.slab.borrow_mut();
        let pending = Slot::Pending { submitted_at, waiter: None, detached: false, watcher: None };
        slab.pending += 1;
        let slot = match slab.free {
            Some(slot) => {
                let entry = &mut slab.entries[slot as usize];
                let Slot::Free(next) = std::mem::replace(&mut entry.slot, pending) else {
                    unreachable!("the free list holds free slots");
                };
                entry.turn += 1;
                slab.free = next;
                slot
            }
            None => {
                slab.entries.push(Entry { turn: 0, slot: pending });
                u32::try_from(slab.entries.len() - 1).expect("fewer than 2^32 I/Os in flight")
            }
        };
        let id = TicketId { slot, turn: slab.entries[slot as usize].turn };
        (Ticket { id, tickets: self.clone() }, id)
    }

    /// Completes the I/O `id` at `done_at`: wakes the task that waits for it, or returns its frames
    /// to the pool if its ticket was dropped.
    ///
    /// # Panics
    /// When `id` is not in flight: an I/O completes once.
    pub fn complete(
        &self,
        id: TicketId,
        result: Result<(), IoError>,
        done_at: Time,
        segments: Segments,
    ) {
        let mut slab = self.slab.borrow_mut();
        slab.pending -= 1;
        let entry = &mut slab.entries[id.slot as usize];
        assert_eq!(entry.turn, id.turn, "completion of an I/O that is not in flight");
        let Slot::Pending { submitted_at, waiter, detached, watcher } = &mut entry.slot else {
            panic!("completion of an I/O that is not in flight");
        };
        if let Some(watcher) = watcher.take() {
            watcher.completed(done_at);
        }
        let (submitted_at, waiter, detached) = (*submitted_at, *waiter, *detached);
        if detached {
            slab.release(id.slot);
        } else {
            entry.slot = Slot::Done(Completion { result, submitted_at, done_at, segments });
            if let Some(task) = waiter {
                self.tasks.wake(task);
            }
        }
    }

    /// Lets `watcher` hear of the completion of the I/O `id`; at once when it is over.
    pub fn watch(&self, id: TicketId, watcher: &Rc<dyn Watcher>) {
        let mut slab = self.slab.borrow_mut();
        let entry = &mut slab.entries[id.slot as usize];
        match &mut entry.slot {
            Slot::Pending { watcher: own, .. } if entry.turn == id.turn => {
                *own = Some(Rc::clone(watcher));
            }
            Slot::Done(done) if entry.turn == id.turn => watcher.completed(done.done_at),
            _ => {}
        }
    }

    /// Whether the two are handles of one slab, so that equal [`TicketId`]s name the same I/O.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.slab, &other.slab)
    }

    /// Number of I/Os in flight, including those whose ticket was dropped.
    pub fn in_flight(&self) -> usize {
        self.slab.borrow().pending
    }

    /// When the oldest I/O in flight was submitted: how long the slowest has been hanging.
    pub fn oldest_in_flight(&self) -> Option<Time> {
        self.submitted_by(Time(u64::MAX)).into_iter().map(|(_, submitted_at)| submitted_at).min()
    }

    /// The I/Os in flight that were submitted at `time` or before, by slot.
    pub fn submitted_by(&self, time: Time) -> Vec<(TicketId, Time)> {
        let slab = self.slab.borrow();
        let entries = (0..).zip(&slab.entries);
        let pending = entries.filter_map(|(slot, entry)| match entry.slot {
            Slot::Pending { submitted_at, .. } if submitted_at <= time => {
                let turn = entry.turn;
                Some((TicketId { slot, turn }, submitted_at))
            }
            _ => None,
        });
        pending.collect()
    }
}

impl Slab {
    fn release(&mut self, slot: u32) {
        self.entries[slot as usize].slot = Slot::Free(self.free);
        self.free = Some(slot);
    }
}

/// Waits for one I/O. Dropping it detaches the I/O: it continues, its result is lost, and its
/// frames return to the pool.
#[must_use = "an I/O's result says whether it happened"]
pub struct Ticket {
    id: TicketId,
    tickets: Tickets,
}

impl Ticket {
    /// The id of the I/O.
    pub fn id(&self) -> TicketId {
        self.id
    }

    /// All I/Os of the same executor.
    pub fn tickets(&self) -> &Tickets {
        &self.tickets
    }
}

impl Future for Ticket {
    type Output = Completion;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Completion> {
        let mut slab = self.tickets.slab.borrow_mut();
        let entry = &mut slab.entries[self.id.slot as usize];
        assert_eq!(entry.turn, self.id.turn, "a ticket is polled after it was ready");
        match &mut entry.slot {
            Slot::Pending { waiter, .. } => {
                *waiter = Some(self.tickets.tasks.current());
                Poll::Pending
            }
            Slot::Done(_) => {
                let Slot::Done(done) = std::mem::replace(&mut entry.slot, Slot::Free(None)) else {
                    unreachable!("matched above");
                };
                slab.release(self.id.slot);
                Poll::Ready(done)
            }
            Slot::Free(_) => panic!("a ticket is polled after it was ready"),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut slab = self.tickets.slab.borrow_mut();
        let entry = &mut slab.entries[self.id.slot as usize];
        if entry.turn != self.id.turn {
            return; // It was ready, and the slot is somebody else's by now.
        }
        match &mut entry.slot {
            Slot::Pending { detached, waiter, .. } => {
                *detached = true;
                *waiter = None;
            }
            Slot::Done(_) => {
                // The frames of the completion go home outside the borrow: they have a pool of
                // their own.
                let done = std::mem::replace(&mut entry.slot, Slot::Free(None));
                slab.release(self.id.slot);
                drop(slab);
                drop(done);
            }
            Slot::Free(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::tests::Ticking;
    use crate::{Executor, Frames, Spawner};

    fn reading(frame: Frame) -> Segments {
        [Segment::Fill(frame)].into_iter().collect()
    }

    #[test]
    fn a_completion_is_handed_over_whether_it_comes_before_or_after_the_wait() {
        let tasks = Tasks::default();
        let (tickets, frames) = (Tickets::new(&tasks), Frames::in_memory());
        let mut executor = Executor::new(&tasks, Ticking(0));
        executor.block_on(async move {
            let (early, early_id) = tickets.issue(Time(5));
            let frame = frames.take(4096);
            let place = frame.place();
            tickets.complete(early_id, Ok(()), Time(9), reading(frame));
            let done = early.await;
            assert_eq!((done.submitted_at, done.done_at), (Time(5), Time(9)));
            assert_eq!(done.latency(), Span(4));
            assert_eq!(done.into_frame().place(), place);

            let (late, late_id) = tickets.issue(Time(10));
            let waiting = Spawner::new(&tasks).spawn(late);
            let completer = tickets.clone();
            let completing = Spawner::new(&tasks).spawn(async move {
                let error = Err(IoError::Device);
                completer.complete(late_id, error, Time(11), Segments::new());
            });
            assert_eq!(tickets.in_flight(), 1);
            assert_eq!(waiting.await.result, Err(IoError::Device));
            completing.await;
            assert_eq!(tickets.in_flight(), 0);
        });
    }

    #[test]
    fn dropping_a_ticket_sends_its_frame_home_at_completion() {
        let (tickets, frames) = (Tickets::new(&Tasks::default()), Frames::in_memory());
        for is_done_first in [true, false] {
            let frame = frames.take(8192);
            let place = frame.place();
            let (ticket, id) = tickets.issue(Time(1));
            if is_done_first {
                tickets.complete(id, Ok(()), Time(2), reading(frame));
                assert_ne!(frames.take(8192).place(), place);
                drop(ticket);
            } else {
                drop(ticket);
                assert_eq!(tickets.oldest_in_flight(), Some(Time(1)));
                tickets.complete(id, Ok(()), Time(2), reading(frame));
            }
            assert_eq!(tickets.in_flight(), 0);
            assert_eq!(frames.take(8192).place(), place);
        }
        assert_eq!(tickets.slab.borrow().entries.len(), 1, "the slot is used again");
    }

    #[test]
    fn a_used_ticket_does_not_touch_its_slots_next_owner() {
        let tasks = Tasks::default();
        let tickets = Tickets::new(&tasks);
        let mut executor = Executor::new(&tasks, Ticking(0));
        executor.block_on(async move {
            let (mut first, first_id) = tickets.issue(Time(1));
            tickets.complete(first_id, Ok(()), Time(2), Segments::new());
            let _done = (&mut first).await;
            let (second, second_id) = tickets.issue(Time(3));
            assert_eq!(first_id.slot, second_id.slot);
            drop(first);
            tickets.complete(second_id, Ok(()), Time(4), Segments::new());
            assert_eq!(second.await.submitted_at, Time(3));
        });
    }

    #[test]
    fn a_watcher_hears_of_a_completion_before_or_after_it() {
        #[derive(Default)]
        struct Heard(RefCell<Vec<Time>>);
        impl Watcher for Heard {
            fn completed(&self, done_at: Time) {
                self.0.borrow_mut().push(done_at);
            }
        }
        let tickets = Tickets::new(&Tasks::default());
        let heard = Rc::new(Heard::default());
        let watcher: Rc<dyn Watcher> = Rc::<Heard>::clone(&heard);
        let (_early, early) = tickets.issue(Time(1));
        tickets.watch(early, &watcher);
        assert_eq!(*heard.0.borrow(), []);
        tickets.complete(early, Ok(()), Time(4), Segments::new());
        let (_late, late) = tickets.issue(Time(2));
        tickets.complete(late, Ok(()), Time(5), Segments::new());
        tickets.watch(late, &watcher);
        assert_eq!(*heard.0.borrow(), [Time(4), Time(5)]);
    }

    #[test]
    #[should_panic(expected = "not in flight")]
    fn an_io_completes_once() {
        let tickets = Tickets::new(&Tasks::default());
        let (_first, id) = tickets.issue(Time::ZERO);
        let (_second, _) = tickets.issue(Time::ZERO);
        tickets.complete(id, Ok(()), Time::ZERO, Segments::new());
        tickets.complete(id, Ok(()), Time::ZERO, Segments::new());
    }
}
