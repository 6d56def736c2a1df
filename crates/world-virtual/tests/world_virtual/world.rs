//! The virtual world as its users see it: time, determinism, volumes.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::random::Streams;
use brunt_world::{Class, Io, IoError, Op, OpenMode, Segment, VolumeError, World};
use brunt_world_virtual::{
    Cores, Delay, Device, Landing, MemoryDevice, Request, RequestDigest, VirtualOptions,
    VirtualVolume, VirtualWorld,
};

fn jittered(seed: u64) -> VirtualOptions {
    let stream = Streams::new(seed).named("device/0");
    VirtualOptions {
        devices: vec![Box::new(MemoryDevice::new(stream, 300))],
        ..VirtualOptions::new(seed)
    }
}

/// The outcome of a run.
#[derive(Debug, PartialEq)]
struct Left {
    digest: u64,
    requests: RequestDigest,
    contents: u64,
    end: Time,
}

/// Twenty tasks that sleep, compute and write.
fn busy(options: VirtualOptions) -> Left {
    busy_beside(options, async |_| {})
}

/// The same beside another task.
fn busy_beside(options: VirtualOptions, beside: impl AsyncFn(World) + 'static) -> Left {
    let mut made = VirtualWorld::new(options);
    let world = made.world.clone();
    let clone = world.clone();
    drop(world.spawner.spawn(async move { beside(clone).await }));
    let end = made.executor.block_on(async move {
        let path = Path::new("busy");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        let tasks: Vec<_> = (0..20_u64)
            .map(|task| world.spawner.spawn(session(world.clone(), file, task)))
            .collect();
        for task in tasks {
            task.await;
        }
        world.clock.now()
    });
    Left {
        digest: made.machine.digest().value(),
        requests: made.machine.requests()[0],
        contents: made.machine.store().digest().value(),
        end,
    }
}

async fn session(world: World, file: brunt_world::FileId, task: u64) {
    let mut stream = world.random.named(&format!("session/{task}"));
    for _ in 0..20 {
        world.sleep(stream.exponential(Span::micros(50))).await;
        world.clock.spend(Span::micros(5)).await;
        let mut frame = world.frames.take(4096);
        stream.fill(&mut frame);
        let frame = Rc::new(frame);
        let io = Io::write(Class::Database, file, stream.below(16) * 4096, &frame);
        world.disk.submit(io).await.result.unwrap();
    }
}

#[test]
fn equal_seeds_give_equal_runs_and_others_do_not() {
    for landing in [Landing::AtCompletion, Landing::Torn] {
        let run = |seed| busy(VirtualOptions { landing, ..jittered(seed) });
        assert_eq!(run(7), run(7));
        assert_ne!(run(7).digest, run(8).digest);
        assert_ne!(run(7).requests, run(8).requests);
    }
}

#[test]
fn only_what_storage_does_changes_the_digest_of_requests() {
    let alone = busy(jittered(7));
    let timers = busy_beside(jittered(7), async |world| {
        // The other file gets another number.
        let path = Path::new("aside");
        world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        for _ in 0..9 {
            world.sleep(Span::micros(7)).await;
        }
    });
    assert_ne!(timers.digest, alone.digest);
    assert_eq!((timers.requests, timers.end), (alone.requests, alone.end));
}

/// The digest of one write.
fn one_write(path: &'static str, offset: u64, bytes: usize, begin: u64, latency: Span) -> u64 {
    let device = Delay(move |_: Time, _: &Request| latency);
    let mut made = VirtualWorld::new(VirtualOptions {
        devices: vec![Box::new(device)],
        ..VirtualOptions::default()
    });
    let world = made.world.clone();
    made.executor.block_on(async move {
        // The file has the second number under either name.
        let other = ["f", "g"][usize::from(path == "f")];
        for path in [other, path] {
            let open = world.volume.open(Path::new(path), OpenMode::CreateNew);
            open.await.unwrap();
        }
        let open = world.volume.open(Path::new(path), OpenMode::Write);
        let file = open.await.unwrap();
        world.sleep_until(Time(begin)).await;
        let frame = Rc::new(world.frames.take(bytes));
        let io = Io::write(Class::Database, file, offset, &frame);
        world.disk.submit(io).await.result.unwrap();
    });
    made.machine.requests()[0].value()
}

#[test]
fn every_part_of_a_request_changes_its_digest() {
    let (begin, latency) = (1_000_000, Span::micros(5));
    let one = one_write("f", 4096, 4096, begin, latency);
    assert_eq!(one, one_write("f", 4096, 4096, begin, latency));
    for other in [
        one_write("g", 4096, 4096, begin, latency),
        one_write("f", 8192, 4096, begin, latency),
        one_write("f", 4096, 8192, begin, latency),
        one_write("f", 4096, 4096, begin + 1, latency),
        one_write("f", 4096, 4096, begin, Span::nanos(latency.0 + 1)),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn cores_are_waited_for() {
    let end = |cores| {
        let mut made = VirtualWorld::new(VirtualOptions { cores, ..VirtualOptions::default() });
        let world = made.world.clone();
        made.executor.block_on(async move {
            let spenders: Vec<_> = (0..6)
                .map(|_| {
                    let clock = Rc::clone(&world.clock);
                    let spend = async move { clock.spend(Span::micros(10)).await };
                    world.spawner.spawn(spend)
                })
                .collect();
            for spender in spenders {
                spender.await;
            }
            world.clock.now()
        })
    };
    assert_eq!(end(Cores::Unlimited), Time(10_000));
    assert_eq!(end(Cores::Count(NonZeroU32::new(2).unwrap())), Time(30_000));
}

#[test]
fn completions_are_stamped_when_the_device_says() {
    let device =
        Delay(|_: Time, request: &Request| Span::micros(request.offset.div_euclid(4096) + 1));
    let devices: Vec<Box<dyn Device>> = vec![Box::new(device)];
    let mut made = VirtualWorld::new(VirtualOptions { devices, ..VirtualOptions::default() });
    let world = made.world.clone();
    made.executor.block_on(async move {
        let path = Path::new("f");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        let begin = world.clock.now();
        let ghost = |op, page: u64| {
            let segments = [Segment::Ghost(4096)].into_iter().collect();
            Io::new(Class::Database, op, file, page * 4096, segments)
        };
        let tickets: Vec<_> =
            (0..8).rev().map(|page| world.disk.submit(ghost(Op::Write, page))).collect();
        for (ticket, page) in tickets.into_iter().zip((0..8).rev()) {
            let done = ticket.await;
            assert_eq!(done.submitted_at, begin);
            assert_eq!(done.done_at, begin + Span::micros(page + 1));
        }
        // Ghosts moved no bytes, but the file has its length.
        assert_eq!(world.volume.length(file).await, Ok(8 * 4096));
        assert_eq!(world.disk.submit(ghost(Op::Read, 7)).await.result, Ok(()));
        let past = world.disk.submit(ghost(Op::Read, 8)).await.result;
        assert_eq!(past, Err(IoError::PastEnd));
        // Reading leaves bytes where they are.
        let mut frame = world.frames.take(4096);
        frame.fill(7);
        let write = Io::write(Class::Database, file, 0, &Rc::new(frame));
        world.disk.submit(write).await.result.unwrap();
        world.disk.submit(ghost(Op::Read, 0)).await.result.unwrap();
        let read = Io::read(Class::Database, file, 0, world.frames.take(4096));
        let done = world.disk.submit(read).await;
        assert!(done.into_frame().iter().all(|byte| *byte == 7));
    });
}

#[test]
fn volumes_have_room_of_their_own() {
    let small =
        VirtualVolume { path: PathBuf::from("/logs"), bytes: 8192, ..VirtualVolume::everything() };
    let mut made = VirtualWorld::new(VirtualOptions {
        volumes: vec![VirtualVolume::everything(), small],
        ..VirtualOptions::default()
    });
    let world = made.world.clone();
    made.executor.block_on(async move {
        let volume = &world.volume;
        let log = Path::new("/logs/log");
        let file = volume.open(log, OpenMode::CreateNew).await.unwrap();
        assert_eq!(volume.allocate(file, 8193).await, Err(VolumeError::NoSpace));
        assert_eq!(volume.allocate(file, 4096).await, Ok(()));
        let frame = Rc::new(world.frames.zeroed(8192));
        let write = |at| world.disk.submit(Io::write(Class::Log, file, at, &frame));
        assert_eq!(write(4096).await.result, Err(IoError::NoSpace));
        assert_eq!(write(0).await.result, Ok(()));
        let room = volume.space(log).await.unwrap();
        assert_eq!((room.free_bytes, room.total_bytes), (0, 8192));
        let other = volume.space(Path::new("/data")).await.unwrap();
        assert_ne!(other.volume, room.volume);
        let across = volume.rename(log, Path::new("/data/log")).await;
        assert!(matches!(across, Err(VolumeError::Other(_))));
        // A removed file takes its space until it is closed.
        volume.remove(log).await.unwrap();
        assert_eq!(volume.space(log).await.unwrap().free_bytes, 0);
        volume.close(file).await.unwrap();
        assert_eq!(volume.space(log).await.unwrap().free_bytes, 8192);
    });
    assert_eq!(made.machine.in_flight(), 0);
}

#[test]
fn overlapping_writes_in_flight_are_torn_where_asked() {
    let torn = |landing| {
        let mut made = VirtualWorld::new(VirtualOptions { landing, ..jittered(5) });
        let world = made.world.clone();
        made.executor.block_on(async move {
            let path = Path::new("f");
            let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
            let writes: Vec<_> = (1..=2)
                .map(|fill| {
                    let mut frame = world.frames.take(32_768);
                    frame.fill(fill);
                    let io = Io::write(Class::Database, file, 0, &Rc::new(frame));
                    world.disk.submit(io)
                })
                .collect();
            for write in writes {
                write.await.result.unwrap();
            }
        });
        let bytes = made.machine.store().get(Path::new("f")).unwrap();
        let ones = bytes.chunks(512).filter(|sector| sector[0] == 1).count();
        assert!(bytes.iter().all(|byte| [1, 2].contains(byte)));
        ones
    };
    assert!([0, 64].contains(&torn(Landing::AtCompletion)));
    assert!((8..56).contains(&torn(Landing::Torn)));
}

/// A read that is past the end at submission, but not at completion, has all its bytes.
#[test]
fn a_read_overtaken_by_growth_is_whole() {
    for seed in 0..20 {
        let device = Delay(|_: Time, request: &brunt_world_virtual::Request| match request.op {
            Op::Read => Span::micros(20),
            _ => Span::micros(10),
        });
        let mut made = VirtualWorld::new(VirtualOptions {
            devices: vec![Box::new(device)],
            landing: Landing::Torn,
            ..VirtualOptions::new(seed)
        });
        let world = made.world.clone();
        made.executor.block_on(async move {
            let path = Path::new("f");
            let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
            let memory = world.frames.zeroed(32_768);
            let read = world.disk.submit(Io::read(Class::Database, file, 0, memory));
            let mut frame = world.frames.take(32_768);
            frame.fill(7);
            let write = Io::write(Class::Database, file, 0, &Rc::new(frame));
            world.disk.submit(write).await.result.unwrap();
            let done = read.await;
            assert_eq!(done.result, Ok(()));
            assert!(done.into_frame().iter().all(|byte| *byte == 7));
        });
    }
}
