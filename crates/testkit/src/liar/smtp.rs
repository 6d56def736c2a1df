//! SMTP and LMTP, the server's side.

use super::Inner;
use super::lies::{Lie, number_of};
use super::store::Envelope;
use super::wire::Wire;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Smtp,
    Lmtp,
}

const SIZE: usize = 64 << 20;

/// A session, until either side ends it.
pub(super) async fn serve(inner: &Inner, wire: Wire, dialect: Dialect) {
    let replies = b"220 liar.invalid ready\r\n".to_vec();
    let mut session =
        Session { inner, wire, dialect, replies, from: None, to: Vec::new(), chunks: Vec::new() };
    while session.step().await.is_some() {}
}

struct Session<'a> {
    inner: &'a Inner,
    wire: Wire,
    dialect: Dialect,
    /// Not yet written.
    replies: Vec<u8>,
    from: Option<String>,
    to: Vec<u32>,
    /// Text that has come by BDAT.
    chunks: Vec<u8>,
}

impl Session<'_> {
    fn reply(&mut self, line: &str) {
        self.replies.extend_from_slice(line.as_bytes());
        self.replies.extend_from_slice(b"\r\n");
    }

    async fn flush(&mut self) -> Option<()> {
        match std::mem::take(&mut self.replies) {
            replies if replies.is_empty() => Some(()),
            replies => self.wire.write(replies).await,
        }
    }

    /// The next command, or a cut.
    async fn command(&mut self) -> Option<String> {
        if !self.wire.has_more() {
            self.flush().await?;
        }
        let line = self.wire.line().await?;
        if self.inner.is_cut(self.wire.now()) {
            return None;
        }
        Some(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Answers one command; `None` when the session is over.
    async fn step(&mut self) -> Option<()> {
        let line = self.command().await?;
        let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" | "LHLO" => {
                self.reset();
                for offered in ["PIPELINING", "8BITMIME", "CHUNKING", "ENHANCEDSTATUSCODES"] {
                    self.reply(&format!("250-{offered}"));
                }
                self.reply("250-AUTH PLAIN LOGIN");
                self.reply(&format!("250 SIZE {SIZE}"));
            }
            "HELO" | "RSET" => {
                self.reset();
                self.reply("250 2.0.0 ok");
            }
            "NOOP" => self.reply("250 2.0.0 ok"),
            "AUTH" => self.authenticate(rest).await?,
            "MAIL" => {
                self.from = between(rest).map(str::to_owned);
                let reply = if self.from.is_some() { "250 2.1.0 ok" } else { "501 5.5.4 no path" };
                self.reply(reply);
            }
            "RCPT" => self.recipient(rest),
            "DATA" if self.to.is_empty() => self.reply("503 5.5.1 no recipients"),
            "DATA" => self.data().await?,
            "BDAT" => self.chunk(rest).await?,
            "QUIT" => {
                self.reply("221 2.0.0 bye");
                self.flush().await;
                return None;
            }
            _ => self.reply("500 5.5.2 unknown"),
        }
        Some(())
    }

    fn reset(&mut self) {
        (self.from, self.to, self.chunks) = (None, Vec::new(), Vec::new());
    }

    fn recipient(&mut self, rest: &str) {
        let known = between(rest).and_then(|address| self.inner.recipient(address));
        let per_thousand = self.inner.options.refusals_per_thousand;
        let is_refused = self.inner.state.borrow_mut().stream.below(1000) < per_thousand;
        match known {
            _ if self.from.is_none() => self.reply("503 5.5.1 no sender"),
            None => self.reply("550 5.1.1 no such user"),
            Some(_) if is_refused => self.reply("451 4.3.0 not now"),
            Some(account) => {
                self.to.push(account);
                self.reply("250 2.1.5 ok");
            }
        }
    }

    async fn authenticate(&mut self, rest: &str) -> Option<()> {
        let mut words = rest.split(' ');
        let mechanism = words.next().unwrap_or_default().to_ascii_uppercase();
        let initial = words.next().map(str::to_owned);
        let answers = match mechanism.as_str() {
            "PLAIN" => {
                let given = match initial {
                    Some(given) => given,
                    None => self.ask("334 ").await?,
                };
                let plain = decoded(&given);
                let mut parts = plain.split(|byte| *byte == 0).skip(1).map(<[u8]>::to_vec);
                [parts.next(), parts.next()]
            }
            "LOGIN" => {
                let user = self.ask("334 VXNlcm5hbWU6").await?;
                let password = self.ask("334 UGFzc3dvcmQ6").await?;
                [Some(decoded(&user)), Some(decoded(&password))]
            }
            _ => [None, None],
        };
        let [user, password] = answers.map(Option::unwrap_or_default);
        match self.inner.account(&user, &password) {
            Some(_) => self.reply("235 2.7.0 ok"),
            None => self.reply("535 5.7.8 no"),
        }
        Some(())
    }

    async fn ask(&mut self, challenge: &str) -> Option<String> {
        self.reply(challenge);
        self.flush().await?;
        let line = self.wire.line().await?;
        Some(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    async fn data(&mut self) -> Option<()> {
        self.reply("354 go on");
        self.flush().await?;
        let mut text = Vec::new();
        let cut_at = self.inner.is_cut(self.wire.now()).then_some(3);
        for number in 0.. {
            let line = match self.wire.line().await {
                Some(line) if cut_at != Some(number) => line,
                _ => {
                    self.unfinished(text);
                    return None;
                }
            };
            match &line[..] {
                b".\r\n" => break,
                [b'.', rest @ ..] => text.extend_from_slice(rest),
                line => text.extend_from_slice(line),
            }
        }
        self.accept(text).await
    }

    async fn chunk(&mut self, rest: &str) -> Option<()> {
        let mut words = rest.split(' ');
        let count = words.next().and_then(|count| count.parse::<usize>().ok())?;
        let is_last = words.next().is_some_and(|last| last.eq_ignore_ascii_case("LAST"));
        (count + self.chunks.len() <= SIZE).then_some(())?;
        let is_cut = self.inner.is_cut(self.wire.now());
        let bytes = self.wire.bytes(if is_cut { count >> 1 } else { count }).await;
        self.chunks.extend_from_slice(bytes.as_deref().unwrap_or_default());
        if is_cut || bytes.is_none() {
            let text = std::mem::take(&mut self.chunks);
            self.unfinished(text);
            return None;
        }
        if self.to.is_empty() {
            self.reply("503 5.5.1 no recipients");
        } else if is_last {
            let text = std::mem::take(&mut self.chunks);
            self.accept(text).await?;
        } else {
            self.reply("250 2.0.0 ok");
        }
        Some(())
    }

    /// The connection broke within a message.
    fn unfinished(&mut self, text: Vec<u8>) {
        let number = number_of(&text);
        let to = self.to.clone();
        let chosen = self
            .inner
            .state
            .borrow_mut()
            .lies
            .consider(number, |lie| lie == Lie::DeliverUnfinished);
        if chosen.is_none() || number.is_none() || to.is_empty() {
            return;
        }
        let envelope = self.envelope(text);
        for account in to {
            self.inner.state.borrow_mut().lies.tell(Lie::DeliverUnfinished, number, account);
            self.inner.deliver(&self.wire.world, &envelope, account);
        }
    }

    fn envelope(&mut self, text: Vec<u8>) -> Envelope {
        let (from, to) = (self.from.take().unwrap_or_default(), std::mem::take(&mut self.to));
        let date = self.inner.date(self.wire.now());
        let mut message = match self.dialect {
            Dialect::Smtp => {
                format!("Received: from client by relay.invalid with ESMTP;\r\n\t{date}\r\n")
                    .into_bytes()
            }
            Dialect::Lmtp => Vec::new(),
        };
        message.extend_from_slice(&text);
        Envelope { from, to, message }
    }

    /// The message is whole: takes responsibility, or lies.
    async fn accept(&mut self, text: Vec<u8>) -> Option<()> {
        let number = number_of(&text);
        let envelope = self.envelope(text);
        let lie = self.inner.state.borrow_mut().lies.consider(number, |lie| match lie {
            Lie::ShiftReplies => self.dialect == Dialect::Lmtp && envelope.to.len() > 1,
            Lie::RefuseAndDeliver => true,
            _ => false,
        });
        if let Some(lie) = lie {
            // The first recipient is refused, and the last one seems to be.
            let about = match lie {
                Lie::ShiftReplies => vec![envelope.to[0], envelope.to[envelope.to.len() - 1]],
                _ => envelope.to.clone(),
            };
            let mut state = self.inner.state.borrow_mut();
            about.into_iter().for_each(|account| state.lies.tell(lie, number, account));
        }
        // The connection may break before the answer, or before responsibility is taken.
        if self.inner.is_cut(self.wire.now()) {
            return None;
        }
        match self.dialect {
            Dialect::Smtp => {
                self.inner.enqueue(envelope);
                match lie {
                    Some(Lie::RefuseAndDeliver) => self.reply("451 4.3.0 not now"),
                    _ => self.reply("250 2.0.0 queued"),
                }
            }
            Dialect::Lmtp => {
                let mut replies = Vec::new();
                for (index, account) in envelope.to.iter().enumerate() {
                    if lie == Some(Lie::ShiftReplies) && index == 0 {
                        replies.push("452 4.2.2 full");
                        continue;
                    }
                    self.inner.deliver(&self.wire.world, &envelope, *account);
                    let reply = match lie {
                        Some(Lie::RefuseAndDeliver) => "451 4.3.0 not now",
                        _ => "250 2.0.0 saved",
                    };
                    replies.push(reply);
                }
                if lie == Some(Lie::ShiftReplies) {
                    replies.rotate_left(1);
                }
                replies.into_iter().for_each(|reply| self.reply(reply));
            }
        }
        if self.inner.is_cut(self.wire.now()) {
            return None;
        }
        Some(())
    }
}

/// What stands between angle brackets.
fn between(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('<')?;
    Some(rest.split_once('>')?.0)
}

/// Base64, as far as it is valid.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for six in text.bytes().map_while(value) {
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).expect("eight bits"));
        }
    }
    bytes
}
