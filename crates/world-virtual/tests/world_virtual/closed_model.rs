//! The executor compared with theory: a closed network with a known mean response.

use std::cell::Cell;
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::sync::Limit;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

const SERVICE: Span = Span::millis(5);

/// Mean response in milliseconds of `sessions` that each queue, first come, first served, at one of
/// `disks` drawn uniformly, are served for an exponentially distributed time, and draw again; and
/// the digest of the run.
fn mean_response_ms(seed: u64, sessions: u32, disks: u64, seconds: u64) -> (f64, u64) {
    let mut made = VirtualWorld::new(VirtualOptions::new(seed));
    let world = made.world.clone();
    let end = Time::ZERO + Span::seconds(seconds);
    // Requests and nanoseconds.
    let totals = Rc::new(Cell::new((0_u64, 0_u64)));
    let sums = Rc::clone(&totals);
    made.executor.block_on(async move {
        let tasks = world.spawner.tasks();
        let queues: Rc<[Limit]> = (0..disks).map(|_| Limit::new(tasks, 1)).collect();
        let session = |number| {
            let (world, queues, sums) = (world.clone(), Rc::clone(&queues), Rc::clone(&sums));
            async move {
                let mut stream = world.random.named(&format!("session/{number}"));
                while world.clock.now() < end {
                    let begin = world.clock.now();
                    let disk = usize::try_from(stream.below(disks)).unwrap();
                    let turn = queues[disk].enter().await;
                    world.sleep(stream.exponential(SERVICE)).await;
                    drop(turn);
                    let (count, sum) = sums.get();
                    sums.set((count + 1, sum + (world.clock.now() - begin).0));
                }
            }
        };
        let running: Vec<_> =
            (0..sessions).map(|number| world.spawner.spawn(session(number))).collect();
        for session in running {
            session.await;
        }
    });
    let (count, sum) = totals.get();
    (sum as f64 / count as f64 / 1e6, made.machine.digest().value())
}

/// A product-form network with equal visits: an arrival finds the mean queue of the network with
/// one customer less, so the response is (sessions + disks - 1) / disks times the service time.
fn expected_ms(sessions: u32, disks: u64) -> f64 {
    (f64::from(sessions) + disks as f64 - 1.0) / disks as f64 * SERVICE.as_millis()
}

#[test]
fn the_mean_response_is_that_of_theory() {
    for (sessions, disks, seconds) in [(128, 192, 60), (1, 3, 4000), (24, 4, 600)] {
        let (mean, _) = mean_response_ms(1, sessions, disks, seconds);
        let expected = expected_ms(sessions, disks);
        let error = (mean / expected - 1.0).abs();
        assert!(
            error < 0.005,
            "{sessions} sessions, {disks} disks: {mean:.4} ms, expected {expected:.4} ms"
        );
    }
    assert!((expected_ms(128, 192) - 8.307).abs() < 0.001);
}

#[test]
fn equal_seeds_give_equal_digests() {
    let run = |seed| mean_response_ms(seed, 32, 8, 5);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).1, run(2).1);
}
