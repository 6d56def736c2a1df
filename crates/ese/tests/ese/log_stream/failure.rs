//! A failed log write stops the stream: everything that waits gets the error, and nothing more is
//! written.

use brunt_ese::error::EngineError;
use brunt_ese::log::{FlushReason, LogShape};
use brunt_units::Span;
use brunt_world::{Class, IoError};

use super::fixture::{Fixture, record, run};

/// Commits until a commit fails.
async fn commit_until_failure(fixture: Fixture, reason: FlushReason) -> EngineError {
    loop {
        let end = fixture.log.append(&record(100)).end;
        if let Err(error) = fixture.log.flushed(end, reason).await {
            return error;
        }
    }
}

/// Appends until waiting for room fails.
async fn append_until_failure(fixture: Fixture) -> EngineError {
    loop {
        if let Err(error) = fixture.log.room().await {
            return error;
        }
        fixture.log.append(&record(2_000));
    }
}

#[test]
fn everyone_who_waits_is_told_and_nothing_is_written_any_more() {
    run(LogShape::new(512, 64 << 10), 10_240, async |fixture| {
        let spawner = fixture.world.spawner.clone();
        let mut sessions = vec![
            spawner.spawn(append_until_failure(fixture.clone())),
            spawner.spawn(append_until_failure(fixture.clone())),
        ];
        for reason in [FlushReason::Commit, FlushReason::Page, FlushReason::Drain] {
            sessions.push(spawner.spawn(commit_until_failure(fixture.clone(), reason)));
        }
        fixture.world.sleep(Span::millis(100)).await;
        fixture.fail(Class::Log);
        let mut told = Vec::new();
        for session in sessions {
            told.push(session.await);
        }
        let expected = told[0].clone();
        let EngineError::LogFailed { path, error, .. } = &expected else {
            panic!("{expected}");
        };
        assert!(path.ends_with("edb.log"));
        assert_eq!(*error, IoError::Device);
        assert!(told.iter().all(|error| *error == expected));
        let (durable, writes) = (fixture.log.durable(), fixture.requests_of(Class::Log).len());
        assert_eq!(fixture.log.failure(), Some(expected.clone()));
        assert_eq!(fixture.log.room().await, Err(expected.clone()));
        let end = fixture.log.append(&record(100)).end;
        let later = fixture.log.flushed(end, FlushReason::Commit).await;
        assert_eq!(later, Err(expected.clone()));
        assert_eq!(fixture.log.close().await, Err(expected));
        fixture.world.sleep(Span::seconds(1)).await;
        assert_eq!(fixture.log.durable(), durable);
        assert_eq!(fixture.requests_of(Class::Log).len(), writes);
    });
}

#[test]
fn what_was_durable_before_stays_so() {
    run(LogShape::new(512, 64 << 10), 10_240, async |fixture| {
        let end = fixture.log.append(&record(100)).end;
        fixture.log.flushed(end, FlushReason::Commit).await.unwrap();
        fixture.fail(Class::Log);
        let lost = fixture.log.append(&record(100)).end;
        assert!(fixture.log.flushed(lost, FlushReason::Commit).await.is_err());
        assert_eq!(fixture.log.flushed(end, FlushReason::Commit).await, Ok(()));
    });
}

#[test]
fn a_next_file_that_cannot_be_made_stops_the_stream() {
    run(LogShape::new(512, 64 << 10), 10_240, async |fixture| {
        fixture.fail(Class::LogFormat);
        let spawner = fixture.world.spawner.clone();
        let sessions = [
            spawner.spawn(append_until_failure(fixture.clone())),
            spawner.spawn(commit_until_failure(fixture.clone(), FlushReason::Commit)),
        ];
        for session in sessions {
            let error = session.await;
            let EngineError::File { path, error } = error else {
                panic!("{error}");
            };
            assert_eq!((path, error), (fixture.log.files().next_path(), IoError::Device));
        }
    });
}
