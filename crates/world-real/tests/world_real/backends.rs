//! Every backend against a real folder: the same bytes and the same errors on each.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::skipped::skipped;
use brunt_units::Span;
use brunt_world::{
    Class, FileId, Frame, Io, IoError, Op, OpenMode, Segment, Segments, VolumeError, World,
};
use brunt_world_real::{Choice, Kind, Options, RealWorld, StartError};

const KINDS: [Kind; 3] = [Kind::Registered, Kind::Unregistered, Kind::Threads];

fn options(kind: Kind) -> Options {
    Options { backend: Choice::Only(kind), slab_bytes: 4 << 20, threads: 4, ..Options::default() }
}

/// Runs `test` in its own folder on each backend that this machine supports.
fn on_each<F: Future<Output = ()> + 'static>(test: impl Fn(World, PathBuf) -> F) {
    let mut refused = Vec::new();
    for kind in KINDS {
        for direct in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { direct, ..options(kind) };
            match RealWorld::new(&options) {
                Ok(mut real) => {
                    assert_eq!(real.backend().kind, kind);
                    let future = test(real.world.clone(), folder.path().to_owned());
                    real.executor.block_on(future);
                }
                Err(StartError::Backend { .. }) => refused.push(kind.to_string()),
                Err(error) => panic!("{error}"),
            }
        }
    }
    if !refused.is_empty() {
        refused.dedup();
        skipped(&format!("refused here: {}", refused.join(", ")));
    }
}

async fn create(world: &World, path: &Path, bytes: u64) -> FileId {
    let file = world.volume.open(path, OpenMode::CreateNew).await.expect("a new file");
    world.volume.allocate(file, bytes).await.expect("room for it");
    file
}

fn patterned(world: &World, length: usize, salt: usize) -> Rc<Frame> {
    let mut frame = world.frames.take(length);
    for (at, byte) in frame.iter_mut().enumerate() {
        *byte = u8::try_from((at.div_euclid(512) * 7 + at + salt) % 251).unwrap();
    }
    Rc::new(frame)
}

#[test]
fn what_was_written_is_read() {
    on_each(|world, folder| async move {
        let file = create(&world, &folder.join("data"), 1 << 20).await;
        let mut tickets = Vec::new();
        for page in 0..32_usize {
            let frame = patterned(&world, 32 << 10, page);
            let io = match page % 2 {
                0 => Io::write(Class::Database, file, (page as u64) << 15, &frame),
                _ => Io::write_through(Class::Log, file, (page as u64) << 15, &frame),
            };
            tickets.push(world.disk.submit(io));
        }
        for ticket in tickets {
            let done = ticket.await;
            assert_eq!(done.result, Ok(()));
            assert!(done.done_at >= done.submitted_at);
        }
        let synced = world.disk.submit(Io::sync(Class::Log, file)).await;
        assert_eq!(synced.result, Ok(()));
        for page in (0..32_usize).rev() {
            let frame = world.frames.take(32 << 10);
            let read = Io::read(Class::Database, file, (page as u64) << 15, frame);
            let done = world.disk.submit(read).await;
            assert_eq!(done.result, Ok(()));
            assert_eq!(*done.into_frame(), **patterned(&world, 32 << 10, page));
        }
    });
}

#[test]
fn pieces_go_out_and_come_back_in_order() {
    on_each(|world, folder| async move {
        let file = create(&world, &folder.join("data"), 1 << 20).await;
        // Writes parts of frames, reads whole frames of other sizes, with more pieces than one
        // system call takes.
        let frames: Vec<_> = (0..1100).map(|salt| patterned(&world, 4096, salt)).collect();
        let drain =
            |frame: &Rc<Frame>| Segment::Drain { frame: Rc::clone(frame), start: 512, length: 512 };
        let segments: Segments = frames.iter().map(drain).collect();
        let write = Io::new(Class::Database, Op::Write, file, 4096, segments);
        assert_eq!(world.disk.submit(write).await.result, Ok(()));
        let lengths = [8192, 4096, 1024 * 512 - 12288, 4096];
        let segments: Segments =
            lengths.iter().map(|length| Segment::Fill(world.frames.take(*length))).collect();
        let read = Io::new(Class::Database, Op::Read, file, 4096, segments);
        let done = world.disk.submit(read).await;
        assert_eq!(done.result, Ok(()));
        let bytes: Vec<u8> = done.into_frames().flat_map(|frame| frame.to_vec()).collect();
        for (sector, frame) in bytes.chunks(512).zip(&frames) {
            assert_eq!(sector, &frame[512..1024]);
        }
    });
}

#[test]
fn a_frame_of_another_pool_works_too() {
    on_each(|world, folder| async move {
        let file = create(&world, &folder.join("data"), 8192).await;
        let foreign = brunt_world::Frames::in_memory();
        let mut frame = foreign.zeroed(8192);
        frame[5000] = 9;
        let write = Io::write(Class::Database, file, 0, &Rc::new(frame));
        assert_eq!(world.disk.submit(write).await.result, Ok(()));
        let read = Io::read(Class::Database, file, 0, foreign.take(8192));
        assert_eq!(world.disk.submit(read).await.into_frame()[5000], 9);
    });
}

#[test]
fn refusals_have_names() {
    on_each(|world, folder| async move {
        let path = folder.join("data");
        let file = create(&world, &path, 8192 + 100).await;
        let result = async |io| world.disk.submit(io).await.result;
        let read = |offset, length| {
            let frame = world.frames.take(length);
            Io::read(Class::Database, file, offset, frame)
        };
        assert_eq!(result(read(0, 8192)).await, Ok(()));
        assert_eq!(result(read(4096, 8192)).await, Err(IoError::PastEnd));
        assert_eq!(result(read(1 << 20, 4096)).await, Err(IoError::PastEnd));
        assert_eq!(result(read(100, 4096)).await, Err(IoError::Invalid));
        let ghost = Segments::from_buf([Segment::Ghost(4096)]);
        let write = Io::new(Class::Database, Op::Write, file, 0, ghost);
        assert_eq!(result(write).await, Err(IoError::Invalid));
        let stray = Io::sync(Class::Database, FileId(7));
        assert_eq!(result(stray).await, Err(IoError::Invalid));
        let readers = world.volume.open(&path, OpenMode::Read).await.unwrap();
        let write = Io::write(Class::Database, readers, 0, &patterned(&world, 4096, 1));
        assert_eq!(result(write).await, Err(IoError::Invalid));
        world.volume.close(file).await.unwrap();
        assert_eq!(result(Io::sync(Class::Database, file)).await, Err(IoError::Invalid));
        assert!(world.volume.close(file).await.is_err());
    });
}

#[test]
fn writes_past_the_end_extend_and_trims_leave_the_length() {
    on_each(|world, folder| async move {
        let file = create(&world, &folder.join("data"), 0).await;
        let write = Io::write(Class::Create, file, 65536, &patterned(&world, 65536, 3));
        assert_eq!(world.disk.submit(write).await.result, Ok(()));
        assert_eq!(world.volume.length(file).await, Ok(131_072));
        let range = Segments::from_buf([Segment::Ghost(65536)]);
        let trim = Io::new(Class::Maintenance, Op::Trim, file, 65536, range);
        assert_eq!(world.disk.submit(trim).await.result, Ok(()));
        assert_eq!(world.volume.length(file).await, Ok(131_072));
    });
}

#[test]
fn names_are_made_moved_and_removed() {
    on_each(|world, folder| async move {
        let (a, b) = (folder.join("a"), folder.join("b"));
        let volume = &world.volume;
        let first = create(&world, &a, 4096).await;
        create(&world, &b, 8192).await;
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        assert_eq!(volume.list(&folder).await, Ok(names("a b")));
        assert_eq!(volume.open(&a, OpenMode::CreateNew).await, Err(VolumeError::Exists));
        volume.rename(&a, &b).await.unwrap();
        volume.sync_directory(&folder).await.unwrap();
        assert_eq!(volume.list(&folder).await, Ok(names("b")));
        let renamed = volume.open(&b, OpenMode::Write).await.unwrap();
        assert_eq!(volume.length(renamed).await, Ok(4096));
        volume.remove(&b).await.unwrap();
        assert_eq!(volume.list(&folder).await, Ok(names("")));
        assert_eq!(volume.length(first).await, Ok(4096));
        assert_eq!(volume.remove(&b).await, Err(VolumeError::NotFound));
    });
}

#[test]
fn many_more_than_the_ring_holds_are_in_flight_at_once() {
    on_each(|world, folder| async move {
        let file = create(&world, &folder.join("data"), 4096).await;
        let read = || Io::read(Class::Database, file, 0, world.frames.take(4096));
        let tickets: Vec<_> = (0..2000).map(|_| world.disk.submit(read())).collect();
        for ticket in tickets {
            assert_eq!(ticket.await.result, Ok(()));
        }
    });
}

#[test]
fn closing_leaves_io_in_flight_alone() {
    on_each(|world, folder| async move {
        for round in 0..20 {
            let path = folder.join(format!("data-{round}"));
            let file = create(&world, &path, 1 << 20).await;
            let write =
                |at: u64| Io::write(Class::Log, file, at << 15, &patterned(&world, 32768, 0));
            let tickets: Vec<_> = (0..8).map(|at| world.disk.submit(write(at))).collect();
            let closed = world.volume.close(file);
            for ticket in tickets {
                assert_eq!(ticket.await.result, Ok(()));
            }
            closed.await.unwrap();
        }
    });
}

#[test]
fn sleeping_takes_as_long_as_it_says() {
    on_each(|world, _| async move {
        let before = world.clock.now();
        let late = world.clone();
        let late = world.spawner.spawn(async move {
            late.sleep(Span::millis(30)).await;
            late.clock.now()
        });
        world.sleep(Span::millis(3)).await;
        let slept = world.clock.now() - before;
        assert!(slept >= Span::millis(3), "{slept}");
        // How much longer it took depends on the host; but the later one must not come first.
        let late = late.await;
        assert!(late - before >= Span::millis(30) && late - before >= slept);
    });
}

#[test]
fn everything_can_be_dropped_in_flight() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let Ok(mut real) = RealWorld::new(&options(kind)) else {
            continue;
        };
        let (world, path) = (real.world.clone(), folder.path().join("data"));
        let tickets = real.executor.block_on(async move {
            let file = create(&world, &path, 1 << 20).await;
            let read = || Io::read(Class::Database, file, 0, world.frames.take(1 << 15));
            // The first half is detached at once, the rest with everything else.
            let mut tickets: Vec<_> = (0..40).map(|_| world.disk.submit(read())).collect();
            drop(tickets.drain(..20));
            drop(world.volume.list(&path));
            tickets
        });
        drop(real);
        drop(tickets);
    }
}

#[test]
fn the_record_says_what_was_obtained() {
    let folder = tempfile::tempdir().unwrap();
    let mut real = RealWorld::new(&Options {
        direct: false,
        backend: Choice::Only(Kind::Threads),
        slab_bytes: 1 << 20,
        ..Options::default()
    })
    .unwrap();
    let (world, path) = (real.world.clone(), folder.path().join("data"));
    real.executor.block_on(async move { create(&world, &path, 4096).await });
    let backend = real.backend();
    assert_eq!((backend.kind, backend.task_run), (Kind::Threads, None));
    assert_eq!((backend.slabs, backend.slabs_registered), (1, 0));
    assert_eq!(backend.direct_files, 0);
    assert_eq!(backend.buffered_files[folder.path()].0, 1);
}
