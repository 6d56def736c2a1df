//! Pending requests, by the number that their event carries.

/// Values by number; numbers are reused.
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(crate) fn put(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(thing);
                slot
            }
            None => {
                self.slots.push(Some(thing));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 at once")
            }
        }
    }

    /// # Panics
    /// When the slot is empty: an event happens once.
    pub(crate) fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        let thing = self.slots[slot as usize].take();
        thing.expect("an event happens once")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}
