//! A failed log write stops the stream: everything that waits gets the error, and nothing more is
//! written.

use brunt_ese::error::EngineError;
use brunt_ese::log::{FlushReason, LogShape};
use brunt_units::Span;
use brunt_world::{Class, IoError};

use super::stage::{Stage, play, record};

/// Commits until a commit fails.
async fn commit_until_failure(stage: Stage, reason: FlushReason) -> EngineError {
    loop {
        let end = stage.log.append(&record(100)).end;
        if let Err(error) = stage.log.flushed(end, reason).await {
            return error;
        }
    }
}

/// Appends until waiting for room fails.
async fn append_until_failure(stage: Stage) -> EngineError {
    loop {
        if let Err(error) = stage.log.room().await {
            return error;
        }
        stage.log.append(&record(2_000));
    }
}

#[test]
fn everyone_who_waits_is_told_and_nothing_is_written_any_more() {
    play(LogShape::new(512, 64 << 10), 10_240, async |stage| {
        let spawner = stage.world.spawner.clone();
        let mut sessions = vec![
            spawner.spawn(append_until_failure(stage.clone())),
            spawner.spawn(append_until_failure(stage.clone())),
        ];
        for reason in [FlushReason::Commit, FlushReason::Page, FlushReason::Drain] {
            sessions.push(spawner.spawn(commit_until_failure(stage.clone(), reason)));
        }
        stage.world.sleep(Span::millis(100)).await;
        stage.fail(Class::Log);
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
        let (durable, writes) = (stage.log.durable(), stage.requests_of(Class::Log).len());
        assert_eq!(stage.log.failure(), Some(expected.clone()));
        assert_eq!(stage.log.room().await, Err(expected.clone()));
        let end = stage.log.append(&record(100)).end;
        let later = stage.log.flushed(end, FlushReason::Commit).await;
        assert_eq!(later, Err(expected.clone()));
        assert_eq!(stage.log.close().await, Err(expected));
        stage.world.sleep(Span::seconds(1)).await;
        assert_eq!(stage.log.durable(), durable);
        assert_eq!(stage.requests_of(Class::Log).len(), writes);
    });
}

#[test]
fn what_was_durable_before_stays_so() {
    play(LogShape::new(512, 64 << 10), 10_240, async |stage| {
        let end = stage.log.append(&record(100)).end;
        stage.log.flushed(end, FlushReason::Commit).await.unwrap();
        stage.fail(Class::Log);
        let lost = stage.log.append(&record(100)).end;
        assert!(stage.log.flushed(lost, FlushReason::Commit).await.is_err());
        assert_eq!(stage.log.flushed(end, FlushReason::Commit).await, Ok(()));
    });
}

#[test]
fn a_next_file_that_cannot_be_made_stops_the_stream() {
    play(LogShape::new(512, 64 << 10), 10_240, async |stage| {
        stage.fail(Class::LogFormat);
        let spawner = stage.world.spawner.clone();
        let sessions = [
            spawner.spawn(append_until_failure(stage.clone())),
            spawner.spawn(commit_until_failure(stage.clone(), FlushReason::Commit)),
        ];
        for session in sessions {
            let error = session.await;
            let EngineError::File { path, error } = error else {
                panic!("{error}");
            };
            assert_eq!((path, error), (stage.log.files().next_path(), IoError::Device));
        }
    });
}
