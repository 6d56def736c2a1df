//! A client of a few lines, which shares no code with the clients of brunt: it sends a mailing,
//! keeps the ledger, and reads every mailbox.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_mail::{
    Audit, Comparison, Event, Fault, FaultKind, Flags, Ledger, Mailing, Message, Place, Seen,
};
use brunt_testkit::liar::{IMAP, LMTP};
use brunt_units::{Span, Time};
use brunt_world::random::Stream;
use brunt_world::{SocketId, World};

use super::user::flags_of;

/// The connection ended.
#[derive(Debug)]
pub(crate) struct Cut;

pub(crate) struct Connection {
    world: World,
    socket: SocketId,
    received: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(world: &World, to: SocketAddr) -> Result<Self, Cut> {
        let socket = world.net.connect(to).await.map_err(|_| Cut)?;
        Ok(Self { world: world.clone(), socket, received: Vec::new() })
    }

    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<(), Cut> {
        self.world.net.write(self.socket, bytes.to_vec()).await.map_err(|_| Cut)
    }

    async fn read(&mut self) -> Result<(), Cut> {
        let read = self.world.net.read(self.socket, 1 << 16).await.map_err(|_| Cut)?;
        self.received.extend_from_slice(&read);
        if read.is_empty() { Err(Cut) } else { Ok(()) }
    }

    pub(crate) async fn line(&mut self) -> Result<String, Cut> {
        loop {
            if let Some(at) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.received.drain(..=at).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.read().await?;
        }
    }

    pub(crate) async fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Cut> {
        while self.received.len() < count {
            self.read().await?;
        }
        Ok(self.received.drain(..count).collect())
    }

    /// The code of the next reply.
    async fn reply(&mut self) -> Result<u16, Cut> {
        loop {
            let line = self.line().await?;
            if line.as_bytes().get(3) != Some(&b'-') {
                return line.get(..3).and_then(|code| code.parse().ok()).ok_or(Cut);
            }
        }
    }

    /// Whether a command of IMAP was done, and what was said before.
    pub(crate) async fn command(&mut self, command: &str) -> Result<(bool, Vec<String>), Cut> {
        self.command_of(format!("a {command}\r\n").as_bytes()).await
    }

    /// The same with everything that is sent.
    pub(crate) async fn command_of(&mut self, bytes: &[u8]) -> Result<(bool, Vec<String>), Cut> {
        self.write(bytes).await?;
        let mut lines = Vec::new();
        loop {
            let line = self.line().await?;
            if line.starts_with("a ") {
                return Ok((line.starts_with("a OK"), lines));
            }
            lines.push(line);
        }
    }

    async fn ask(&mut self, command: &str) -> Result<u16, Cut> {
        self.write(format!("{command}\r\n").as_bytes()).await?;
        self.reply().await
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.world.net.close(self.socket);
    }
}

/// What senders share.
pub(crate) struct Senders {
    pub(crate) world: World,
    pub(crate) server: IpAddr,
    pub(crate) port: u16,
    pub(crate) mailing: Rc<Mailing>,
    pub(crate) ledger: RefCell<Ledger>,
    /// Messages to send.
    pub(crate) messages: u32,
    /// So many of a hundred messages it does not send to their ends.
    pub(crate) unfinished_percent: u32,
}

impl Senders {
    /// Sends messages until enough were begun.
    pub(crate) async fn run(self: Rc<Self>, mut stream: Stream) {
        let mut open = None;
        while self.ledger.borrow().messages() < self.messages {
            let number = self.ledger.borrow_mut().next_number();
            let (to, mut dot) = (self.mailing.route(number).to.to_vec(), false);
            self.all(number, &to, Event::Sent);
            let mut left = to.clone();
            let breaks = stream.percent(self.unfinished_percent);
            let sent = self.send(&mut open, number, &mut left, &mut dot, breaks).await;
            if sent.is_err() {
                self.all(number, &left, if dot { Event::Unanswered } else { Event::NotSent });
                self.broken();
                open = None;
                self.world.sleep(Span::millis(1 + stream.below(30))).await;
            }
        }
    }

    fn all(&self, number: u32, to: &[u32], event: Event) {
        let now = self.world.clock.now();
        to.iter().for_each(|to| self.ledger.borrow_mut().record(number, *to, now, event));
    }

    /// A connection of ours broke: no explanation for a double, because we do not send twice.
    fn broken(&self) {
        let now = self.world.clock.now();
        let fault = Fault { kind: FaultKind::Connection, from: now, until: now, in_flight: 0 };
        self.ledger.borrow_mut().fault(fault);
    }

    async fn send(
        &self,
        open: &mut Option<Connection>,
        number: u32,
        left: &mut Vec<u32>,
        dot: &mut bool,
        breaks: bool,
    ) -> Result<(), Cut> {
        let is_lmtp = self.port == LMTP;
        let connection = match open {
            Some(connection) => connection,
            None => {
                let to = SocketAddr::new(self.server, self.port);
                let mut connection = Connection::open(&self.world, to).await?;
                connection.reply().await?;
                connection.ask(if is_lmtp { "LHLO me" } else { "EHLO me" }).await?;
                open.insert(connection)
            }
        };
        let address = |account| self.mailing.address(account).expect("it has accounts");
        let from = self.mailing.route(number).from;
        connection.ask(&format!("MAIL FROM:<{}> BODY=8BITMIME", address(from))).await?;
        for account in left.clone() {
            let code = connection.ask(&format!("RCPT TO:<{}>", address(account))).await?;
            if code != 250 {
                self.all(number, &[account], Event::Refused { code });
                left.retain(|other| *other != account);
            }
        }
        if left.is_empty() {
            connection.ask("RSET").await?;
            return Ok(());
        }
        connection.ask("DATA").await?;
        let text = Message::new(&self.mailing, number).collect();
        let mut stuffed = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            stuffed.extend_from_slice(if line.starts_with(b".") { b"." } else { b"" });
            stuffed.extend_from_slice(line);
        }
        if breaks {
            stuffed.truncate(stuffed.len() >> 1);
            connection.write(&stuffed).await?;
            return Err(Cut);
        }
        connection.write(&stuffed).await?;
        *dot = true;
        connection.write(b".\r\n").await?;
        let groups: Vec<_> = match is_lmtp {
            true => left.iter().map(|account| vec![*account]).collect(),
            false => vec![left.clone()],
        };
        for group in groups {
            let event = match connection.reply().await? {
                250 => Event::Accepted,
                code => Event::Refused { code },
            };
            self.all(number, &group, event);
            left.retain(|account| !group.contains(account));
        }
        Ok(())
    }
}

pub(crate) const FOLDERS: [&str; 4] = ["INBOX", "Junk", "Archive", "Sent"];

/// What all mailboxes show, by account; `None` for one that could not be read.
pub(crate) type Shown = Vec<Option<Vec<(u16, Seen, Flags)>>>;

/// Reads the mailboxes of all accounts; each again when its connection breaks, up to five times.
pub(crate) async fn read_mailboxes(world: &World, server: IpAddr, mailing: &Rc<Mailing>) -> Shown {
    let accounts = u32::try_from(mailing.options().accounts.len()).expect("a dozen");
    let mut all = Vec::new();
    for account in 0..accounts {
        let mut shown = Err(Cut);
        for _ in 0..5 {
            shown = read_mailbox(world, server, mailing, account).await;
            if shown.is_ok() {
                break;
            }
        }
        all.push(shown.ok());
    }
    all
}

/// Shows an audit what the mailboxes show now; what they did not show `before` was first seen now.
pub(crate) fn tell(audit: &mut Audit, before: &Shown, now: (Shown, Time)) {
    let (shown, now) = now;
    for (account, (before, shown)) in (0..).zip(before.iter().zip(shown)) {
        let Some(shown) = shown else {
            audit.unreadable(account);
            continue;
        };
        let known = before.as_deref().unwrap_or_default();
        for shown in shown {
            let is_new = !known.contains(&shown);
            let (folder, seen, flags) = shown;
            audit.saw_with(Place { account, folder }, &seen, is_new.then_some(now), flags);
        }
        audit.read_whole(account);
    }
}

async fn read_mailbox(
    world: &World,
    server: IpAddr,
    mailing: &Rc<Mailing>,
    account: u32,
) -> Result<Vec<(u16, Seen, Flags)>, Cut> {
    let mut imap = Connection::open(world, SocketAddr::new(server, IMAP)).await?;
    imap.line().await?;
    let address = mailing.address(account).expect("it is there");
    imap.command(&format!("LOGIN \"{address}\" \"secret\"")).await?.0.then_some(()).ok_or(Cut)?;
    let mut all = Vec::new();
    for (index, folder) in (0..).zip(FOLDERS) {
        imap.command(&format!("EXAMINE {folder}")).await?.0.then_some(()).ok_or(Cut)?;
        imap.write(b"a UID FETCH 1:* (UID FLAGS BODY.PEEK[])\r\n").await?;
        loop {
            let line = imap.line().await?;
            if line.starts_with("a OK") {
                break;
            }
            let Some((_, length)) = line.rsplit_once('{') else { continue };
            let length = length.trim_end_matches('}').parse().map_err(|_| Cut)?;
            let mut comparison = Comparison::new(mailing);
            imap.bytes(length).await?.chunks(777).for_each(|chunk| comparison.feed(chunk));
            all.push((index, comparison.finish(), flags_of(&line)));
            imap.line().await?;
        }
    }
    Ok(all)
}
