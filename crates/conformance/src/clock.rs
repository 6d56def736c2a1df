//! Time and tasks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_units::{Span, Time};

use crate::Probe;

pub(super) async fn clock_never_goes_back(probe: Probe) {
    let clock = &probe.world.clock;
    let mut last = clock.now();
    for step in 0..200 {
        match step % 3 {
            0 => clock.spend(Span::micros(1)).await,
            1 => probe.world.sleep(Span::micros(20)).await,
            _ => {}
        }
        let now = clock.now();
        probe.ensure(now >= last, "the clock went back");
        last = now;
    }
    probe.world.sleep_until(Time::ZERO).await;
    clock.spend(Span::ZERO).await;
}

pub(super) async fn sleeps_end_in_order(probe: Probe) {
    let start = probe.world.clock.now() + Span::millis(1);
    let order = Rc::new(RefCell::new(Vec::new()));
    // Two for each time, requested in an order that neither rises nor falls.
    let sleepers: Vec<_> = (0..40_u64)
        .map(|number| {
            let until = start + Span::micros(500) * (number * 7 % 20);
            let (world, order) = (probe.world.clone(), Rc::clone(&order));
            let (probe, sleep) = (probe.clone(), probe.world.sleep_until(until));
            probe.world.spawner.clone().spawn(async move {
                sleep.await;
                probe.ensure(world.clock.now() >= until, "a sleep ended early");
                order.borrow_mut().push((until, number));
            })
        })
        .collect();
    for sleeper in sleepers {
        sleeper.await;
    }
    let order = order.borrow();
    probe.equal(order.len(), 40, "sleepers that woke");
    probe.ensure(order.is_sorted(), "sleeps ended out of order");
}

pub(super) async fn spending_lets_others_run(probe: Probe) {
    let ran = Rc::new(Cell::new(0));
    let seen = Rc::clone(&ran);
    let clock = Rc::clone(&probe.world.clock);
    let other = probe.world.spawner.spawn(async move {
        for _ in 0..10 {
            seen.set(seen.get() + 1);
            clock.spend(Span::micros(10)).await;
        }
    });
    // A task that only computes, for at most 20 ms, must not keep another from running.
    let before = probe.world.clock.now();
    let mut spent = 0;
    while ran.get() == 0 {
        probe.ensure(spent < 1_000_000, "a computing task kept all others out");
        probe.world.clock.spend(Span::micros(10)).await;
        spent += 1;
    }
    other.await;
    probe.equal(ran.get(), 10, "turns of the other task");
    probe.ensure(probe.world.clock.now() >= before, "the clock went back");
}

pub(super) async fn tasks_are_joined_or_detached(probe: Probe) {
    let world = &probe.world;
    let tasks: Vec<_> = (0..50_u64)
        .map(|number| {
            let inner = world.clone();
            world.spawner.spawn(async move {
                let (nap, deeper) = (inner.sleep(Span::micros(number)), inner.clone());
                nap.await;
                let child = inner.spawner.spawn(async move {
                    deeper.sleep(Span::micros(1)).await;
                    number * 2
                });
                child.await + 1
            })
        })
        .collect();
    for (task, number) in tasks.into_iter().zip(0..) {
        probe.equal(task.await, number * 2 + 1, "a task's output");
    }
    let reached = Rc::new(Cell::new(false));
    let (flag, nap) = (Rc::clone(&reached), world.sleep(Span::micros(10)));
    drop(world.spawner.spawn(async move {
        nap.await;
        flag.set(true);
    }));
    let end = "the end of a detached task";
    probe.eventually(end, async || reached.get()).await;
}
