//! How far a copy is behind.

/// The newest generations on the way from the active's log into a copy's databases; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Closed at the active, as far as this side knows.
    pub closed: u32,
    /// Durable at the copy.
    pub stored: u32,
    /// In the copy's databases.
    pub replayed: u32,
}

impl Queues {
    /// Closed logs that the copy has not stored: lost if it is activated now.
    pub fn copy(&self) -> u32 {
        self.closed.saturating_sub(self.stored)
    }

    /// Stored logs that it has not replayed: an activation replays them first.
    pub fn replay(&self) -> u32 {
        self.stored.saturating_sub(self.replayed)
    }
}
