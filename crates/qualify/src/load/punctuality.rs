//! Measures how late the program itself is: whether it keeps up.
//!
//! One thread drives everything. When it is overloaded, or the machine does not let it run,
//! completions and sessions wait for it and the storage gets the blame. So a task asks to be woken
//! every ten milliseconds and records how late it is. A modelled clock is never late, which says
//! nothing of any program: then there are no delays.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_stats::Latencies;
use brunt_units::Span;
use brunt_world::World;

use crate::hanging::FlightRecorder;

/// Interval between two wake-ups. Short compared with a sample, and too rare to cost anything.
pub(crate) const EVERY: Span = Span::millis(10);

/// A task that wakes regularly and records how late it was.
pub(crate) struct Punctuality {
    delays: RefCell<Latencies>,
    over: Cell<bool>,
}

impl Punctuality {
    /// Starts the task.
    pub(crate) fn watch(world: &World, recorder: &Rc<FlightRecorder>) -> Rc<Self> {
        let watch =
            Rc::new(Self { delays: RefCell::new(Latencies::new()), over: Cell::new(false) });
        let (watching, world) = (Rc::clone(&watch), world.clone());
        let recorder = Rc::clone(recorder);
        recorder.expect(world.clock.now() + EVERY);
        drop(world.clone().spawner.spawn(async move {
            while !watching.over.get() {
                let wanted = world.clock.now() + EVERY;
                world.sleep_until(wanted).await;
                let late = world.clock.now() - wanted;
                watching.delays.borrow_mut().record(late);
                if !watching.over.get() {
                    recorder.beat(EVERY);
                }
            }
        }));
        watch
    }

    /// The delays so far.
    pub(crate) fn so_far(&self) -> Latencies {
        measured(self.delays.borrow().clone())
    }

    /// Stops the task and returns the delays.
    pub(crate) fn end(&self) -> Latencies {
        self.over.set(true);
        measured(self.delays.take())
    }
}

/// `delays`, unless a modelled clock made them.
fn measured(delays: Latencies) -> Latencies {
    match delays.max() {
        Some(Span::ZERO) => Latencies::new(),
        _ => delays,
    }
}

#[cfg(test)]
mod tests {
    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;
    use crate::plan::tests::plan;

    #[test]
    fn a_virtual_world_measures_no_delay() {
        let mut machine = VirtualWorld::new(VirtualOptions::new(1));
        let world = machine.world.clone();
        let delays = machine.executor.block_on(async move {
            let watch = Punctuality::watch(&world, &FlightRecorder::over(&world, &plan()));
            world.sleep(Span::seconds(1)).await;
            watch.end()
        });
        assert_eq!((delays.count(), delays.max()), (0, None));
    }
}
