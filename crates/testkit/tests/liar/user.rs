//! A user who changes mail: flags, moves, removes, appends, and two sessions that must agree.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_mail::{
    Change, Event, Flags, FolderStatus, Folders, Ledger, Mailing, Message, Place, Reply,
};
use brunt_testkit::liar::IMAP;
use brunt_world::World;

use super::client::{Connection, Cut, FOLDERS};

const INBOX: u16 = 0;
const ARCHIVE: u16 = 2;
const SENT: u16 = 3;

/// What users share.
pub(crate) struct Users<'a> {
    pub(crate) world: World,
    pub(crate) server: IpAddr,
    pub(crate) mailing: Rc<Mailing>,
    pub(crate) ledger: &'a RefCell<Ledger>,
    pub(crate) folders: Folders,
}

/// A message as a session shows it.
struct Shown {
    uid: u32,
    number: Option<u32>,
    flags: Flags,
}

impl Users<'_> {
    /// Lets every user act. One whose connection breaks stops there.
    pub(crate) async fn run(&mut self) {
        let accounts = u32::try_from(self.mailing.options().accounts.len()).expect("a dozen");
        for account in 0..accounts {
            let _: Result<(), Cut> = self.act(account).await;
        }
    }

    async fn open(&self, account: u32) -> Result<Connection, Cut> {
        let at = SocketAddr::new(self.server, IMAP);
        let mut imap = Connection::open(&self.world, at).await?;
        imap.line().await?;
        let address = self.mailing.address(account).expect("it is there");
        imap.command(&format!("LOGIN \"{address}\" \"secret\""))
            .await?
            .0
            .then_some(())
            .ok_or(Cut)?;
        Ok(imap)
    }

    async fn select(&mut self, imap: &mut Connection, account: u32) -> Result<(), Cut> {
        let (_, lines) = imap.command("SELECT INBOX").await?;
        let number = |name: &str| {
            let rest = lines.iter().find_map(|line| line.split_once(name))?.1;
            rest.split(']').next()?.parse().ok()
        };
        let status = FolderStatus {
            validity: number("[UIDVALIDITY ").ok_or(Cut)?,
            next: number("[UIDNEXT ").ok_or(Cut)?,
            modseq: number("[HIGHESTMODSEQ ").map(u64::from),
        };
        self.folders.says(Place { account, folder: INBOX }, status);
        Ok(())
    }

    async fn act(&mut self, account: u32) -> Result<(), Cut> {
        let mut imap = self.open(account).await?;
        self.select(&mut imap, account).await?;
        let shown = list(&mut imap).await?;
        let once = |number| shown.iter().filter(|other| other.number == Some(number)).count() == 1;
        for Shown { uid, number, flags } in &shown {
            let Some(number) = number.filter(|number| once(*number)) else { continue };
            let key = (account, number);
            match number % 4 {
                0 => {
                    self.ledger.borrow_mut().sees(account, number, INBOX, *flags);
                    self.flag(&mut imap, key, *uid, Flags::FLAGGED).await?;
                }
                1 => {
                    self.ledger.borrow_mut().sees(account, number, INBOX, *flags);
                    let folder = FOLDERS[usize::from(ARCHIVE)];
                    let command = format!("UID MOVE {uid} {folder}");
                    self.change(&mut imap, key, Change::Move(ARCHIVE), &command).await?;
                }
                2 => {
                    self.ledger.borrow_mut().sees(account, number, INBOX, *flags);
                    self.flag(&mut imap, key, *uid, Flags::DELETED).await?;
                    let command = format!("UID EXPUNGE {uid}");
                    self.change(&mut imap, key, Change::Expunge, &command).await?;
                }
                _ => {}
            }
        }
        for _ in 0..3 {
            self.append(&mut imap, account).await?;
        }
        self.select(&mut imap, account).await
    }

    async fn flag(
        &self,
        imap: &mut Connection,
        key: (u32, u32),
        uid: u32,
        flag: Flags,
    ) -> Result<(), Cut> {
        let name = if flag == Flags::FLAGGED { "\\Flagged" } else { "\\Deleted" };
        let command = format!("UID STORE {uid} +FLAGS.SILENT ({name})");
        self.change(imap, key, Change::Store(flag, Flags::default()), &command).await
    }

    async fn change(
        &self,
        imap: &mut Connection,
        (account, number): (u32, u32),
        change: Change,
        command: &str,
    ) -> Result<(), Cut> {
        let answer = imap.command(command).await;
        let reply = match &answer {
            Ok((true, _)) => Reply::Ok,
            Ok((false, _)) => Reply::No,
            Err(Cut) => Reply::Nothing,
        };
        self.ledger.borrow_mut().change(account, number, change, reply);
        answer.map(|_| ())
    }

    async fn append(&self, imap: &mut Connection, account: u32) -> Result<(), Cut> {
        let number = self.ledger.borrow_mut().next_number();
        let message = Message::new(&self.mailing, number).collect();
        let folder = FOLDERS[usize::from(SENT)];
        let head = format!("a APPEND {folder} (\\Seen) {{{}+}}\r\n", message.len());
        let answer = imap.command_of(&[head.as_bytes(), &message, b"\r\n"].concat()).await;
        let event = match &answer {
            Ok((true, _)) => Event::Accepted,
            Ok((false, _)) => Event::Refused { code: 450 },
            Err(Cut) => Event::Unanswered,
        };
        let now = self.world.clock.now();
        let place = (SENT, Flags::SEEN);
        self.ledger.borrow_mut().appended((account, number), place, now, event);
        answer.map(|_| ())
    }

    /// Two sessions of one mailbox, a message that arrives, and a checkpoint.
    pub(crate) async fn watch(&mut self, account: u32) -> Result<(), Cut> {
        let mut sessions = [self.open(account).await?, self.open(account).await?];
        for session in &mut sessions {
            self.select(session, account).await?;
        }
        let mut third = self.open(account).await?;
        for text in ["one", "two"] {
            let message = format!("Subject: {text}\r\n\r\n{text}\r\n");
            let append = format!("a APPEND INBOX {{{}+}}\r\n{message}\r\n", message.len());
            third.command_of(append.as_bytes()).await?;
        }
        let mut views = Vec::new();
        for session in &mut sessions {
            session.command("NOOP").await?;
            let shown = list(session).await?;
            views.push(shown.iter().map(|shown| (shown.uid, shown.flags)).collect::<Vec<_>>());
        }
        let views: Vec<_> = views.iter().map(Vec::as_slice).collect();
        self.folders.checkpoint(Place { account, folder: INBOX }, &views);
        Ok(())
    }
}

/// UIDs, marks and flags of the selected folder.
async fn list(imap: &mut Connection) -> Result<Vec<Shown>, Cut> {
    let items = "UID FLAGS BODY.PEEK[HEADER.FIELDS (X-BRUNT)]";
    imap.write(format!("a UID FETCH 1:* ({items})\r\n").as_bytes()).await?;
    let mut all = Vec::new();
    loop {
        let line = imap.line().await?;
        if line.starts_with("a OK") {
            return Ok(all);
        }
        let (Some(uid), Some((_, length))) = (uid_of(&line), line.rsplit_once('{')) else {
            continue;
        };
        let length = length.trim_end_matches('}').parse().map_err(|_| Cut)?;
        let header = imap.bytes(length).await?;
        let number = String::from_utf8_lossy(&header).split('-').nth(2).map(str::to_owned);
        let number = number.and_then(|number| number.parse().ok());
        all.push(Shown { uid, number, flags: flags_of(&line) });
        imap.line().await?;
    }
}

fn uid_of(line: &str) -> Option<u32> {
    line.split_once("UID ")?.1.split(' ').next()?.parse().ok()
}

pub(crate) fn flags_of(line: &str) -> Flags {
    let list = line.split_once("FLAGS (").and_then(|(_, rest)| rest.split_once(')'));
    Flags::named(list.map_or("", |(list, _)| list).split(' '))
}
