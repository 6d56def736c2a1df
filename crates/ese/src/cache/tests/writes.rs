//! Writes: after their log, one per page at a time, and what happens when they fail.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::{LogPosition, PageNumber, Span};
use brunt_world::{Class, Op};

use super::bench::{BYTE_AT, PAGES, SIZE, run};
use super::same;
use crate::cache::CacheOptions;
use crate::error::EngineError;

#[test]
fn no_page_is_written_before_its_log() {
    run(12, same, async |bench| {
        let ends: Rc<RefCell<BTreeMap<u64, LogPosition>>> = Rc::default();
        let flying: Rc<RefCell<u32>> = Rc::default();
        let (log, known, count) = (bench.log.clone(), Rc::clone(&ends), Rc::clone(&flying));
        bench.probe.watch(move |request| {
            if (request.class, request.op) != (Class::Database, Op::Write) {
                return;
            }
            *count.borrow_mut() += 1;
            let first = request.offset.div_euclid(SIZE.bytes_u64()) - 1;
            for page in first..first + request.length.div_euclid(SIZE.bytes_u64()) {
                let end = known.borrow().get(&page).copied().unwrap_or_default();
                assert!(end <= log.durable(), "page {page} before its log");
            }
        });
        let mut draw = bench.world.random.named("pages");
        for round in 0..400_u32 {
            let page = u32::try_from(1 + draw.below(u64::from(PAGES))).unwrap();
            let end = bench.change(page, round.to_le_bytes()[0]).await;
            ends.borrow_mut().insert(u64::from(page), end);
            if round.is_multiple_of(40) {
                let half = bench.log.durable();
                bench.cache.write_older_than(0, half, 5).await.unwrap();
            }
        }
        bench.write_all().await.unwrap();
        assert!(*flying.borrow() > 100);
    });
}

#[test]
fn no_more_writes_are_in_flight_than_may_be() {
    let few = |options: &mut CacheOptions| options.writes_max = 3;
    run(60, few, async |bench| {
        // Every third page, so that no two share a write.
        for page in (1..=90).step_by(3) {
            bench.change(page, 1).await;
        }
        let (most, clock) = (Rc::new(RefCell::new(0)), Rc::clone(&bench.world.clock));
        let (known, mut begun) = (Rc::clone(&most), Vec::new());
        bench.probe.set_latency(Span::millis(1));
        bench.probe.watch(move |request| {
            if (request.class, request.op) == (Class::Database, Op::Write) {
                let now = clock.now();
                begun.retain(|begun| now - *begun < Span::millis(1));
                begun.push(now);
                let flying = begun.len().max(*known.borrow());
                *known.borrow_mut() = flying;
            }
        });
        bench.write_all().await.unwrap();
        assert_eq!(*most.borrow(), 3);
        assert_eq!(bench.probe.seen(Class::Database, Op::Write).len(), 30);
    });
}

#[test]
fn a_page_changed_while_it_is_written_goes_out_as_it_was() {
    run(16, same, async |bench| {
        bench.change(9, 1).await;
        let end = bench.log.tail();
        bench.log.flushed(end, crate::log::FlushReason::Commit).await.unwrap();
        bench.probe.set_latency(Span::millis(20));
        let written = bench.cache.write_older_than(0, LogPosition::MAX, 9).await;
        assert_eq!(written.unwrap(), 1);
        bench.probe.set_latency(Span::millis(1));
        // The change does not wait for the write.
        let before = bench.world.clock.now();
        bench.change(9, 2).await;
        assert_eq!(bench.world.clock.now(), before);
        assert_eq!(bench.look(9).await.unwrap(), 2);
        // Nor is the page written a second time meanwhile.
        let again = bench.cache.write_older_than(0, LogPosition::MAX, 9).await;
        assert_eq!(again.unwrap(), 0);
        bench.world.sleep(Span::millis(50)).await;
        assert_eq!(bench.on_disk(9).await[BYTE_AT], 1);
        assert!(bench.cache.oldest_needed(0).is_some());
        bench.write_all().await.unwrap();
        assert_eq!(bench.on_disk(9).await[BYTE_AT], 2);
    });
}

#[test]
fn a_position_is_needed_until_a_later_sync_is_done() {
    run(16, same, async |bench| {
        assert_eq!(bench.cache.oldest_needed(0), None);
        bench.change(3, 1).await;
        let needed = bench.cache.oldest_needed(0);
        bench.write_all().await.unwrap();
        assert_eq!(bench.cache.oldest_needed(0), needed, "written, not synced");
        bench.probe.set_latency(Span::millis(20));
        let cache = bench.cache.clone();
        let sync = bench.world.spawner.spawn(async move { cache.sync(0).await });
        bench.world.sleep(Span::millis(10)).await;
        assert_eq!(bench.cache.oldest_needed(0), needed, "the sync is not done");
        sync.await.unwrap();
        assert_eq!(bench.cache.oldest_needed(0), None);
    });
}

#[test]
fn a_failed_write_or_sync_stops_the_cache_and_keeps_the_position() {
    for op in [Op::Write, Op::Sync] {
        run(16, same, async move |bench| {
            bench.change(3, 1).await;
            let needed = bench.cache.oldest_needed(0);
            bench.probe.fail_next(Class::Database, op);
            let written = bench.write_all().await;
            assert_eq!(written.is_err(), op == Op::Write);
            let synced = bench.cache.sync(0).await;
            assert_eq!(synced.is_err(), op == Op::Sync);
            assert_eq!(bench.cache.oldest_needed(0), needed);
            let failure = bench.cache.failure().unwrap();
            match op {
                Op::Write => {
                    let told = failure.to_string();
                    let place = format!("page 3 (offset {})", PageNumber(3).offset(SIZE));
                    assert!(told.contains(&place), "{told}");
                    assert!(told.ends_with("(ESE -1022)"), "{told}");
                    let unwritten = bench.cache.failed_writes();
                    assert_eq!(unwritten[0].1, [PageNumber(3)]);
                }
                _ => assert!(matches!(failure, EngineError::File { .. }), "{failure:?}"),
            }
            assert_eq!(bench.look(50).await.unwrap_err(), failure);
        });
    }
}

#[test]
fn a_failed_write_is_told_when_the_others_have_landed() {
    run(16, same, async |bench| {
        // Page 9 is in memory, so that its next change waits for no read.
        bench.change(9, 1).await;
        bench.write_all().await.unwrap();
        bench.change(3, 1).await;
        bench.probe.set_latency_of(Class::Database, Span::millis(20));
        let cache = bench.cache.clone();
        let slow = bench.world.spawner.spawn(async move { cache.write_all(0).await });
        bench.world.sleep(Span::millis(5)).await;
        bench.probe.set_latency_of(Class::Database, Span::millis(1));
        bench.change(9, 1).await;
        assert!(bench.cache.writes_in_flight(0) > 0, "page 3 is on its way");
        bench.probe.fail_next(Class::Database, Op::Write);
        bench.write_all().await.unwrap_err();
        assert_eq!(bench.cache.writes_in_flight(0), 0);
        slow.await.unwrap_err();
    });
}

#[test]
fn a_failed_log_stops_page_writes() {
    run(16, same, async |bench| {
        bench.change(3, 1).await;
        bench.probe.fail_next(Class::Log, Op::WriteThrough);
        let failed = bench.write_all().await;
        assert!(matches!(failed, Err(EngineError::LogFailed { .. })), "{failed:?}");
        assert!(bench.probe.seen(Class::Database, Op::Write).is_empty());
    });
}

/// There are many more dirty neighbours than one write may contain, so neighbourhoods of the chosen
/// pages overlap.
#[test]
fn a_long_stretch_of_dirty_pages_goes_out_in_runs_that_do_not_overlap() {
    let short = |options: &mut CacheOptions| options.coalesce_bytes = 4 * SIZE.bytes_u64();
    run(64, short, async |bench| {
        for page in 1..=40 {
            bench.change(page, 7).await;
        }
        bench.write_all().await.unwrap();
        let writes = bench.probe.seen(Class::Database, Op::Write);
        let bytes: u64 = writes.iter().map(|(_, length)| length).sum();
        assert_eq!(bytes, 40 * SIZE.bytes_u64(), "each page once: {writes:?}");
        assert_eq!(writes.len(), 10);
    });
}
