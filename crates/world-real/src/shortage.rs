//! Handles running out of memory.
//!
//! Memory is allocated everywhere in the engine, and there is no smaller plan to fall back to. So
//! the program ends at once with a message and the exit code of a test that could not be carried
//! out. The next run recovers the databases, as after any kill.
//!
//! The standard library's abort or panic allocates memory for its message. In a process that has
//! none, it may end silently, or not at all.

#![expect(unsafe_code, reason = "wraps the system's allocator; each block says why it is sound")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Resource, getrlimit};

/// The exit code when a test could not be carried out.
const COULD_NOT: i32 = 2;

/// The system allocator. Running out of memory ends the program with a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// The message when this many bytes could not be allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortage(pub(crate) usize);

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory: {} bytes were asked for\n  ", self.0)?;
        if let Some(limit) = getrlimit(Resource::As).current {
            return write!(
                f,
                "the limit of address space, {limit} bytes, is too small: see `ulimit -v`"
            );
        }
        f.write_str("make `profile.cache_max` smaller, or let brunt have more memory")
    }
}

/// The exit code for a program whose starter tells that memory ran out; 0 for one that tells it.
static TOLD_BY_CODE: AtomicI32 = AtomicI32::new(0);

/// From now on running out of memory ends the program with this exit code, and without a message.
pub fn tell_shortage_by(code: i32) {
    TOLD_BY_CODE.store(code, Ordering::Relaxed);
}

/// Ends the program because `bytes` could not be allocated. Allocates nothing.
pub(crate) fn exhausted(bytes: usize) -> ! {
    let code = TOLD_BY_CODE.load(Ordering::Relaxed);
    if code != 0 {
        // SAFETY: `_exit` takes any number, and runs nothing that could need memory or a lock.
        unsafe { libc::_exit(code) }
    }
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    // Text that does not fit is cut.
    let _ = writeln!(rest, "error: {}", Shortage(bytes));
    let unused = rest.len();
    let said = &text[..text.len() - unused];
    // SAFETY: `said` is readable for its length; `_exit` takes any number, and runs nothing that
    // could need memory or a lock.
    unsafe {
        libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len());
        libc::_exit(COULD_NOT)
    }
}

fn had(memory: *mut u8, bytes: usize) -> *mut u8 {
    match memory.is_null() {
        true => exhausted(bytes),
        false => memory,
    }
}

// SAFETY: every call is passed to the system allocator with its arguments, and its result is
// returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract, which is the same.
        had(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the same.
        had(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the same.
        had(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the same.
        unsafe { System.dealloc(memory, layout) }
    }
}
