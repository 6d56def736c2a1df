//! The memory for I/O.
//!
//! A [`Frame`] is an owned, 4 KiB-aligned piece of a slab. Slabs are 64 MiB and come from the world (with huge pages and one
//! registered buffer each in the real one). They are never given back: a dropped frame goes to its pool's free list and is handed
//! out again. The kernel may still write into a frame whose ticket was dropped. Memory that never moves and never goes away makes
//! dropping safe, and lets this file do without `unsafe`.
//!
//! A page being written is shared (`Rc<Frame>`): code that wants to change it meanwhile is not the sole owner and changes a copy.
//! So a page in flight is copied, not waited for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Bytes in a slab. 4 KiB frames registered one by one cost 1-2 µs per I/O at depth; slabs cost nothing.
pub const SLAB_BYTES: usize = 64 << 20;

/// Bytes in a slab of ordinary memory: more than the largest flush of a log, half of a buffer of one file of 16 MiB.
const HEAP_SLAB_BYTES: usize = 8 << 20;

/// Frames are aligned to this, and their lengths are multiples of it.
const ALIGNMENT: usize = 4096;

/// Where slabs come from.
pub trait SlabSource {
    /// A zeroed slab of `bytes` (a multiple of 4,096), aligned to 4,096 or better, that lives as long as the program.
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

struct Chunk {
    bytes: &'static mut [u8],
    place: FramePlace,
}

struct Pool {
    source: Box<dyn SlabSource>,
    slab_bytes: usize,
    slabs: u32,
    /// The unused rest of the newest slab.
    rest: Chunk,
    /// Returned chunks by length.
    free: BTreeMap<usize, Vec<Chunk>>,
}

/// A pool of frames. A clone is another handle.
#[derive(Clone)]
pub struct Frames(Rc<RefCell<Pool>>);

impl Frames {
    /// A pool that takes slabs of `slab_bytes` from `source` as it needs them.
    pub fn new(source: Box<dyn SlabSource>, slab_bytes: usize) -> Self {
        let rest = Chunk {
            bytes: &mut [],
            place: FramePlace { slab: 0, offset: 0 },
        };
        Self(Rc::new(RefCell::new(Pool {
            source,
            slab_bytes,
            slabs: 0,
            rest,
            free: BTreeMap::new(),
        })))
    }

    /// A pool in ordinary memory, in slabs of 8 MiB: for virtual worlds and tests.
    pub fn in_memory() -> Self {
        Self::new(Box::new(Heap), HEAP_SLAB_BYTES)
    }

    /// A frame of `length` bytes, a multiple of 4,096 up to the slab size. Its content is undefined.
    ///
    /// # Panics
    /// When `length` is zero, not a multiple of 4,096 or larger than a slab.
    pub fn take(&self, length: usize) -> Frame {
        let mut pool = self.0.borrow_mut();
        assert!(
            length > 0 && length.is_multiple_of(ALIGNMENT),
            "frame of {length} bytes"
        );
        let chunk = match pool.free.get_mut(&length).and_then(Vec::pop) {
            Some(chunk) => chunk,
            None => pool.carve(length),
        };
        Frame {
            chunk,
            home: Rc::clone(&self.0),
        }
    }

    /// A frame of `length` bytes, all zero.
    pub fn zeroed(&self, length: usize) -> Frame {
        let mut frame = self.take(length);
        frame.fill(0);
        frame
    }

    /// Bytes taken from the world so far.
    pub fn slab_bytes_taken(&self) -> u64 {
        let pool = self.0.borrow();
        u64::from(pool.slabs) * pool.slab_bytes as u64
    }
}

impl Pool {
    fn carve(&mut self, length: usize) -> Chunk {
        assert!(
            length <= self.slab_bytes,
            "frame of {length} bytes in slabs of {}",
            self.slab_bytes
        );
        if self.rest.bytes.len() < length {
            // The rest of the old slab is too small for this frame but may serve others.
            let bytes = self.source.slab(self.slab_bytes);
            let place = FramePlace {
                slab: self.slabs,
                offset: 0,
            };
            self.slabs += 1;
            let left = std::mem::replace(&mut self.rest, Chunk { bytes, place });
            if !left.bytes.is_empty() {
                self.free.entry(left.bytes.len()).or_default().push(left);
            }
        }
        let place = self.rest.place;
        let (bytes, rest) = std::mem::take(&mut self.rest.bytes).split_at_mut(length);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "offsets are below the slab size"
        )]
        let offset = place.offset + length as u32;
        self.rest = Chunk {
            bytes: rest,
            place: FramePlace { offset, ..place },
        };
        Chunk { bytes, place }
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
        self.chunk.bytes
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.chunk.bytes
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.chunk.bytes);
        let chunk = Chunk {
            bytes,
            place: self.chunk.place,
        };
        self.home
            .borrow_mut()
            .free
            .entry(chunk.bytes.len())
            .or_default()
            .push(chunk);
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({} bytes at {:?})", self.len(), self.chunk.place)
    }
}

/// Ordinary memory, aligned.
struct Heap;

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(4096))]
struct Block([u8; ALIGNMENT]);

impl SlabSource for Heap {
    fn slab(&self, bytes: usize) -> &'static mut [u8] {
        let blocks = bytes.div_ceil(ALIGNMENT);
        let slab: Box<[Block]> = bytemuck::allocation::zeroed_slice_box(blocks);
        bytemuck::cast_slice_mut(Box::leak(slab))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_aligned_distinct_and_reused() {
        let frames = Frames::in_memory();
        let mut first = frames.take(8192);
        let second = frames.take(8192);
        assert!(first.as_ptr().addr().is_multiple_of(ALIGNMENT));
        assert_ne!(first.place(), second.place());
        first.fill(7);
        let place = first.place();
        drop(first);
        let again = frames.take(8192);
        assert_eq!(again.place(), place);
        assert!(frames.zeroed(4096).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn the_rest_of_a_slab_is_not_lost() {
        let frames = Frames::in_memory();
        let _most = frames.take(HEAP_SLAB_BYTES - 4096);
        let _new_slab = frames.take(8192);
        let rest = frames.take(4096);
        assert_eq!(
            rest.place(),
            FramePlace {
                slab: 0,
                offset: u32::try_from(HEAP_SLAB_BYTES - 4096).unwrap()
            }
        );
        assert_eq!(frames.slab_bytes_taken(), 2 * HEAP_SLAB_BYTES as u64);
    }
}
