//! A buffer that is small for its load: operations have to wait, without deadlocks and without
//! loss.

use brunt_ese::log::reader::Generation;
use brunt_ese::log::{FlushReason, LogShape};
use brunt_ese::policy::log_buffer::capacity;
use brunt_units::PageSize;

use super::fixture::{Fixture, record, run};

#[test]
fn the_smallest_buffer_holds_operations_back_and_lets_all_through() {
    for segment in [512, 4096] {
        let shape = LogShape::new(segment, 64 << 10);
        let buffer = capacity(1, PageSize::KIB_4, shape);
        run(shape, buffer, async move |fixture| {
            let sessions: Vec<_> = (0..8)
                .map(|number| {
                    let work = append_much(fixture.clone(), number, shape, buffer);
                    fixture.world.spawner.spawn(work)
                })
                .collect();
            let mut held_back = 0;
            for session in sessions {
                held_back += session.await;
            }
            assert!(held_back > 100, "{held_back} times");
            fixture.log.close().await.unwrap();
            assert_eq!(fixture.log.durable(), fixture.log.tail());
        });
    }
}

/// Returns how often it had to wait.
async fn append_much(fixture: Fixture, number: u64, shape: LogShape, buffer: usize) -> u32 {
    const LONGEST: u64 = 9_000;
    let mut draw = fixture.world.random.named(&format!("session/{number}"));
    let mut held_back = 0;
    for _ in 0..60 {
        let asked = fixture.now();
        fixture.log.room().await.unwrap();
        held_back += u32::from(fixture.now() > asked);
        let length = usize::try_from(20 + draw.below(LONGEST)).unwrap();
        let end = fixture.log.append(&record(length)).end;
        let (durable, tail) = (fixture.log.durable(), fixture.log.tail());
        if durable.generation == tail.generation {
            // The log not yet durable: the buffer, and one record appended when it was not quite
            // full.
            let waiting = shape.distance(durable, tail);
            let heads = 2 * (buffer + 9_000).div_ceil(shape.payload_bytes()) * 40;
            assert!(waiting <= (buffer + heads) as u64 + LONGEST, "{waiting} bytes");
        }
        if draw.percent(10) {
            fixture.log.flushed(end, FlushReason::Commit).await.unwrap();
        }
    }
    held_back
}

#[test]
fn records_longer_than_half_a_file_take_a_file_each() {
    for segment in [512, 4096] {
        let shape = LogShape::new(segment, 64 << 10);
        run(shape, 60 << 10, async move |fixture| {
            // A file starts with a record of 12 bytes; the longest record fills the rest of it.
            let longest = shape.remaining(shape.first_record(1)) - 12;
            for length in [longest, 40_000, longest, 35_000, 34_000] {
                fixture.log.room().await.unwrap();
                fixture.log.append(&record(length));
            }
            fixture.log.close().await.unwrap();
            let store = fixture.machine.store();
            let files = fixture.log.files();
            let paths = (1..5)
                .map(|generation| files.archived_path(generation))
                .chain([files.current_path()]);
            let lengths: Vec<usize> = paths
                .map(|path| {
                    let bytes = store.get(&path).unwrap();
                    let generation = Generation::read(&bytes).unwrap();
                    let long = generation.records().nth(1).unwrap();
                    assert_eq!(generation.records().count(), 2);
                    (0..).find(|length| shape.advance(long.start, *length) == long.end).unwrap()
                })
                .collect();
            assert_eq!(lengths, [longest, 40_000, longest, 35_000, 34_000]);
        });
    }
}
