//! Where a server is, and how it is talked to.

use std::net::SocketAddr;

use brunt_protocols::sasl::Mechanism;
use brunt_protocols::smtp::Dialect;
use brunt_units::Span;

/// What is spoken at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SMTP: submission with a login, or relay without one.
    Smtp,
    /// LMTP.
    Lmtp,
    /// IMAP.
    Imap,
}

impl Protocol {
    pub(crate) fn dialect(self) -> Dialect {
        if self == Self::Lmtp { Dialect::Lmtp } else { Dialect::Smtp }
    }
}

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsUse {
    /// Never.
    None,
    /// From STARTTLS on. A server that does not offer it is left.
    StartTls,
    /// From the first byte.
    Implicit,
}

/// Whether and how sessions log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// Not at all: a relay or LMTP.
    None,
    /// By the best mechanism that the server offers for passwords.
    Best,
    /// By this one.
    By(Mechanism),
}

/// A server of one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address. Connections go there and nowhere else.
    pub address: SocketAddr,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether it is encrypted.
    pub tls: TlsUse,
    /// The name that its certificate must have.
    pub name: String,
    /// Whether sessions log in.
    pub login: Login,
    /// The name by which we greet it (EHLO, LHLO).
    pub hello: String,
}

impl Endpoint {
    /// A server that is named by its address, without TLS and without a login but for IMAP.
    pub fn new(address: SocketAddr, protocol: Protocol) -> Self {
        let login = if protocol == Protocol::Imap { Login::Best } else { Login::None };
        let name = address.ip().to_string();
        Self { address, protocol, tls: TlsUse::None, name, login, hello: "localhost".to_owned() }
    }

    /// The same with TLS, for a certificate with this name.
    #[must_use]
    pub fn with_tls(mut self, tls: TlsUse, name: impl Into<String>) -> Self {
        (self.tls, self.name) = (tls, name.into());
        self
    }

    /// The same with a login.
    #[must_use]
    pub fn with_login(mut self, login: Login) -> Self {
        self.login = login;
        self
    }

    /// Whether a password may be sent there without TLS: only where it does not leave the machine.
    pub(crate) fn is_own_machine(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

/// How long a session waits. RFC 5321 section 4.5.3.2 asks for minutes; a server under test that
/// takes that long has failed its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection, and for TLS.
    pub connect: Span,
    /// For a reply, and for each part of a text.
    pub reply: Span,
    /// For the reply to a whole message.
    pub accept: Span,
    /// For the whole of an IMAP command, however much the server says.
    pub command: Span,
    /// For whatever is under way once the run is to stop.
    pub stop: Span,
}

impl Default for Patience {
    /// 10 s, 60 s, 120 s, 300 s, 5 s.
    fn default() -> Self {
        Self {
            connect: Span::seconds(10),
            reply: Span::seconds(60),
            accept: Span::seconds(120),
            command: Span::seconds(300),
            stop: Span::seconds(5),
        }
    }
}
