//! An executor: one thread, one ready queue, one heap of timers, and a reactor underneath.
//!
//! The loop is the same in both worlds. It polls one ready task, then lets the [`Reactor`] submit
//! requests and reap completions. This way completions are stamped before continuations run, and
//! the device never idles behind a long ready queue (draining the queue first costs about a fifth
//! of the I/O rate). When nothing is ready, it parks until a completion or the next timer. In the
//! virtual world "park" moves the clock.
//!
//! Events at equal times run in the order of the requests: timers carry a counter.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use brunt_units::Time;

use crate::Schedule;
use crate::event::Ready;

/// Identifies a task: its slot, and how often the slot was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    slot: u32,
    turn: u32,
}

#[derive(Default)]
struct Queues {
    current: Cell<Option<TaskId>>,
    ready: RefCell<VecDeque<Ready>>,
    timers: RefCell<Schedule<TaskId>>,
    asked: RefCell<Vec<Asked>>,
}

/// Work for the executor before its next poll.
enum Asked {
    Start(Running),
    End(Rc<Group>),
}

/// Tasks that are frozen and end together.
#[derive(Default)]
struct Group {
    has_ended: Cell<bool>,
    is_frozen: Cell<bool>,
    /// Those that became ready while it was frozen.
    held: RefCell<Vec<TaskId>>,
}

/// The running task, the ready tasks and the timers. A clone is another handle.
#[derive(Clone, Default)]
pub struct Tasks(Rc<Queues>);

impl Tasks {
    /// The task being polled.
    ///
    /// # Panics
    /// Outside a poll.
    pub fn current(&self) -> TaskId {
        self.0.current.get().expect("a future of this world is polled by its executor")
    }

    /// Puts `task` at the end of the ready queue. Waking a task that is ready or has ended is
    /// harmless.
    pub fn wake(&self, task: TaskId) {
        self.make_ready(Ready::Task(task));
    }

    /// Puts an entry at the end of the ready queue.
    pub(crate) fn make_ready(&self, ready: Ready) {
        self.0.ready.borrow_mut().push_back(ready);
    }

    /// Wakes `task` when the clock reaches `time`.
    pub fn wake_at(&self, time: Time, task: TaskId) {
        self.0.timers.borrow_mut().set(time, task);
    }

    /// Timers set so far: the virtual world's unit of work.
    pub fn timers_set(&self) -> u64 {
        self.0.timers.borrow().count()
    }
}

/// Starts tasks. Cloning gives another handle.
#[derive(Clone)]
pub struct Spawner {
    tasks: Tasks,
    group: Option<Rc<Group>>,
}

impl Spawner {
    /// Starts tasks on the executor of `tasks`.
    pub fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), group: None }
    }

    /// A spawner whose tasks form a group that [`Self::end_group`] can end.
    #[must_use]
    pub fn group(&self) -> Self {
        Self { tasks: self.tasks.clone(), group: Some(Rc::default()) }
    }

    /// Ends every task of this group: their futures are dropped, whatever they wait for. A task of
    /// the group that calls this ends at its next wait. Tasks that the group spawns afterwards
    /// never begin.
    ///
    /// A task that waits for the output of such a [`Task`] waits forever.
    ///
    /// # Panics
    /// When this spawner was not made by [`Self::group`].
    pub fn end_group(&self) {
        let group = self.group.as_ref().expect("a spawner of a group");
        if !group.has_ended.replace(true) {
            let end = Asked::End(Rc::clone(group));
            self.tasks.0.asked.borrow_mut().push(end);
        }
    }

    /// Keeps the tasks of this group from running until [`Self::thaw_group`]. What they have
    /// asked for goes on, and timers fire; they learn of it later. A task of the group that calls
    /// this runs on to its next wait.
    ///
    /// # Panics
    /// When this spawner was not made by [`Self::group`].
    pub fn freeze_group(&self) {
        self.group.as_ref().expect("a spawner of a group").is_frozen.set(true);
    }

    /// Lets the tasks of this group run again.
    ///
    /// # Panics
    /// When this spawner was not made by [`Self::group`].
    pub fn thaw_group(&self) {
        let group = self.group.as_ref().expect("a spawner of a group");
        group.is_frozen.set(false);
        for task in group.held.take() {
            self.tasks.wake(task);
        }
    }

    /// The executor's queues, for custom futures.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Starts `future`; it is first polled after the tasks that are ready now.
    ///
    /// The returned [`Task`] yields its output. Dropping it detaches the task.
    pub fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        let shared = Rc::new(Shared { output: RefCell::new(None), waiter: Cell::new(None) });
        let (tasks, result) = (self.tasks.clone(), Rc::clone(&shared));
        let future = Box::pin(async move {
            let output = future.await;
            *result.output.borrow_mut() = Some(output);
            if let Some(task) = result.waiter.take() {
                tasks.wake(task);
            }
        });
        self.tasks
            .0
            .asked
            .borrow_mut()
            .push(Asked::Start(Running { future, group: self.group.clone() }));
        Task { shared, tasks: self.tasks.clone() }
    }
}

struct Shared<T> {
    output: RefCell<Option<T>>,
    waiter: Cell<Option<TaskId>>,
}

/// Waits for a spawned task's output. Dropping it detaches the task.
pub struct Task<T> {
    shared: Rc<Shared<T>>,
    tasks: Tasks,
}

impl<T> Task<T> {
    /// Whether the task has ended and its output is available.
    pub fn is_done(&self) -> bool {
        self.shared.output.borrow().is_some()
    }
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        match self.shared.output.borrow_mut().take() {
            Some(output) => Poll::Ready(output),
            None => {
                self.shared.waiter.set(Some(self.tasks.current()));
                Poll::Pending
            }
        }
    }
}

/// The part of a world underneath the executor.
pub trait Reactor {
    /// The current time.
    fn now(&self) -> Time;

    /// Submits requests and reaps completions, without waiting. Called after every poll.
    fn turn(&mut self);

    /// Called when nothing is ready: waits for a completion, or until `deadline`.
    fn park(&mut self, deadline: Option<Time>) -> Parked;
}

/// How a [`Reactor::park`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// Something may be ready, or the deadline has come.
    Again,
    /// No deadline, nothing in flight: nothing will ever be ready.
    Dead,
}

struct Running {
    future: Pin<Box<dyn Future<Output = ()>>>,
    group: Option<Rc<Group>>,
}

struct Slot {
    turn: u32,
    /// Empty while the task is polled, and in a free slot.
    running: Option<Running>,
}

/// Runs tasks on the thread that calls it.
pub struct Executor<R> {
    reactor: R,
    tasks: Tasks,
    slots: Vec<Slot>,
    free: Vec<u32>,
    polls: u64,
    /// When timers were last checked.
    fired_at: Time,
}

impl<R: Reactor> Executor<R> {
    /// An executor over `reactor`, whose completions wake tasks of `tasks`.
    pub fn new(tasks: &Tasks, reactor: R) -> Self {
        Self {
            reactor,
            tasks: tasks.clone(),
            slots: Vec::new(),
            free: Vec::new(),
            polls: 0,
            fired_at: Time::ZERO,
        }
    }

    /// Runs until `root` ends. Other tasks keep their state: a later call continues them, and
    /// dropping the executor drops them.
    ///
    /// # Panics
    /// When nothing can ever become ready while `root` waits: a deadlock is a bug of ours.
    pub fn block_on<T: 'static>(&mut self, root: impl Future<Output = T> + 'static) -> T {
        let mut root = Spawner::new(&self.tasks).spawn(root);
        loop {
            self.adopt();
            let next = self.tasks.0.ready.borrow_mut().pop_front();
            let Some(ready) = next else {
                let timer = self.tasks.0.timers.borrow().next_at();
                let parked = self.reactor.park(timer);
                assert_eq!(parked, Parked::Again, "every task waits and nothing is in flight");
                self.fire();
                continue;
            };
            let Some(task) = ready.task() else {
                continue;
            };
            self.poll(task);
            if let Some(output) = root.take() {
                return output;
            }
            // In the real world time passes by itself, and a ready queue that never empties must
            // not delay timers.
            if self.reactor.now() > self.fired_at {
                self.fire();
            }
        }
    }

    /// The reactor.
    pub fn reactor(&self) -> &R {
        &self.reactor
    }

    /// Polls so far.
    pub fn polls(&self) -> u64 {
        self.polls
    }

    /// Starts and ends tasks as requested. Dropping a future may request more.
    #[inline]
    fn adopt(&mut self) {
        while !self.tasks.0.asked.borrow().is_empty() {
            for asked in self.tasks.0.asked.take() {
                match asked {
                    Asked::Start(running) => self.start(running),
                    Asked::End(group) => self.end(&group),
                }
            }
        }
    }

    fn start(&mut self, running: Running) {
        if running.group.as_ref().is_some_and(|group| group.has_ended.get()) {
            return;
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].running = Some(running);
                slot
            }
            None => {
                self.slots.push(Slot { turn: 0, running: Some(running) });
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 tasks")
            }
        };
        let turn = self.slots[slot as usize].turn;
        self.tasks.wake(TaskId { slot, turn });
    }

    /// Drops the tasks of `group`.
    fn end(&mut self, group: &Rc<Group>) {
        for (number, slot) in (0..).zip(&mut self.slots) {
            let is_member = |running: &mut Running| {
                let own = running.group.as_ref();
                own.is_some_and(|own| Rc::ptr_eq(own, group))
            };
            if slot.running.take_if(is_member).is_some() {
                slot.turn += 1;
                self.free.push(number);
            }
        }
    }

    fn poll(&mut self, task: TaskId) {
        let slot = &mut self.slots[task.slot as usize];
        if slot.turn != task.turn {
            return; // It has ended.
        }
        let group = slot.running.as_ref().and_then(|running| running.group.as_deref());
        if let Some(group) = group.filter(|group| group.is_frozen.get()) {
            group.held.borrow_mut().push(task);
            return;
        }
        // Taken out while it runs, so that a panic leaves no half-run future behind.
        let Some(mut running) = slot.running.take() else {
            return;
        };
        self.polls += 1;
        self.tasks.0.current.set(Some(task));
        let future = running.future.as_mut();
        let poll = future.poll(&mut Context::from_waker(Waker::noop()));
        self.tasks.0.current.set(None);
        let slot = &mut self.slots[task.slot as usize];
        match poll {
            Poll::Pending => slot.running = Some(running),
            Poll::Ready(()) => {
                slot.turn += 1;
                self.free.push(task.slot);
            }
        }
        self.reactor.turn();
    }

    /// Wakes the tasks whose timers are due.
    fn fire(&mut self) {
        let now = self.reactor.now();
        self.fired_at = now;
        let mut timers = self.tasks.0.timers.borrow_mut();
        while let Some(due) = timers.pop(now) {
            self.tasks.wake(due.event);
        }
    }
}

impl<T> Task<T> {
    fn take(&mut self) -> Option<T> {
        self.shared.output.borrow_mut().take()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A world where each turn takes a nanosecond.
    pub(crate) struct Ticking(pub(crate) u64);

    impl Reactor for Ticking {
        fn now(&self) -> Time {
            Time(self.0)
        }

        fn turn(&mut self) {
            self.0 += 1;
        }

        fn park(&mut self, deadline: Option<Time>) -> Parked {
            self.0 = deadline.map_or(self.0, |time| time.0);
            deadline.map_or(Parked::Dead, |_| Parked::Again)
        }
    }

    /// Waits for one wake-up that `ask` arranges.
    async fn woken(tasks: &Tasks, ask: impl Fn(&Tasks, TaskId)) {
        let mut asked = false;
        std::future::poll_fn(|_| {
            if asked {
                return Poll::Ready(());
            }
            asked = true;
            ask(tasks, tasks.current());
            Poll::Pending
        })
        .await;
    }

    #[test]
    fn tasks_run_in_the_order_they_became_ready_and_timers_in_theirs() {
        let tasks = Tasks::default();
        let spawner = Spawner::new(&tasks);
        let order = Rc::new(RefCell::new(Vec::new()));
        let sleepers = [30, 10, 20, 10, 30, 0].into_iter().enumerate();
        let all: Vec<_> = sleepers
            .map(|(number, time)| {
                let (tasks, order) = (tasks.clone(), Rc::clone(&order));
                spawner.spawn(async move {
                    woken(&tasks, |tasks, task| tasks.wake_at(Time(time), task)).await;
                    order.borrow_mut().push(number);
                })
            })
            .collect();
        let mut executor = Executor::new(&tasks, Ticking(0));
        executor.block_on(async move {
            for task in all {
                task.await;
            }
        });
        assert_eq!(*order.borrow(), [5, 1, 3, 2, 0, 4]);
        assert_eq!(tasks.timers_set(), 6);
    }

    #[test]
    fn a_task_that_ended_is_not_woken_in_its_successor() {
        let tasks = Tasks::default();
        let spawner = Spawner::new(&tasks);
        Executor::new(&tasks, Ticking(0)).block_on(async move {
            let own = tasks.clone();
            let first = spawner.spawn(async move { own.current() }).await;
            let polled_as = Rc::new(RefCell::new(Vec::new()));
            let (own, seen) = (tasks.clone(), Rc::clone(&polled_as));
            drop(spawner.spawn(std::future::poll_fn(move |_| {
                seen.borrow_mut().push(own.current());
                Poll::<()>::Pending
            })));
            for _ in 0..3 {
                tasks.wake(first);
                woken(&tasks, Tasks::wake).await;
            }
            let polled_as = polled_as.borrow();
            assert_eq!(polled_as.len(), 1, "polled when it began and never woken");
            assert_eq!(polled_as[0].slot, first.slot);
            assert_ne!(polled_as[0], first);
        });
    }

    #[test]
    fn a_frozen_group_runs_on_where_it_stood() {
        let tasks = Tasks::default();
        let spawner = Spawner::new(&tasks);
        let steps = Rc::new(RefCell::new(Vec::new()));
        let (its, group) = (Rc::clone(&steps), spawner.group());
        let sleeper = {
            let tasks = tasks.clone();
            group.spawn(async move {
                for step in 0..3 {
                    let at = Time(1_000 * (step + 1));
                    woken(&tasks, |tasks, task| tasks.wake_at(at, task)).await;
                    its.borrow_mut().push(step);
                }
            })
        };
        let mut executor = Executor::new(&tasks, Ticking(0));
        let seen = executor.block_on(async move {
            let until = |at| woken(&tasks, move |tasks, task| tasks.wake_at(Time(at), task));
            until(1_500).await;
            group.freeze_group();
            let early = group.spawn(std::future::ready(7));
            until(9_000).await;
            let seen = (steps.borrow().len(), early.is_done());
            group.thaw_group();
            assert_eq!(early.await, 7);
            sleeper.await;
            assert_eq!(*steps.borrow(), [0, 1, 2]);
            group.freeze_group();
            group.end_group();
            until(9_500).await;
            seen
        });
        assert_eq!(seen, (1, false));
    }

    #[test]
    fn a_group_ends_at_once_and_its_slots_are_used_again() {
        let tasks = Tasks::default();
        let spawner = Spawner::new(&tasks);
        Executor::new(&tasks, Ticking(0)).block_on(async move {
            let (group, held) = (spawner.group(), Rc::new(Cell::new(0)));
            for number in 0..3 {
                let (tasks, held) = (tasks.clone(), Rc::clone(&held));
                drop(group.spawn(async move {
                    woken(&tasks, |tasks, task| tasks.wake_at(Time(50), task)).await;
                    held.set(number);
                }));
            }
            let other = spawner.spawn(std::future::ready(7));
            woken(&tasks, Tasks::wake).await;
            group.end_group();
            drop(group.spawn(std::future::ready(())));
            woken(&tasks, Tasks::wake).await;
            assert_eq!(Rc::strong_count(&held), 1);
            assert_eq!(other.await, 7, "it is not of the group");
            let own = tasks.clone();
            let slot = spawner.spawn(async move { own.current().slot }).await;
            assert!(slot < 5, "slot {slot}");
            woken(&tasks, |tasks, task| tasks.wake_at(Time(100), task)).await;
            assert_eq!(held.get(), 0, "a timer of an ended task does nothing");
        });
    }

    #[test]
    #[should_panic(expected = "every task waits")]
    fn a_deadlock_is_a_mistake_of_ours() {
        let tasks = Tasks::default();
        let spawner = Spawner::new(&tasks);
        let never = spawner.spawn(std::future::pending::<()>());
        Executor::new(&tasks, Ticking(0)).block_on(never);
    }

    #[test]
    fn timers_fire_beside_tasks_that_are_always_ready() {
        let tasks = Tasks::default();
        let busy = tasks.clone();
        let spinning = async move {
            for _ in 0..5000 {
                woken(&busy, Tasks::wake).await;
            }
        };
        drop(Spawner::new(&tasks).spawn(spinning));
        let mut executor = Executor::new(&tasks, Ticking(0));
        executor.block_on(async move {
            woken(&tasks, |tasks, task| tasks.wake_at(Time(1000), task)).await;
        });
        let polls = executor.polls();
        assert!((1000..1010).contains(&polls), "{polls} polls of 1 ns");
    }
}
