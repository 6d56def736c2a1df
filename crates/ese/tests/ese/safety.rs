//! Foreign files are never written, replaced or removed, whatever their name.

use std::path::{Path, PathBuf};

use crate::common::{RUN, SIZE, blank_database, database_path, open, options};
use brunt_ese::error::EngineError;
use brunt_ese::format::checksum::seal_header;
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::log_file::{FILL, LOG_MINOR, LogHeader, LogHeaderError, SegmentSize};
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_units::LogPosition;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

/// Opens the instance over `store`; returns the error and the files afterwards.
fn refused(store: Store) -> (EngineError, Store) {
    let mut virtual_world = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(1) });
    let world = virtual_world.world.clone();
    let opened = virtual_world
        .executor
        .block_on(async move { open(&world, 16, options(1, 512)).await.err() });
    (opened.expect("it is refused"), virtual_world.machine.store())
}

fn foreign(bytes: usize) -> Vec<u8> {
    // A plausible foreign file: our kind of structure without our marker.
    (0..bytes).map(|at| u8::try_from(at.rem_euclid(251)).unwrap()).collect()
}

#[test]
fn foreign_logs_and_checkpoints_are_refused_by_name_and_left_alone() {
    for name in ["edb.log", "edbtmp.log", "edb00001.log", "edb0ABCD.log", "edb.chk"] {
        let path = PathBuf::from("/log").join(name);
        let mut store = Store::new();
        blank_database(&mut store, &database_path(0), 10);
        store.put(&path, &foreign(64 << 10));
        let before = store.digest();
        let (error, after) = refused(store);
        assert_eq!(error, EngineError::NotOurs(path), "{name}");
        assert_eq!(after.digest(), before, "{name}: something was written");
    }
}

#[test]
fn a_foreign_database_is_refused_by_name_and_left_alone() {
    let mut header = DatabaseHeader::new(
        SIZE,
        Signature { random: 9, created: Stamp::from_unix_millis(1), ..Signature::default() },
    );
    header.state = DatabaseState::Clean;
    let header = header.to_bytes();
    let mut file = [header.as_slice(), &header].concat();
    file.resize(12 * SIZE.bytes(), 0);
    let mut store = Store::new();
    store.put(&database_path(0), &file);
    let before = store.digest();
    let (error, after) = refused(store);
    assert_eq!(error, EngineError::NotOurs(database_path(0)));
    assert_eq!(after.digest(), before, "something was written");
}

#[test]
fn a_foreign_flush_map_is_refused_by_name_and_left_alone() {
    let path = Path::new("/data/tiny0.jfm");
    let mut store = Store::new();
    blank_database(&mut store, &database_path(0), 10);
    store.put(path, &foreign(16 << 10));
    let before = store.digest();
    let (error, after) = refused(store);
    assert_eq!(error, EngineError::NotOurs(path.to_owned()));
    assert_eq!(after.digest(), before, "something was written");
}

#[test]
fn a_log_of_another_release_is_named_as_such_and_left_alone() {
    let path = Path::new("/log/edb.log");
    let header = LogHeader {
        generation: 1,
        segment_size: SegmentSize::BYTES_512,
        segments: 128,
        page_size: SIZE,
        created: Stamp::from_unix_millis(1),
        previous_created: Stamp::default(),
        signature: Signature::ours(3, Stamp::from_unix_millis(1), RUN),
        checkpoint: LogPosition::default(),
        attachments: Vec::new(),
    };
    let mut file = header.to_bytes().unwrap();
    let earlier = LOG_MINOR - 1;
    file[36..40].copy_from_slice(&earlier.to_le_bytes());
    seal_header(&mut file);
    file.resize(64 << 10, FILL);
    let mut store = Store::new();
    blank_database(&mut store, &database_path(0), 10);
    store.put(path, &file);
    let before = store.digest();
    let (error, after) = refused(store);
    let expected =
        EngineError::LogHeader { path: path.to_owned(), error: LogHeaderError::Minor(earlier) };
    assert_eq!(error, expected);
    assert_eq!(after.digest(), before, "something was written");
}
