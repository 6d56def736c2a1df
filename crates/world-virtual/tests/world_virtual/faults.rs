//! Faults around a disk: without a plan it conforms, and each fault has its effect, at its place
//! only.

use std::path::Path;
use std::rc::Rc;

use brunt_conformance as conformance;
use brunt_units::Span;
use brunt_world::fault::{Fault, FaultKind, faulty};
use brunt_world::{Class, FileId, Io, IoError, OpenMode, World};
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

#[test]
fn a_disk_without_faults_conforms() {
    for check in conformance::checks() {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let (world, _) = faulty(&made.world, Vec::new());
        made.executor.block_on(check.start(&world, Path::new("")));
    }
}

/// Writes three blocks of a file with ones, with the fault at the middle one, and then with twos;
/// returns what is read then.
fn read_after(kind: FaultKind, change: impl Fn(&mut Fault)) -> (Result<Vec<u8>, IoError>, u64) {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let mut fault = Fault::new(kind, "file", 4096..8192);
    change(&mut fault);
    let (world, struck) = faulty(&made.world, vec![fault]);
    let read = made.executor.block_on(async move {
        let open = world.volume.open(Path::new("dir/file"), OpenMode::CreateNew);
        let file = open.await.unwrap();
        for byte in 1..3 {
            write(&world, file, byte).await?;
        }
        let frame = world.frames.take(16384);
        let done = world.disk.submit(Io::read(Class::Database, file, 0, frame)).await;
        done.result.map(|()| done.into_frame().to_vec())
    });
    (read, struck.counts()[0])
}

async fn write(world: &World, file: FileId, byte: u8) -> Result<(), IoError> {
    let mut frame = world.frames.take(16384);
    frame.fill(byte);
    let io = Io::write(Class::Database, file, 0, &Rc::new(frame));
    world.disk.submit(io).await.result
}

/// The content read from the middle block when nothing else changed.
fn middle(kind: FaultKind) -> Vec<u8> {
    let (read, struck) = read_after(kind, |_| {});
    let read = read.unwrap();
    assert!(struck > 0, "{kind:?}");
    assert_eq!(read[..4096], [2; 4096], "{kind:?}");
    read[4096..8192].to_vec()
}

#[test]
fn reads_lie_about_their_place_alone() {
    let flipped = middle(FaultKind::BitFlip);
    let wrong: Vec<_> = (0..4096).filter(|at| flipped[*at] != 2).collect();
    assert_eq!((wrong, flipped[2048]), (vec![2048], 3));
    assert_eq!(middle(FaultKind::TwoBitFlip)[2048], 1);
    assert_eq!(middle(FaultKind::Zeroed), [0; 4096]);
    assert_eq!(middle(FaultKind::Stale), [1; 4096]);
    let short = middle(FaultKind::ShortRead);
    assert_eq!((&short[..512], &short[512..]), (&[2; 512][..], &[0; 3584][..]));
}

#[test]
fn writes_are_lost_torn_and_led_astray_at_their_place_alone() {
    let after_the_first = |kind| {
        let (read, _) = read_after(kind, |fault| fault.after = 1);
        read.unwrap()
    };
    let lost = after_the_first(FaultKind::Lost);
    assert_eq!((lost[4095], lost[4096], lost[8191], lost[8192]), (2, 1, 1, 2));
    let torn = after_the_first(FaultKind::Torn);
    assert_eq!((torn[4096 + 511], torn[4096 + 512], torn[8192]), (2, 1, 2));
    let astray = after_the_first(FaultKind::MisdirectedWrite(4096));
    assert_eq!((astray[4096], astray[8192]), (1, 2));
}

/// A fault without a place, before reads of a file of eight blocks. The blocks of `data` are filled
/// with their numbers, the others are blank. Returns the result of each read.
fn lying_in_wait(kind: FaultKind, data: &'static [u8], reads: &'static [u8]) -> Vec<u8> {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let fault = Fault { settles: Some(4096), ..Fault::new(kind, "file", 0..u64::MAX) };
    let (world, struck) = faulty(&made.world, vec![fault]);
    made.executor.block_on(async move {
        let open = world.volume.open(Path::new("file"), OpenMode::CreateNew);
        let file = open.await.unwrap();
        for block in 0..8 {
            let mut frame = world.frames.take(4096);
            frame.fill(if data.contains(&block) { block } else { 0 });
            let offset = u64::from(block) * 4096;
            let io = Io::write(Class::Create, file, offset, &Rc::new(frame));
            world.disk.submit(io).await.result.unwrap();
        }
        let mut given = Vec::new();
        for block in reads {
            let frame = world.frames.take(4096);
            let io = Io::read(Class::Database, file, u64::from(*block) * 4096, frame);
            given.push(world.disk.submit(io).await.into_frame()[0]);
        }
        assert!(struck.counts()[0] > 0);
        given
    })
}

#[test]
fn a_fault_settles_only_where_data_lies() {
    let zeroed = lying_in_wait(FaultKind::Zeroed, &[1, 2], &[0, 1, 2, 1]);
    assert_eq!(zeroed, [0, 0, 2, 0], "on block 1, as block 0 is blank");
    // Two blocks after block 1 is a blank one, and two blocks after block 7 is past the end.
    let astray = FaultKind::MisdirectedRead(8192);
    let astray = lying_in_wait(astray, &[1, 2, 4, 7], &[1, 7, 2, 1]);
    assert_eq!(astray, [1, 7, 4, 1]);
}

#[test]
fn errors_come_as_often_as_they_are_planned() {
    let (read, struck) = read_after(FaultKind::DeviceError, |_| {});
    assert_eq!((read, struck), (Err(IoError::Device), 1));
    let (read, _) = read_after(FaultKind::NoSpace, |fault| fault.after = 1);
    assert_eq!(read, Err(IoError::NoSpace));
    let (read, struck) = read_after(FaultKind::NoSpace, |fault| fault.times = 0);
    assert_eq!((read.is_ok(), struck), (true, 0));
    let (read, struck) = read_after(FaultKind::DeviceError, |fault| fault.file = "other".into());
    assert_eq!((read.is_ok(), struck), (true, 0));
}

#[test]
fn slow_is_later_and_stuck_is_never() {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let plan = [FaultKind::Slow(Span::seconds(5)), FaultKind::Stuck]
        .map(|kind| Fault { times: 1, ..Fault::new(kind, "file", 0..512) });
    let (world, _) = faulty(&made.world, plan.into());
    made.executor.block_on(async move {
        let open = world.volume.open(Path::new("file"), OpenMode::CreateNew);
        let file = open.await.unwrap();
        write(&world, file, 1).await.unwrap();
        assert!(world.clock.now().0 >= Span::seconds(5).0);
        let clone = world.clone();
        let hangs = world.spawner.spawn(async move { write(&clone, file, 2).await });
        world.sleep(Span::seconds(100)).await;
        drop(hangs);
        write(&world, file, 3).await.unwrap();
    });
}
