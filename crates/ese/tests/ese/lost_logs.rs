//! Lost logs are detected at every open, and an open that refuses them changes neither names nor
//! headers.

use std::path::{Path, PathBuf};

use crate::common::{TABLE, database_path, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::checkpoint_file::Checkpoint;
use brunt_ese::format::log_file::{FILL, LOG_HEADER_BYTES};
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, Instance, InstanceOptions};
use brunt_ese::log::reader::Generation;
use brunt_units::Span;
use brunt_world::World;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

const FRAMES: u32 = 32;
const CURRENT: &str = "/log/edb.log";

fn setup() -> InstanceOptions {
    InstanceOptions { circular: Circular::Reuse, ..options(1, 512) }
}

/// Runs `work` on the files of `store`; returns its result and the files afterwards.
fn run<T: 'static>(store: Store, work: impl AsyncFnOnce(World) -> T + 'static) -> (T, Store) {
    let mut made = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(3) });
    let world = made.world.clone();
    let said = made.executor.block_on(work(world));
    (said, made.machine.store())
}

async fn insert(instance: &Instance<Bytes>, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let transaction = instance.begin();
        let key = number.to_be_bytes();
        let inserted = transaction.insert(0, TABLE, &key, &[9; 1000]).await;
        inserted.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
    }
}

/// The files after a clean shutdown, and those left by a process that has then worked on them and
/// died. Its pages are written.
fn closed_and_killed() -> (Store, Store) {
    let ((), closed) = run(tree_files(), async |world| {
        let (instance, _) = open(&world, FRAMES, setup()).await.unwrap();
        insert(&instance, 0..10).await;
        instance.close().await.unwrap();
    });
    let ((), killed) = run(closed.fork(), async |world| {
        let (instance, _) = open(&world, FRAMES, setup()).await.unwrap();
        insert(&instance, 10..500).await;
        world.sleep(Span::seconds(5)).await;
        insert(&instance, 500..700).await;
    });
    (closed, killed)
}

fn start(store: Store) -> (Option<EngineError>, Store) {
    run(store, async |world| {
        let opened = open(&world, FRAMES, setup()).await;
        let error = opened.as_ref().err().cloned();
        if let Ok((instance, _)) = opened {
            instance.close().await.unwrap();
        }
        error
    })
}

/// Names and contents of the files in the log folder.
fn logs(store: &Store) -> Vec<(PathBuf, Vec<u8>)> {
    let names = store.names().filter(|(path, _)| path.starts_with("/log"));
    names.map(|(path, _)| (path.to_owned(), store.get(path).unwrap())).collect()
}

/// Opens twice; returns the first error after checking that no log has changed and that the second
/// error is the same.
fn refused(store: &Store) -> EngineError {
    let (error, left) = start(store.fork());
    let error = error.expect("it is refused");
    assert_eq!(logs(&left), logs(store), "{error}");
    let header = |store: &Store| store.get(&database_path(0)).unwrap()[..8192].to_vec();
    assert_eq!(header(&left), header(store), "{error}");
    let (again, _) = start(left);
    assert_eq!(again, Some(error.clone()));
    error
}

fn required(path: &Path) -> EngineError {
    EngineError::LogRequired { path: path.to_owned(), database: database_path(0) }
}

/// The log files, oldest first.
fn log_files(store: &Store) -> Vec<PathBuf> {
    let names = store.names().map(|(path, _)| path.to_owned());
    let archived = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        name.starts_with("/log/edb0") && name.ends_with(".log")
    };
    let mut files: Vec<PathBuf> = names.filter(archived).collect();
    files.sort();
    files.push(CURRENT.into());
    files
}

fn without(store: &Store, lost: &[PathBuf]) -> Store {
    let mut store = store.fork();
    for path in lost {
        let file = store.unlink(path).expect("it was there");
        store.drop_file(file);
    }
    store
}

#[test]
fn files_that_are_gone_are_named() {
    let (_, killed) = closed_and_killed();
    assert_eq!(start(killed.fork()).0, None, "with all of them it starts");
    let files = log_files(&killed);
    assert!(files.len() > 8, "{files:?}");
    for count in [1, 2, 6] {
        let (_, lost) = files.split_at(files.len() - count);
        assert_eq!(refused(&without(&killed, lost)), required(&lost[0]));
    }
    // Older files are before the checkpoint.
    let lost = &files[files.len() - 3..files.len() - 2];
    assert_eq!(refused(&without(&killed, lost)), required(&lost[0]));
    for checkpoint in [None, Some("/log/edb.chk".into())] {
        let lost: Vec<PathBuf> = files.iter().cloned().chain(checkpoint).collect();
        let error = refused(&without(&killed, &lost));
        assert!(matches!(&error, EngineError::LogRequired { .. }), "{error}");
    }
}

#[test]
fn logs_of_another_time_or_another_stream_are_not_taken_for_these() {
    let (closed, killed) = closed_and_killed();
    let files: Vec<PathBuf> = logs(&killed).into_iter().map(|(path, _)| path).collect();
    let mut older = without(&killed, &files);
    for (path, bytes) in logs(&closed) {
        older.put(&path, &bytes);
    }
    let error = refused(&older);
    assert!(matches!(&error, EngineError::LogRequired { .. }), "{error}");

    let ((), other) = run(tree_files(), async |world| {
        // Another seed makes another stream, with more files.
        let options = InstanceOptions { epoch_ms: 1_234_567, ..setup() };
        let (instance, _) = open(&world, FRAMES, options).await.unwrap();
        insert(&instance, 0..900).await;
    });
    let mut others = without(&killed, &files);
    for (path, bytes) in logs(&other) {
        others.put(&path, &bytes);
    }
    let directory = PathBuf::from("/log");
    let database = database_path(0);
    let wanted = EngineError::LogOfOthers { directory, database };
    assert_eq!(refused(&others), wanted);
}

#[test]
fn a_log_under_another_name_is_called_that() {
    let (_, killed) = closed_and_killed();
    let files = log_files(&killed);
    let [.., before, last, _] = &files[..] else {
        panic!("{files:?}");
    };
    let mut store = killed.fork();
    store.put(last, &killed.get(before).unwrap());
    let (error, _) = start(store);
    let Some(EngineError::LogCorrupt { path, what, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((&path, what), (last, "it is another generation"));
}

#[test]
fn a_log_that_is_damaged_or_cut_short_is_named() {
    let (_, killed) = closed_and_killed();
    let path = Path::new(CURRENT);
    let bytes = killed.get(path).unwrap();
    let mut store = killed.fork();
    let mut flipped = bytes.clone();
    flipped[LOG_HEADER_BYTES + 700] ^= 4;
    store.put(path, &flipped);
    let error = refused(&store);
    assert!(matches!(&error, EngineError::LogCorrupt { path: of, .. } if of == path), "{error}");

    // Everything written since the pages is lost, and some of the log of those pages too.
    let ((), written) = run(killed.fork(), async |world| {
        let (instance, _) = open(&world, FRAMES, setup()).await.unwrap();
        insert(&instance, 700..720).await;
        instance.cache().write_all(0).await.unwrap();
    });
    let mut store = written.fork();
    let mut bytes = written.get(path).unwrap();
    bytes[LOG_HEADER_BYTES + 1024..].fill(FILL);
    store.put(path, &bytes);
    let error = refused(&store);
    assert!(matches!(&error, EngineError::LogEndMissing { path: of, .. } if of == path), "{error}");
}

/// `store` with the records of the log file `path` lost, and its header left.
fn blank(store: &mut Store, path: &Path) {
    let mut bytes = store.get(path).unwrap();
    bytes[LOG_HEADER_BYTES..].fill(FILL);
    store.put(path, &bytes);
}

#[test]
fn damage_of_an_older_log_file_is_found_behind_one_without_records() {
    let (_, killed) = closed_and_killed();
    let files = log_files(&killed);
    let older = &files[files.len() - 2];
    let mut store = killed.fork();
    blank(&mut store, Path::new(CURRENT));
    let mut bytes = store.get(older).unwrap();
    bytes[LOG_HEADER_BYTES + 700] ^= 4;
    store.put(older, &bytes);
    let (error, _) = start(store);
    assert!(
        matches!(&error, Some(EngineError::LogCorrupt { path, .. }) if path == older),
        "{error:?}"
    );
}

#[test]
fn a_log_that_lost_what_the_checkpoint_knew_is_refused() {
    let (_, killed) = closed_and_killed();
    let bytes = killed.get(Path::new("/log/edb.chk")).unwrap();
    let checkpoint = Checkpoint::find(&bytes).unwrap();
    let mut store = killed.fork();
    let mut named = None;
    for path in log_files(&killed) {
        let bytes = store.get(&path).unwrap();
        let generation = Generation::read(&bytes).unwrap().header.generation;
        if generation >= checkpoint.position.generation {
            blank(&mut store, &path);
            named = named.or(Some(path));
        }
    }
    let error = refused(&store);
    assert!(
        matches!(&error, EngineError::LogShort { path, .. } if Some(path) == named.as_ref()),
        "{error}"
    );
}
