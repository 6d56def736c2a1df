//! A few lines of SMTP, LMTP and IMAP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use brunt_servers::Account;

pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(to: SocketAddr) -> Self {
        let connection = TcpStream::connect(to).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(BufReader::new(connection))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    fn tell(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }

    /// The last line of a reply of SMTP.
    fn reply(&mut self) -> String {
        loop {
            let line = self.line();
            if line.as_bytes().get(3) != Some(&b'-') {
                return line;
            }
        }
    }

    fn ask(&mut self, line: &str) -> String {
        self.tell(line);
        self.reply()
    }
}

/// Delivers a message with the subject `subject`; returns a reply for each recipient by LMTP
/// (`LHLO`), one for all by SMTP (`EHLO`).
pub(crate) fn deliver(
    to: SocketAddr,
    hello: &str,
    recipients: &[&Account],
    subject: &str,
) -> Vec<String> {
    let mut client = Client::connect(to);
    assert!(client.reply().starts_with("220 "));
    assert!(client.ask(&format!("{hello} localhost")).starts_with("250 "));
    assert!(client.ask("MAIL FROM:<u0000@test.invalid>").starts_with("250 "));
    for recipient in recipients {
        let reply = client.ask(&format!("RCPT TO:<{}>", recipient.address()));
        assert!(reply.starts_with("250 "), "{reply}");
    }
    assert!(client.ask("DATA").starts_with("354 "));
    client.tell(&format!(
        "From: <u0000@test.invalid>\r\nTo: <all@test.invalid>\r\nSubject: {subject}\r\nDate: Thu, 26 Nov 2026 10:00:00 +0000\r\nMessage-ID: <{subject}@test.invalid>\r\nMIME-Version: 1.0\r\n\r\nHello.\r\n."
    ));
    let replies = if hello == "LHLO" { recipients.len() } else { 1 };
    (0..replies).map(|_| client.reply()).collect()
}

/// The answer to `RCPT TO` for an address.
pub(crate) fn recipient(to: SocketAddr, hello: &str, address: &str) -> String {
    let mut client = Client::connect(to);
    client.reply();
    client.ask(&format!("{hello} localhost"));
    client.ask("MAIL FROM:<u0000@test.invalid>");
    client.ask(&format!("RCPT TO:<{address}>"))
}

/// What a server of SMTP offers.
pub(crate) fn offers(to: SocketAddr) -> String {
    let mut client = Client::connect(to);
    client.reply();
    client.tell("EHLO localhost");
    let mut lines = String::new();
    loop {
        let line = client.line();
        let is_last = line.as_bytes().get(3) != Some(&b'-');
        lines.push_str(&line);
        if is_last {
            return lines;
        }
    }
}

/// The subjects of the messages in the inbox of `account`, in their order.
pub(crate) fn subjects(imap: SocketAddr, account: &Account) -> Vec<String> {
    let mut client = Client::connect(imap);
    assert!(client.line().starts_with("* OK"));
    let password = account.password.reveal();
    client.tell(&format!("a LOGIN {} {password}", account.name));
    client.tell("b SELECT INBOX");
    client.tell("c FETCH 1:* BODY.PEEK[HEADER.FIELDS (SUBJECT)]");
    client.tell("d LOGOUT");
    let mut all = String::new();
    client.0.read_to_string(&mut all).unwrap();
    assert!(all.contains("a OK") && all.contains("b OK"), "{all}");
    let subjects = all.lines().filter_map(|line| line.strip_prefix("Subject: "));
    subjects.map(str::to_owned).collect()
}

/// Whether a log-in with `password` succeeds.
pub(crate) fn logs_in(imap: SocketAddr, name: &str, password: &str) -> bool {
    let mut client = Client::connect(imap);
    client.line();
    client.tell(&format!("a LOGIN {name} {password}"));
    loop {
        let line = client.line();
        if line.starts_with("a ") {
            return line.starts_with("a OK");
        }
    }
}
