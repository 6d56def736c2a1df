//! Activation: at the end, at a chosen log, of a lagged copy, planned; and the way back of a former
//! active.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use brunt_copies::{CopyError, CopyOptions, PassiveCopy, Queues, Refusal, Shipper};
use brunt_ese::content::Bytes;
use brunt_ese::instance::{Circular, Instance};
use brunt_units::Span;
use brunt_world::World;
use brunt_world::random::{Stream, Streams};
use brunt_world_virtual::{Host, LinkOptions, Machine};

use crate::stage::{
    Telling, Truth, accept, copy_options, files, instance, open_active, read, receive, work, world,
};

/// An active and a copy that follows it.
struct Pair {
    active: Host,
    copy: Host,
    instance: Instance<Bytes>,
    shipper: Shipper,
    passive: PassiveCopy,
    truth: Telling,
    draw: Stream,
    outside: World,
    machine: Machine,
}

fn options_of(root: &str) -> CopyOptions {
    copy_options(instance(root, 512, Circular::Off))
}

async fn begin_copy(host: &Host, options: CopyOptions) -> PassiveCopy {
    let world = host.world().clone();
    let opened = PassiveCopy::open(&world, options).await.unwrap();
    let following = opened.clone();
    drop(world.spawner.spawn(async move { following.follow().await.unwrap() }));
    drop(world.spawner.spawn(receive(world.clone(), opened.clone())));
    opened
}

/// Runs `test` with a pair that has made `commits` commits and shipped its closed logs.
fn with_pair<F: Future<Output = ()> + 'static>(
    lag: Span,
    commits: u32,
    test: impl FnOnce(Pair) -> F + 'static,
) {
    let (mut made, [active, copy]) = world(1, files(&["/a", "/b"]), LinkOptions::default());
    let (outside, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let world = active.world().clone();
        let options = instance("/a", 512, Circular::Off);
        let (opened, shipper) = open_active(&world, options).await.unwrap();
        let serving = shipper.clone();
        drop(world.spawner.spawn(accept(world.clone(), move || serving.clone(), |_| {})));
        let options = CopyOptions { lag, ..options_of("/b") };
        let passive = begin_copy(&copy, options).await;
        let truth = Truth::begin();
        let mut draw = Streams::new(1).named("work");
        work(&world, &opened, &truth, commits, &mut draw).await.unwrap();
        outside.sleep(Span::seconds(2)).await;
        test(Pair {
            active,
            copy,
            instance: opened,
            shipper,
            passive,
            truth,
            draw,
            outside,
            machine,
        })
        .await;
    });
}

#[test]
fn queues_are_the_same_on_both_sides_and_empty_in_the_end() {
    with_pair(Span::ZERO, 80, |mut pair| async move {
        let closed = pair.shipper.closed();
        assert!(closed >= 3, "{closed} logs");
        let all = Queues { closed, stored: closed, replayed: closed };
        assert_eq!((pair.shipper.queues(0), pair.passive.queues()), (all, all));
        pair.copy.kill();
        let world = pair.active.world().clone();
        let worked = work(&world, &pair.instance, &pair.truth, 80, &mut pair.draw).await;
        worked.unwrap();
        let queues = pair.shipper.queues(0);
        assert!(queues.copy() >= 3 && queues.replay() == 0, "{queues:?}");
    });
}

#[test]
fn a_copy_is_activated_at_a_chosen_log_and_the_later_ones_are_put_aside() {
    with_pair(Span::seconds(3600), 80, |pair| async move {
        let queues = pair.passive.queues();
        let stored = queues.stored;
        assert_eq!(queues.replay(), stored, "a lagged copy waits: {queues:?}");
        let world = pair.copy.world().clone();
        let not_stored = CopyError::NotStored { wanted: stored + 1, stored };
        let refused = pair.passive.activate(Some(stored + 1)).await.err();
        assert_eq!(refused, Some(not_stored));
        let again = PassiveCopy::open(&world, options_of("/b")).await.unwrap();
        let (activated, _) = again.activate(Some(2)).await.unwrap();
        let found = read(&activated).await.unwrap();
        pair.truth.borrow().judge(2, &found).unwrap();
        pair.truth.borrow().judge(stored, &found).expect_err("not the newest state");
        activated.close().await.unwrap();
        let store = pair.machine.store();
        for generation in 3..=stored {
            let aside = format!("/b/log/edb{generation:05X}-aside1.log");
            assert!(store.find(Path::new(&aside)).is_some(), "{aside}");
        }
    });
}

#[test]
fn what_is_replayed_is_not_taken_back() {
    with_pair(Span::ZERO, 80, |pair| async move {
        let replayed = pair.passive.queues().replayed;
        let refused = pair.passive.activate(Some(1)).await.err();
        let passed = CopyError::Passed { wanted: 1, replayed };
        assert_eq!(refused, Some(passed));
    });
}

#[test]
fn a_lagged_copy_replays_a_log_when_it_is_old_enough_and_a_restart_changes_nothing() {
    let lag = Span::seconds(60);
    with_pair(lag, 80, move |pair| async move {
        let stored = pair.passive.queues().stored;
        assert!(stored >= 3);
        pair.outside.sleep(Span::seconds(10)).await;
        assert_eq!(pair.passive.queues().replayed, 0);
        pair.copy.kill();
        let copy = pair.copy.restart();
        let options = CopyOptions { lag, ..options_of("/b") };
        let passive = begin_copy(&copy, options).await;
        pair.outside.sleep(Span::seconds(20)).await;
        let queues = passive.queues();
        assert_eq!((queues.stored, queues.replayed), (stored, 0));
        assert_eq!(pair.shipper.queues(0).replay(), stored);
        pair.outside.sleep(Span::seconds(40)).await;
        assert_eq!(passive.queues().replayed, stored);
        assert_eq!(pair.shipper.queues(0).replay(), 0);
    });
}

#[test]
fn a_former_active_with_log_of_its_own_has_diverged_and_one_without_follows() {
    for is_planned in [false, true] {
        with_pair(Span::ZERO, 80, move |mut pair| async move {
            if is_planned {
                pair.instance.close().await.unwrap();
                pair.shipper.instance_closed();
                pair.outside.sleep(Span::seconds(2)).await;
                let queues = pair.passive.queues();
                assert_eq!(queues.copy(), 0);
                pair.shipper.stop();
            }
            pair.active.kill();
            let last = pair.passive.queues().stored;
            let world = pair.copy.world().clone();
            let (activated, _) = pair.passive.activate(None).await.unwrap();
            let state = read(&activated).await.unwrap();
            pair.truth.borrow().judge(last, &state).unwrap();
            let truth =
                Rc::new(RefCell::new(Truth { history: vec![state.clone()], logged: vec![(0, 0)] }));
            // The last log was not shipped; it was when the change of sides was planned.
            assert_eq!(state == pair.truth.borrow().last(), is_planned);
            let limits = brunt_copies::truncation::Limits::default();
            let shipper = Shipper::new(&world, &activated, 1, limits);
            work(&world, &activated, &truth, 60, &mut pair.draw).await.unwrap();
            let former = pair.active.restart();
            let theirs = former.world().clone();
            let opened = PassiveCopy::open(&theirs, options_of("/a")).await.unwrap();
            let following = opened.clone();
            drop(theirs.spawner.spawn(async move { following.follow().await.unwrap() }));
            let at = std::net::SocketAddr::new(former.address(), 9);
            let (listener, at) = theirs.net.listen(at).await.unwrap();
            let serving = (world.clone(), shipper.clone());
            drop(world.spawner.spawn(async move {
                let connection = serving.0.net.connect(at).await.unwrap();
                let _ = serving.1.serve(0, connection).await;
            }));
            let (connection, _) = theirs.net.accept(listener).await.unwrap();
            let receiving = opened.clone();
            let received = theirs.spawner.spawn(async move { receiving.receive(connection).await });
            pair.outside.sleep(Span::seconds(2)).await;
            if is_planned {
                let closed = shipper.closed();
                let queues = opened.queues();
                assert_eq!((queues.stored, queues.replayed), (closed, closed));
                shipper.stop();
                assert_eq!(received.await, Ok(()));
                let (back, _) = opened.activate(None).await.unwrap();
                let state = read(&back).await.unwrap();
                truth.borrow().judge(closed, &state).unwrap();
            } else {
                let diverged = CopyError::RefusedThere(Refusal::Diverged(last + 1));
                assert_eq!(received.await, Err(diverged.clone()));
                assert_eq!(opened.failure(), Some(diverged));
            }
        });
    }
}

/// Logs that were begun together need not all be replayed: an activation in the middle takes that
/// back, wherever it is interrupted.
#[test]
fn an_activation_before_logs_that_were_begun_may_be_interrupted_anywhere() {
    let mut was_begun = false;
    for cut in 0.. {
        let done = interrupted_activation(cut);
        was_begun |= done.begun_beyond;
        if done.has_ended {
            assert!(was_begun && cut > 10, "{cut} requests");
            return;
        }
    }
}

struct Interrupted {
    /// Whether the activation came to its end before its storage was cut off.
    has_ended: bool,
    /// Whether more logs were begun than it wanted.
    begun_beyond: bool,
}

/// Activates a copy that replays, at its next log; its storage is cut off after `cut` requests.
/// What is left is opened again.
fn interrupted_activation(cut: u64) -> Interrupted {
    let (mut made, [active, copy]) = world(1, files(&["/a", "/b"]), LinkOptions::default());
    let outside = made.world.clone();
    made.executor.block_on(async move {
        let world = active.world().clone();
        let options = instance("/a", 512, Circular::Off);
        let (opened, shipper) = open_active(&world, options).await.unwrap();
        drop(world.spawner.spawn(accept(world.clone(), move || shipper.clone(), |_| {})));
        let truth = Truth::begin();
        let mut draw = Streams::new(1).named("work");
        work(&world, &opened, &truth, 120, &mut draw).await.unwrap();
        let inside = copy.world().clone();
        let passive = PassiveCopy::open(&inside, options_of("/b")).await.unwrap();
        drop(inside.spawner.spawn(receive(inside.clone(), passive.clone())));
        outside.sleep(Span::seconds(2)).await;
        let following = passive.clone();
        let following = inside.spawner.spawn(async move { following.follow().await });
        while passive.queues().replayed == 0 {
            outside.sleep(Span::micros(100)).await;
        }
        passive.stop();
        following.await.unwrap();
        let Queues { stored, replayed, .. } = passive.queues();
        let wanted = (replayed + 1).min(stored);
        copy.cut_storage_after(cut);
        let has_ended = Rc::new(Cell::new(false));
        let ended = Rc::clone(&has_ended);
        drop(inside.spawner.spawn(async move {
            let activated = passive.activate(Some(wanted)).await;
            ended.set(activated.is_ok());
        }));
        outside.sleep(Span::seconds(5)).await;
        copy.kill();
        outside.sleep(Span::seconds(1)).await;
        let world = copy.restart().world().clone();
        let again = PassiveCopy::open(&world, options_of("/b")).await.unwrap();
        let (instance, _) = again.activate(None).await.unwrap_or_else(|error| {
            panic!("cut after {cut} requests, wanted {wanted} of {stored}: {error}")
        });
        let state = read(&instance).await.unwrap();
        let truth = truth.borrow();
        let is_right = (wanted..=stored).any(|last| truth.judge(last, &state).is_ok());
        assert!(is_right, "cut after {cut} requests");
        Interrupted { has_ended: has_ended.get(), begun_beyond: wanted < stored }
    })
}
