//! I/Os in flight: many at once, dropped ones, and other requests meanwhile.

use std::rc::Rc;

use crate::Probe;
use brunt_world::{Class, Frame, FramePlace, Io, IoError, Op, Segments};

/// Each of many concurrent reads and writes completes once, with its own bytes.
pub(super) async fn many_in_flight_complete_once(probe: Probe) {
    const PAGES: u64 = 300;
    let file = probe.create("file").await;
    let grown = probe.world.volume.allocate(file, PAGES * 4096).await;
    probe.good(grown, "allocate");
    let stamp = |page: u64| {
        let mut frame = probe.world.frames.zeroed(4096);
        frame[..8].copy_from_slice(&(page + 1).to_le_bytes());
        frame[4088..].copy_from_slice(&(page + 1).to_le_bytes());
        Rc::new(frame)
    };
    let before = probe.world.clock.now();
    let writes: Vec<_> = (0..PAGES)
        .map(|page| Io::write(Class::Database, file, page * 4096, &stamp(page)))
        .map(|io| probe.world.disk.submit(io))
        .collect();
    for write in writes {
        let done = write.await;
        probe.good(done.result, "write");
        probe.ensure(before <= done.submitted_at, "submitted before it was");
        probe.ensure(done.submitted_at <= done.done_at, "done before submitted");
    }
    // Awaited in another order than submitted, and by many tasks.
    let reads: Vec<_> = (0..PAGES)
        .map(|page| {
            let frame = probe.world.frames.take(4096);
            let ticket = Io::read(Class::Database, file, page * 4096, frame);
            let ticket = probe.world.disk.submit(ticket);
            probe.world.spawner.spawn(ticket)
        })
        .collect();
    for (page, read) in (0..PAGES).zip(reads).collect::<Vec<_>>().into_iter().rev() {
        let done = read.await;
        probe.good(done.result, "read");
        probe.ensure(done.into_frame()[..] == stamp(page)[..], "another page came");
    }
    probe.close(file).await;
}

/// Only this check uses frames of this size, so it can count the returned ones.
const ODD_FRAME: usize = 19 * 4096;

pub(super) async fn dropped_tickets_give_frames_back(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 1 << 20, 7).await;
    let frames = &probe.world.frames;
    let ours: Vec<_> = (0..16).map(|_| frames.take(ODD_FRAME)).collect();
    let places: Vec<_> = ours.iter().map(Frame::place).collect();
    for (frame, number) in ours.into_iter().zip(0..) {
        let io = Io::read(Class::Database, file, number * 4096, frame);
        let ticket = probe.world.disk.submit(io);
        if number % 2 == 0 {
            drop(ticket);
        } else {
            probe.good(ticket.await.result, "read");
        }
    }
    // Once nothing is in flight, all sixteen frames of this size can be taken again.
    let mut kept: Vec<Frame> = Vec::new();
    probe
        .eventually("the return of dropped frames", async || {
            kept.extend((0..16).map(|_| frames.take(ODD_FRAME)));
            let home = |place: &FramePlace| kept.iter().any(|frame| frame.place() == *place);
            places.iter().all(home)
        })
        .await;
    let undisturbed = probe.is_filled(file, 0, 1 << 20, 7).await;
    probe.ensure(undisturbed, "a dropped read disturbed the file");
    probe.close(file).await;
}

pub(super) async fn dropped_writes_still_happen(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 65_536, 1).await;
    let mut frame = probe.world.frames.take(4096);
    frame.fill(2);
    let frame = Rc::new(frame);
    for page in 0..8 {
        let io = Io::write(Class::Database, file, page * 8192, &frame);
        drop(probe.world.disk.submit(io));
    }
    let home = "the end of dropped writes";
    let alone = async || Rc::strong_count(&frame) == 1;
    probe.eventually(home, alone).await;
    let read = probe.read(file, 0, 65_536).await;
    for (page, bytes) in read.chunks(4096).enumerate() {
        let expected = if page % 2 == 0 { 2 } else { 1 };
        let right = bytes.iter().all(|byte| *byte == expected);
        probe.ensure(right, "a dropped write did not happen, or elsewhere");
    }
    probe.close(file).await;
}

pub(super) async fn syncs_pass_writes_in_flight(probe: Probe) {
    let file = probe.create("file").await;
    let grown = probe.world.volume.allocate(file, 1 << 20).await;
    probe.good(grown, "allocate");
    let mut frame = probe.world.frames.take(4096);
    frame.fill(9);
    let frame = Rc::new(frame);
    for _ in 0..4 {
        let writes: Vec<_> = (0..32_u64)
            .map(|page| Io::write(Class::Database, file, page * 4096, &frame))
            .map(|io| probe.world.disk.submit(io))
            .collect();
        let through = Io::write_through(Class::Log, file, 64 * 4096, &frame);
        let through = probe.world.disk.submit(through);
        let sync = probe.world.disk.submit(Io::sync(Class::Metadata, file));
        let done = sync.await;
        probe.good(done.result, "sync");
        probe.equal(done.segments.len(), 0, "segments of a sync");
        for ticket in writes.into_iter().chain([through]) {
            probe.good(ticket.await.result, "write");
        }
    }
    probe.sync(file).await;
    let written = probe.is_filled(file, 0, 32 * 4096, 9).await;
    probe.ensure(written, "bytes written around a sync");
    probe.close(file).await;
}

pub(super) async fn closing_spares_io_in_flight(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 1 << 18, 3).await;
    let mut frame = probe.world.frames.take(4096);
    frame.fill(4);
    let frame = Rc::new(frame);
    let mut tickets = Vec::new();
    for page in 0..16_u64 {
        let memory = probe.world.frames.take(4096);
        let read = Io::read(Class::Database, file, page * 4096, memory);
        let write = Io::write(Class::Database, file, (page + 32) * 4096, &frame);
        tickets.push((probe.world.disk.submit(read), probe.world.disk.submit(write)));
    }
    let removed = probe.world.volume.remove(&probe.path("file"));
    probe.close(file).await;
    probe.good(removed.await, "remove");
    for (read, write) in tickets {
        let done = read.await;
        probe.good(done.result, "read in flight at the close");
        let right = done.into_frame().iter().all(|byte| *byte == 3);
        probe.ensure(right, "bytes read around a close");
        probe.good(write.await.result, "write in flight at the close");
    }
    let done = probe.submit(Op::Sync, file, 0, Segments::new());
    let result = done.await.result;
    probe.equal(result, Err(IoError::Invalid), "sync of a closed file");
}
