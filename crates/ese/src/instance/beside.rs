//! Tasks beside redo: they read the databases of a replayer or of a copy without content, and end
//! with it.
//!
//! A replayer that is closed or finished waits for them, because its files change hands; one that
//! is dropped only tells them to end.

use std::cell::Cell;
use std::rc::Rc;

use brunt_units::Time;
use brunt_world::World;
use brunt_world::sync::{Alarm, Event};

/// The tasks of one replayer.
pub(crate) struct Beside(Rc<Running>);

/// What these tasks share.
pub(crate) struct Running {
    are_over: Cell<bool>,
    count: Cell<u32>,
    changed: Event,
}

impl Running {
    /// Whether they shall end.
    pub(crate) fn are_over(&self) -> bool {
        self.are_over.get()
    }

    /// Waits until `time`, or until they shall end.
    pub(crate) async fn pause(&self, world: &World, time: Time) {
        let alarm = Alarm::new(world.spawner.tasks());
        let is_over = || {
            let now = world.clock.now();
            alarm.set(now, time);
            (now >= time || self.are_over()).then_some(())
        };
        self.changed.wait(is_over).await;
    }
}

impl Beside {
    pub(crate) fn new(world: &World) -> Self {
        Self(Rc::new(Running {
            are_over: Cell::new(false),
            count: Cell::new(0),
            changed: Event::new(world.spawner.tasks()),
        }))
    }

    /// Starts a task, which ends soon after [`Running::are_over`].
    pub(crate) fn run<F: Future<Output = ()> + 'static>(
        &self,
        world: &World,
        work: impl FnOnce(Rc<Running>) -> F,
    ) {
        let running = Rc::clone(&self.0);
        running.count.set(running.count.get() + 1);
        let work = work(Rc::clone(&running));
        drop(world.spawner.spawn(async move {
            work.await;
            running.count.set(running.count.get() - 1);
            running.changed.notify();
        }));
    }

    /// Ends them all, and waits for that.
    pub(crate) async fn end(&self) {
        self.tell();
        let are_gone = || (self.0.count.get() == 0).then_some(());
        self.0.changed.wait(are_gone).await;
    }

    fn tell(&self) {
        self.0.are_over.set(true);
        self.0.changed.notify();
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.tell();
    }
}
