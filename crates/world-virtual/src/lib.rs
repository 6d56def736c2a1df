//! The virtual world: event queue, virtual clock and cores, byte store, crash images.
//!
//! The engine runs here unchanged, on one thread, and time is a number. Simulated time does not
//! depend on the machine, and equal options give equal bytes and an equal [`Machine::digest`].
//!
//! ```text
//!    tasks of the engine          one Executor
//!    ------------------------------------------------ brunt_world
//!    Front: Disk and Volume       bytes and names      Store (copy on write), Journal -> crash images
//!    Network: Net                 connections          Link: when does it arrive?
//!    Device: content-free         when is it done?     MemoryDevice, later arrays
//!    Events: one heap             (time, number)       VirtualReactor moves the clock
//! ```
//!
//! Bytes are kept above the timing: a [`Device`] never sees content, and the [`Store`] never sees
//! time.
//!
//! Order within one instant, which makes it deterministic: first the world's events, in the order
//! of the requests; then the executor's timers, in the order they were set; then the tasks that
//! these made ready, first come, first served. Time does not move while a task is ready. All
//! randomness comes from named streams of the seed.

mod clock;
pub mod crash;
mod device;
mod digest;
mod events;
mod follower;
mod front;
mod handles;
mod host;
pub mod journal;
mod landing;
pub mod mounts;
mod net;
mod reactor;
mod replacing;
mod slots;
mod store;
mod volume;
mod world;

pub use brunt_world::LinkOptions;
pub use clock::Cores;
pub use device::{Agenda, Delay, Device, MemoryDevice, Request, RequestId};
pub use digest::{Digest, RequestDigest};
pub use follower::Follower;
pub use host::Host;
pub use journal::{Journal, Mark, Step};
pub use landing::Landing;
pub use reactor::VirtualReactor;
pub use store::{Inode, Store};
pub use world::{Machine, VirtualLink, VirtualOptions, VirtualVolume, VirtualWorld};
