//! The memory for I/O.
//!
//! A [`Frame`] is an owned, 4 KiB-aligned piece of a slab. Slabs are 64 MiB and come from the real
//! world (with huge pages and one registered buffer each). They are never given back: a dropped
//! frame goes to its pool's free list and is handed out again. The kernel may still write into a
//! frame whose ticket was dropped. Memory that never moves and never goes away makes dropping safe,
//! and lets this file do without `unsafe`.
//!
//! Virtual worlds have no kernel. Their frames are allocated one by one and go with their pool,
//! because a sweep makes thousands of worlds.
//!
//! A page being written is shared (`Rc<Frame>`): code that wants to change it meanwhile is not the
//! sole owner and changes a copy. So a page in flight is copied, not waited for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Bytes in a slab. 4 KiB frames registered one by one cost 1-2 µs per I/O at depth; slabs cost
/// nothing.
pub const SLAB_BYTES: usize = 64 << 20;

/// Frames are aligned to this, and their lengths are multiples of it.
const ALIGNMENT: usize = 4096;

/// Where slabs come from.
pub trait SlabSource {
    /// A zeroed slab of `bytes` (a multiple of 4,096), aligned to 4,096 or better, that lives as
    /// long as the program.
    fn slab(&self, bytes: usize) -> &'static mut [u8];
}

/// The position of a frame, by which a registered buffer is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlace {
    /// Number of the slab, counted from 0 in the order of [`SlabSource::slab`] calls.
    pub slab: u32,
    /// First byte within it.
    pub offset: u32,
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(4096))]
struct Block([u8; ALIGNMENT]);

enum Memory {
    OfSlab(&'static mut [u8]),
    Own(Box<[Block]>),
}

impl Default for Memory {
    fn default() -> Self {
        Self::OfSlab(&mut [])
    }
}

struct Chunk {
    memory: Memory,
    place: FramePlace,
}

struct Pool {
    /// Without one, each frame is allocated.
    source: Option<Box<dyn SlabSource>>,
    slab_bytes: usize,
    /// Slabs or allocated frames so far.
    slabs: u32,
    /// The unused rest of the newest slab, and where it begins.
    rest: (&'static mut [u8], FramePlace),
    /// Returned chunks by length.
    free: BTreeMap<usize, Vec<Chunk>>,
}

/// A pool of frames. A clone is another handle.
#[derive(Clone)]
pub struct Frames(Rc<RefCell<Pool>>);

impl Frames {
    /// A pool that takes slabs of `slab_bytes` from `source` as it needs them.
    pub fn new(source: Box<dyn SlabSource>, slab_bytes: usize) -> Self {
        Self::of(Some(source), slab_bytes)
    }

    /// A pool in ordinary memory, which is freed with the pool: for virtual worlds and tests.
    pub fn in_memory() -> Self {
        Self::of(None, SLAB_BYTES)
    }

    fn of(source: Option<Box<dyn SlabSource>>, slab_bytes: usize) -> Self {
        Self(Rc::new(RefCell::new(Pool {
            source,
            slab_bytes,
            slabs: 0,
            rest: (&mut [], FramePlace { slab: 0, offset: 0 }),
            free: BTreeMap::new(),
        })))
    }

    /// A frame of `length` bytes, a multiple of 4,096 up to the slab size. Its content is
    /// undefined.
    ///
    /// # Panics
    /// When `length` is zero, not a multiple of 4,096 or larger than a slab.
    pub fn take(&self, length: usize) -> Frame {
        let mut pool = self.0.borrow_mut();
        assert!(length > 0 && length.is_multiple_of(ALIGNMENT), "frame of {length} bytes");
        let chunk = match pool.free.get_mut(&length).and_then(Vec::pop) {
            Some(chunk) => chunk,
            None => pool.carve(length),
        };
        Frame { chunk, home: Rc::clone(&self.0) }
    }

    /// A frame of `length` bytes, all zero.
    pub fn zeroed(&self, length: usize) -> Frame {
        let mut frame = self.take(length);
        frame.fill(0);
        frame
    }
}

impl Pool {
    fn carve(&mut self, length: usize) -> Chunk {
        assert!(
            length <= self.slab_bytes,
            "frame of {length} bytes in slabs of {}",
            self.slab_bytes
        );
        let fresh = FramePlace { slab: self.slabs, offset: 0 };
        let Some(source) = &self.source else {
            self.slabs += 1;
            let blocks = length.div_ceil(ALIGNMENT);
            return Chunk {
                memory: Memory::Own(bytemuck::allocation::zeroed_slice_box(blocks)),
                place: fresh,
            };
        };
        if self.rest.0.len() < length {
            // The rest of the old slab is too small for this frame but may serve others.
            self.slabs += 1;
            let (left, place) =
                std::mem::replace(&mut self.rest, (source.slab(self.slab_bytes), fresh));
            if !left.is_empty() {
                let same = self.free.entry(left.len()).or_default();
                same.push(Chunk { memory: Memory::OfSlab(left), place });
            }
        }
        let place = self.rest.1;
        let (bytes, rest) = std::mem::take(&mut self.rest.0).split_at_mut(length);
        #[expect(clippy::cast_possible_truncation, reason = "offsets are below the slab size")]
        let offset = place.offset + length as u32;
        self.rest = (rest, FramePlace { offset, ..place });
        Chunk { memory: Memory::OfSlab(bytes), place }
    }
}

/// An owned piece of I/O memory; see the top of this file.
pub struct Frame {
    chunk: Chunk,
    home: Rc<RefCell<Pool>>,
}

impl Frame {
    /// The position of the frame.
    pub fn place(&self) -> FramePlace {
        self.chunk.place
    }
}

impl Deref for Frame {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.chunk.memory {
            Memory::OfSlab(bytes) => bytes,
            Memory::Own(blocks) => bytemuck::cast_slice(blocks),
        }
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.chunk.memory {
            Memory::OfSlab(bytes) => bytes,
            Memory::Own(blocks) => bytemuck::cast_slice_mut(blocks),
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let length = self.len();
        let chunk =
            Chunk { memory: std::mem::take(&mut self.chunk.memory), place: self.chunk.place };
        let mut pool = self.home.borrow_mut();
        pool.free.entry(length).or_default().push(chunk);
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({} bytes at {:?})", self.len(), self.chunk.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLAB: usize = 64 << 10;

    struct Leaked;

    impl SlabSource for Leaked {
        fn slab(&self, bytes: usize) -> &'static mut [u8] {
            let blocks = bytemuck::allocation::zeroed_slice_box(bytes.div_ceil(ALIGNMENT));
            let blocks: &mut [Block] = Box::leak(blocks);
            bytemuck::cast_slice_mut(blocks)
        }
    }

    #[test]
    fn frames_are_aligned_distinct_and_reused() {
        for frames in [Frames::in_memory(), Frames::new(Box::new(Leaked), SLAB)] {
            let mut first = frames.take(8192);
            let second = frames.take(8192);
            assert!(first.as_ptr().addr().is_multiple_of(ALIGNMENT));
            assert_eq!(first.len(), 8192);
            assert_ne!(first.place(), second.place());
            first.fill(7);
            let place = first.place();
            drop(first);
            let again = frames.take(8192);
            assert_eq!(again.place(), place);
            assert!(frames.zeroed(4096).iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn the_rest_of_a_slab_is_not_lost() {
        let frames = Frames::new(Box::new(Leaked), SLAB);
        let _most = frames.take(SLAB - 4096);
        let new = frames.take(8192);
        let rest = frames.take(4096);
        let offset = u32::try_from(SLAB - 4096).unwrap();
        assert_eq!(rest.place(), FramePlace { slab: 0, offset });
        assert_eq!(new.place(), FramePlace { slab: 1, offset: 0 });
    }

    #[test]
    fn memory_of_a_virtual_world_goes_with_it() {
        let frames = Frames::in_memory();
        let frame = frames.take(4096);
        let pool = Rc::downgrade(&frames.0);
        drop(frames);
        assert!(pool.upgrade().is_some());
        drop(frame);
        assert!(pool.upgrade().is_none());
    }
}
