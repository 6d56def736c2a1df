//! Databases that come and go, and logs that the cache cannot flush.

use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber};

use super::bench::{Bench, SIGNATURE, run};
use super::same;
use crate::cache::{FlushMemory, NewDatabase, Trust};
use crate::content::Bytes;
use crate::log::{Appended, Flushed, WriteAhead};
use crate::page::Pages;

/// The log of a passive copy: all of it was durable before it arrived.
struct Arrived(LogPosition);

impl WriteAhead for Arrived {
    fn durable(&self) -> LogPosition {
        self.0
    }

    fn flushed(&self, _: LogPosition) -> Flushed {
        unreachable!("nobody here can flush it, and nobody needs to")
    }
}

/// Adds the bench's file again, as a database of `instance`.
fn again(bench: &Bench, instance: u8) -> u8 {
    bench.cache.add_database(NewDatabase {
        path: "again.edb".into(),
        file: bench.file(),
        pages: 100,
        instance,
        log: Rc::new(Arrived(LogPosition::MAX)),
        time: DatabaseTime(1),
        signature: SIGNATURE,
        flush: FlushMemory::new::<Bytes>(),
    })
}

#[test]
fn a_number_is_free_again_when_its_database_has_left_and_so_are_its_frames() {
    run(16, same, async |bench| {
        // Instance numbers need not be in order.
        let (second, third) = (again(bench, 7), again(bench, 2));
        assert_eq!((second, third), (1, 2));
        for page in 1..=3 {
            let page = PageNumber(page);
            drop(bench.cache.fetch(second, page, Trust::Verified).await);
        }
        bench.look(1).await.unwrap();
        let (before, _) = bench.cache.resident();
        bench.cache.remove_database(second);
        assert_eq!(bench.cache.resident().0, before - 3);
        let reads = bench.probe.reads().len();
        bench.look(1).await.unwrap();
        assert_eq!(bench.probe.reads().len(), reads, "the others stay");
        assert_eq!(again(bench, 0), second);
        let page = PageNumber(1);
        drop(bench.cache.fetch(second, page, Trust::Verified).await);
        assert_eq!(bench.probe.reads().len(), reads + 1, "nothing of it is left");
    });
}

#[test]
fn pages_under_a_log_that_arrived_durable_are_written_without_a_flush() {
    run(16, same, async |bench| {
        let copy = again(bench, 1);
        let page = PageNumber(5);
        let pin = bench.cache.fetch(copy, page, Trust::Verified).await;
        let mut pages = bench.cache.pages(copy);
        let time = pages.time().next();
        pages.change(page)[8..16].copy_from_slice(&time.0.to_le_bytes());
        drop(pages);
        let appended = Appended { start: LogPosition::start_of(3), end: LogPosition::start_of(4) };
        bench.cache.changed(copy, &[page], appended, time);
        drop(pin);
        assert_eq!(bench.cache.unwritten(), 1);
        bench.cache.write_all(1).await.unwrap();
        assert_eq!(bench.cache.unwritten(), 0);
        bench.cache.remove_database(copy);
    });
}
