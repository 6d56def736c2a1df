//! Removes the messages of a run from mailboxes, and nothing else.
//!
//! A message goes only if its mark names this run and each of its bytes is what we sent. It is
//! marked `\Deleted` and expunged by its UID (UIDPLUS, RFC 4315): a plain EXPUNGE would take along
//! what users have marked. A server without UIDPLUS keeps everything.

use std::cell::RefCell;
use std::rc::Rc;

use brunt_mail::{Flags, Mailing, Seen};
use brunt_protocols::imap::{Command, Event, Response};
use brunt_protocols::tls::Trust;
use brunt_world::World;

use crate::accounts::Accounts;
use crate::conversations::Conversations;
use crate::course::setting;
use crate::endpoint::Patience;
use crate::errors::{Errors, Trouble, TroubleKind};
use crate::mailbox::{Looker, Mailbox, examine, folders, open};
use crate::reading::{Reading, for_each_account, retry};
use crate::session::{Ended, ImapSession};

/// UIDs of one command.
const BATCH: usize = 128;

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Messages that are gone.
    pub removed: u64,
    /// Messages of this run that differ from what was sent, which stay.
    pub changed: u64,
    /// Messages that are not of this run, which stay.
    pub others: u64,
    /// Accounts in which something may be left.
    pub unfinished: Vec<u32>,
}

impl Cleaned {
    fn stays(&mut self, ours: &Ours) {
        self.changed += ours.changed;
        self.others += ours.others;
    }
}

/// The messages of a folder that may go.
#[derive(Default)]
struct Ours {
    uids: Vec<u32>,
    changed: u64,
    others: u64,
}

impl Looker for Ours {
    fn saw(&mut self, _: u16, uid: u32, _: Flags, seen: &Seen) {
        match seen {
            Seen::Ours(copy) if copy.difference.is_none() => self.uids.push(uid),
            Seen::Ours(_) => self.changed += 1,
            _ => self.others += 1,
        }
    }

    fn unreadable(&mut self) {
        self.others += 1;
    }
}

/// Removes what the run of `mailing` has left in the mailboxes.
pub async fn clean(
    world: &World,
    mailing: &Rc<Mailing>,
    accounts: &Rc<Accounts>,
    reading: &Reading,
    (trust, patience): (Option<&Trust>, Patience),
) -> (Cleaned, Errors, Conversations) {
    let setting = setting(world, trust, patience);
    let cleaned = Rc::new(RefCell::new(Cleaned::default()));
    let (own, all, reading) = (setting.clone(), Rc::clone(accounts), Rc::new(reading.clone()));
    let (mailing, given) = (Rc::clone(mailing), Rc::clone(&cleaned));
    for_each_account(&setting, accounts, reading.sessions, move |number| {
        let (setting, accounts, reading) = (own.clone(), Rc::clone(&all), Rc::clone(&reading));
        let (mailing, cleaned) = (Rc::clone(&mailing), Rc::clone(&given));
        async move {
            let done = retry(&setting, &accounts, &reading, number, async |mailbox| {
                clean_one(mailbox, &mailing, &cleaned).await
            });
            if done.await.is_err() {
                cleaned.borrow_mut().unfinished.push(number);
            }
        }
    })
    .await;
    let mut cleaned = cleaned.take();
    cleaned.unfinished.sort_unstable();
    (cleaned, setting.errors.take(), setting.conversations.take())
}

async fn clean_one(
    mailbox: &mut Mailbox<'_>,
    mailing: &Rc<Mailing>,
    cleaned: &RefCell<Cleaned>,
) -> Result<(), Ended> {
    let mut session = mailbox.open().await?;
    let names = match folders(&mut session).await {
        Ok(names) => names,
        Err(trouble) => return Err(session.end(trouble)),
    };
    for (place, folder) in (0_u16..).zip(&names) {
        let validity = match examine(&mut session, folder).await {
            Ok(opened) => opened.validity,
            Err(trouble) => return Err(session.end(trouble)),
        };
        let mut ours = Ours::default();
        session = mailbox.read_folder(session, mailing, (place, folder), &mut ours).await?;
        cleaned.borrow_mut().stays(&ours);
        match remove(&mut session, folder, validity, &ours.uids).await {
            Ok(removed) => cleaned.borrow_mut().removed += removed,
            Err(trouble) => return Err(session.end(trouble)),
        }
    }
    session.log_out().await;
    Ok(())
}

/// Removes these messages of a folder; how many went.
async fn remove(
    session: &mut ImapSession,
    folder: &[u8],
    validity: Option<u32>,
    uids: &[u32],
) -> Result<u64, Trouble> {
    if uids.is_empty() {
        return Ok(0);
    }
    if !session.able().uid_plus {
        let line = "UIDPLUS is not offered, so other messages could be lost";
        return Err(Trouble::new(TroubleKind::CommandRefused, line));
    }
    let now = open(session, Command::Select(folder)).await?.validity;
    if now.is_none() || now != validity {
        let line = String::from_utf8_lossy(folder);
        return Err(Trouble::new(TroubleKind::UidValidity, line));
    }
    let mut removed = 0;
    for batch in uids.chunks(BATCH) {
        let set: Vec<_> = batch.iter().map(u32::to_string).collect();
        let set = set.join(",");
        session.must(Command::Store(&set, "+FLAGS.SILENT (\\Deleted)"), |_| Ok(())).await?;
        session
            .must(Command::UidExpunge(&set), |event| {
                match event {
                    Event::Data(Response::Expunge(_)) => removed += 1,
                    Event::Data(Response::Vanished(gone, false)) => removed += gone.count(),
                    _ => {}
                }
                Ok(())
            })
            .await?;
    }
    Ok(removed)
}
