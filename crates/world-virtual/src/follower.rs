//! Hears every change of the files, so that a copy of them can be kept elsewhere.
//!
//! A replicating device decides when a write reaches the other site; it never sees content. A
//! follower gets the content of each write before the device gets the request, and keeps it until
//! the device says what became of it.
//!
//! Unlike a [`crate::Journal`] it keeps nothing by itself, so a world may run for days with it.

use crate::journal::Action;
use crate::{Request, Store};

/// Keeps a copy of the files of a world.
pub trait Follower {
    /// A write or trim goes to the device.
    fn submitted(&mut self, request: &Request, action: Action);

    /// A write in slot `slot` has ended, and is in the files unless it failed.
    fn ended(&mut self, slot: usize);

    /// A name or a length on `volume` has changed.
    fn changed(&mut self, volume: u32, action: &Action);

    /// The device has handled a request or an event. `files` are those of the world as reads see
    /// them now.
    fn look(&mut self, files: &Store);
}
