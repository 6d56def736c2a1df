//! The real world: io_uring or threads, files, and the machine's clock.
//!
//! The only crate that touches the operating system, and the only one with `unsafe`.
//! [`RealWorld::new`] picks the best backend the system allows; its [`Backend`] record states which
//! one, and what was refused.
//!
//! ```text
//!   World: disk         net           volume            clock        frames
//!     |                   |             |                 |            |
//!   flights, flight     watches      names (helper)     OsClock      memory: slabs, never unmapped
//!     |                   |             |
//!   Ring: uring | threads | fake     bell: helpers wake the executor's thread
//! ```
//!
//! Beside the world there are utilities for runs: the folder lock ([`FolderLock`]), and [`facts`]:
//! devices, the counters of the kernel and of this process, and the machine. Predictions request
//! [`huge_pages`] before they start. A real drill puts its sites into networks of their own, joined
//! by [`tun`] devices. [`mounts`] are file systems whose power can be cut.
//!
//! Invariant: I/O memory is never unmapped and an I/O in flight is never freed, so dropping
//! anything at any time is sound and never blocks.

mod backend;
mod bell;
mod clock;
mod disk;
pub mod facts;
mod file_size;
mod files;
mod flight;
mod flights;
mod helper;
pub mod huge_pages;
mod lock;
mod memory;
pub mod mounts;
mod names;
mod net;
mod reactor;
mod ring;
mod roots;
mod shortage;
pub mod tun;
mod volume;
mod watches;
mod world;

pub use backend::{Access, Backend, Choice, ChoiceError, Kind, TaskRun};
pub use clock::{ClockZero, OsClock, YIELD_AFTER};
pub use lock::{FolderLock, LOCK_FILE, LockError};
pub use names::is_direct;
pub use reactor::RealReactor;
pub use roots::Roots;
pub use shortage::{Allocator, tell_shortage_by};
pub use world::{BackendRecord, Options, RealWorld, StartError};
