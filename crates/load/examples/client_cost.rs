//! What the client side of mail costs: processor time of a small command and of an 8 KiB FETCH that
//! is compared byte by byte, plain and over TLS, without a network.
//!
//! `cargo run --release -p brunt-load --example client_cost`

#![expect(clippy::print_stdout, reason = "the result is what this program is for")]

mod tls;

use std::io::{Read as _, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};

use brunt_mail::{Comparison, Mailing, MailingOptions, Message, Seen};
use brunt_protocols::imap::{Client, Command, Event};
use brunt_protocols::tls::{Anchor, Trust};
use brunt_protocols::{Channel, Secret};
use rustls::ServerConnection;

const ROUNDS: u32 = 20_000;

fn server() -> ServerConnection {
    let mut server = ServerConnection::new(tls::config()).expect("a server");
    server.set_buffer_limit(None);
    server
}

/// The client, and the server's side of TLS if there is any.
struct Pair {
    client: Client,
    channel: Channel,
    server: Option<ServerConnection>,
    spent: Duration,
}

impl Pair {
    /// Lets the server take what the client sends; not counted.
    fn up(&mut self) {
        let bytes = self.channel.outgoing();
        if let Some(server) = &mut self.server {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                server.read_tls(&mut rest).expect("memory");
                server.process_new_packets().expect("TLS");
                let mut plain = [0; 4096];
                while server.reader().read(&mut plain).is_ok_and(|length| length > 0) {}
            }
        }
    }

    fn down(&mut self, plain: &[u8]) -> Vec<u8> {
        let Some(server) = &mut self.server else {
            return plain.to_vec();
        };
        let mut bytes = Vec::new();
        server.writer().write_all(plain).expect("memory");
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("memory");
        }
        bytes
    }

    /// A command and its answer; the client's time counts.
    fn ask(&mut self, command: Option<Command<'_>>, answer: &[u8], mailing: &Rc<Mailing>) {
        let begin = now();
        match command {
            Some(command) => self.client.command(command),
            None => self.client.login("me", &Secret::new("hunter2")),
        }
        let bytes = self.client.outgoing();
        self.channel.send(&bytes).expect("TLS");
        self.spent += begin.elapsed();
        self.up();
        let bytes = self.down(answer);
        let begin = now();
        let plain = self.channel.receive(bytes).expect("TLS");
        self.hear(&plain, mailing);
        self.spent += begin.elapsed();
    }

    fn hear(&mut self, plain: &[u8], mailing: &Rc<Mailing>) {
        let (mut input, mut comparing) = (plain, None);
        while let Some(event) = self.client.receive(&mut input).expect("a good server") {
            match event {
                Event::TextBegins { .. } => comparing = Some(Comparison::new(mailing)),
                Event::Text(chunk) => comparing.as_mut().expect("begun").feed(chunk),
                Event::TextEnds => {
                    let seen = comparing.take().map(Comparison::finish);
                    let is_equal = |seen: Seen| match seen {
                        Seen::Ours(copy) => copy.difference.is_none(),
                        _ => false,
                    };
                    assert!(seen.is_some_and(is_equal), "it is what was sent");
                }
                _ => {}
            }
        }
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the cost is real")]
    Instant::now()
}

fn main() {
    let addresses = vec!["u0@test.invalid".to_owned(), "u1@test.invalid".to_owned()];
    let mut options = MailingOptions::new(7, 1, 1_795_751_190, addresses);
    (options.sizes.least, options.sizes.most) = (8 << 10, 8 << 10);
    let mailing = Rc::new(Mailing::new(options).expect("messages"));
    for over_tls in [false, true] {
        let mut channel = Channel::plain();
        if over_tls {
            let trust = Trust::new(&Anchor::Anybody, 1_795_751_190).expect("anybody");
            channel.start_tls(&trust, "localhost").expect("a name");
        }
        let server = over_tls.then(server);
        let mut pair = Pair { client: Client::new(), channel, server, spent: Duration::ZERO };
        while pair.channel.is_shaking_hands() {
            pair.up();
            let bytes = pair.down(b"");
            pair.channel.receive(bytes).expect("TLS");
        }
        let bytes = pair.down(b"* OK [CAPABILITY IMAP4rev1] hi\r\n");
        let plain = pair.channel.receive(bytes).expect("TLS");
        pair.hear(&plain, &mailing);
        pair.ask(None, b"b1 OK in\r\n", &mailing);
        let text: Vec<u8> = Message::new(&mailing, 0).collect();
        let mut tag = 1;
        for is_fetch in [false, true] {
            pair.spent = Duration::ZERO;
            for _ in 0..ROUNDS {
                tag += 1;
                if is_fetch {
                    let begin = format!("* 1 FETCH (UID 1 BODY[] {{{}}}\r\n", text.len());
                    let end = format!(")\r\nb{tag} OK fetched\r\n");
                    let answer = [begin.as_bytes(), &text, end.as_bytes()].concat();
                    pair.ask(Some(Command::Fetch("1", "UID BODY.PEEK[]")), &answer, &mailing);
                } else {
                    let answer = format!("b{tag} OK done\r\n");
                    pair.ask(Some(Command::Noop), answer.as_bytes(), &mailing);
                }
            }
            let what = if is_fetch { "FETCH of 8 KiB, compared" } else { "NOOP" };
            let how = if over_tls { "TLS" } else { "plain" };
            let micros = pair.spent.as_secs_f64() * 1e6 / f64::from(ROUNDS);
            println!("{what}, {how}: {micros:.1} us");
        }
    }
}
