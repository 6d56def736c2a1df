//! Commands as bytes, with the places where the client has to wait.

/// A command.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// CAPABILITY.
    Capability,
    /// NOOP.
    Noop,
    /// STARTTLS.
    StartTls,
    /// LOGOUT.
    Logout,
    /// NAMESPACE.
    Namespace,
    /// ENABLE, with names of extensions.
    Enable(&'a str),
    /// LIST of all mailboxes that match a pattern.
    List(&'a str),
    /// SELECT.
    Select(&'a [u8]),
    /// EXAMINE: as SELECT, but nothing changes, not even `\Recent`.
    Examine(&'a [u8]),
    /// UNSELECT.
    Unselect,
    /// CLOSE, which expunges.
    Close,
    /// STATUS of a mailbox, with items such as `MESSAGES UIDNEXT`.
    Status(&'a [u8], &'a str),
    /// UID FETCH: numbers, items.
    Fetch(&'a str, &'a str),
    /// FETCH: places in the mailbox, items.
    FetchPlaces(&'a str, &'a str),
    /// UID STORE: numbers, change such as `+FLAGS.SILENT (\Deleted)`.
    Store(&'a str, &'a str),
    /// UID SEARCH, with keys such as `UNSEEN`.
    Search(&'a str),
    /// UID COPY: numbers, mailbox.
    Copy(&'a str, &'a [u8]),
    /// UID MOVE: numbers, mailbox.
    Move(&'a str, &'a [u8]),
    /// EXPUNGE.
    Expunge,
    /// UID EXPUNGE: numbers.
    UidExpunge(&'a str),
    /// CREATE.
    Create(&'a [u8]),
    /// DELETE.
    Delete(&'a [u8]),
    /// APPEND: mailbox, flags without parentheses, bytes of the message that follows.
    Append(&'a [u8], &'a str, u64),
    /// IDLE.
    Idle,
    /// CHECK.
    Check,
    /// GETQUOTAROOT of a mailbox.
    QuotaRoot(&'a [u8]),
}

/// Which command a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names of commands")]
pub enum Asked {
    Capability,
    Noop,
    StartTls,
    Logout,
    Login,
    Authenticate,
    Namespace,
    Enable,
    List,
    Select,
    Examine,
    Unselect,
    Close,
    Status,
    Fetch,
    Store,
    Search,
    Copy,
    Move,
    Expunge,
    Create,
    Delete,
    Append,
    Idle,
    Check,
    QuotaRoot,
}

/// A piece of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Line(Vec<u8>),
    /// Sent after the server has asked for it, unless literals need not wait.
    Literal(Vec<u8>),
    /// The same, but the caller sends it.
    Streamed(u64),
}

/// The parts of a command, and how it is shown: without secrets.
pub(super) struct Written {
    pub(super) parts: Vec<Part>,
    pub(super) shown: String,
}

impl Written {
    pub(super) fn new(text: &str) -> Self {
        Self { parts: vec![Part::Line(text.as_bytes().to_vec())], shown: text.to_owned() }
    }

    fn text(mut self, text: &str) -> Self {
        self.shown.push_str(text);
        self.bytes(text.as_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Line(line)) => line.extend_from_slice(bytes),
            _ => self.parts.push(Part::Line(bytes.to_vec())),
        }
    }

    /// A blank and a string: quoted where that is possible, otherwise a literal.
    pub(super) fn string(mut self, string: &[u8], is_secret: bool) -> Self {
        self.shown.push_str(&match is_secret {
            true => " (a secret)".to_owned(),
            false => format!(" {}", String::from_utf8_lossy(string)),
        });
        self.bytes(b" ");
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
        if string.iter().all(is_plain) && string.len() <= 1024 {
            let mut quoted = vec![b'"'];
            for byte in string {
                if matches!(byte, b'"' | b'\\') {
                    quoted.push(b'\\');
                }
                quoted.push(*byte);
            }
            quoted.push(b'"');
            self.bytes(&quoted);
        } else {
            self.parts.push(Part::Literal(string.to_vec()));
        }
        self
    }
}

impl Command<'_> {
    pub(super) fn asked(&self) -> Asked {
        match self {
            Self::Capability => Asked::Capability,
            Self::Noop => Asked::Noop,
            Self::StartTls => Asked::StartTls,
            Self::Logout => Asked::Logout,
            Self::Namespace => Asked::Namespace,
            Self::Enable(_) => Asked::Enable,
            Self::List(_) => Asked::List,
            Self::Select(_) => Asked::Select,
            Self::Examine(_) => Asked::Examine,
            Self::Unselect => Asked::Unselect,
            Self::Close => Asked::Close,
            Self::Status(..) => Asked::Status,
            Self::Fetch(..) | Self::FetchPlaces(..) => Asked::Fetch,
            Self::Store(..) => Asked::Store,
            Self::Search(_) => Asked::Search,
            Self::Copy(..) => Asked::Copy,
            Self::Move(..) => Asked::Move,
            Self::Expunge | Self::UidExpunge(_) => Asked::Expunge,
            Self::Create(_) => Asked::Create,
            Self::Delete(_) => Asked::Delete,
            Self::Append(..) => Asked::Append,
            Self::Idle => Asked::Idle,
            Self::Check => Asked::Check,
            Self::QuotaRoot(_) => Asked::QuotaRoot,
        }
    }

    pub(super) fn write(&self) -> Written {
        match self {
            Self::Capability => Written::new("CAPABILITY"),
            Self::Noop => Written::new("NOOP"),
            Self::StartTls => Written::new("STARTTLS"),
            Self::Logout => Written::new("LOGOUT"),
            Self::Namespace => Written::new("NAMESPACE"),
            Self::Enable(names) => Written::new(&format!("ENABLE {names}")),
            Self::List(pattern) => Written::new("LIST \"\"").string(pattern.as_bytes(), false),
            Self::Select(name) => Written::new("SELECT").string(name, false),
            Self::Examine(name) => Written::new("EXAMINE").string(name, false),
            Self::Unselect => Written::new("UNSELECT"),
            Self::Close => Written::new("CLOSE"),
            Self::Status(name, items) => {
                Written::new("STATUS").string(name, false).text(&format!(" ({items})"))
            }
            Self::Fetch(set, items) => Written::new(&format!("UID FETCH {set} ({items})")),
            Self::FetchPlaces(set, items) => Written::new(&format!("FETCH {set} ({items})")),
            Self::Store(set, change) => Written::new(&format!("UID STORE {set} {change}")),
            Self::Search(keys) => Written::new(&format!("UID SEARCH {keys}")),
            Self::Copy(set, name) => Written::new(&format!("UID COPY {set}")).string(name, false),
            Self::Move(set, name) => Written::new(&format!("UID MOVE {set}")).string(name, false),
            Self::Expunge => Written::new("EXPUNGE"),
            Self::UidExpunge(set) => Written::new(&format!("UID EXPUNGE {set}")),
            Self::Create(name) => Written::new("CREATE").string(name, false),
            Self::Delete(name) => Written::new("DELETE").string(name, false),
            Self::Append(name, flags, bytes) => {
                let mut written = Written::new("APPEND").string(name, false);
                written = written.text(&format!(" ({flags}) "));
                written.parts.push(Part::Streamed(*bytes));
                written.shown.push_str(&format!("(a text of {bytes} bytes)"));
                written
            }
            Self::Idle => Written::new("IDLE"),
            Self::Check => Written::new("CHECK"),
            Self::QuotaRoot(name) => Written::new("GETQUOTAROOT").string(name, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(command: Command<'_>) -> Vec<Part> {
        command.write().parts
    }

    #[test]
    fn names_are_quoted_or_become_literals() {
        let line = |text: &str| Part::Line(text.as_bytes().to_vec());
        assert_eq!(parts(Command::Select(b"INBOX")), [line("SELECT \"INBOX\"")]);
        assert_eq!(parts(Command::Create(br#"a "b\"#)), [line(r#"CREATE "a \"b\\""#)]);
        let name = "Entw\u{fc}rfe".as_bytes();
        assert_eq!(
            parts(Command::Status(name, "MESSAGES")),
            [line("STATUS "), Part::Literal(name.to_vec()), line(" (MESSAGES)")]
        );
        assert_eq!(
            parts(Command::Delete(b"a\r\nb LOGOUT")),
            [line("DELETE "), Part::Literal(b"a\r\nb LOGOUT".to_vec())]
        );
        assert_eq!(
            parts(Command::Append(b"Sent", "\\Seen", 9)),
            [line("APPEND \"Sent\" (\\Seen) "), Part::Streamed(9)]
        );
        let login = Written::new("LOGIN").string(b"me", false).string(b"pass", true);
        assert_eq!(login.shown, "LOGIN me (a secret)");
        assert_eq!(login.parts, [line("LOGIN \"me\" \"pass\"")]);
    }
}
