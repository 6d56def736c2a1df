//! Rolling: the next file is ready in time, and its formatting is spread over the life of the
//! current one.

use std::collections::BTreeSet;

use brunt_ese::log::files::SPARES_MAX;
use brunt_ese::log::{FlushReason, LogShape};
use brunt_units::Span;
use brunt_world::{Class, Op};

use super::fixture::{Fixture, NAMES, record, run};

/// Commits 4 KiB every two milliseconds until `generations` are full.
async fn commit_steadily(fixture: &Fixture, generations: u32) {
    while fixture.log.tail().generation <= generations {
        let appended = fixture.log.append(&record(4000));
        fixture.log.flushed(appended.end, FlushReason::Commit).await.unwrap();
        fixture.world.sleep(Span::millis(1)).await;
    }
}

#[test]
fn a_steady_stream_never_waits_for_its_next_file() {
    for (file, generations) in [(64 << 10, 30), (1 << 20, 10), (5 << 20, 4)] {
        run(LogShape::new(512, file), 32 << 10, async move |fixture| {
            commit_steadily(&fixture, generations).await;
            let (rolls, waits) =
                fixture.meter(|log| (log.rolls.close_interval(), log.roll_waits.close_interval()));
            assert_eq!((rolls.count, waits.count), (generations.into(), generations.into()));
            assert_eq!(waits.max, Some(Span::ZERO), "files of {file} bytes");
            // Two renames, two syncs of the directory, and the old file closed.
            assert_eq!(rolls.max, Some(Span::nanos(5 * NAMES.0)));
        });
    }
}

#[test]
fn a_flood_waits_for_its_next_file_and_says_so() {
    run(LogShape::new(512, 64 << 10), 56 << 10, async move |fixture| {
        while fixture.log.tail().generation <= 10 {
            fixture.log.room().await.unwrap();
            fixture.log.append(&record(30_000));
        }
        let waits = fixture.meter(|log| log.roll_waits.close_interval());
        assert!(waits.max > Some(Span::ZERO));
    });
}

#[test]
fn formatting_is_spread_over_the_life_of_a_file() {
    run(LogShape::new(512, 5 << 20), 32 << 10, async move |fixture| {
        commit_steadily(&fixture, 3).await;
        let format = fixture.requests_of(Class::LogFormat);
        let chunks: Vec<_> = format.iter().filter(|(_, request)| request.op == Op::Write).collect();
        // The first file is formatted at once, because nothing can be logged before.
        let (of_first, ahead) = chunks.split_at(10);
        assert!(of_first.iter().all(|(_, request)| request.length == 512 << 10));
        for file in ahead.chunks_exact(10) {
            let spacings: Vec<Span> = file.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            let life = Span::nanos(spacings.iter().map(|spacing| spacing.0).sum());
            let least = spacings.iter().min().unwrap();
            assert!(least.0 * 12 > life.0, "{least} of {life}");
        }
        assert!(ahead.len() >= 20);
    });
}

#[test]
fn files_that_are_given_up_become_the_next_ones() {
    run(LogShape::new(512, 64 << 10), 32 << 10, async move |fixture| {
        let files = fixture.log.files();
        for generation in 1..=60 {
            commit_steadily(&fixture, generation).await;
            // Like a checkpoint: four at a time, with the newest two still needed.
            if generation % 4 == 0 {
                files.give_up_before(generation - 1, SPARES_MAX).await.unwrap();
            }
            let archived = files.archived().await.unwrap();
            assert!(
                archived.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                "without a gap: {archived:?}"
            );
            assert!(archived.len() <= 8 + 2 + 4, "{archived:?}");
        }
        let format = fixture.requests_of(Class::LogFormat);
        let inodes: BTreeSet<_> = format.iter().map(|(_, request)| request.file).collect();
        assert!(inodes.len() <= 10, "{} files for 60", inodes.len());
        let waits = fixture.meter(|log| log.roll_waits.close_interval());
        assert_eq!(waits.max, Some(Span::ZERO));
    });
}

#[test]
fn more_than_can_be_used_again_is_removed() {
    run(LogShape::new(512, 64 << 10), 32 << 10, async move |fixture| {
        commit_steadily(&fixture, 30).await;
        let files = fixture.log.files();
        files.give_up_before(30, SPARES_MAX).await.unwrap();
        let archived = files.archived().await.unwrap();
        assert_eq!(archived, (22..=30).collect::<Vec<_>>());
        // Files removed by others are not missed.
        for generation in 22..30 {
            let path = files.archived_path(generation);
            fixture.world.volume.remove(&path).await.unwrap();
        }
        commit_steadily(&fixture, 40).await;
        assert_eq!(fixture.log.tail().generation, 41);
    });
}
