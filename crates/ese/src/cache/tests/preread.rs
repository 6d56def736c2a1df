//! Pages read ahead: in few reads, checked like any other, and never at the cost of others.

use brunt_units::{PageNumber, Span};
use brunt_world::{Class, Op};

use super::bench::{Bench, SIZE, page_of, run};
use super::same;
use crate::cache::{CacheOptions, Trust};
use crate::error::{EngineError, PageFault};

fn want(bench: &Bench, pages: impl IntoIterator<Item = u32>) {
    let pages = pages.into_iter().map(PageNumber);
    bench.cache.preread(0, pages, Trust::Verified);
}

/// Waits for all prereads.
async fn settled(bench: &Bench) {
    while bench.cache.with_database(0, |entry| entry.ahead.pending()) {
        bench.world.sleep(Span::millis(1)).await;
    }
}

#[test]
fn neighbours_come_in_one_read_and_few_reads_are_in_flight() {
    run(120, same, async |bench| {
        bench.look(12).await.unwrap();
        let spread = (20..60).map(|index| 3 * index);
        want(bench, [14, 10, 11, 12, 13, 10].into_iter().chain(spread));
        // Two runs around page 12, which is cached, and enough single pages to make eight.
        let first: Vec<_> = bench.probe.reads().split_off(1);
        assert_eq!(first.len(), 8);
        assert_eq!(first[..3], [(10, 2), (13, 2), (60, 1)]);
        settled(bench).await;
        let reads = bench.probe.reads().len();
        assert_eq!(reads, 1 + 2 + 40);
        for page in [10, 11, 12, 13, 14, 60, 177] {
            assert_eq!(u32::from(bench.look(page).await.unwrap()), page);
        }
        assert_eq!(bench.probe.reads().len(), reads, "all were cached");
    });
}

#[test]
fn gaps_are_read_and_dropped() {
    let gaps = |options: &mut CacheOptions| options.gap_bytes = 2 * SIZE.bytes_u64();
    run(64, gaps, async |bench| {
        want(bench, [5, 8, 9, 13]);
        settled(bench).await;
        assert_eq!(bench.probe.reads(), [(5, 5), (13, 1)]);
        assert_eq!(bench.cache.resident().0, 4);
        bench.look(6).await.unwrap();
        assert_eq!(bench.probe.reads().len(), 3);
    });
}

#[test]
fn whoever_asks_meanwhile_waits_for_the_same_read() {
    run(64, same, async |bench| {
        want(bench, 1..=20);
        assert_eq!(bench.look(7).await.unwrap(), 7);
        assert_eq!(bench.probe.reads(), [(1, 20)]);
    });
}

#[test]
fn a_bad_page_is_dropped_and_reported_to_who_asks() {
    run(64, same, async |bench| {
        let mut rotten = page_of(PageNumber(5), 5);
        rotten[1000..1010].fill(0xEE);
        bench.put_on_disk(5, &rotten).await;
        want(bench, [4, 5, 6]);
        settled(bench).await;
        assert_eq!(bench.cache.resident().0, 2);
        let fault = match bench.look(5).await {
            Err(EngineError::Page { fault, .. }) => fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(fault, PageFault::Checksum);
        // A device error does not identify the page within the run.
        bench.probe.fail_next(Class::Database, Op::Read);
        want(bench, [20, 21]);
        settled(bench).await;
        assert_eq!(bench.cache.resident().0, 2);
        assert_eq!(bench.look(20).await.unwrap(), 20);
    });
}

#[test]
fn nothing_is_read_ahead_when_frames_are_short() {
    run(16, same, async |bench| {
        for page in 1..=12 {
            bench.look(page).await.unwrap();
        }
        want(bench, 100..150);
        settled(bench).await;
        assert_eq!(bench.probe.reads().len(), 12);
        want(bench, 100..103);
        settled(bench).await;
        assert_eq!(bench.probe.reads().split_off(12), [(100, 3)]);
    });
}

#[test]
fn ending_waits_for_what_is_begun_and_forgets_the_rest() {
    run(64, same, async |bench| {
        want(bench, (1..=30).map(|index| 2 * index));
        bench.cache.end_preread(0).await;
        assert_eq!(bench.cache.resident().0, 8);
        settled(bench).await;
        assert_eq!(bench.probe.reads().len(), 8);
    });
}
