//! A small honest server of LMTP, SMTP and IMAP, with a few bad days to choose from.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use brunt_world::{SocketId, World};

/// What the server does wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bad {
    /// Closes each connection after so many messages, when the next one's text is announced.
    pub(crate) cut_in_text: Option<u32>,
    /// Stores each n-th message and closes instead of answering.
    pub(crate) cut_after_dot: Option<u32>,
    /// Answers each n-th recipient with this code.
    pub(crate) refuse: Option<(u32, u16)>,
    /// Answers 250 for each n-th message and drops it.
    pub(crate) drop: Option<u32>,
    /// Stores each n-th message twice.
    pub(crate) double: Option<u32>,
    /// Never answers the n-th message.
    pub(crate) stall: Option<u32>,
    /// Refuses the login of this user.
    pub(crate) locked: Option<&'static str>,
    /// Breaks the connection in each FETCH that would show this message of a mailbox.
    pub(crate) poison: Option<usize>,
    /// Gives mailboxes another UIDVALIDITY when mail arrives.
    pub(crate) renumbers: bool,
    /// Wants logins by AUTH LOGIN, question by question.
    pub(crate) asks: bool,
    /// Says NO to each FETCH of several messages.
    pub(crate) no_batches: bool,
    /// Sends away connections beyond this many at a time.
    pub(crate) most_sessions: Option<u32>,
    /// Puts off messages of a session beyond this many.
    pub(crate) most_messages: Option<u32>,
    /// Answers each n-th message of LMTP with a full mailbox, after its text.
    pub(crate) full: Option<u32>,
}

/// Mailboxes by address.
pub(crate) type Store = Rc<RefCell<BTreeMap<String, Vec<Vec<u8>>>>>;

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) world: World,
    pub(crate) bad: Bad,
    pub(crate) is_lmtp: bool,
    pub(crate) store: Store,
    pub(crate) messages: Rc<Cell<u32>>,
    recipients: Rc<Cell<u32>>,
    sessions: Rc<Cell<u32>>,
}

impl Server {
    pub(crate) fn new(world: &World, bad: Bad, is_lmtp: bool) -> Self {
        Self {
            world: world.clone(),
            bad,
            is_lmtp,
            store: Store::default(),
            messages: Rc::default(),
            recipients: Rc::default(),
            sessions: Rc::default(),
        }
    }

    /// Listens for messages and for readers; returns both addresses.
    pub(crate) async fn start(&self, at: &str) -> [SocketAddr; 2] {
        let any: SocketAddr = format!("{at}:0").parse().unwrap();
        self.listen_again([any, any]).await
    }

    /// Listens at these addresses.
    pub(crate) async fn listen_again(&self, at: [SocketAddr; 2]) -> [SocketAddr; 2] {
        let mut addresses = Vec::new();
        for (is_imap, at) in [(false, at[0]), (true, at[1])] {
            let (listener, address) = self.world.net.listen(at).await.unwrap();
            addresses.push(address);
            let server = self.clone();
            let listener = Socket(self.world.clone(), listener);
            drop(self.world.spawner.spawn(async move {
                let listener = listener;
                while let Ok((socket, _)) = server.world.net.accept(listener.1).await {
                    let line = Line::new(&server.world, socket);
                    let server = server.clone();
                    let spawner = server.world.spawner.clone();
                    drop(spawner.spawn(async move {
                        let _ = match is_imap {
                            true => server.imap(line).await,
                            false => server.post(line).await,
                        };
                    }));
                }
            }));
        }
        [addresses[0], addresses[1]]
    }

    async fn post(self, mut line: Line) -> Option<()> {
        let _session = Counted::new(&self.sessions);
        if self.bad.most_sessions.is_some_and(|most| self.sessions.get() > most) {
            return line.say("421 4.7.0 too many connections from 127.0.0.1").await;
        }
        line.say("220 small ready").await?;
        let (mut to, mut sent): (Vec<String>, u32) = (Vec::new(), 0);
        loop {
            let said = line.read().await?;
            let upper = said.to_ascii_uppercase();
            if upper.starts_with("EHLO") || upper.starts_with("LHLO") {
                assert_eq!(upper.starts_with("LHLO"), self.is_lmtp);
                // With BDAT a short text comes whole with its announcement.
                let last = if self.bad.cut_in_text.is_some() { "HELP" } else { "CHUNKING" };
                line.say("250-small\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SIZE 0").await?;
                if self.bad.asks {
                    line.say("250-AUTH LOGIN").await?;
                }
                line.say(&format!("250 {last}")).await?;
            } else if upper.starts_with("RCPT TO:<") {
                let count = self.recipients.get() + 1;
                self.recipients.set(count);
                match self.bad.refuse {
                    Some((each, code)) if count.is_multiple_of(each) => {
                        line.say(&format!("{code} 4.2.0 not now")).await?;
                    }
                    _ if self.bad.most_messages.is_some_and(|most| sent >= most) => {
                        line.say("450 4.7.1 rate limit of u1 exceeded").await?;
                    }
                    _ => {
                        to.push(said[9..].trim_end_matches('>').to_owned());
                        line.say("250 2.1.5 ok").await?;
                    }
                }
            } else if upper == "DATA" && to.is_empty() {
                line.say("503 5.5.1 no recipients").await?;
            } else if upper == "DATA" || upper.starts_with("BDAT ") {
                if self.bad.cut_in_text.is_some_and(|most| sent >= most) {
                    return None;
                }
                let text = match upper.strip_prefix("BDAT ") {
                    None => {
                        line.say("354 go").await?;
                        line.text().await?
                    }
                    Some(size) => line.bytes(size.split(' ').next()?.parse().ok()?).await?,
                };
                sent += 1;
                self.accept(&mut line, std::mem::take(&mut to), text).await?;
            } else if upper == "AUTH LOGIN" {
                line.say("334 VXNlcm5hbWU6").await?;
                line.read().await?;
                line.say("334 UGFzc3dvcmQ6").await?;
                assert_eq!(line.read().await?, "aHVudGVyMg==");
                line.say("235 2.7.0 in").await?;
            } else if upper == "QUIT" {
                line.say("221 bye").await?;
                return Some(());
            } else {
                line.say("250 2.0.0 ok").await?;
            }
        }
    }

    async fn accept(&self, line: &mut Line, to: Vec<String>, text: Vec<u8>) -> Option<()> {
        let number = self.messages.get() + 1;
        self.messages.set(number);
        let is = |each: Option<u32>| each.is_some_and(|each| number.is_multiple_of(each));
        let copies = match (is(self.bad.drop) || is(self.bad.full), is(self.bad.double)) {
            (true, _) => 0,
            (_, true) => 2,
            _ => 1,
        };
        let received = b"Received: by small; Fri, 27 Nov 2026 03:46:37 +0000\r\n";
        for address in &to {
            for _ in 0..copies {
                let mut store = self.store.borrow_mut();
                let mailbox = store.entry(address.clone()).or_default();
                mailbox.push([&received[..], &text].concat());
            }
        }
        if is(self.bad.cut_after_dot) {
            return None;
        }
        if is(self.bad.stall) {
            std::future::pending::<()>().await;
        }
        let reply = if is(self.bad.full) { "552 5.2.2 mailbox is full" } else { "250 2.0.0 kept" };
        for _ in 0..if self.is_lmtp { to.len() } else { 1 } {
            line.say(reply).await?;
        }
        Some(())
    }

    async fn imap(self, mut line: Line) -> Option<()> {
        let asks = if self.bad.asks { " AUTH=LOGIN" } else { "" };
        line.say(&format!("* OK [CAPABILITY IMAP4rev1 LITERAL+{asks}] small ready")).await?;
        let mut user = String::new();
        loop {
            let said = line.read().await?;
            let mut words = said.split(' ');
            let (tag, verb) = (words.next()?, words.next()?.to_ascii_uppercase());
            let rest: Vec<_> = words.collect();
            let mut answer = String::new();
            match verb.as_str() {
                "LOGIN" => {
                    user = rest[0].trim_matches('"').to_owned();
                    if self.bad.locked == Some(user.as_str()) {
                        line.say(&format!("{tag} NO [AUTHENTICATIONFAILED] no")).await?;
                        continue;
                    }
                }
                "AUTHENTICATE" => {
                    line.say("+ VXNlcm5hbWU6").await?;
                    let name = line.read().await?;
                    let names = ["dTA=", "dTE=", "dTI=", "dTM=", "dTQ=", "dTU=", "dTY=", "dTc="];
                    let names = names.iter().chain(&["dTg=", "dTk="]);
                    user = format!("u{}", names.into_iter().position(|known| *known == name)?);
                    line.say("+ UGFzc3dvcmQ6").await?;
                    assert_eq!(line.read().await?, "aHVudGVyMg==");
                }
                "LIST" => answer = "* LIST () \"/\" INBOX\r\n".to_owned(),
                "EXAMINE" => {
                    let count = self.mailbox(&user).len();
                    let validity = 1 + u32::from(self.bad.renumbers && count > 0);
                    answer = format!("* {count} EXISTS\r\n* OK [UIDVALIDITY {validity}] ok\r\n");
                    answer += &format!("* OK [UIDNEXT {}] ok\r\n", count + 1);
                }
                "UID" => {
                    self.fetch(&mut line, &user, tag, &rest).await?;
                    continue;
                }
                "LOGOUT" => answer = "* BYE bye\r\n".to_owned(),
                _ => {}
            }
            line.say(&format!("{answer}{tag} OK done")).await?;
        }
    }

    fn mailbox(&self, user: &str) -> Vec<Vec<u8>> {
        self.store.borrow().get(&format!("{user}@test.invalid")).cloned().unwrap_or_default()
    }

    async fn fetch(&self, line: &mut Line, user: &str, tag: &str, rest: &[&str]) -> Option<()> {
        let mailbox = self.mailbox(user);
        let (first, last) = rest[1].split_once(':').unwrap_or((rest[1], rest[1]));
        let first: usize = first.parse().ok()?;
        let last = last.parse().unwrap_or(mailbox.len()).min(mailbox.len());
        let wants_text = rest.join(" ").contains("BODY.PEEK[");
        if self.bad.no_batches && wants_text && last > first {
            return line.say(&format!("{tag} NO some of them cannot be read")).await;
        }
        for uid in first..=last {
            let text = &mailbox[uid - 1];
            if !wants_text {
                line.say(&format!("* {uid} FETCH (UID {uid})")).await?;
                continue;
            }
            if self.bad.poison == Some(uid) {
                return None;
            }
            let is_header = rest.join(" ").contains("HEADER");
            let mark = text.windows(8).position(|part| part == b"X-Brunt:");
            let text = match (is_header, mark) {
                (true, Some(at)) => text[at..].split(|byte| *byte == b'\r').next()?.to_vec(),
                (true, None) => b"\r\n".to_vec(),
                (false, _) => text.clone(),
            };
            let name = if is_header { "BODY[HEADER.FIELDS (X-BRUNT)]" } else { "BODY[]" };
            let begin = format!("* {uid} FETCH (UID {uid} {name} {{{}}}\r\n", text.len());
            line.send([begin.as_bytes(), &text, b")\r\n"].concat()).await?;
        }
        line.say(&format!("{tag} OK fetched")).await
    }
}

/// A session that is counted as long as it lasts.
struct Counted(Rc<Cell<u32>>);

impl Counted {
    fn new(sessions: &Rc<Cell<u32>>) -> Self {
        sessions.set(sessions.get() + 1);
        Self(Rc::clone(sessions))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A socket that closes when its task ends.
struct Socket(World, SocketId);

impl Drop for Socket {
    fn drop(&mut self) {
        self.0.net.close(self.1);
    }
}

/// A connection, line by line.
struct Line {
    socket: Socket,
    held: Vec<u8>,
}

impl Line {
    fn new(world: &World, socket: SocketId) -> Self {
        Self { socket: Socket(world.clone(), socket), held: Vec::new() }
    }

    async fn more(&mut self) -> Option<()> {
        let more = self.socket.0.net.read(self.socket.1, 1 << 16).await.ok()?;
        self.held.extend_from_slice(&more);
        (!more.is_empty()).then_some(())
    }

    async fn read(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.held.windows(2).position(|two| two == b"\r\n") {
                let line = self.held.drain(..end + 2).collect::<Vec<_>>();
                return String::from_utf8(line[..end].to_vec()).ok();
            }
            self.more().await?;
        }
    }

    async fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.held.len() < count {
            self.more().await?;
        }
        Some(self.held.drain(..count).collect())
    }

    /// A text up to its dot, with dots undone.
    async fn text(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            while let Some(end) = self.held.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<_> = self.held.drain(..end + 2).collect();
                match line.as_slice() {
                    b".\r\n" => return Some(text),
                    [b'.', rest @ ..] => text.extend_from_slice(rest),
                    line => text.extend_from_slice(line),
                }
            }
            self.more().await?;
        }
    }

    async fn say(&mut self, line: &str) -> Option<()> {
        self.send(format!("{line}\r\n").into_bytes()).await
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Option<()> {
        self.socket.0.net.write(self.socket.1, bytes).await.ok()
    }
}
