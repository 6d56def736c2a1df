//! Commits: hard ones share flushes, lazy ones become durable in time.

use brunt_ese::log::{Durability, FlushReason, LogOptions, LogShape};
use brunt_units::Span;
use brunt_world::{Class, Op};

use super::fixture::{Fixture, LAZY_WAIT, NAMES, SERVICE, record, run, run_with};

const SESSIONS: u64 = 16;
const COMMITS: u64 = 50;

#[test]
fn sessions_that_commit_hard_share_flushes() {
    run(LogShape::new(512, 1 << 20), 32 << 10, async |fixture| {
        let before = fixture.requests_of(Class::Log).len() as u64;
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|_| fixture.world.spawner.spawn(commit_hard(fixture.clone())))
            .collect();
        for session in sessions {
            session.await;
        }
        // The first flush carries only the first commit; every later one carries the next commits
        // of all sessions.
        let flushes = fixture.requests_of(Class::Log).len() as u64 - before;
        assert!((COMMITS..=COMMITS + 2).contains(&flushes), "{flushes} flushes");
        let counted = fixture.meter(|log| {
            let of_commits = log.flushes[FlushReason::Commit as usize].close_interval();
            (of_commits, log.writes.close_interval().count)
        });
        assert_eq!(counted, (flushes, flushes));
    });
}

async fn commit_hard(fixture: Fixture) {
    for _ in 0..COMMITS {
        let begun = fixture.now();
        let end = fixture.log.append(&record(100)).end;
        fixture.log.flushed(end, FlushReason::Commit).await.unwrap();
        assert!(fixture.log.durable() >= end);
        // The flush in progress, and the next one.
        assert!(fixture.now() - begun <= Span::nanos(2 * SERVICE.0));
    }
}

/// A lazy commit may come while the log is idle, during a flush, and when an older file still has
/// unflushed bytes.
#[test]
fn lazy_commits_are_durable_within_their_wait() {
    for (across_files, during_flush) in [(false, false), (false, true), (true, false), (true, true)]
    {
        run(LogShape::new(512, 64 << 10), 60 << 10, async move |fixture| {
            fill_all_but(&fixture, 2_000).await;
            if during_flush {
                let end = fixture.log.append(&record(20)).end;
                fixture.log.want(end, FlushReason::Commit);
                fixture.world.sleep(Span::micros(10)).await;
            }
            fixture.log.append(&record(200));
            let length = if across_files { 2_500 } else { 250 };
            let end = fixture.log.append(&record(length)).end;
            assert_eq!(end.generation, 1 + u32::from(across_files));
            fixture.log.lazy();
            if !during_flush && !across_files {
                fixture.world.sleep(Span::nanos(LAZY_WAIT.0 - 1)).await;
                assert!(fixture.log.durable() < end, "before its time");
                fixture.world.sleep(Span::nanos(1 + SERVICE.0)).await;
            } else {
                let roll = if across_files { 5 * NAMES.0 } else { 0 };
                let flush = Span::nanos(roll + SERVICE.0);
                fixture.world.sleep(LAZY_WAIT).await;
                fixture.world.sleep(flush).await;
            }
            assert!(fixture.log.durable() >= end, "across files {across_files}");
        });
    }
}

/// Fills the first file except for `room` record bytes, and makes all of it durable.
async fn fill_all_but(fixture: &Fixture, room: usize) {
    let all = fixture.log.shape().remaining(fixture.log.tail());
    let end = fixture.log.append(&record(all - room)).end;
    fixture.log.flushed(end, FlushReason::Drain).await.unwrap();
}

#[test]
fn one_lazy_flush_carries_what_came_meanwhile() {
    run(LogShape::new(512, 1 << 20), 60 << 10, async |fixture| {
        let end = fixture.log.tail();
        fixture.log.flushed(end, FlushReason::Drain).await.unwrap();
        let before = fixture.requests_of(Class::Log).len();
        for _ in 0..LAZY_WAIT.0.div_euclid(1_000_000) {
            fixture.log.append(&record(100));
            fixture.log.lazy();
            fixture.world.sleep(Span::millis(1)).await;
        }
        fixture.world.sleep(SERVICE).await;
        assert_eq!(fixture.requests_of(Class::Log).len(), before + 1);
        let lazy = fixture.meter(|log| log.flushes[FlushReason::Lazy as usize].close_interval());
        assert_eq!(lazy, 1);
    });
}

#[test]
fn the_share_of_the_sync_in_a_flush_is_known_where_it_can_be() {
    for (durability, ops, flush) in [
        (Durability::WriteThrough, vec![Op::WriteThrough], SERVICE),
        (Durability::WriteThenSync, vec![Op::Write, Op::Sync], Span::nanos(2 * SERVICE.0)),
    ] {
        let options = LogOptions {
            shape: LogShape::new(512, 64 << 10),
            buffer_bytes: 32 << 10,
            lazy_wait: LAZY_WAIT,
            durability,
        };
        run_with(options, async move |fixture| {
            for _ in 0..10 {
                let (begun, end) = (fixture.now(), fixture.log.append(&record(100)).end);
                fixture.log.flushed(end, FlushReason::Commit).await.unwrap();
                assert_eq!(fixture.now() - begun, flush);
            }
            let asked: Vec<_> =
                fixture.requests_of(Class::Log).iter().map(|(_, request)| request.op).collect();
            assert_eq!(asked, ops.repeat(10));
            let (writes, syncs) =
                fixture.meter(|log| (log.writes.close_interval(), log.syncs.close_interval()));
            assert_eq!((writes.count, writes.max), (10, Some(flush)));
            let sync = (ops.len() > 1).then_some(SERVICE);
            assert_eq!((syncs.max, syncs.bytes), (sync, 0));
        });
    }
}
