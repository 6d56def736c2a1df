//! Memory for frames: slabs of address space that are never unmapped.
//!
//! A slab is an anonymous mapping, aligned to a huge page, that requests huge pages and is never
//! unmapped. All `unsafe` code in the crate relies on this: the kernel may write into a frame long
//! after its request was dropped, and the memory is still there and still belongs to frames.
//!
//! ```text
//!    | spare |  slab: 64 MiB at a multiple of 2 MiB        | spare |     the spare ends are unmapped
//!            | frame | frame | frame | ...                 |
//! ```

#![expect(
    unsafe_code,
    reason = "mapping memory is what this file is for; each block says why it is sound"
)]

use brunt_world::FramePlace;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Alignment of slabs: the huge page size on x86-64 and on most ARM systems.
const HUGE_PAGE: usize = 2 << 20;

/// A mapping that is never unmapped.
pub(crate) struct Slab {
    bytes: &'static mut [u8],
}

impl Slab {
    /// The whole slab.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// The whole slab, to be cut into frames.
    pub(crate) fn into_bytes(self) -> &'static mut [u8] {
        self.bytes
    }
}

/// A new slab of `bytes`, zeroed.
///
/// # Errors
/// There is not enough address space.
pub(crate) fn map_slab(bytes: usize) -> Result<Slab, Errno> {
    let bytes = bytes.next_multiple_of(4096);
    let mapped = bytes + HUGE_PAGE;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: an anonymous private mapping at an address of the kernel's choice overlaps nothing.
    let base = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            mapped,
            access,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }?;
    let before = base.addr().next_multiple_of(HUGE_PAGE) - base.addr();
    // SAFETY: `before` is below HUGE_PAGE, so the slab and what follows lie inside the mapping.
    let slab = unsafe { base.byte_add(before) };
    let after = HUGE_PAGE - before;
    // SAFETY: both ends lie inside the mapping made above and outside the slab, and no other code
    // has their addresses. The kernel rounds nothing here: mapping, slab and ends are multiples of
    // 4 KiB. A failure leaves them mapped, unused.
    unsafe {
        if before > 0 {
            let _ = munmap(base, before);
        }
        let _ = munmap(slab.byte_add(bytes), after);
    }
    // SAFETY: the advice changes how the range is backed, never its content. If the kernel ignores
    // it, I/O is only slower.
    let _ = unsafe { madvise(slab, bytes, Advice::LinuxHugepage) };
    // SAFETY: `bytes` bytes from `slab` are mapped readable and writable, zeroed by the kernel and
    // never unmapped, and this is the only reference to them.
    let bytes = unsafe { std::slice::from_raw_parts_mut(slab.cast::<u8>(), bytes) };
    Ok(Slab { bytes })
}

/// The slabs allocated, and which of them are registered with the ring.
#[derive(Default)]
pub(crate) struct Slabs {
    known: Vec<Known>,
}

struct Known {
    address: usize,
    registered: bool,
}

impl Slabs {
    /// The number of the next slab.
    pub(crate) fn next_number(&self) -> Option<u16> {
        u16::try_from(self.known.len()).ok()
    }

    /// Appends a slab at `address`.
    pub(crate) fn add(&mut self, address: usize, registered: bool) {
        self.known.push(Known { address, registered });
    }

    /// The registered buffer that contains the frame at `place`, if its actual address is
    /// `address`.
    ///
    /// The place of a frame from another pool is meaningless here; its address reveals that, and it
    /// is used unregistered.
    pub(crate) fn buffer(&self, place: FramePlace, address: usize) -> Option<u16> {
        let known = self.known.get(place.slab as usize)?;
        let ours = known.registered && known.address + place.offset as usize == address;
        ours.then(|| u16::try_from(place.slab).ok()).flatten()
    }

    /// The number of slabs, and of registered slabs.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let registered = self.known.iter().filter(|known| known.registered);
        (self.known.len(), registered.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_is_aligned_zeroed_and_writable_to_its_ends() {
        for bytes in [4096, 3 << 20] {
            let slab = map_slab(bytes).unwrap().into_bytes();
            assert_eq!(slab.len(), bytes);
            assert!(slab.as_ptr().addr().is_multiple_of(HUGE_PAGE));
            assert!(slab.iter().all(|byte| *byte == 0));
            slab[0] = 1;
            slab[bytes - 1] = 1;
        }
    }

    #[test]
    fn a_frame_of_another_pool_is_not_taken_for_ours() {
        let mut slabs = Slabs::default();
        slabs.add(0x10_0000, true);
        slabs.add(0x50_0000, false);
        let place = |slab, offset| FramePlace { slab, offset };
        assert_eq!(slabs.buffer(place(0, 0x2000), 0x10_2000), Some(0));
        assert_eq!(slabs.buffer(place(0, 0x2000), 0x90_2000), None);
        assert_eq!(slabs.buffer(place(1, 0), 0x50_0000), None);
        assert_eq!(slabs.buffer(place(2, 0), 0x50_0000), None);
        assert_eq!(slabs.counts(), (2, 1));
    }
}
