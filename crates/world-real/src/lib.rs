//! The real world: io_uring or threads, files, and the machine's clock.
//!
//! The only crate that touches the operating system, and the only one with `unsafe`. [`RealWorld::new`] takes the best
//! backend the system grants and says in its [`Backend`] record which one that was and what was refused.
//!
//! ```text
//!   World: disk            volume            clock        frames
//!     |                      |                 |            |
//!   flights, flight       names (helper)     OsClock      memory: slabs, never unmapped
//!     |                      |
//!   Ring: uring | threads | fake             bell: helpers wake the executor's thread
//! ```
//!
//! Beside the world stand small facts that a run needs: the folder lock ([`FolderLock`]), and in [`facts`] what is known
//! about a device, the kernel's and this process's counters, and the machine. [`huge_pages`] are asked for before
//! predictions.
//!
//! Invariant: I/O memory is never unmapped and an I/O in flight is never freed, so dropping anything at any time is sound
//! and waits for nothing.

mod backend;
mod bell;
mod clock;
mod disk;
pub mod facts;
mod files;
mod flight;
mod flights;
mod helper;
pub mod huge_pages;
mod lock;
mod memory;
mod names;
mod reactor;
mod ring;
mod roots;
mod shortage;
mod volume;
mod world;

pub use backend::{Access, Backend, Choice, ChoiceError, Kind, TaskRun};
pub use clock::{OsClock, YIELD_AFTER};
pub use lock::{FolderLock, LOCK_FILE, LockError};
pub use reactor::RealReactor;
pub use roots::Roots;
pub use shortage::Allocator;
pub use world::{BackendRecord, Options, RealWorld, StartError};
