//! Data: what is written can be read, and wrong requests are refused.

use std::rc::Rc;

use crate::Probe;
use brunt_world::{FileId, Frame, IoError, Op, OpenMode, Segment, Segments};

fn index(at: u64) -> usize {
    usize::try_from(at).expect("memory is addressable")
}

/// A frame as a read's only segment.
fn fill(frame: Frame) -> Segments {
    [Segment::Fill(frame)].into_iter().collect()
}

/// Random writes of all sizes and segment counts, compared with a vector.
pub(super) async fn written_bytes_are_read_back(probe: Probe) {
    const FILE_BYTES: usize = 1 << 20;
    let mut stream = probe.stream();
    let file = probe.create("file").await;
    let grown = probe.world.volume.allocate(file, FILE_BYTES as u64).await;
    probe.good(grown, "allocate");
    let mut oracle = vec![0_u8; FILE_BYTES];
    for round in 0..60_u64 {
        let pages = [1_usize, 2, 3, 8, 16, 32, 64][index(round % 7)];
        let segments = 1 + index(stream.below(pages as u64).min(15));
        // One frame size for all segments of a request, as coalesced pages have.
        let frame_bytes = pages.div_ceil(segments) * 4096;
        let length = frame_bytes * segments;
        let sectors = (FILE_BYTES - length).div_euclid(512) as u64;
        let offset = stream.below(sectors + 1) * 512;
        let range = index(offset)..index(offset) + length;
        if stream.percent(50) {
            let op = [Op::Write, Op::WriteThrough][index(stream.below(2))];
            let mut place = range.start;
            let mut gathered = Segments::new();
            for _ in 0..segments {
                let frame = Rc::new(probe.random_frame(frame_bytes, &mut stream));
                oracle[place..place + frame_bytes].copy_from_slice(&frame);
                place += frame_bytes;
                gathered.push(Segment::whole(&frame));
            }
            let done = probe.submit(op, file, offset, gathered).await;
            probe.good(done.result, "write");
        } else {
            let frames = (0..segments).map(|_| probe.random_frame(frame_bytes, &mut stream));
            let scattered = frames.map(Segment::Fill).collect();
            let done = probe.submit(Op::Read, file, offset, scattered).await;
            probe.good(done.result, "read");
            let read: Vec<u8> = done.into_frames().flat_map(|frame| frame.to_vec()).collect();
            probe.ensure(read == oracle[range], "bytes that were never written");
        }
    }
    let whole = probe.read(file, 0, FILE_BYTES).await;
    probe.ensure(whole[..] == oracle[..], "the whole file differs");
    probe.close(file).await;
}

/// Parts of frames go out in file order, and come back into frames of other sizes.
pub(super) async fn pieces_are_gathered_and_scattered(probe: Probe) {
    let mut stream = probe.stream();
    let file = probe.create("file").await;
    let mut oracle = Vec::new();
    let mut pieces = Segments::new();
    for (start, length) in [(0, 512), (512, 1024), (7680, 512), (4096, 4096), (1024, 6144)] {
        let frame = Rc::new(probe.random_frame(8192, &mut stream));
        oracle.extend_from_slice(&frame[start..start + length]);
        pieces.push(Segment::Drain { frame, start, length });
    }
    probe.equal(oracle.len(), 12_288, "bytes in all");
    let done = probe.submit(Op::Write, file, 0, pieces).await;
    probe.good(done.result, "write");
    let frames = [8192, 4096].map(|length| Segment::Fill(probe.world.frames.take(length)));
    let done = probe.submit(Op::Read, file, 0, frames.into_iter().collect());
    let done = done.await;
    probe.good(done.result, "read");
    let read: Vec<Frame> = done.into_frames().collect();
    probe.equal(read[0].len(), 8192, "frames keep their order");
    probe.ensure(read[0][..] == oracle[..8192], "the first frame differs");
    probe.ensure(read[1][..] == oracle[8192..], "the second frame differs");
    // The same frame twice in one write.
    let frame = Rc::new(probe.random_frame(4096, &mut stream));
    let twice = [Segment::whole(&frame), Segment::whole(&frame)];
    let done = probe.submit(Op::Write, file, 512, twice.into_iter().collect());
    probe.good(done.await.result, "write of one frame twice");
    let read = probe.read(file, 512, 8192).await;
    let same = read[..4096] == frame[..] && read[4096..] == frame[..];
    probe.ensure(same, "one frame written twice differs");
    probe.close(file).await;
}

pub(super) async fn sectors_are_written_alone(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 8192, 1).await;
    for op in [Op::Write, Op::WriteThrough] {
        let mut frame = probe.world.frames.take(4096);
        frame.fill(1);
        frame[1024..1536].fill(2);
        let sector = Segment::Drain { frame: Rc::new(frame), start: 1024, length: 512 };
        let offset = if op == Op::Write { 512 } else { 4096 + 3584 };
        let done = probe.submit(op, file, offset, [sector].into_iter().collect());
        probe.good(done.await.result, "write of one sector");
    }
    let read = probe.read(file, 0, 8192).await;
    for (number, sector) in read.chunks(512).enumerate() {
        let expected = if [1, 15].contains(&number) { 2 } else { 1 };
        let right = sector.iter().all(|byte| *byte == expected);
        probe.ensure(right, "a neighbouring sector changed");
    }
    probe.close(file).await;
}

pub(super) async fn writing_past_the_end_extends(probe: Probe) {
    let file = probe.create("file").await;
    for (op, offset, fill) in [(Op::Write, 65_536, 1), (Op::WriteThrough, 131_072, 2)] {
        let mut frame = probe.world.frames.take(4096);
        frame.fill(fill);
        probe.write(op, file, offset, &Rc::new(frame)).await;
        probe.equal(probe.length(file).await, offset + 4096, "length");
    }
    probe.ensure(probe.is_filled(file, 0, 65_536, 0).await, "the gap is not zero");
    probe.ensure(probe.is_filled(file, 65_536, 4096, 1).await, "first write");
    probe.ensure(probe.is_filled(file, 131_072, 4096, 2).await, "second write");
    probe.close(file).await;
}

pub(super) async fn reading_past_the_end_fails(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 8192, 1).await;
    for (offset, length) in [(8192, 4096), (4096, 8192), (1 << 30, 4096), (512, 8192)] {
        let frame = probe.world.frames.take(length);
        let place = frame.place();
        let done = probe.submit(Op::Read, file, offset, fill(frame)).await;
        probe.equal(done.result, Err(IoError::PastEnd), "reading past the end");
        let same = done.into_frame().place() == place;
        probe.ensure(same, "a failed read gives its frame back");
    }
    probe.equal(probe.length(file).await, 8192, "length after failed reads");
    probe.ensure(probe.is_filled(file, 4096, 4096, 1).await, "the last page");
    probe.close(file).await;
}

pub(super) async fn wrong_requests_are_invalid(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 8192, 1).await;
    let frame = Rc::new(probe.world.frames.zeroed(4096));
    let piece = |start, length| -> Segments {
        let frame = Rc::clone(&frame);
        [Segment::Drain { frame, start, length }].into_iter().collect()
    };
    let reader = probe.open("file", OpenMode::Read).await;
    let closed = probe.open("file", OpenMode::Write).await;
    probe.close(closed).await;
    let memory = || fill(probe.world.frames.take(4096));
    let wrong: [(&str, Op, FileId, u64, Segments); 10] = [
        ("an unaligned offset of a read", Op::Read, file, 100, memory()),
        ("an unaligned offset of a write", Op::Write, file, 100, piece(0, 512)),
        ("an unaligned length", Op::Write, file, 0, piece(0, 100)),
        ("an unaligned start", Op::WriteThrough, file, 0, piece(100, 512)),
        ("a write through a reading handle", Op::Write, reader, 0, piece(0, 512)),
        ("a read from a closed file", Op::Read, closed, 0, memory()),
        ("a write to a closed file", Op::Write, closed, 0, piece(0, 512)),
        ("a sync of a closed file", Op::Sync, closed, 0, Segments::new()),
        ("a file that never was", Op::Read, FileId(u32::MAX), 0, memory()),
        ("a read into what is written from", Op::Read, file, 0, piece(0, 512)),
    ];
    for (what, op, file, offset, segments) in wrong {
        let done = probe.submit(op, file, offset, segments).await;
        probe.equal(done.result, Err(IoError::Invalid), what);
    }
    probe.ensure(probe.is_filled(file, 0, 8192, 1).await, "a refused write wrote");
    probe.close(reader).await;
    probe.close(file).await;
}

pub(super) async fn handles_of_one_file_agree(probe: Probe) {
    let first = probe.create("file").await;
    let second = probe.open("file", OpenMode::Write).await;
    probe.write_fill(first, 0, 8192, 1).await;
    probe.write_fill(second, 4096, 8192, 2).await;
    for file in [first, second] {
        probe.equal(probe.length(file).await, 12_288, "length");
        probe.ensure(probe.is_filled(file, 0, 4096, 1).await, "first bytes");
        probe.ensure(probe.is_filled(file, 4096, 8192, 2).await, "last bytes");
    }
    probe.close(first).await;
    probe.ensure(probe.is_filled(second, 0, 4096, 1).await, "after one close");
    probe.close(second).await;
}

/// A trimmed range may hold anything; a world may also refuse to trim.
pub(super) async fn trimming_spares_the_neighbours(probe: Probe) {
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 65_536, 1).await;
    let range = [Segment::Ghost(16_384)].into_iter().collect();
    let done = probe.submit(Op::Trim, file, 16_384, range).await;
    let settled = matches!(done.result, Ok(()) | Err(IoError::Other(_)));
    probe.ensure(settled, "a trim is done or refused");
    probe.equal(probe.length(file).await, 65_536, "length");
    probe.ensure(probe.is_filled(file, 0, 16_384, 1).await, "bytes before");
    probe.ensure(probe.is_filled(file, 32_768, 32_768, 1).await, "bytes after");
    let _anything = probe.read(file, 16_384, 16_384).await;
    probe.write_fill(file, 16_384, 16_384, 2).await;
    probe.ensure(probe.is_filled(file, 16_384, 16_384, 2).await, "written again");
    probe.close(file).await;
}
