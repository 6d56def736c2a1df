//! A user's mailbox: what IMAP is asked for each task, and what it promises.
//!
//! Only messages that carry the mark of this run, and that were read and were equal to what was
//! sent, are flagged, moved or deleted: a message that was changed stays for the audit. They are
//! expunged by UID; where a server cannot do that (UIDPLUS), others could go with them, and they stay.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_mail::{Change, Event as Delivery, Flags, Message, Reply, Seen};
use brunt_protocols::imap::{Capabilities, Command, Done, Event, Fetch, Response};
use brunt_units::Span;
use brunt_users::{Client, TaskKind};

use super::Team;
use crate::errors::{Trouble, TroubleKind};
use crate::mailbox::{Comparing, MARKS, folders, marks, open};
use crate::session::{ImapSession, must};

/// Folders besides the inbox.
const FOLDERS: [&str; 5] = ["Archive", "Calendar", "Contacts", "Junk", "Sent"];
const INBOX: &str = "INBOX";

/// A message in the inbox.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: u32,
    flags: Flags,
    /// Whether it was read, and was equal to what was sent.
    is_equal: Option<bool>,
}

/// What a user knows of its inbox, whatever becomes of sessions.
#[derive(Debug, Default)]
pub(super) struct Memory {
    validity: Option<u32>,
    known: BTreeMap<u32, Known>,
    /// Messages up to here were seen.
    last: u32,
}

impl Memory {
    /// Messages that are known.
    pub(super) fn messages(&self) -> usize {
        self.known.len()
    }
}

/// The inbox of a user, over a session that has it open.
pub(super) struct Inbox {
    pub(super) session: ImapSession,
    team: Rc<Team>,
    user: u32,
    client: Client,
    able: Capabilities,
    /// Names of all folders as the audit lists them, the inbox first.
    folders: Vec<Vec<u8>>,
    pub(super) memory: Memory,
}

impl Inbox {
    /// Makes the folders that are not there, and opens the inbox.
    pub(super) async fn open(
        mut session: ImapSession,
        (team, user): (&Rc<Team>, u32),
        client: Client,
        memory: &mut Memory,
    ) -> Result<Self, Trouble> {
        let able = session.able();
        let mut prefix = Vec::new();
        if able.namespace {
            session
                .must(Command::Namespace, |event| {
                    if let Event::Data(Response::Namespace(namespace)) = event {
                        prefix = namespace.personal.into_iter().next().unwrap_or_default().0;
                    }
                    Ok(())
                })
                .await?;
        }
        let own = |name: &str| [prefix.as_slice(), name.as_bytes()].concat();
        let there = folders(&mut session).await?;
        for name in FOLDERS {
            if !there.contains(&own(name)) {
                session.must(Command::Create(&own(name)), |_| Ok(())).await?;
            }
        }
        let folders = folders(&mut session).await?;
        let validity = open(&mut session, Command::Select(INBOX.as_bytes())).await?.validity;
        let memory = std::mem::take(memory);
        if memory.last > 0 && memory.validity != validity {
            let line = format!("{:?} is {validity:?} now", memory.validity);
            return Err(Trouble::new(TroubleKind::UidValidity, line));
        }
        let memory = Memory { validity, ..memory };
        Ok(Self { session, team: Rc::clone(team), user, client, able, folders, memory })
    }

    /// The name and the place of a folder.
    fn folder(&self, name: &str) -> (Vec<u8>, u16) {
        let is = |known: &Vec<u8>| known.ends_with(name.as_bytes());
        let at = self.folders.iter().position(is).unwrap_or(0);
        (self.folders[at].clone(), u16::try_from(at).unwrap_or(u16::MAX))
    }

    fn change(&self, number: u32, change: Change, result: &Result<Done, Trouble>) {
        let reply = match result {
            Ok(done) if done.is_ok() => Reply::Ok,
            Ok(_) => Reply::No,
            Err(_) => Reply::Nothing,
        };
        self.promise(number, change, reply);
    }

    fn promise(&self, number: u32, change: Change, reply: Reply) {
        self.team.senders.ledger.borrow_mut().change(self.user, number, change, reply);
    }

    /// A message of which it is not known whether it is still here is left alone from now on.
    fn leaves(&mut self, uid: u32, result: &Result<Done, Trouble>) {
        if result.as_ref().map_or(true, Done::is_ok) {
            self.memory.known.remove(&uid);
        }
    }

    /// Looks for new mail; the UIDs of what is seen for the first time.
    pub(super) async fn check(&mut self) -> Result<Vec<u32>, Trouble> {
        self.look().await?;
        let from = if self.client.has_cache() { self.memory.last + 1 } else { 1 };
        let mut shown: Vec<(u32, Flags)> = Vec::new();
        let items = self.client.on_arrival(self.able.condstore);
        self.session
            .must(Command::Fetch(&format!("{from}:*"), items), |event| {
                if let Event::Data(Response::Fetch(Fetch { uid: Some(uid), flags, .. })) = event {
                    let flags = flags.unwrap_or_default();
                    shown.push((uid, Flags::named(flags.iter().map(String::as_str))));
                }
                Ok(())
            })
            .await?;
        shown.retain(|(uid, _)| *uid > self.memory.last);
        shown.sort_unstable();
        let (Some((first, _)), Some((last, _))) = (shown.first(), shown.last()) else {
            return Ok(Vec::new());
        };
        let marks = self.marks(*first, *last).await?;
        let mut new = Vec::new();
        for (uid, flags) in shown {
            self.memory.last = self.memory.last.max(uid);
            let Some(number) = marks.get(&uid).copied() else { continue };
            self.team.senders.ledger.borrow_mut().sees(self.user, number, 0, flags);
            self.memory.known.insert(uid, Known { number, flags, is_equal: None });
            new.push(uid);
        }
        Ok(new)
    }

    /// Takes in what is there, as if it had been seen on another day, without a reaction.
    pub(super) async fn remember(mut self) -> Result<(ImapSession, Memory), Trouble> {
        for (uid, number) in self.marks(1, u32::MAX).await? {
            self.memory.last = self.memory.last.max(uid);
            let known = Known { number, flags: Flags::SEEN, is_equal: None };
            self.memory.known.insert(uid, known);
        }
        Ok((self.session, self.memory))
    }

    /// The numbers of our messages with these UIDs.
    async fn marks(&mut self, first: u32, last: u32) -> Result<BTreeMap<u32, u32>, Trouble> {
        let run = self.team.senders.mailing.options().run;
        let mut found = BTreeMap::new();
        let set = format!("{first}:{last}");
        marks(&mut self.session, Command::Fetch(&set, MARKS), |fetch, mark| {
            let mark = mark.filter(|mark| mark.run == run);
            found.extend(fetch.uid.zip(mark.map(|mark| mark.number)));
        })
        .await?;
        Ok(found)
    }

    /// Looks whether there is anything: what a user does where a task finds no message.
    async fn look(&mut self) -> Result<(), Trouble> {
        self.session.must(Command::Noop, |_| Ok(())).await.map(drop)
    }

    /// The message that a task is about: this one, or one that `pick` chooses.
    fn chosen(&self, about: Option<u32>, pick: u64) -> Option<u32> {
        if let Some(uid) = about {
            // It may have been moved or deleted meanwhile.
            return self.memory.known.contains_key(&uid).then_some(uid);
        }
        let count = self.memory.known.len() as u64;
        let at = usize::try_from(pick % count.max(1)).expect("it is below a length");
        self.memory.known.keys().nth(at).copied()
    }

    /// Reads a message whole, unless the client has it. An empty inbox is looked into.
    pub(super) async fn read(&mut self, about: Option<u32>, pick: u64) -> Result<(), Trouble> {
        let is_kept =
            |uid: &u32| self.client.has_cache() && self.memory.known[uid].is_equal.is_some();
        match self.chosen(about, pick) {
            Some(uid) if is_kept(&uid) => Ok(()),
            Some(uid) => self.read_whole(uid).await,
            None => self.look().await,
        }
    }

    async fn read_whole(&mut self, uid: u32) -> Result<(), Trouble> {
        let mailing = Rc::clone(&self.team.senders.mailing);
        let mut comparing = Comparing::new(&mailing);
        let mut seen = None;
        let items = self.client.on_reading();
        let result = self
            .session
            .command(Command::Fetch(&uid.to_string(), items), |event| {
                if let Some((_, Some(own))) = comparing.hear(event) {
                    seen = Some(own);
                }
                Ok(())
            })
            .await;
        let Some(mut known) = self.memory.known.get(&uid).copied() else { return result.map(drop) };
        // FETCH of BODY[] sets the flag by itself; BODY.PEEK[] does not (RFC 3501, 6.4.5).
        let sets_seen = !items.contains("PEEK");
        let seen_flag = Change::Store(Flags::SEEN, Flags::default());
        if sets_seen {
            // A refused one may have set it before.
            let reply =
                if result.as_ref().is_ok_and(Done::is_ok) { Reply::Ok } else { Reply::Nothing };
            self.promise(known.number, seen_flag, reply);
        }
        must(result?)?;
        if let Some(seen) = seen {
            let is_same = matches!(&seen, Seen::Ours(copy)
                if copy.number == known.number && copy.difference.is_none());
            known.is_equal = Some(is_same);
        }
        if sets_seen {
            known.flags = Flags(known.flags.0 | Flags::SEEN.0);
        }
        self.memory.known.insert(uid, known);
        match sets_seen || known.is_equal != Some(true) {
            true => Ok(()),
            false => self.store(uid, Flags::SEEN, "\\Seen").await,
        }
    }

    /// Sets a flag.
    async fn store(&mut self, uid: u32, flag: Flags, word: &str) -> Result<(), Trouble> {
        let Some(known) = self.memory.known.get(&uid).copied() else { return Ok(()) };
        let change = format!("+FLAGS.SILENT ({word})");
        let stored =
            self.session.command(Command::Store(&uid.to_string(), &change), |_| Ok(())).await;
        self.change(known.number, Change::Store(flag, Flags::default()), &stored);
        must(stored?)?;
        if let Some(known) = self.memory.known.get_mut(&uid) {
            known.flags = Flags(known.flags.0 | flag.0);
        }
        Ok(())
    }

    pub(super) async fn flag(&mut self, about: Option<u32>, pick: u64) -> Result<(), Trouble> {
        match self.chosen(about, pick) {
            Some(uid) => self.store_own(uid, Flags::FLAGGED, "\\Flagged").await,
            None => self.look().await,
        }
    }

    pub(super) async fn answered(&mut self, uid: u32) -> Result<(), Trouble> {
        self.store_own(uid, Flags::ANSWERED, "\\Answered").await
    }

    /// Sets a flag of a message that is as it was sent.
    async fn store_own(&mut self, uid: u32, flag: Flags, word: &str) -> Result<(), Trouble> {
        match self.own(uid).await? {
            Some(_) => self.store(uid, flag, word).await,
            None => Ok(()),
        }
    }

    /// A message that is as it was sent: it is read first, if it was not.
    async fn own(&mut self, uid: u32) -> Result<Option<Known>, Trouble> {
        if self.memory.known.get(&uid).is_some_and(|known| known.is_equal.is_none()) {
            self.read_whole(uid).await?;
        }
        Ok(self.memory.known.get(&uid).copied().filter(|known| known.is_equal == Some(true)))
    }

    /// Moves a message.
    pub(super) async fn move_to(
        &mut self,
        (kind, folder): (TaskKind, &str),
        about: Option<u32>,
        pick: u64,
    ) -> Result<(), Trouble> {
        if !self.able.moves {
            return self.not_offered(kind);
        }
        let Some(uid) = self.chosen(about, pick) else {
            return self.look().await;
        };
        let Some(known) = self.own(uid).await? else { return Ok(()) };
        let ((name, place), set) = (self.folder(folder), uid.to_string());
        let moved = self.session.command(Command::Move(&set, &name), |_| Ok(())).await;
        self.change(known.number, Change::Move(place), &moved);
        self.leaves(uid, &moved);
        must(moved?).map(drop)
    }

    pub(super) async fn delete(&mut self, about: Option<u32>, pick: u64) -> Result<(), Trouble> {
        let Some(uid) = self.chosen(about, pick) else {
            return self.look().await;
        };
        let Some(known) = self.own(uid).await? else { return Ok(()) };
        if !self.able.uid_plus {
            return self.not_offered(TaskKind::Delete);
        }
        self.store(uid, Flags::DELETED, "\\Deleted").await?;
        let set = uid.to_string();
        let expunged = self.session.command(Command::UidExpunge(&set), |_| Ok(())).await;
        self.change(known.number, Change::Expunge, &expunged);
        self.leaves(uid, &expunged);
        must(expunged?).map(drop)
    }

    /// Appends a new message to a folder.
    pub(super) async fn append(&mut self, folder: &str) -> Result<(), Trouble> {
        let (name, place) = match folder {
            INBOX => (INBOX.as_bytes().to_vec(), 0),
            other => self.folder(other),
        };
        let Some(number) = self.team.appends(self.user) else {
            return Err(Trouble::new(TroubleKind::System, "the ledger cannot be kept"));
        };
        let mut message = Message::new(&self.team.senders.mailing, number);
        let (appended, has_ended) = self.session.append((&name, "\\Seen"), &mut message).await;
        let event = match &appended {
            Ok(done) if done.is_ok() => Delivery::Accepted,
            Ok(_) => Delivery::Refused { code: 0 },
            Err(_) if has_ended => Delivery::Unanswered,
            Err(_) => Delivery::NotSent,
        };
        self.team.appended(self.user, number, (place, Flags::SEEN), event);
        must(appended?).map(drop)
    }

    pub(super) async fn idle(&mut self, time: Span) -> Result<(), Trouble> {
        if !self.able.idle {
            return self.not_offered(TaskKind::Idle);
        }
        let clock = Rc::clone(&self.team.senders.setting.world.clock);
        let until = clock.now() + time;
        self.session.idle(|| clock.now() >= until, |_| Ok(())).await
    }

    fn not_offered(&self, kind: TaskKind) -> Result<(), Trouble> {
        self.team.tally.borrow_mut().is_not_offered(kind);
        Ok(())
    }

    /// Tasks that change nothing.
    pub(super) async fn ask(&mut self, kind: TaskKind, pick: u64) -> Result<(), Trouble> {
        let inbox = INBOX.as_bytes();
        let command = match kind {
            TaskKind::SearchUnseen => Command::Search("UNSEEN"),
            TaskKind::SearchDeleted => Command::Search("DELETED"),
            TaskKind::ListFolders => Command::List("*"),
            TaskKind::CheckFolder => Command::Check,
            TaskKind::Quota if self.able.quota => Command::QuotaRoot(inbox),
            TaskKind::Quota => return self.not_offered(kind),
            TaskKind::FolderStatus => {
                let name = self.other_folder(pick);
                let items = "MESSAGES UIDNEXT UIDVALIDITY UNSEEN";
                return self
                    .session
                    .must(Command::Status(&name, items), |_| Ok(()))
                    .await
                    .map(drop);
            }
            TaskKind::OpenFolder => return self.open_folder(pick).await,
            TaskKind::CloseFolder if self.able.unselect => {
                self.session.must(Command::Unselect, |_| Ok(())).await?;
                Command::Select(inbox)
            }
            TaskKind::CloseFolder => return self.not_offered(kind),
            TaskKind::Expunge => return self.expunge().await,
            _ => Command::Noop,
        };
        self.session.must(command, |_| Ok(())).await.map(drop)
    }

    fn other_folder(&self, pick: u64) -> Vec<u8> {
        let at = usize::try_from(pick % self.folders.len() as u64).expect("it is below a length");
        self.folders[at].clone()
    }

    /// Opens a folder and looks at the flags there, and goes back.
    async fn open_folder(&mut self, pick: u64) -> Result<(), Trouble> {
        let name = self.other_folder(pick);
        let messages = open(&mut self.session, Command::Select(&name)).await?.messages;
        if messages > 0 {
            self.session.must(Command::Fetch("1:*", "FLAGS"), |_| Ok(())).await?;
        }
        self.session.must(Command::Select(INBOX.as_bytes()), |_| Ok(())).await.map(drop)
    }

    /// Expunges what is marked as deleted, if an earlier session was cut before it could.
    async fn expunge(&mut self) -> Result<(), Trouble> {
        let deleted = self.memory.known.iter().filter(|(_, known)| known.flags.has(Flags::DELETED));
        let deleted: Vec<u32> = deleted.map(|(uid, _)| *uid).collect();
        if !self.able.uid_plus {
            return self.not_offered(TaskKind::Expunge);
        }
        if deleted.is_empty() {
            return self.look().await;
        }
        let set: Vec<String> = deleted.iter().map(u32::to_string).collect();
        let expunged = self.session.command(Command::UidExpunge(&set.join(",")), |_| Ok(())).await;
        for uid in deleted {
            self.change(self.memory.known[&uid].number, Change::Expunge, &expunged);
            self.leaves(uid, &expunged);
        }
        must(expunged?).map(drop)
    }
}
