//! The queue between SMTP and the mailboxes.
//!
//! An entry is removed after all of its recipients have it. A worker that dies before has handed some
//! of them on, and the next life hands them on again.

use std::rc::Rc;

use brunt_units::Span;
use brunt_world::World;
use brunt_world::sync::Event;

use super::Inner;
use super::store::Envelope;

/// A message that was accepted and is not yet with all of its recipients.
pub(super) struct Entry {
    pub(super) id: u64,
    pub(super) envelope: Rc<Envelope>,
    /// A worker of this life has it.
    pub(super) is_taken: bool,
}

impl Inner {
    /// Accepts responsibility for a message.
    pub(super) fn enqueue(&self, envelope: Envelope) {
        let mut state = self.state.borrow_mut();
        let id = state.next_entry;
        state.next_entry += 1;
        state.queue.push(Entry { id, envelope: Rc::new(envelope), is_taken: false });
        if let Some(queued) = &state.queued {
            queued.notify();
        }
    }

    /// Hands messages on for ever.
    pub(super) async fn hand_on(self: Rc<Self>, world: World, queued: Event) {
        loop {
            let (id, envelope) = queued.wait(|| self.take()).await;
            for account in &envelope.to {
                world.sleep(self.draw()).await;
                self.deliver(&world, &envelope, *account);
                // Until here the mailbox has it, and the queue does not know.
                world.sleep(self.draw()).await;
            }
            self.state.borrow_mut().queue.retain(|entry| entry.id != id);
        }
    }

    fn take(&self) -> Option<(u64, Rc<Envelope>)> {
        let mut state = self.state.borrow_mut();
        let entry = state.queue.iter_mut().find(|entry| !entry.is_taken)?;
        entry.is_taken = true;
        Some((entry.id, Rc::clone(&entry.envelope)))
    }

    fn draw(&self) -> Span {
        self.state.borrow_mut().stream.exponential(self.options.delivery)
    }
}
