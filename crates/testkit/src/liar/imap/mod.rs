//! IMAP4rev1, the server's side: commands, the selected folder, and what a session was told of it.
//!
//! A session has a view of its folder: the UIDs that it was told of, in order. Messages that arrive
//! join it, and those that are gone leave it, at the end of a command, when both are told.

mod fetch;
mod parse;

use std::collections::BTreeSet;

use brunt_units::Span;

use super::Inner;
use super::lies::{Lie, number_of};
use super::smtp::decoded;
use super::store::Folder;
use super::wire::Wire;
use parse::{Command, Token, is_in, read_command};

const OFFERED: &str = "IMAP4rev1 LITERAL+ SASL-IR AUTH=PLAIN IDLE NAMESPACE UIDPLUS MOVE UNSELECT \
    CHILDREN SPECIAL-USE ENABLE ID CONDSTORE";
/// How often an idle session looks for mail.
const IDLE: Span = Span::millis(20);

/// A session, until either side ends it.
pub(super) async fn serve(inner: &Inner, wire: Wire) {
    let replies = format!("* OK [CAPABILITY {OFFERED}] ready\r\n").into_bytes();
    let mut session = Session { inner, wire, replies, account: None, selected: None };
    while session.step().await.is_some() {}
}

struct Selected {
    folder: Folder,
    is_read_only: bool,
    /// UIDs that the client was told of, in order.
    view: Vec<u32>,
    /// Arrivals that it is not told of.
    hidden: BTreeSet<u32>,
}

struct Session<'a> {
    inner: &'a Inner,
    wire: Wire,
    replies: Vec<u8>,
    account: Option<u32>,
    selected: Option<Selected>,
}

impl Session<'_> {
    fn say(&mut self, line: &str) {
        self.replies.extend_from_slice(line.as_bytes());
        self.replies.extend_from_slice(b"\r\n");
    }

    async fn flush(&mut self) -> Option<()> {
        match std::mem::take(&mut self.replies) {
            replies if replies.is_empty() => Some(()),
            replies => self.wire.write(replies).await,
        }
    }

    async fn step(&mut self) -> Option<()> {
        self.flush().await?;
        let command = read_command(&mut self.wire).await?;
        if self.inner.is_cut(self.wire.now()) {
            return None;
        }
        let tag = command.tag.clone();
        let answer = self.answer(command).await?;
        let is_over = answer.starts_with("OK bye");
        if !is_over {
            self.sync();
        }
        self.say(&format!("{tag} {answer}"));
        if is_over {
            self.flush().await;
            return None;
        }
        Some(())
    }

    /// Does what is asked; returns the status of the tagged line.
    async fn answer(&mut self, command: Command) -> Option<String> {
        let name = command.name.as_str();
        let plain = match name {
            "CAPABILITY" => {
                self.say(&format!("* CAPABILITY {OFFERED}"));
                "OK done"
            }
            "NOOP" | "CHECK" => "OK done",
            "ID" => {
                self.say("* ID (\"name\" \"liar\")");
                "OK done"
            }
            "ENABLE" => {
                self.say("* ENABLED");
                "OK done"
            }
            "LOGOUT" => {
                self.say("* BYE over");
                "OK bye"
            }
            "LOGIN" | "AUTHENTICATE" => return self.log_in(command).await,
            _ if self.account.is_none() => "BAD log in first",
            "NAMESPACE" => {
                self.say("* NAMESPACE ((\"\" \"/\")) NIL NIL");
                "OK done"
            }
            "LIST" | "LSUB" => {
                for folder in Folder::ALL {
                    let (use_, name) = (special_use(folder), folder.name());
                    self.say(&format!("* LIST (\\HasNoChildren{use_}) \"/\" {name}"));
                }
                "OK done"
            }
            "CREATE" | "SUBSCRIBE" => match command.text(0).and_then(Folder::named) {
                Some(_) => "NO [ALREADYEXISTS] it exists",
                None => "NO [CANNOT] it has seven folders",
            },
            "SELECT" | "EXAMINE" => return Some(self.select(&command)),
            "STATUS" => return Some(self.status(&command)),
            "APPEND" => return Some(self.append(command)),
            "IDLE" => return self.idle().await,
            _ if self.selected.is_none() => "BAD select a folder first",
            "CLOSE" | "UNSELECT" => {
                if name == "CLOSE" {
                    self.expunge(None);
                }
                self.selected = None;
                "OK done"
            }
            "FETCH" => return Some(self.fetch(&command)),
            "STORE" => return Some(self.store(&command)),
            "COPY" | "MOVE" => return Some(self.copy(&command)),
            "EXPUNGE" => {
                let among = command.is_uid.then(|| command.word(0).unwrap_or_default());
                self.expunge(among);
                "OK done"
            }
            "SEARCH" => {
                let found = self.search(&command);
                self.say(&format!("* SEARCH{found}"));
                "OK done"
            }
            _ => "BAD unknown",
        };
        Some(plain.to_owned())
    }

    async fn log_in(&mut self, command: Command) -> Option<String> {
        let (user, password) = if command.name == "LOGIN" {
            (command.text(0)?.to_vec(), command.text(1)?.to_vec())
        } else {
            let given = match command.word(1) {
                Some(given) => given.to_owned(),
                None => {
                    self.say("+ ");
                    self.flush().await?;
                    String::from_utf8_lossy(&self.wire.line().await?).trim_end().to_owned()
                }
            };
            let plain = decoded(&given);
            let mut parts = plain.split(|byte| *byte == 0).skip(1).map(<[u8]>::to_vec);
            (parts.next()?, parts.next()?)
        };
        self.account = self.inner.account(&user, &password);
        Some(match self.account {
            Some(_) => format!("OK [CAPABILITY {OFFERED}] in"),
            None => "NO [AUTHENTICATIONFAILED] no".to_owned(),
        })
    }

    fn select(&mut self, command: &Command) -> String {
        self.selected = None;
        let (Some(folder), Some(account)) = (command.text(0).and_then(Folder::named), self.account)
        else {
            return "NO [NONEXISTENT] no such folder".to_owned();
        };
        let now = self.wire.now();
        let mut state = self.inner.state.borrow_mut();
        state.store.release(now);
        let is_known = state.store.mailbox(account, folder).is_known;
        let changes = |lie| lie == Lie::ChangeUidValidity && is_known && command.name == "SELECT";
        let lie = state.lies.choose(None, account, changes);
        let mailbox = state.store.mailbox(account, folder);
        mailbox.is_known = true;
        if lie.is_some() {
            mailbox.uidvalidity += 1;
        }
        let view: Vec<_> = mailbox.messages.iter().map(|message| message.uid).collect();
        let (validity, next, modseq) = (mailbox.uidvalidity, mailbox.uidnext, mailbox.modseq);
        drop(state);
        self.say("* FLAGS (\\Seen \\Answered \\Flagged \\Deleted \\Draft)");
        self.say("* OK [PERMANENTFLAGS (\\Seen \\Answered \\Flagged \\Deleted \\Draft \\*)] flags");
        self.say(&format!("* {} EXISTS", view.len()));
        self.say("* 0 RECENT");
        self.say(&format!("* OK [UIDVALIDITY {validity}] valid"));
        self.say(&format!("* OK [UIDNEXT {next}] next"));
        self.say(&format!("* OK [HIGHESTMODSEQ {modseq}] modseq"));
        let is_read_only = command.name == "EXAMINE";
        self.selected = Some(Selected { folder, is_read_only, view, hidden: BTreeSet::new() });
        let access = if is_read_only { "READ-ONLY" } else { "READ-WRITE" };
        format!("OK [{access}] selected")
    }

    fn status(&mut self, command: &Command) -> String {
        let (Some(folder), Some(account)) = (command.text(0).and_then(Folder::named), self.account)
        else {
            return "NO [NONEXISTENT] no such folder".to_owned();
        };
        let now = self.wire.now();
        let mut state = self.inner.state.borrow_mut();
        state.store.release(now);
        let mailbox = state.store.mailbox(account, folder);
        let is_unseen =
            |message: &&super::store::Stored| !message.flags.iter().any(|flag| flag == "\\Seen");
        let messages = mailbox.messages.len();
        let unseen = mailbox.messages.iter().filter(is_unseen).count();
        let line = format!(
            "* STATUS {} (MESSAGES {messages} RECENT 0 UIDNEXT {} UIDVALIDITY {} UNSEEN {unseen} \
             HIGHESTMODSEQ {})",
            folder.name(),
            mailbox.uidnext,
            mailbox.uidvalidity,
            mailbox.modseq
        );
        drop(state);
        self.say(&line);
        "OK done".to_owned()
    }

    fn append(&mut self, command: Command) -> String {
        let (Some(folder), Some(account)) = (command.text(0).and_then(Folder::named), self.account)
        else {
            return "NO [TRYCREATE] no such folder".to_owned();
        };
        let flags = command.flags();
        let Some(Token::Text(message)) = command.tokens.into_iter().next_back() else {
            return "BAD no message".to_owned();
        };
        let now = self.wire.now();
        let mut state = self.inner.state.borrow_mut();
        let number = number_of(&message);
        let lie = state.lies.choose(number, account, |lie| lie == Lie::DropAppend);
        let mailbox = state.store.mailbox(account, folder);
        let uid = mailbox.add(now, flags, message);
        if lie.is_some() {
            mailbox.messages.retain(|message| message.uid != uid);
        }
        format!("OK [APPENDUID {} {uid}] appended", mailbox.uidvalidity)
    }

    /// Tells of arrivals until the client says DONE.
    async fn idle(&mut self) -> Option<String> {
        self.say("+ idling");
        loop {
            self.sync();
            self.flush().await?;
            let world = self.wire.world.clone();
            match world.within(IDLE, self.wire.ready()).await {
                Some(ready) => {
                    ready?;
                    break;
                }
                None => continue,
            }
        }
        self.wire.line().await?;
        Some("OK idled".to_owned())
    }

    fn search(&self, command: &Command) -> String {
        let (Some(selected), Some(account)) = (&self.selected, self.account) else {
            return String::new();
        };
        let unseen = command.tokens.iter().any(|token| token.is_word("UNSEEN"));
        let mut state = self.inner.state.borrow_mut();
        let mailbox = state.store.mailbox(account, selected.folder);
        let mut found = String::new();
        for (index, uid) in selected.view.iter().enumerate() {
            let stored = mailbox.find(*uid);
            let is_seen =
                stored.is_some_and(|stored| stored.flags.iter().any(|flag| flag == "\\Seen"));
            let is_among = command.tokens.iter().filter_map(Token::as_set);
            let is_among = is_among.into_iter().all(|set| is_in(set, *uid, *uid));
            if is_among && !(unseen && is_seen) {
                let shown = if command.is_uid { u64::from(*uid) } else { index as u64 + 1 };
                found += &format!(" {shown}");
            }
        }
        found
    }

    /// Tells of what has gone and come since the last time.
    fn sync(&mut self) {
        let (Some(selected), Some(account)) = (&mut self.selected, self.account) else { return };
        let now = self.wire.now();
        let mut state = self.inner.state.borrow_mut();
        let state = &mut *state;
        state.store.release(now);
        let mailbox = state.store.mailbox(account, selected.folder);
        let mut lines = String::new();
        let mut index = 0;
        while let Some(uid) = selected.view.get(index) {
            if mailbox.find(*uid).is_some() {
                index += 1;
            } else {
                lines += &format!("* {} EXPUNGE\r\n", index + 1);
                selected.view.remove(index);
            }
        }
        let known = selected.view.last().max(selected.hidden.last()).copied().unwrap_or(0);
        let arrived = mailbox.messages.iter().filter(|message| message.uid > known);
        let new: Vec<_> = arrived.map(|message| (message.uid, number_of(&message.bytes))).collect();
        let before = selected.view.len();
        for (uid, number) in new {
            match state.lies.choose(number, account, |lie| lie == Lie::SkipExists) {
                Some(_) => drop(selected.hidden.insert(uid)),
                None => selected.view.push(uid),
            }
        }
        if selected.view.len() > before {
            lines += &format!("* {} EXISTS\r\n", selected.view.len());
        }
        self.replies.extend_from_slice(lines.as_bytes());
    }
}

fn special_use(folder: Folder) -> &'static str {
    match folder {
        Folder::Inbox | Folder::Calendar | Folder::Contacts => "",
        Folder::Junk => " \\Junk",
        Folder::Archive => " \\Archive",
        Folder::Sent => " \\Sent",
        Folder::Trash => " \\Trash",
    }
}
