//! Messages between an active and a copy.
//!
//! ```text
//!   copy                                active
//!   Hello: version, stream, last ------>  is it the same history, is the log there?
//!        <------ Welcome: version, stream, newest closed log          (or Refused)
//!        <------ Log, Piece, Piece, ...   the next generation
//!   Stored  ------>                       it is durable: name and content
//!   Replayed ----->                       it is in the databases
//!        <------ Closed                   the newest closed log, for the copy queue
//!
//!   either side                         the other one
//!   Want    ------>                       its page, with all log before a position
//!        <------ Page, or NoPage
//! ```
//!
//! Each message is one of [`brunt_world::messages`]: a byte for its kind, then numbers,
//! little-endian. A hello begins with the version, so that other versions are refused by name.
//! There are no names or paths: a file is generation *n* of a stream.

use brunt_ese::format::stamp::{SIGNATURE_BYTES, Signature};
use brunt_ese::instance::offer::PageOffer;
use brunt_units::{LogPosition, PageNumber};

pub use crate::refusal::Refusal;

/// Version of these messages.
pub const VERSION: u16 = 2;
/// Bytes of a log file in a [`Message::Piece`], at most.
pub const PIECE_BYTES: usize = 256 << 10;
/// Bytes of a log file that is accepted, at most. ESE has 128 KiB to 16 MiB.
pub const LOG_BYTES_MAX: u32 = 16 << 20;
/// Bytes of a page in a [`Message::Page`], at most.
pub const PAGE_BYTES_MAX: usize = 32 << 10;
/// Bytes of the longest message.
pub const LONGEST: usize = PIECE_BYTES + 16;

/// What one side tells the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The copy's first message.
    Hello(Hello),
    /// The active's answer.
    Welcome(Welcome),
    /// The newest closed generation at the active.
    Closed(u32),
    /// A log file begins.
    Log {
        generation: u32,
        /// Bytes of the file.
        length: u32,
    },
    /// A part of that file.
    Piece {
        /// Where in the file.
        at: u32,
        /// One to [`PIECE_BYTES`] bytes.
        bytes: Vec<u8>,
    },
    /// The copy holds every generation up to this one, durably.
    Stored(u32),
    /// The copy's databases have every generation up to this one.
    Replayed(u32),
    /// This side ends the connection, and why.
    Refused(Refusal),
    /// A page of this side is bad: what does the other one have?
    Want(Want),
    /// The page that was asked for.
    Page(Sent),
    /// The request of this number cannot be answered.
    NoPage(u32),
}

/// What a copy says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The stream that it follows; `None` for a copy that has no log yet.
    pub stream: Option<Signature>,
    /// The newest log that it holds.
    pub last: Option<Held>,
    /// The generation that it wants first.
    pub next: u32,
    /// The newest generation in its databases; 0 for none.
    pub replayed: u32,
    /// Whether it replays late on purpose.
    pub is_lagged: bool,
}

/// A log file that a side holds, by which histories are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub generation: u32,
    /// CRC-32 of the file.
    pub sum: u32,
}

/// What an active answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    pub stream: Signature,
    /// Its newest closed generation; 0 for none.
    pub closed: u32,
}

/// A request for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// The number of the request, which its answer repeats.
    pub number: u32,
    /// The number of the database in its instance.
    pub database: u8,
    pub page: PageNumber,
    /// The page must have every change before this position.
    pub replayed: LogPosition,
}

/// A page that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The number of the request.
    pub number: u32,
    /// The page, of one to [`PAGE_BYTES_MAX`] bytes.
    pub offer: PageOffer,
}

impl Message {
    /// The bytes of the message.
    ///
    /// # Panics
    /// When a piece has no bytes or more than [`PIECE_BYTES`], or a page more than
    /// [`PAGE_BYTES_MAX`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
        match self {
            Self::Hello(hello) => {
                put(&[1]);
                put(&VERSION.to_le_bytes());
                put(&signature_bytes(hello.stream.unwrap_or_default()));
                let last = hello.last.unwrap_or(Held { generation: 0, sum: 0 });
                for number in [last.generation, last.sum, hello.next, hello.replayed] {
                    put(&number.to_le_bytes());
                }
                put(&[u8::from(hello.is_lagged)]);
            }
            Self::Welcome(welcome) => {
                put(&[2]);
                put(&VERSION.to_le_bytes());
                put(&signature_bytes(welcome.stream));
                put(&welcome.closed.to_le_bytes());
            }
            Self::Closed(generation) => {
                put(&[3]);
                put(&generation.to_le_bytes());
            }
            Self::Log { generation, length } => {
                put(&[4]);
                put(&generation.to_le_bytes());
                put(&length.to_le_bytes());
            }
            Self::Piece { at, bytes } => {
                let sizes = 1..=PIECE_BYTES;
                assert!(sizes.contains(&bytes.len()), "{} bytes", bytes.len());
                put(&[5]);
                put(&at.to_le_bytes());
                put(bytes);
            }
            Self::Stored(generation) => {
                put(&[6]);
                put(&generation.to_le_bytes());
            }
            Self::Replayed(generation) => {
                put(&[7]);
                put(&generation.to_le_bytes());
            }
            Self::Want(want) => {
                put(&[9]);
                put(&want.number.to_le_bytes());
                put(&[want.database]);
                put(&want.page.0.to_le_bytes());
                put(&want.replayed.to_bytes());
            }
            Self::Page(sent) => {
                let sizes = 1..=PAGE_BYTES_MAX;
                assert!(sizes.contains(&sent.offer.bytes.len()), "a page has its size");
                put(&[10]);
                put(&sent.number.to_le_bytes());
                put(&signature_bytes(sent.offer.signature));
                put(&sent.offer.replayed.to_bytes());
                put(&sent.offer.bytes);
            }
            Self::NoPage(number) => {
                put(&[11]);
                put(&number.to_le_bytes());
            }
            Self::Refused(refusal) => {
                let (number, first, second) = refusal.spelled();
                put(&[8, number]);
                put(&first.to_le_bytes());
                put(&second.to_le_bytes());
            }
        }
        out
    }

    /// The message in `bytes`.
    ///
    /// # Errors
    /// [`Refusal::Version`] for a hello or welcome of another version, [`Refusal::OutOfPlace`] for
    /// anything else that is no message.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        if let [1 | 2, low, high, ..] = bytes {
            let version = u16::from_le_bytes([*low, *high]);
            if version != VERSION {
                return Err(Refusal::Version(version));
            }
        }
        Self::read_fields(&mut Fields(bytes)).ok_or(Refusal::OutOfPlace)
    }

    fn read_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let read = match fields.byte()? {
            1 => {
                fields.take::<2>()?;
                let stream = Signature::read(&fields.take::<SIGNATURE_BYTES>()?, 0);
                let (generation, sum) = (fields.number()?, fields.number()?);
                let hello = Hello {
                    stream: stream.is_some().then_some(stream),
                    last: (generation > 0).then_some(Held { generation, sum }),
                    next: fields.number()?,
                    replayed: fields.number()?,
                    is_lagged: match fields.byte()? {
                        0 => false,
                        1 => true,
                        _ => return None,
                    },
                };
                let follows = hello.last.is_none_or(|last| last.generation < hello.next);
                if !follows || hello.next == 0 || hello.replayed >= hello.next {
                    return None;
                }
                Self::Hello(hello)
            }
            2 => {
                fields.take::<2>()?;
                let stream = Signature::read(&fields.take::<SIGNATURE_BYTES>()?, 0);
                let closed = fields.number()?;
                Self::Welcome(Welcome { stream, closed })
            }
            3 => Self::Closed(fields.number()?),
            4 => Self::Log { generation: fields.number()?, length: fields.number()? },
            5 => {
                let at = fields.number()?;
                let bytes = std::mem::take(&mut fields.0).to_vec();
                if !(1..=PIECE_BYTES).contains(&bytes.len()) {
                    return None;
                }
                Self::Piece { at, bytes }
            }
            6 => Self::Stored(fields.number()?),
            7 => Self::Replayed(fields.number()?),
            8 => {
                let spelled = (fields.byte()?, fields.number()?, fields.number()?);
                Self::Refused(Refusal::read(spelled)?)
            }
            9 => Self::Want(Want {
                number: fields.number()?,
                database: fields.byte()?,
                page: PageNumber(fields.number()?),
                replayed: LogPosition::from_bytes(fields.take()?),
            }),
            10 => {
                let number = fields.number()?;
                let signature = Signature::read(&fields.take::<SIGNATURE_BYTES>()?, 0);
                let replayed = LogPosition::from_bytes(fields.take()?);
                let bytes = std::mem::take(&mut fields.0).to_vec();
                if !(1..=PAGE_BYTES_MAX).contains(&bytes.len()) {
                    return None;
                }
                let offer = PageOffer { signature, replayed, bytes };
                Self::Page(Sent { number, offer })
            }
            11 => Self::NoPage(fields.number()?),
            _ => return None,
        };
        fields.0.is_empty().then_some(read)
    }
}

fn signature_bytes(signature: Signature) -> [u8; SIGNATURE_BYTES] {
    let mut bytes = [0; SIGNATURE_BYTES];
    signature.write(&mut bytes, 0);
    bytes
}

/// Bytes that have not been read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use brunt_ese::format::stamp::{RunId, Stamp};
    use proptest::prelude::*;

    use super::*;

    fn signature() -> impl Strategy<Value = Signature> {
        any::<(u32, u32, u64)>().prop_map(|(random, created, run)| {
            Signature::ours(random, Stamp::from_unix_millis(created.into()), RunId(run))
        })
    }

    fn hello() -> impl Strategy<Value = Hello> {
        let numbers = (1..u32::MAX, any::<u32>(), any::<u32>(), any::<u32>());
        let options = (any::<bool>(), any::<bool>());
        let all = (proptest::option::of(signature()), numbers, options);
        all.prop_map(|(stream, (next, sum, last, replayed), (has_last, is_lagged))| {
            let generation = last % next;
            Hello {
                stream,
                last: (has_last && generation > 0).then_some(Held { generation, sum }),
                next,
                replayed: replayed % next,
                is_lagged,
            }
        })
    }

    fn refusal() -> impl Strategy<Value = Refusal> {
        let one = (1_u8..=10, any::<u32>(), any::<u32>());
        one.prop_map(|(number, first, second)| {
            let first = if number == 1 { first >> 16 } else { first };
            let spelled = [(number, first, second), (number, first, 0), (number, 0, 0)];
            let mut read = spelled.into_iter().filter_map(Refusal::read);
            read.next().expect("every number is a refusal's")
        })
    }

    fn position() -> impl Strategy<Value = LogPosition> {
        any::<u64>().prop_map(LogPosition::from_mark)
    }

    fn want() -> impl Strategy<Value = Want> {
        let all = (any::<(u32, u8, u32)>(), position());
        all.prop_map(|((number, database, page), replayed)| Want {
            number,
            database,
            page: PageNumber(page),
            replayed,
        })
    }

    fn sent() -> impl Strategy<Value = Sent> {
        let bytes = proptest::collection::vec(any::<u8>(), 1..300);
        let all = (any::<u32>(), signature(), position(), bytes);
        all.prop_map(|(number, signature, replayed, bytes)| Sent {
            number,
            offer: PageOffer { signature, replayed, bytes },
        })
    }

    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![
            hello().prop_map(Message::Hello),
            (signature(), any::<u32>())
                .prop_map(|(stream, closed)| Message::Welcome(Welcome { stream, closed })),
            any::<u32>().prop_map(Message::Closed),
            any::<(u32, u32)>()
                .prop_map(|(generation, length)| Message::Log { generation, length }),
            (any::<u32>(), proptest::collection::vec(any::<u8>(), 1..300))
                .prop_map(|(at, bytes)| Message::Piece { at, bytes }),
            any::<u32>().prop_map(Message::Stored),
            any::<u32>().prop_map(Message::Replayed),
            refusal().prop_map(Message::Refused),
            want().prop_map(Message::Want),
            sent().prop_map(Message::Page),
            any::<u32>().prop_map(Message::NoPage),
        ]
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(message in message()) {
            let bytes = message.to_bytes();
            prop_assert!(bytes.len() <= LONGEST);
            prop_assert_eq!(Message::read(&bytes), Ok(message));
        }

        #[test]
        fn a_message_that_is_cut_short_or_goes_on_is_none(message in message(), more in any::<u8>()) {
            let mut bytes = message.to_bytes();
            if !matches!(message, Message::Piece { .. } | Message::Page(_)) {
                bytes.push(more);
                prop_assert_eq!(Message::read(&bytes), Err(Refusal::OutOfPlace));
                bytes.truncate(bytes.len() - 2);
                prop_assert!(Message::read(&bytes).is_err());
            }
        }

        #[test]
        fn any_bytes_are_one_message_or_none(kind in 0_u8..13, rest in proptest::collection::vec(any::<u8>(), 0..64)) {
            let bytes = [&[kind][..], &rest].concat();
            if let Ok(message) = Message::read(&bytes) {
                prop_assert_eq!(message.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        let welcome = Message::Welcome(Welcome { stream: Signature::default(), closed: 7 });
        let mut bytes = welcome.to_bytes();
        bytes[1..3].copy_from_slice(&9_u16.to_le_bytes());
        assert_eq!(Message::read(&bytes), Err(Refusal::Version(9)));
        assert_eq!(Message::read(&bytes[..3]), Err(Refusal::Version(9)));
        assert_eq!(Message::read(&bytes[..2]), Err(Refusal::OutOfPlace));
    }

    #[test]
    fn a_piece_or_a_page_without_bytes_or_with_too_many_is_none() {
        let piece = |count| [&[5, 0, 0, 0, 0][..], &vec![7; count]].concat();
        assert!(Message::read(&piece(PIECE_BYTES)).is_ok());
        for count in [0, PIECE_BYTES + 1] {
            assert_eq!(Message::read(&piece(count)), Err(Refusal::OutOfPlace));
        }
        let page = |count| [&[10; 5 + SIGNATURE_BYTES + 8][..], &vec![7; count]].concat();
        assert!(Message::read(&page(PAGE_BYTES_MAX)).is_ok());
        for count in [0, PAGE_BYTES_MAX + 1] {
            assert_eq!(Message::read(&page(count)), Err(Refusal::OutOfPlace));
        }
    }
}
