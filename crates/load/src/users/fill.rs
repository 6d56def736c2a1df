//! Mailboxes that are filled before the day begins.
//!
//! Messages are those of the profile, and come by APPEND as a migration brings them. They are in the
//! ledger, and in no figure. Users do not react to them, as if they had been seen on another day.

use std::cell::Cell;
use std::rc::Rc;

use brunt_units::Span;

use super::Team;
use super::inbox::{Inbox, Memory};
use crate::backoff::Backoff;
use crate::errors::Trouble;
use crate::session::ImapSession;

/// Mailboxes that are filled at once.
const SESSIONS: u32 = 16;
/// A mailbox that fails so often is left as it is.
const ATTEMPTS: u32 = 5;

/// How mailboxes were filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Messages that were put into them.
    pub messages: u32,
    /// How long that took.
    pub took: Span,
}

impl Team {
    /// Fills all mailboxes, if that is wanted.
    pub(crate) async fn fill(self: &Rc<Self>) -> Option<Filled> {
        if self.users.fill == 0 {
            return None;
        }
        let senders = &self.senders;
        let began = senders.now();
        let next = Rc::new(Cell::new(0));
        let spawner = &senders.setting.world.spawner;
        let tasks: Vec<_> = (0..SESSIONS.min(senders.accounts.count()))
            .map(|_| spawner.spawn(Rc::clone(self).fill_some(Rc::clone(&next))))
            .collect();
        for task in tasks {
            task.await;
        }
        let messages = senders.progress.begun();
        Some(Filled { messages, took: senders.now().since(began) })
    }

    /// Fills one mailbox after the other.
    async fn fill_some(self: Rc<Self>, next: Rc<Cell<u32>>) {
        let setting = &self.senders.setting;
        let goes_on = || !setting.is_stopping() && !self.senders.has_failed();
        while next.get() < self.senders.accounts.count() && goes_on() {
            let account = next.replace(next.get() + 1);
            let mut backoff = Backoff::new(self.streams.named(&format!("fill/{account}")));
            let (mut left, mut memory) = (self.users.fill, Memory::default());
            for _ in 0..ATTEMPTS {
                match self.fill_one(account, &mut left, &mut memory).await {
                    Ok(()) => break,
                    Err(trouble) => {
                        setting.note(&trouble);
                        if !goes_on() {
                            break;
                        }
                        setting.world.sleep(backoff.wait()).await;
                    }
                }
            }
            self.memories.borrow_mut().insert(account, memory);
        }
    }

    /// Appends what is left, and takes in what is there.
    async fn fill_one(
        self: &Rc<Self>,
        account: u32,
        left: &mut u32,
        memory: &mut Memory,
    ) -> Result<(), Trouble> {
        let setting = &self.senders.setting;
        let owner = self.senders.accounts.round(account);
        let mut nonces = self.streams.named(&format!("fill/nonces/{account}"));
        let session = ImapSession::open(setting, &self.users.mailboxes, owner, &mut nonces).await;
        let session = session.map_err(|ended| ended.trouble)?;
        let client = brunt_users::Client::Thunderbird;
        let mut inbox = Inbox::open(session, (self, account), client, memory).await?;
        while *left > 0 && !setting.is_stopping() && !self.senders.has_failed() {
            inbox.append("INBOX").await?;
            *left -= 1;
        }
        let (session, known) = inbox.remember().await?;
        *memory = known;
        session.log_out().await;
        Ok(())
    }
}
