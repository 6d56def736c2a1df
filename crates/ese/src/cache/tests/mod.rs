//! The guarantees of the cache, one per test, on a device that records requests and fails on
//! demand.

mod bench;
mod clean;
mod databases;
mod faults;
mod patches;
mod preread;
mod writes;

use brunt_units::{PageNumber, Span};
use brunt_world::{Class, Op};

use super::Trust;
use crate::page::Pages;
use bench::{SIZE, run};

fn same(_: &mut super::CacheOptions) {}

#[test]
fn pages_used_twice_outlast_a_scan() {
    run(16, same, async |bench| {
        for _ in 0..2 {
            for page in 1..=6 {
                bench.look(page).await.unwrap();
            }
            bench.world.sleep(Span::millis(500)).await;
        }
        for page in 50..150 {
            bench.look(page).await.unwrap();
        }
        let before = bench.probe.reads().len();
        assert_eq!(before, 106);
        for page in 1..=6 {
            assert_eq!(u32::from(bench.look(page).await.unwrap()), page);
        }
        assert_eq!(bench.probe.reads().len(), before, "they were still cached");
        bench.look(50).await.unwrap();
        assert_eq!(bench.probe.reads().len(), before + 1, "it was not");
        let [requests, hits] = bench.cache.meters().with(|meters| {
            [&mut meters.page_requests, &mut meters.page_hits].map(|c| c.close_interval())
        });
        assert_eq!((requests, hits), (12 + 100 + 7, 12));
    });
}

#[test]
fn dirty_pages_are_written_before_they_are_evicted() {
    run(8, same, async |bench| {
        for page in 1..=40 {
            bench.change(page, 100).await;
        }
        for page in 1..=40 {
            assert_eq!(bench.look(page).await.unwrap(), 100, "page {page}");
        }
        let writes = bench.probe.seen(Class::Database, Op::Write);
        let bytes: u64 = writes.iter().map(|(_, length)| length).sum();
        assert!(bytes >= 32 * SIZE.bytes_u64(), "{bytes} bytes");
    });
}

/// The last frames are unpinned without any I/O, and the waiting reader must notice.
#[test]
fn a_stall_is_counted_once_and_ends_when_a_pin_is_dropped() {
    run(8, same, async |bench| {
        let mut pins = Vec::new();
        for page in 1..=8 {
            let pin = bench.cache.fetch(0, PageNumber(page), Trust::Verified);
            pins.push(pin.await.unwrap());
        }
        let cache = bench.cache.clone();
        let waiting = bench.world.spawner.spawn(async move {
            let pin = cache.fetch(0, PageNumber(9), Trust::Verified).await;
            pin.map(drop).unwrap();
        });
        for _ in 0..5 {
            bench.cache.0.progress.notify();
            bench.world.sleep(Span::millis(10)).await;
        }
        assert_eq!((bench.stalls(), waiting.is_done()), (1, false));
        // Nothing has changed since the first search, so there was no second one.
        let changes = bench.cache.0.state.borrow().frames.changes();
        let searched = bench.cache.0.state.borrow().searched_in_vain;
        assert_eq!(searched, Some(changes));
        pins.pop();
        waiting.await;
        assert_eq!(bench.stalls(), 0, "no further one");
    });
}

/// Most lookups find their page in memory and never call the reader. They must count as references
/// too.
#[test]
fn pages_that_are_looked_at_in_memory_outlast_a_scan() {
    run(16, same, async |bench| {
        for page in 1..=6 {
            bench.look(page).await.unwrap();
        }
        for page in 50..150 {
            bench.world.sleep(Span::millis(200)).await;
            for hot in (1..=6).map(PageNumber) {
                let view = bench.cache.pages(0);
                assert!(view.resident(hot).is_ok(), "page {hot} was evicted");
            }
            bench.look(page).await.unwrap();
        }
    });
}
