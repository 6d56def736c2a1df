//! What mail clients fetch.

use serde::Deserialize;

/// A mail client, by what it fetches.
///
/// The items are those of the profiles that imaptest ships (`profile.conf`, dovecot/imaptest), which
/// recorded them from these clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Keeps what it has fetched: headers of new messages at once, bodies when they are read for the
    /// first time; reading them again asks nothing of the server.
    Thunderbird,
    /// The same, with other headers and MODSEQ where the server has it.
    AppleMail,
    /// Keeps nothing: fetches the headers of the whole folder each time, and each body that is read, as
    /// a webmail does.
    NoCache,
}

impl Client {
    pub const ALL: [Self; 3] = [Self::Thunderbird, Self::AppleMail, Self::NoCache];

    pub fn word(self) -> &'static str {
        match self {
            Self::Thunderbird => "thunderbird",
            Self::AppleMail => "apple-mail",
            Self::NoCache => "no-cache",
        }
    }

    /// The items that it fetches of messages it has not seen; `condstore`: the server offers it.
    pub fn on_arrival(self, condstore: bool) -> &'static str {
        match (self, condstore) {
            (Self::AppleMail, true) => {
                "INTERNALDATE UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (date subject from to cc message-id \
                 in-reply-to references x-priority x-uniform-type-identifier x-universally-unique-identifier)] MODSEQ"
            }
            (Self::AppleMail, false) => {
                "INTERNALDATE UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (date subject from to cc message-id \
                 in-reply-to references x-priority x-uniform-type-identifier x-universally-unique-identifier)]"
            }
            (Self::Thunderbird | Self::NoCache, _) => {
                "UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (From To Cc Bcc Subject Date Message-ID Priority \
                 X-Priority References Newsgroups In-Reply-To Content-Type)]"
            }
        }
    }

    /// The items that it fetches of a message that is read.
    pub fn on_reading(self) -> &'static str {
        match self {
            Self::AppleMail => "BODYSTRUCTURE BODY.PEEK[]",
            Self::Thunderbird | Self::NoCache => "RFC822.SIZE BODY[]",
        }
    }

    /// Whether it keeps what it has fetched.
    pub fn has_cache(self) -> bool {
        self != Self::NoCache
    }
}
