//! Reads a mailbox: every folder of an account, every message of a folder.
//!
//! ```text
//!    NAMESPACE, LIST      folders that are the user's own
//!    EXAMINE              nothing changes, not even \Recent
//!    UID FETCH 1:* UID    what is there: each of these messages has to be shown
//!    UID FETCH a:b text   a few dozen at a time, streamed into comparisons
//!      failed, or a message missing: each of them again, alone
//! ```
//!
//! A message that is listed and cannot be fetched alone, over a connection of its own if need be, is
//! *unreadable*. A folder whose UIDVALIDITY changes while it is read proves nothing.

use std::collections::BTreeSet;
use std::rc::Rc;

use brunt_mail::{Comparison, Flags, FolderStatus, Mailing, Mark, Place, Seen};
use brunt_protocols::imap::{Body, Code, Command, Done, Event, Fetch, Response};
use brunt_world::random::Stream;

use crate::accounts::Account;
use crate::date;
use crate::endpoint::Endpoint;
use crate::errors::{Trouble, TroubleKind};
use crate::session::{Ended, ImapSession, Setting};

/// Messages that one FETCH asks for.
const BATCH: usize = 64;
/// Messages of a folder that are read at most: their numbers are kept, 4 bytes each.
const MESSAGES_MAX: usize = 4 << 20;
/// Folders of an account that are read at most.
const FOLDERS_MAX: usize = 4096;

/// Asks for marks.
pub(crate) const MARKS: &str = "UID BODY.PEEK[HEADER.FIELDS (X-BRUNT)]";

/// What a mailbox holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Messages with our mark, of whatever run.
    pub marked: u64,
    /// Messages without it.
    pub foreign: u64,
}

/// Hears of each message of a mailbox.
pub(crate) trait Looker {
    /// A message of this folder, with its UID and its flags; folder 0 is INBOX.
    fn saw(&mut self, folder: u16, uid: u32, flags: Flags, seen: &Seen);
    /// A message that is listed and cannot be fetched alone.
    fn unreadable(&mut self);
}

/// A mailbox that is being read.
pub(crate) struct Mailbox<'a> {
    pub(crate) setting: &'a Setting,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) number: u32,
    pub(crate) account: &'a Account,
    pub(crate) nonces: &'a mut Stream,
}

/// A folder, opened for reading.
#[derive(Clone, Copy)]
pub(crate) struct Opened {
    pub(crate) validity: Option<u32>,
    pub(crate) messages: u32,
    next: Option<u32>,
    modseq: Option<u64>,
}

impl Opened {
    /// What must not go back, if the server says it.
    fn status(&self) -> Option<FolderStatus> {
        let (validity, next) = (self.validity?, self.next?);
        Some(FolderStatus { validity, next, modseq: self.modseq })
    }
}

impl Mailbox<'_> {
    pub(crate) async fn open(&mut self) -> Result<ImapSession, Ended> {
        ImapSession::open(self.setting, self.endpoint, self.account, self.nonces).await
    }

    /// Counts what is there, by the mark in the headers.
    pub(crate) async fn holdings(&mut self) -> Result<Holdings, Ended> {
        let mut session = self.open().await?;
        let counted = count(&mut session).await;
        let counted = counted.map(|(holdings, inbox)| {
            inbox.iter().for_each(|inbox| self.note_inbox(inbox));
            holdings
        });
        match counted {
            Ok(holdings) => {
                session.log_out().await;
                Ok(holdings)
            }
            Err(trouble) => Err(session.end(trouble)),
        }
    }

    /// What the server says of the inbox now. Other folders come and go, and their places with them.
    fn note_inbox(&self, opened: &Opened) {
        let place = Place { account: self.number, folder: 0 };
        if let Some(status) = opened.status() {
            self.setting.folders.borrow_mut().says(place, status);
        }
    }

    /// Reads all of it. An error says that something may have been missed.
    pub(crate) async fn read(
        &mut self,
        mailing: &Rc<Mailing>,
        looker: &mut impl Looker,
    ) -> Result<(), Ended> {
        let mut session = self.open().await?;
        let folders = match folders(&mut session).await {
            Ok(folders) => folders,
            Err(trouble) => return Err(session.end(trouble)),
        };
        for (place, folder) in (0_u16..).zip(&folders) {
            session = self.read_folder(session, mailing, (place, folder), looker).await?;
        }
        session.log_out().await;
        Ok(())
    }

    pub(crate) async fn read_folder(
        &mut self,
        mut session: ImapSession,
        mailing: &Rc<Mailing>,
        (place, folder): (u16, &[u8]),
        looker: &mut impl Looker,
    ) -> Result<ImapSession, Ended> {
        let listed = match list(&mut session, folder).await {
            Ok(listed) => listed,
            Err(trouble) => return Err(session.end(trouble)),
        };
        let (opened, uids) = listed;
        if place == 0 {
            self.note_inbox(&opened);
        }
        for batch in uids.chunks(BATCH) {
            let mut missing: BTreeSet<u32> = batch.iter().copied().collect();
            let set = format!("{}:{}", batch[0], batch[batch.len() - 1]);
            let fetched = fetch(&mut session, mailing, &set, &mut missing, place, looker).await;
            if missing.is_empty() && fetched.is_ok() {
                continue;
            }
            if let Err(trouble) = fetched {
                session = self.again(session, trouble, folder, &opened).await?;
            }
            for uid in std::mem::take(&mut missing) {
                let mut alone = BTreeSet::from([uid]);
                let set = uid.to_string();
                let fetched = fetch(&mut session, mailing, &set, &mut alone, place, looker).await;
                if let Err(trouble) = fetched {
                    session = self.again(session, trouble, folder, &opened).await?;
                }
                if !alone.is_empty() && is_listed(&mut session, uid).await {
                    looker.unreadable();
                }
            }
        }
        Ok(session)
    }

    /// Goes on after trouble: in the same session if only a command was refused, otherwise in a new
    /// one.
    async fn again(
        &mut self,
        session: ImapSession,
        trouble: Trouble,
        folder: &[u8],
        opened: &Opened,
    ) -> Result<ImapSession, Ended> {
        self.setting.note(&trouble);
        if trouble.kind == TroubleKind::CommandRefused {
            return Ok(session);
        }
        drop(session.end(trouble));
        let mut session = self.open().await?;
        match examine(&mut session, folder).await {
            Ok(now) if now.validity == opened.validity => Ok(session),
            Ok(_) => {
                let line = String::from_utf8_lossy(folder);
                Err(session.end(Trouble::new(TroubleKind::UidValidity, line)))
            }
            Err(trouble) => Err(session.end(trouble)),
        }
    }
}

/// Names of the user's own folders, INBOX first.
pub(crate) async fn folders(session: &mut ImapSession) -> Result<Vec<Vec<u8>>, Trouble> {
    let mut foreign: Vec<Vec<u8>> = Vec::new();
    if session.able().namespace {
        session
            .must(Command::Namespace, |event| {
                if let Event::Data(Response::Namespace(namespace)) = event {
                    foreign = namespace.foreign;
                }
                Ok(())
            })
            .await?;
    }
    foreign.retain(|prefix| !prefix.is_empty());
    let mut names: BTreeSet<Vec<u8>> = BTreeSet::new();
    session
        .must(Command::List("*"), |event| {
            if let Event::Data(Response::List(listed)) = event {
                let is_own = !foreign.iter().any(|prefix| listed.name.starts_with(prefix));
                let can_open = !listed.has("\\Noselect") && !listed.has("\\NonExistent");
                if is_own && can_open && !listed.name.eq_ignore_ascii_case(b"INBOX") {
                    names.insert(listed.name);
                }
            }
            match names.len() {
                0..FOLDERS_MAX => Ok(()),
                _ => Err(Trouble::new(TroubleKind::CommandRefused, "too many folders to read")),
            }
        })
        .await?;
    Ok([b"INBOX".to_vec()].into_iter().chain(names).collect())
}

pub(crate) async fn examine(session: &mut ImapSession, folder: &[u8]) -> Result<Opened, Trouble> {
    open(session, Command::Examine(folder)).await
}

/// Opens a folder by EXAMINE or SELECT.
pub(crate) async fn open(
    session: &mut ImapSession,
    command: Command<'_>,
) -> Result<Opened, Trouble> {
    let mut opened = Opened { validity: None, messages: 0, next: None, modseq: None };
    session
        .must(command, |event| {
            match event {
                Event::Data(Response::Exists(messages)) => opened.messages = messages,
                Event::Data(Response::Remark { code: Some(code), .. }) => match code {
                    Code::UidValidity(validity) => opened.validity = Some(validity),
                    Code::UidNext(next) => opened.next = Some(next),
                    Code::HighestModSeq(modseq) => opened.modseq = Some(modseq),
                    _ => {}
                },
                _ => {}
            }
            Ok(())
        })
        .await?;
    Ok(opened)
}

/// Opens a folder and lists its messages: what it shows in one answer.
async fn list(session: &mut ImapSession, folder: &[u8]) -> Result<(Opened, Vec<u32>), Trouble> {
    let opened = examine(session, folder).await?;
    let mut uids = Vec::new();
    if opened.messages == 0 {
        return Ok((opened, uids));
    }
    session
        .must(Command::Fetch("1:*", "UID"), |event| {
            if let Event::Data(Response::Fetch(Fetch { uid: Some(uid), .. })) = event {
                uids.push(uid);
            }
            match uids.len() {
                0..MESSAGES_MAX => Ok(()),
                _ => Err(Trouble::new(TroubleKind::CommandRefused, "too many messages to read")),
            }
        })
        .await?;
    uids.sort_unstable();
    uids.dedup();
    // A message that has no number here could not be missed later.
    if (uids.len() as u64) < u64::from(opened.messages) {
        let line = format!("{} of {} messages are listed", uids.len(), opened.messages);
        return Err(Trouble::new(TroubleKind::CommandRefused, line));
    }
    Ok((opened, uids))
}

/// Whether a message that could not be fetched is still there. A store that finds out that it has
/// lost a message takes it off its list; then it is not unreadable, it is gone.
async fn is_listed(session: &mut ImapSession, uid: u32) -> bool {
    let mut is_listed = false;
    let looked = async {
        session.must(Command::Noop, |_| Ok(())).await?;
        let hear = |event: Event<'_>| {
            if let Event::Data(Response::Fetch(shown)) = event {
                is_listed |= shown.uid == Some(uid);
            }
            Ok(())
        };
        session.must(Command::Fetch(&uid.to_string(), "UID"), hear).await
    };
    looked.await.is_err() || is_listed
}

/// Fetches messages and takes those that came whole off `missing`.
async fn fetch(
    session: &mut ImapSession,
    mailing: &Rc<Mailing>,
    set: &str,
    missing: &mut BTreeSet<u32>,
    place: u16,
    looker: &mut impl Looker,
) -> Result<Done, Trouble> {
    let mut comparing = Comparing::new(mailing);
    session
        .must(Command::Fetch(set, "UID FLAGS INTERNALDATE BODY.PEEK[]"), |event| {
            if let Some((shown, Some(seen))) = comparing.hear(event)
                && let Some(uid) = shown.uid
                && missing.remove(&uid)
            {
                let flags = shown.flags.iter().flatten().map(String::as_str);
                let seen = dated(seen, shown.internal_date.as_deref());
                looker.saw(place, uid, Flags::named(flags), &seen);
            }
            Ok(())
        })
        .await
}

/// Compares whole messages while they are fetched.
pub(crate) struct Comparing<'m> {
    mailing: &'m Rc<Mailing>,
    under_way: Option<Comparison>,
    streamed: Option<Seen>,
}

impl<'m> Comparing<'m> {
    pub(crate) fn new(mailing: &'m Rc<Mailing>) -> Self {
        Self { mailing, under_way: None, streamed: None }
    }

    /// A message, once all is said of it; and what it is, if its text was shown.
    pub(crate) fn hear(&mut self, event: Event<'_>) -> Option<(Fetch, Option<Seen>)> {
        match event {
            Event::TextBegins { section, .. } if section.eq_ignore_ascii_case("BODY[]") => {
                self.under_way = Some(Comparison::new(self.mailing));
            }
            Event::Text(chunk) => {
                if let Some(comparison) = &mut self.under_way {
                    comparison.feed(chunk);
                }
            }
            Event::TextEnds => self.streamed = self.under_way.take().map(Comparison::finish),
            Event::Data(Response::Fetch(shown)) => {
                let seen = match body(&shown) {
                    Some(Body::Streamed(_)) => self.streamed.take(),
                    Some(Body::Inline(text)) => {
                        let mut comparison = Comparison::new(self.mailing);
                        comparison.feed(text);
                        Some(comparison.finish())
                    }
                    Some(Body::Nil) | None => None,
                };
                return Some((shown, seen));
            }
            _ => {}
        }
        None
    }
}

fn body(shown: &Fetch) -> Option<&Body> {
    let whole = shown.sections.iter().find(|own| own.name.eq_ignore_ascii_case("BODY[]"));
    whole.map(|section| &section.body)
}

/// A copy without any `Received` has at least the date at which it was stored.
fn dated(seen: Seen, stored: Option<&str>) -> Seen {
    match seen {
        Seen::Ours(mut copy) if copy.received.is_empty() => {
            copy.received.extend(stored.and_then(date::internal));
            Seen::Ours(copy)
        }
        other => other,
    }
}

/// Counts messages with and without the mark.
async fn count(session: &mut ImapSession) -> Result<(Holdings, Option<Opened>), Trouble> {
    let mut holdings = Holdings::default();
    let mut inbox = None;
    for folder in folders(session).await? {
        let opened = examine(session, &folder).await?;
        inbox.get_or_insert(opened);
        if opened.messages == 0 {
            continue;
        }
        let before = holdings;
        marks(session, Command::Fetch("1:*", MARKS), |_, mark| match mark {
            Some(_) => holdings.marked += 1,
            None => holdings.foreign += 1,
        })
        .await?;
        // What was not shown is not ours.
        let shown = holdings.marked + holdings.foreign - before.marked - before.foreign;
        holdings.foreign += u64::from(opened.messages).saturating_sub(shown);
    }
    Ok((holdings, inbox))
}

/// Reads the marks of messages; `command` fetches [`MARKS`].
pub(crate) async fn marks(
    session: &mut ImapSession,
    command: Command<'_>,
    mut each: impl FnMut(&Fetch, Option<Mark>),
) -> Result<(), Trouble> {
    let mut header = Header::default();
    session
        .must(command, |event| {
            match event {
                Event::TextBegins { .. } => header = Header::default(),
                Event::Text(chunk) => header.feed(chunk),
                Event::Data(Response::Fetch(fetch)) if !fetch.sections.is_empty() => {
                    if let Body::Inline(text) = &fetch.sections[0].body {
                        header.feed(text);
                    }
                    each(&fetch, header.mark());
                    header = Header::default();
                }
                _ => {}
            }
            Ok(())
        })
        .await
        .map(drop)
}

/// The beginning of a header.
#[derive(Default)]
struct Header(Vec<u8>);

impl Header {
    /// Longer than any header with a mark.
    const MOST: usize = 128;

    fn feed(&mut self, text: &[u8]) {
        let room = Self::MOST.saturating_sub(self.0.len());
        self.0.extend_from_slice(text.get(..room).unwrap_or(text));
    }

    /// The mark, if it is whole.
    fn mark(&self) -> Option<Mark> {
        let line = self.0.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
        Mark::in_header(line)
    }
}
