//! Tiny files whose sectors each hold a stamp, which the crash tests write and look for.

use std::rc::Rc;

use brunt_world::random::Streams;
use brunt_world::{Class, FileId, Io, Op, Segment, World};
use brunt_world_virtual::{Inode, MemoryDevice, Store, VirtualOptions};

/// A world whose completions come out of order.
pub(crate) fn jittered(seed: u64) -> VirtualOptions {
    let stream = Streams::new(seed).named("device");
    VirtualOptions {
        devices: vec![Box::new(MemoryDevice::new(stream, 400))],
        ..VirtualOptions::new(seed)
    }
}

/// Each write's sectors are filled with a number of their own.
pub(crate) async fn write(
    world: &World,
    op: Op,
    file: FileId,
    sector: u64,
    count: usize,
    first_stamp: u64,
) {
    let mut frame = world.frames.zeroed(4096);
    for (piece, number) in frame.chunks_mut(512).zip(first_stamp..) {
        for word in piece.chunks_mut(8) {
            word.copy_from_slice(&number.to_le_bytes());
        }
    }
    let piece = Segment::Drain { frame: Rc::new(frame), start: 0, length: count * 512 };
    let segments = [piece].into_iter().collect();
    let io = Io::new(Class::Database, op, file, sector * 512, segments);
    world.disk.submit(io).await.result.unwrap();
}

/// The first eight bytes of a sector; the tests fill each with its stamp.
pub(crate) fn stamp(store: &Store, file: Inode, sector: u64) -> u64 {
    let mut bytes = [0; 512];
    store.read(file, sector * 512, &mut bytes);
    let stamp: [u8; 8] = bytes[..8].try_into().unwrap();
    assert!(bytes.chunks(8).all(|word| word == stamp), "a torn sector is torn inside");
    u64::from_le_bytes(stamp)
}
