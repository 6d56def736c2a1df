//! What the two sites say to each other, as bytes.
//!
//! ```text
//!   request   kind, 1 byte | number, 8 bytes | fields of the kind          numbers are little-endian
//!   answer    number, 8 bytes | what came of it, 1 byte | its fields
//! ```
//!
//! The first request of a connection is a hello. Files are numbered by the side that opens them; a
//! name is text of at most 1,024 bytes; a write has at most [`PIECE`] bytes, and longer ones are
//! sent in pieces.

use brunt_world::{Class, IoError, OpenMode, VolumeError};

use crate::name::Name;

/// Bytes of a write in one message.
pub(crate) const PIECE: usize = 512 << 10;
/// Bytes of the longest request.
pub(crate) const REQUEST_MAX: usize = PIECE + 64;
/// Bytes of the longest answer.
pub(crate) const ANSWER_MAX: usize = 2 << 10;
/// Bytes of a reason in words.
const WORDS_MAX: usize = 1 << 10;
/// What a hello begins with; its last digit is the version.
const MAGIC: [u8; 8] = *b"bmirror1";

/// A change, or the hello before all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Hello { epoch: u64 },
    Open { file: u32, mode: OpenMode, name: Name },
    Close { file: u32 },
    Write { file: u32, through: bool, class: Class, offset: u64, bytes: Vec<u8> },
    Sync { file: u32, class: Class },
    Trim { file: u32, class: Class, offset: u64, length: u64 },
    Allocate { file: u32, bytes: u64 },
    Rename { from: Name, to: Name },
    Remove { name: Name },
    SyncDirectory { name: Name },
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Io(IoError),
    Volume(VolumeError),
    /// The receiver is in this newer epoch.
    Fenced(u64),
    /// The receiver had a connection before.
    Taken,
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it sent something that is not a mirror message")]
pub(crate) struct Nonsense;

const HELLO: u8 = 0;
const OPEN: u8 = 1;
const CLOSE: u8 = 2;
const WRITE: u8 = 3;
const SYNC: u8 = 4;
const TRIM: u8 = 5;
const ALLOCATE: u8 = 6;
const RENAME: u8 = 7;
const REMOVE: u8 = 8;
const SYNC_DIRECTORY: u8 = 9;

impl Request {
    /// As a message with `number`.
    pub(crate) fn encode(&self, number: u64) -> Vec<u8> {
        let mut out = Out::new(number);
        match self {
            Self::Hello { epoch } => out.kind(HELLO).bytes(&MAGIC).u64(*epoch),
            Self::Open { file, mode, name } => {
                let mode = u8::from(*mode == OpenMode::CreateNew);
                out.kind(OPEN).u32(*file).u8(mode).bytes(name.as_str().as_bytes())
            }
            Self::Close { file } => out.kind(CLOSE).u32(*file),
            Self::Write { file, through, class, offset, bytes } => out
                .kind(WRITE)
                .u32(*file)
                .u8(u8::from(*through))
                .u8(class_number(*class))
                .u64(*offset)
                .bytes(bytes),
            Self::Sync { file, class } => out.kind(SYNC).u32(*file).u8(class_number(*class)),
            Self::Trim { file, class, offset, length } => {
                out.kind(TRIM).u32(*file).u8(class_number(*class)).u64(*offset).u64(*length)
            }
            Self::Allocate { file, bytes } => out.kind(ALLOCATE).u32(*file).u64(*bytes),
            Self::Rename { from, to } => {
                let length = u32::try_from(from.as_str().len()).expect("a short name");
                out.kind(RENAME)
                    .u32(length)
                    .bytes(from.as_str().as_bytes())
                    .bytes(to.as_str().as_bytes())
            }
            Self::Remove { name } => out.kind(REMOVE).bytes(name.as_str().as_bytes()),
            Self::SyncDirectory { name } => {
                out.kind(SYNC_DIRECTORY).bytes(name.as_str().as_bytes())
            }
        };
        out.0
    }

    /// The request in a message, and its number.
    pub(crate) fn decode(message: &[u8]) -> Result<(u64, Self), Nonsense> {
        let mut bytes = In(message);
        let kind = bytes.u8()?;
        let number = bytes.u64()?;
        let request = match kind {
            HELLO => {
                let is_ours = bytes.take(MAGIC.len())? == MAGIC;
                let epoch = bytes.u64()?;
                is_ours.then_some(Self::Hello { epoch }).ok_or(Nonsense)?
            }
            OPEN => Self::Open {
                file: bytes.u32()?,
                mode: match bytes.switch()? {
                    true => OpenMode::CreateNew,
                    false => OpenMode::Write,
                },
                name: bytes.file_name()?,
            },
            CLOSE => Self::Close { file: bytes.u32()? },
            WRITE => Self::Write {
                file: bytes.u32()?,
                through: bytes.switch()?,
                class: bytes.class()?,
                offset: bytes.u64()?,
                bytes: bytes.rest().to_vec(),
            },
            SYNC => Self::Sync { file: bytes.u32()?, class: bytes.class()? },
            TRIM => Self::Trim {
                file: bytes.u32()?,
                class: bytes.class()?,
                offset: bytes.u64()?,
                length: bytes.u64()?,
            },
            ALLOCATE => Self::Allocate { file: bytes.u32()?, bytes: bytes.u64()? },
            RENAME => {
                let length = usize::try_from(bytes.u32()?).map_err(|_| Nonsense)?;
                let mut from = In(bytes.take(length)?);
                Self::Rename { from: from.file_name()?, to: bytes.file_name()? }
            }
            REMOVE => Self::Remove { name: bytes.file_name()? },
            SYNC_DIRECTORY => Self::SyncDirectory { name: bytes.name()? },
            _ => return Err(Nonsense),
        };
        match bytes.0.is_empty() {
            true => Ok((number, request)),
            false => Err(Nonsense),
        }
    }
}

impl Outcome {
    /// As the answer to request `number`.
    pub(crate) fn encode(&self, number: u64) -> Vec<u8> {
        let mut out = Out(number.to_le_bytes().to_vec());
        match self {
            Self::Done => out.u8(0),
            Self::Fenced(epoch) => out.u8(1).u64(*epoch),
            Self::Taken => out.u8(2),
            Self::Io(error) => {
                let (kind, system) = match error {
                    IoError::Device => (0, 0),
                    IoError::Medium => (1, 0),
                    IoError::NoSpace => (2, 0),
                    IoError::PastEnd => (3, 0),
                    IoError::Invalid => (4, 0),
                    IoError::Other(system) => (5, *system),
                    IoError::Quota => (6, 0),
                    IoError::FileLimit => (7, 0),
                    IoError::ReadOnly => (8, 0),
                    // An error that this version does not know is still an error of the device.
                    _ => (0, 0),
                };
                out.u8(3).u8(kind).bytes(&i32::to_le_bytes(system))
            }
            Self::Volume(error) => {
                let (kind, words) = match error {
                    VolumeError::NotFound => (0, String::new()),
                    VolumeError::Exists => (1, String::new()),
                    VolumeError::NoSpace => (2, String::new()),
                    VolumeError::Denied => (3, String::new()),
                    VolumeError::Device => (5, String::new()),
                    VolumeError::Quota => (6, String::new()),
                    VolumeError::FileLimit => (7, String::new()),
                    VolumeError::ReadOnly => (8, String::new()),
                    other => (4, other.to_string()),
                };
                let words = words.chars().scan(0, |length, next| {
                    *length += next.len_utf8();
                    (*length <= WORDS_MAX).then_some(next)
                });
                out.u8(4).u8(kind).bytes(words.collect::<String>().as_bytes())
            }
        };
        out.0
    }

    /// The answer in a message, and the number of its request.
    pub(crate) fn decode(message: &[u8]) -> Result<(u64, Self), Nonsense> {
        let mut bytes = In(message);
        let number = bytes.u64()?;
        let outcome = match bytes.u8()? {
            0 => Self::Done,
            1 => Self::Fenced(bytes.u64()?),
            2 => Self::Taken,
            3 => {
                let kind = bytes.u8()?;
                let system = i32::from_le_bytes(bytes.array()?);
                Self::Io(match kind {
                    0 => IoError::Device,
                    1 => IoError::Medium,
                    2 => IoError::NoSpace,
                    3 => IoError::PastEnd,
                    4 => IoError::Invalid,
                    5 => IoError::Other(system),
                    6 => IoError::Quota,
                    7 => IoError::FileLimit,
                    8 => IoError::ReadOnly,
                    _ => return Err(Nonsense),
                })
            }
            4 => Self::Volume(match bytes.u8()? {
                0 => VolumeError::NotFound,
                1 => VolumeError::Exists,
                2 => VolumeError::NoSpace,
                3 => VolumeError::Denied,
                4 => VolumeError::Other(bytes.text(WORDS_MAX)?.to_owned()),
                5 => VolumeError::Device,
                6 => VolumeError::Quota,
                7 => VolumeError::FileLimit,
                8 => VolumeError::ReadOnly,
                _ => return Err(Nonsense),
            }),
            _ => return Err(Nonsense),
        };
        match bytes.0.is_empty() {
            true => Ok((number, outcome)),
            false => Err(Nonsense),
        }
    }
}

fn class_number(class: Class) -> u8 {
    let at = Class::ALL.iter().position(|one| *one == class);
    u8::try_from(at.expect("every class is listed")).expect("few classes")
}

/// Fields of a message that is being made.
struct Out(Vec<u8>);

impl Out {
    /// The kind comes first, and is set later.
    fn new(number: u64) -> Self {
        let mut out = Self(vec![0]);
        out.u64(number);
        out
    }

    fn kind(&mut self, kind: u8) -> &mut Self {
        self.0[0] = kind;
        self
    }

    fn u8(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// What is left of a message.
struct In<'m>(&'m [u8]);

impl<'m> In<'m> {
    fn take(&mut self, length: usize) -> Result<&'m [u8], Nonsense> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Nonsense)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Nonsense> {
        Ok(self.take(N)?.try_into().expect("of that length"))
    }

    fn u8(&mut self) -> Result<u8, Nonsense> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32, Nonsense> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, Nonsense> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn switch(&mut self) -> Result<bool, Nonsense> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Nonsense),
        }
    }

    fn class(&mut self) -> Result<Class, Nonsense> {
        let at = usize::from(self.u8()?);
        Class::ALL.get(at).copied().ok_or(Nonsense)
    }

    fn rest(&mut self) -> &'m [u8] {
        std::mem::take(&mut self.0)
    }

    fn text(&mut self, longest: usize) -> Result<&'m str, Nonsense> {
        let text = std::str::from_utf8(self.rest()).map_err(|_| Nonsense)?;
        (text.len() <= longest).then_some(text).ok_or(Nonsense)
    }

    fn name(&mut self) -> Result<Name, Nonsense> {
        Name::parse(self.text(usize::MAX)?).ok_or(Nonsense)
    }

    fn file_name(&mut self) -> Result<Name, Nonsense> {
        self.name().and_then(|name| match name.is_folder() {
            true => Err(Nonsense),
            false => Ok(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    fn requests() -> Vec<Request> {
        let name = |text: &str| Name::parse(text).unwrap();
        vec![
            Request::Hello { epoch: 7 },
            Request::Open { file: 3, mode: OpenMode::CreateNew, name: name("log1/edb.log") },
            Request::Open { file: u32::MAX, mode: OpenMode::Write, name: name("db/1.edb") },
            Request::Close { file: 3 },
            Request::Write {
                file: 3,
                through: true,
                class: Class::Log,
                offset: 1 << 40,
                bytes: vec![5; 1024],
            },
            Request::Sync { file: 3, class: Class::Metadata },
            Request::Trim { file: 3, class: Class::Database, offset: 512, length: 4096 },
            Request::Allocate { file: 3, bytes: u64::MAX },
            Request::Rename { from: name("log1/a"), to: name("log1/b") },
            Request::Remove { name: name("log1/b") },
            Request::SyncDirectory { name: name("") },
        ]
    }

    fn outcomes() -> Vec<Outcome> {
        vec![
            Outcome::Done,
            Outcome::Fenced(9),
            Outcome::Taken,
            Outcome::Io(IoError::NoSpace),
            Outcome::Io(IoError::Quota),
            Outcome::Io(IoError::FileLimit),
            Outcome::Io(IoError::ReadOnly),
            Outcome::Volume(VolumeError::Quota),
            Outcome::Volume(VolumeError::FileLimit),
            Outcome::Volume(VolumeError::ReadOnly),
            Outcome::Io(IoError::Other(-28)),
            Outcome::Volume(VolumeError::Exists),
            Outcome::Volume(VolumeError::Device),
            Outcome::Volume(VolumeError::Other("is a link".to_owned())),
        ]
    }

    #[test]
    fn what_is_sent_is_read() {
        for (number, request) in (1 << 33..).zip(requests()) {
            let message = request.encode(number);
            assert_eq!(Request::decode(&message), Ok((number, request)));
        }
        for (number, outcome) in (1 << 33..).zip(outcomes()) {
            let message = outcome.encode(number);
            assert_eq!(Outcome::decode(&message), Ok((number, outcome)));
        }
        let endless = VolumeError::Other("ä".repeat(5_000));
        let message = Outcome::Volume(endless).encode(1);
        assert!(message.len() <= ANSWER_MAX && Outcome::decode(&message).is_ok());
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_mean_something() {
        let mut draw = Streams::new(1).named("bytes");
        let starts: Vec<Vec<u8>> = requests().iter().map(|one| one.encode(1)).collect();
        for turn in 0..20_000_usize {
            let mut message = starts[turn % starts.len()].clone();
            for _ in 0..=draw.below(3) {
                let at = usize::try_from(draw.below(message.len() as u64)).unwrap();
                match draw.below(3) {
                    0 => message.truncate(at.max(1)),
                    1 => message[at] = u8::try_from(draw.below(256)).unwrap(),
                    _ => message.insert(at, u8::try_from(draw.below(256)).unwrap()),
                }
            }
            if let Ok((number, request)) = Request::decode(&message) {
                assert_eq!(request.encode(number), message, "there is one way to say it");
            }
            let _ = Outcome::decode(&message);
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_nonsense() {
        for name in ["", "..", "/etc/passwd", "a/../../b"] {
            let mut out = Out::new(1);
            out.kind(REMOVE).bytes(name.as_bytes());
            assert_eq!(Request::decode(&out.0), Err(Nonsense), "{name}");
        }
    }
}
