//! `[target]`: mail servers that brunt did not start.
//!
//! ```toml
//! [target]
//! send = "mail.example.org:587"       submission with STARTTLS and a login; or a relay, or LMTP
//! read = "mail.example.org:993"       IMAP over TLS
//! accounts = "accounts.txt"           lines of address, user, password; only its owner may read it
//! ca = "ca.pem"                       whom to trust; or `certificate`, for one that no authority has signed
//! ```
//!
//! That mail may be sent there is said on the command line, never here: a scenario may come from
//! anywhere. So are certificates that need not be checked.

use std::fmt;
use std::path::{Path, PathBuf};

use brunt_units::Span;
use toml::Value as Toml;

use super::super::kept::Keep;
use super::super::keys::{At, Maybe, PATH, SOME_TIME, TEXT, Word, keys, list, own};
use super::super::pair_steps::{in_folder, read_run};
use super::super::place::{Placed, Refusal};
use super::super::section;
use super::super::tree::Node;

keys! {
    /// Servers of the user's own: a field for each key of [`TARGET`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct Target; TARGET = "[target]";
    /// Where mail is sent to.
    send: Placed<Address> = Placed::unwritten(Address::nowhere()), At(own(read_address, "host:port")), needs "send = \"mail.example.org:587\"";
    /// What it speaks there: SMTP with a login, SMTP without, or LMTP.
    protocol: Speaks = Speaks::Submission, Word(&PROTOCOLS), "`\"submission\"`";
    /// Whether that is encrypted.
    send_tls: Tls = Tls::StartTls, Word(&TLS), "`\"starttls\"` for submission, else `\"none\"`", |target| target.send_tls = target.protocol.usual_tls();
    /// Where mailboxes are read, by IMAP.
    read: Placed<Address> = Placed::unwritten(Address::nowhere()), At(own(read_address, "host:port")), needs "read = \"mail.example.org:993\"";
    /// Whether that is encrypted.
    read_tls: Tls = Tls::Implicit, Word(&TLS), "`\"implicit\"`";
    /// How sessions log in, for submission and IMAP.
    auth: Mechanism = Mechanism::Best, Word(&MECHANISMS), "`\"best\"` that is offered";
    /// A file with a line for each account: address, user, password. Only its owner may read it.
    accounts: Placed<PathBuf> = Placed::unwritten(PathBuf::new()), At(PATH), needs "accounts = \"accounts.txt\"";
    /// A file with the password of accounts whose line has none. Only its owner may read it.
    password_file: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "asked for on the terminal";
    /// The name in the servers' certificates.
    name: Option<String> = None, Maybe(TEXT), "the host of `send` and of `read`";
    /// The authorities to trust, as PEM.
    ca: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "those of the system, `/etc/ssl/certs/ca-certificates.crt`";
    /// The only certificate to trust, as PEM, whatever its names and dates: for one that no authority has signed.
    certificate: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "`ca` decides";
    /// A program that prints how many messages the relay still holds, and its arguments. Needs `--allow-exec`.
    queue_command: Option<Placed<Vec<String>>> = None, Maybe(At(list(read_run, "list of texts"))), "nobody is asked, and `deadline` decides";
    /// How long accepted mail may take until mailboxes are read.
    deadline: Span = Span::seconds(60), SOME_TIME, "`\"1min\"`";
}

static PROTOCOLS: [(&str, Speaks); 3] =
    [("submission", Speaks::Submission), ("relay", Speaks::Relay), ("lmtp", Speaks::Lmtp)];
static TLS: [(&str, Tls); 3] =
    [("none", Tls::None), ("starttls", Tls::StartTls), ("implicit", Tls::Implicit)];
static MECHANISMS: [(&str, Mechanism); 5] = [
    ("best", Mechanism::Best),
    ("plain", Mechanism::Plain),
    ("login", Mechanism::Login),
    ("scram-sha-256", Mechanism::ScramSha256),
    ("xoauth2", Mechanism::XOAuth2),
];

/// What is spoken where mail is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// SMTP with a login.
    Submission,
    /// SMTP without one.
    Relay,
    /// LMTP.
    Lmtp,
}

impl Speaks {
    fn usual_tls(self) -> Tls {
        if self == Self::Submission { Tls::StartTls } else { Tls::None }
    }
}

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Never.
    None,
    /// From STARTTLS on.
    StartTls,
    /// From the first byte.
    Implicit,
}

/// How sessions log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// By the best that the server offers for passwords.
    Best,
    /// PLAIN.
    Plain,
    /// LOGIN.
    Login,
    /// SCRAM-SHA-256.
    ScramSha256,
    /// XOAUTH2; the password is a token.
    XOAuth2,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    fn nowhere() -> Self {
        Self { host: String::new(), port: 0 }
    }

    /// A name, or the number of a network without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port: not 0.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Keep for Address {
    fn keep(&self) -> Toml {
        self.to_string().into()
    }
}

fn read_address(node: &Node) -> Result<Address, Refusal> {
    let text = section::text(node)?;
    let refuse = || {
        let refusal = node.place.refuse("is no host with a port");
        refusal.hint("for example \"mail.example.org:587\", \"192.0.2.7:25\" or \"[::1]:993\"")
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(refuse)?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_number = |host: &str| host.parse::<std::net::Ipv6Addr>().is_ok();
    let is_name = |host: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        !host.is_empty() && !host.starts_with('-') && host.chars().all(is_part)
    };
    let host = match inner {
        Some(inner) => Some(inner).filter(|inner| is_number(inner)),
        None => Some(host).filter(|host| is_name(host)),
    };
    match (host, port.parse()) {
        (Some(host), Ok(port)) if port > 0 => Ok(Address { host: host.to_owned(), port }),
        _ => Err(refuse()),
    }
}

impl Target {
    /// Reads `[target]`. Relative paths are relative to `folder`.
    pub(super) fn read(node: Node, folder: &Path) -> Self {
        let mut target = Self::default();
        let section = TARGET.read(node, &mut target);
        if let (Some(_), Some(only)) = (&target.ca, &target.certificate) {
            let refusal = only.place.refuse("is the only one to trust, and `ca` has others");
            section.refuse(refusal.hint("keep `ca` or `certificate`"));
        }
        let own = [&mut target.password_file, &mut target.ca, &mut target.certificate];
        let own = own.into_iter().flatten();
        for path in std::iter::once(&mut target.accounts).chain(own) {
            path.value = section::joined(folder, &path.value);
        }
        if let Some(command) = &mut target.queue_command {
            in_folder(&mut command.value, folder);
        }
        target
    }

    pub(super) fn write(&self, out: &mut String) {
        TARGET.write(self, out);
    }
}
