//! Mailboxes, and the lies that are told when a message is filed.

use brunt_units::Time;
use brunt_world::World;

use super::lies::{Lie, number_of};
use super::{Inner, State};

/// A folder that every account has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Folder {
    /// Where mail arrives.
    Inbox,
    /// Where it does not belong.
    Junk,
    /// Where users move it to.
    Archive,
    /// What users sent.
    Sent,
    /// What users threw away.
    Trash,
    /// Appointments.
    Calendar,
    /// Addresses.
    Contacts,
}

impl Folder {
    pub(super) const ALL: [Self; 7] = [
        Self::Inbox,
        Self::Junk,
        Self::Archive,
        Self::Sent,
        Self::Trash,
        Self::Calendar,
        Self::Contacts,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Inbox => "INBOX",
            Self::Junk => "Junk",
            Self::Archive => "Archive",
            Self::Sent => "Sent",
            Self::Trash => "Trash",
            Self::Calendar => "Calendar",
            Self::Contacts => "Contacts",
        }
    }

    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let is = |folder: &Self| match folder {
            Self::Inbox => name.eq_ignore_ascii_case(b"INBOX"),
            other => other.name().as_bytes() == name,
        };
        Self::ALL.into_iter().find(is)
    }
}

/// A message with its way.
pub(super) struct Envelope {
    pub(super) from: String,
    pub(super) to: Vec<u32>,
    /// As it is handed on: with the trace of the hop that accepted it.
    pub(super) message: Vec<u8>,
}

/// A message in a folder.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) uid: u32,
    pub(super) modseq: u64,
    pub(super) arrived: Time,
    pub(super) flags: Vec<String>,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Mailbox {
    pub(super) uidvalidity: u32,
    pub(super) uidnext: u32,
    pub(super) modseq: u64,
    /// A session has selected it, so its UIDVALIDITY is known.
    pub(super) is_known: bool,
    pub(super) messages: Vec<Stored>,
}

impl Mailbox {
    /// Adds a message with the next UID; returns it.
    pub(super) fn add(&mut self, arrived: Time, flags: Vec<String>, bytes: Vec<u8>) -> u32 {
        let uid = self.uidnext;
        self.uidnext += 1;
        self.modseq += 1;
        let modseq = self.modseq;
        self.messages.push(Stored { uid, modseq, arrived, flags, bytes });
        uid
    }

    pub(super) fn find(&mut self, uid: u32) -> Option<&mut Stored> {
        let at = self.messages.binary_search_by_key(&uid, |message| message.uid).ok()?;
        Some(&mut self.messages[at])
    }
}

pub(super) struct Store {
    accounts: Vec<[Mailbox; Folder::ALL.len()]>,
    /// What is filed later, and when.
    held: Vec<(Time, u32, Vec<u8>)>,
}

impl Store {
    pub(super) fn new(accounts: &[(String, String)]) -> Self {
        let mailbox = |_| Mailbox {
            uidvalidity: 7,
            uidnext: 1,
            modseq: 1,
            is_known: false,
            messages: Vec::new(),
        };
        let accounts = accounts.iter().map(|_| Folder::ALL.map(mailbox)).collect();
        Self { accounts, held: Vec::new() }
    }

    /// Files what has been held until `now`.
    pub(super) fn release(&mut self, now: Time) {
        let due = self.held.extract_if(.., |(at, ..)| *at <= now);
        for (at, account, bytes) in due.collect::<Vec<_>>() {
            self.file(account, Folder::Inbox, at, bytes);
        }
    }

    pub(super) fn mailbox(&mut self, account: u32, folder: Folder) -> &mut Mailbox {
        &mut self.accounts[account as usize][folder as usize]
    }

    pub(super) fn file(&mut self, account: u32, folder: Folder, at: Time, bytes: Vec<u8>) {
        self.mailbox(account, folder).add(at, Vec::new(), bytes);
    }

    pub(super) fn messages(&self, account: u32, folder: Folder) -> Vec<Vec<u8>> {
        let mailbox = &self.accounts[account as usize][folder as usize];
        mailbox.messages.iter().map(|message| message.bytes.clone()).collect()
    }

    fn accounts(&self) -> u64 {
        self.accounts.len() as u64
    }
}

impl Inner {
    /// Files a message with one of its recipients, or lies about it.
    pub(super) fn deliver(&self, world: &World, envelope: &Envelope, account: u32) {
        let now = world.clock.now();
        let date = self.date(now);
        let mut message = format!(
            "Return-Path: <{}>\r\nReceived: from relay.invalid by store.invalid with LMTP;\r\n\t{date}\r\n",
            envelope.from
        );
        if let [only] = envelope.to[..] {
            let (address, _) = &self.options.accounts[only as usize];
            message = format!("Delivered-To: {address}\r\n{message}");
        }
        let mut message = message.into_bytes();
        let added = message.len();
        message.extend_from_slice(&envelope.message);
        let number = number_of(&envelope.message);
        let mut state = self.state.borrow_mut();
        let is_addressed_to_all = envelope.to.len() as u64 == state.store.accounts();
        let lie = state.lies.choose(number, account, |lie| match lie {
            Lie::OtherUser => !is_addressed_to_all,
            Lie::Drop | Lie::Double | Lie::Alter | Lie::Cut | Lie::Misfile | Lie::Hold(_) => true,
            _ => false,
        });
        state.file(lie, account, now, message, (added, &envelope.to));
    }
}

impl State {
    fn file(
        &mut self,
        lie: Option<Lie>,
        account: u32,
        now: Time,
        mut message: Vec<u8>,
        (added, to): (usize, &[u32]),
    ) {
        let mut account = account;
        let (mut folder, mut copies) = (Folder::Inbox, 1);
        // Lies about bytes are about those that the client sent.
        let ours = number_at(&message, added);
        match lie {
            Some(Lie::Drop) => copies = 0,
            Some(Lie::Double) => copies = 2,
            Some(Lie::Alter) => {
                let at = ours + self.lies.below((message.len() - ours) as u64);
                message[at] ^= 1;
            }
            Some(Lie::Cut) => {
                let line = message[ours..].iter().position(|byte| *byte == b'\n');
                let first = ours + line.map_or(0, |at| at + 1);
                let length = first + self.lies.below((message.len() - first) as u64);
                message.truncate(length);
            }
            Some(Lie::Misfile) => folder = Folder::Junk,
            Some(Lie::OtherUser) => {
                while to.contains(&account) {
                    let other = self.lies.below(self.store.accounts());
                    account = u32::try_from(other).expect("accounts have u32 numbers");
                }
            }
            Some(Lie::Hold(span)) => {
                self.store.held.push((now + span, account, message));
                return;
            }
            _ => {}
        }
        for _ in 0..copies {
            self.store.file(account, folder, now, message.clone());
        }
    }
}

/// Where the client's first header begins, behind those of servers.
fn number_at(message: &[u8], from: usize) -> usize {
    let mark = b"X-Brunt: ";
    let at = message[from..].windows(mark.len()).position(|window| window == mark);
    from + at.unwrap_or(0)
}
