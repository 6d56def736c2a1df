//! A connection, as a server of lines sees it.

use brunt_units::Time;
use brunt_world::{SocketId, World};

/// A line that is longer ends the session.
const LINE_MAX: usize = 64 << 10;
const READ: usize = 32 << 10;

pub(super) struct Wire {
    pub(super) world: World,
    socket: SocketId,
    received: Vec<u8>,
    /// Bytes of `received` that were taken.
    taken: usize,
}

impl Wire {
    pub(super) fn new(world: &World, socket: SocketId) -> Self {
        Self { world: world.clone(), socket, received: Vec::new(), taken: 0 }
    }

    pub(super) fn now(&self) -> Time {
        self.world.clock.now()
    }

    /// The next line with its CRLF; `None` when the connection ends before.
    pub(super) async fn line(&mut self) -> Option<Vec<u8>> {
        let mut searched = 0;
        loop {
            let left = &self.received[self.taken..];
            if let Some(at) = left[searched..].iter().position(|byte| *byte == b'\n') {
                return Some(self.take(searched + at + 1));
            }
            searched = left.len();
            if searched > LINE_MAX {
                return None;
            }
            self.read().await?;
        }
    }

    /// The next `count` bytes.
    pub(super) async fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.received.len() - self.taken < count {
            self.read().await?;
        }
        Some(self.take(count))
    }

    /// Waits until there is something to take.
    pub(super) async fn ready(&mut self) -> Option<()> {
        match self.received.len() > self.taken {
            true => Some(()),
            false => self.read().await,
        }
    }

    /// Whether the client has sent what is not yet answered: replies may wait (PIPELINING).
    pub(super) fn has_more(&self) -> bool {
        self.received.len() > self.taken
    }

    pub(super) async fn write(&self, bytes: Vec<u8>) -> Option<()> {
        self.world.net.write(self.socket, bytes).await.ok()
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.received[self.taken..self.taken + count].to_vec();
        self.taken += count;
        if self.taken == self.received.len() {
            self.received.clear();
            self.taken = 0;
        }
        taken
    }

    async fn read(&mut self) -> Option<()> {
        let read = self.world.net.read(self.socket, READ).await.ok()?;
        self.received.drain(..std::mem::take(&mut self.taken));
        self.received.extend_from_slice(&read);
        (!read.is_empty()).then_some(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.world.net.close(self.socket);
    }
}
