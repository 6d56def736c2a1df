//! How late the program itself is: its own measure of whether it keeps up.
//!
//! One thread drives everything. When it has more to do than time to do it in, or when the machine does not let it run,
//! completions wait to be seen and sessions wait to go on, and the storage gets the blame. So a task asks to be woken every
//! ten milliseconds and looks how late it is. In a virtual world nobody is ever late.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_stats::Latencies;
use brunt_units::Span;
use brunt_world::World;

/// Distance of two looks. Small beside a sample, and too rare to cost anything.
const EVERY: Span = Span::millis(10);

/// A task that is woken again and again and notes how late it was.
pub(crate) struct Punctuality {
    delays: RefCell<Latencies>,
    over: Cell<bool>,
}

impl Punctuality {
    /// Begins to look.
    pub(crate) fn watch(world: &World) -> Rc<Self> {
        let watch = Rc::new(Self {
            delays: RefCell::new(Latencies::new()),
            over: Cell::new(false),
        });
        let (watching, world) = (Rc::clone(&watch), world.clone());
        drop(world.clone().spawner.spawn(async move {
            while !watching.over.get() {
                let wanted = world.clock.now() + EVERY;
                world.sleep_until(wanted).await;
                let late = world.clock.now() - wanted;
                watching.delays.borrow_mut().record(late);
            }
        }));
        watch
    }

    /// Ends looking, and says what was seen.
    pub(crate) fn end(&self) -> Latencies {
        self.over.set(true);
        self.delays.take()
    }
}

#[cfg(test)]
mod tests {
    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;

    #[test]
    fn nobody_is_late_in_a_virtual_world() {
        let mut machine = VirtualWorld::new(VirtualOptions::new(1));
        let world = machine.world.clone();
        let delays = machine.executor.block_on(async move {
            let watch = Punctuality::watch(&world);
            world.sleep(Span::seconds(1)).await;
            watch.end()
        });
        assert!((99..=100).contains(&delays.count()), "{}", delays.count());
        assert_eq!(delays.max(), Some(Span::ZERO));
    }
}
