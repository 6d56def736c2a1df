//! What went wrong in sessions, by kind: how often, and the first line that showed it.

use std::collections::BTreeMap;
use std::fmt;

use brunt_protocols::imap::Oddity;
use brunt_protocols::smtp::{Reply, Step};
use brunt_protocols::{Failure, Kind};
use brunt_units::Time;
use brunt_world::NetError;

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TroubleKind {
    /// Nothing listens at the address.
    ConnectionRefused,
    /// There is no way to the address.
    Unreachable,
    /// No connection within the patience.
    ConnectTimeout,
    /// The connection broke.
    Reset,
    /// The server closed the connection in the middle of something.
    Closed,
    /// The server did not answer within the patience.
    NoAnswer,
    /// The server does what its protocol forbids.
    Protocol(Kind),
    /// A response of an IMAP server was passed over; the session went on.
    PassedOver(Oddity),
    /// The server refused its greeting or ours.
    GreetingRefused,
    /// TLS is wanted and not offered.
    NoTls,
    /// No mechanism that the server offers works with a password.
    NoMechanism,
    /// A password would have left the machine without TLS. It was not sent.
    PlainPassword,
    /// The login was refused: another attempt would be too.
    LoginRefused,
    /// The login was put off: the server cannot check passwords now.
    LoginPutOff,
    /// A message was refused for now (4xx).
    RefusedForNow,
    /// A message was refused for good (5xx).
    RefusedForGood,
    /// An IMAP command was refused.
    CommandRefused,
    /// UIDVALIDITY of a folder changed while it was read.
    UidValidity,
    /// We closed the connection in the middle of a text, because the run asks for that.
    OwnCut,
    /// This process may have no more files open, or the system has no more.
    OutOfFiles,
    /// No local port is left for another connection.
    OutOfPorts,
    /// Anything else that the operating system says.
    System,
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConnectionRefused => "connection refused",
            Self::Unreachable => "host unreachable",
            Self::ConnectTimeout => "no connection in time",
            Self::Reset => "connection reset",
            Self::Closed => "connection closed by the server",
            Self::NoAnswer => "no answer in time",
            Self::Protocol(kind) => kind.words(),
            Self::PassedOver(oddity) => oddity.words(),
            Self::GreetingRefused => "greeting refused",
            Self::NoTls => "TLS not offered",
            Self::NoMechanism => "no known way to log in",
            Self::PlainPassword => "password held back: no TLS",
            Self::LoginRefused => "login refused",
            Self::LoginPutOff => "login put off",
            Self::RefusedForNow => "message refused for now",
            Self::RefusedForGood => "message refused for good",
            Self::CommandRefused => "command refused",
            Self::UidValidity => "UIDVALIDITY changed",
            Self::OwnCut => "cut on purpose",
            Self::OutOfFiles => "out of files, on this side (ulimit -n)",
            Self::OutOfPorts => "out of ports, on this side (net.ipv4.ip_local_port_range)",
            Self::System => "error of the operating system",
        })
    }
}

/// Trouble in a session: what kind, and the line that showed it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {line}")]
pub struct Trouble {
    /// The kind.
    pub kind: TroubleKind,
    /// The server's line, or what was being done.
    pub line: String,
}

impl Trouble {
    pub(crate) fn new(kind: TroubleKind, line: impl Into<String>) -> Self {
        Self { kind, line: line.into() }
    }

    /// Trouble while `doing` something over a connection.
    pub(crate) fn net(error: NetError, doing: &str) -> Self {
        let kind = match error {
            NetError::Refused => TroubleKind::ConnectionRefused,
            NetError::Unreachable => TroubleKind::Unreachable,
            NetError::TimedOut => TroubleKind::ConnectTimeout,
            NetError::Reset | NetError::Closed => TroubleKind::Reset,
            NetError::NoHandle => TroubleKind::OutOfFiles,
            NetError::NoPort => TroubleKind::OutOfPorts,
            _ => TroubleKind::System,
        };
        Self::new(kind, format!("{doing}: {error}"))
    }

    pub(crate) fn refused(step: Step, reply: &Reply) -> Self {
        let kind = match step {
            Step::Authenticate if reply.is_transient() => TroubleKind::LoginPutOff,
            Step::Authenticate => TroubleKind::LoginRefused,
            Step::StartTls => TroubleKind::NoTls,
            _ => TroubleKind::GreetingRefused,
        };
        Self::new(kind, reply.to_string())
    }

    /// Whether trying again soon can help. Otherwise every session would meet the same.
    pub fn is_passing(&self) -> bool {
        !matches!(
            self.kind,
            TroubleKind::NoTls
                | TroubleKind::NoMechanism
                | TroubleKind::PlainPassword
                | TroubleKind::LoginRefused
                | TroubleKind::Protocol(Kind::Certificate | Kind::EarlyBytes | Kind::Unproven)
        )
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { kind: TroubleKind::Protocol(failure.kind), line: failure.line }
    }
}

/// A kind of trouble that occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// How often.
    pub count: u64,
    /// When first.
    pub first_at: Time,
    /// When last.
    pub last_at: Time,
    /// The first line that showed it.
    pub first_line: String,
}

/// All trouble of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(BTreeMap<TroubleKind, Noted>);

impl Errors {
    pub(crate) fn note(&mut self, at: Time, trouble: &Trouble) {
        self.note_many(at, trouble.kind, &trouble.line, 1);
    }

    pub(crate) fn note_many(&mut self, at: Time, kind: TroubleKind, line: &str, count: u64) {
        let first = || Noted { count: 0, first_at: at, last_at: at, first_line: line.to_owned() };
        let noted = self.0.entry(kind).or_insert_with(first);
        noted.count += count;
        noted.last_at = at;
    }

    /// Each kind that occurred.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TroubleKind, &Noted)> {
        self.0.iter().map(|(kind, noted)| (*kind, noted))
    }

    /// One kind, if it occurred.
    pub fn get(&self, kind: TroubleKind) -> Option<&Noted> {
        self.0.get(&kind)
    }

    /// Whether nothing went wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
