//! One array with two owners: the world that drives it, and code that reads its measurements.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use brunt_world_virtual::{Agenda, Device, Inode, Request};

use super::ArrayDevice;

/// A handle on an [`ArrayDevice`]; clones refer to the same array.
#[derive(Clone)]
pub(crate) struct SharedArray(Rc<RefCell<ArrayDevice>>);

impl SharedArray {
    /// Creates the first handle.
    pub(crate) fn new(device: ArrayDevice) -> Self {
        Self(Rc::new(RefCell::new(device)))
    }

    /// The array itself.
    ///
    /// # Panics
    /// When it is already borrowed. No borrow is held while the world runs.
    pub(crate) fn device(&self) -> RefMut<'_, ArrayDevice> {
        self.0.borrow_mut()
    }
}

impl Device for SharedArray {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        self.device().submit(request, agenda);
    }

    fn on_event(&mut self, agenda: &mut Agenda<'_>) {
        self.device().on_event(agenda);
    }

    fn resized(&mut self, volume: u32, file: Inode, bytes: u64) {
        self.device().resized(volume, file, bytes);
    }

    fn removed(&mut self, volume: u32, file: Inode) {
        self.device().removed(volume, file);
    }
}
