//! What responses say.

use super::frame::{Frame, Oddity};
use super::reader::{Reader, Text};
use crate::failure::printable;
use crate::sasl::Mechanism;

/// The extensions that the client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// STARTTLS may be asked for.
    pub start_tls: bool,
    /// LOGIN is refused here.
    pub login_disabled: bool,
    /// Mechanisms of AUTHENTICATE that the client knows, in the server's order.
    pub mechanisms: Vec<Mechanism>,
    /// AUTHENTICATE takes a first response (RFC 4959).
    pub sasl_ir: bool,
    /// Literals need not wait (RFC 7888); LITERAL- only up to 4 KiB.
    pub literal_plus: bool,
    /// The same, for short literals only.
    pub literal_minus: bool,
    /// RFC 4315.
    pub uid_plus: bool,
    /// RFC 6851.
    pub moves: bool,
    /// RFC 2177.
    pub idle: bool,
    /// RFC 2342.
    pub namespace: bool,
    /// RFC 6154.
    pub special_use: bool,
    /// RFC 7162.
    pub condstore: bool,
    /// RFC 7162.
    pub qresync: bool,
    /// RFC 4731.
    pub esearch: bool,
    /// RFC 3691.
    pub unselect: bool,
    /// RFC 5161.
    pub enable: bool,
    /// RFC 9208.
    pub quota: bool,
}

impl Capabilities {
    fn read(words: &[&[u8]]) -> Self {
        let mut read = Self::default();
        for word in words {
            let word = String::from_utf8_lossy(word).to_ascii_uppercase();
            match word.as_str() {
                "STARTTLS" => read.start_tls = true,
                "LOGINDISABLED" => read.login_disabled = true,
                "SASL-IR" => read.sasl_ir = true,
                "LITERAL+" => read.literal_plus = true,
                "LITERAL-" => read.literal_minus = true,
                "UIDPLUS" => read.uid_plus = true,
                "MOVE" => read.moves = true,
                "IDLE" => read.idle = true,
                "NAMESPACE" => read.namespace = true,
                "SPECIAL-USE" => read.special_use = true,
                "CONDSTORE" => read.condstore = true,
                "QRESYNC" => {
                    read.condstore = true;
                    read.qresync = true;
                }
                "ESEARCH" => read.esearch = true,
                "UNSELECT" => read.unselect = true,
                "ENABLE" => read.enable = true,
                "QUOTA" => read.quota = true,
                other => {
                    let mechanism = other.strip_prefix("AUTH=").and_then(Mechanism::named);
                    read.mechanisms.extend(mechanism);
                }
            }
        }
        read
    }
}

/// Numbers of messages: ranges with both ends, as the server wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UidSet(pub Vec<(u32, u32)>);

impl UidSet {
    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(first, last)| u64::from(first.abs_diff(*last)) + 1).sum()
    }

    /// Whether a number is in it.
    pub fn contains(&self, uid: u32) -> bool {
        self.0.iter().any(|(a, b)| (*a.min(b)..=*a.max(b)).contains(&uid))
    }

    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let range = |part: &str| {
            let (first, last) = part.split_once(':').unwrap_or((part, part));
            let number = |digits: &str| digits.parse::<u32>().ok().filter(|number| *number > 0);
            Some((number(first)?, number(last)?))
        };
        text.split(',').map(range).collect::<Option<_>>().map(Self)
    }
}

/// What stands in brackets at the beginning of a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// CAPABILITY.
    Capability(Capabilities),
    /// UIDVALIDITY.
    UidValidity(u32),
    /// UIDNEXT.
    UidNext(u32),
    /// HIGHESTMODSEQ.
    HighestModSeq(u64),
    /// READ-ONLY.
    ReadOnly,
    /// READ-WRITE.
    ReadWrite,
    /// TRYCREATE: the mailbox is missing and could be created.
    TryCreate,
    /// APPENDUID: validity and numbers of what was appended.
    AppendUid(u32, UidSet),
    /// COPYUID: validity of the mailbox, numbers before and after.
    CopyUid(u32, UidSet, UidSet),
    /// MODIFIED: messages that a conditional change has left alone.
    Modified(UidSet),
    /// AUTHENTICATIONFAILED (RFC 5530).
    AuthenticationFailed,
    /// OVERQUOTA (RFC 5530).
    OverQuota,
    /// UNAVAILABLE (RFC 5530): a part of the server does not answer.
    Unavailable,
    /// Any other, by its first word.
    Other(String),
}

/// A mailbox that LIST names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Attributes, among them special uses (`\Sent`), as the server wrote them.
    pub attributes: Vec<String>,
    /// What separates levels of names; `None` where there are no levels.
    pub separator: Option<char>,
    /// The name as bytes; in modified UTF-7 unless the server does otherwise.
    pub name: Vec<u8>,
}

impl Listed {
    /// Whether it has this attribute, in any case.
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|own| own.eq_ignore_ascii_case(attribute))
    }
}

/// Where mailboxes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Prefix and separator of each of the user's own namespaces.
    pub personal: Vec<(Vec<u8>, Option<char>)>,
    /// Prefixes of namespaces of other users, and of shared ones.
    pub foreign: Vec<Vec<u8>>,
}

/// What STATUS says of a mailbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Its name.
    pub name: Vec<u8>,
    /// Messages in it.
    pub messages: Option<u32>,
    /// The number that the next message gets.
    pub uid_next: Option<u32>,
    /// The validity of all numbers.
    pub uid_validity: Option<u32>,
    /// Messages without `\Seen`.
    pub unseen: Option<u32>,
    /// The largest change number.
    pub highest_modseq: Option<u64>,
}

/// A text of a message in a FETCH response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// It was streamed: its length in bytes.
    Streamed(u64),
    /// The server wrote it as a quoted string.
    Inline(Vec<u8>),
    /// The server says NIL: it has none.
    Nil,
}

/// A section of a message in a FETCH response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, as the server wrote it: `BODY[]`.
    pub name: String,
    /// Its text.
    pub body: Body,
}

/// A FETCH response. What was not asked for is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The message's number in the mailbox.
    pub number: u32,
    /// Its UID.
    pub uid: Option<u32>,
    /// Its flags, as the server wrote them.
    pub flags: Option<Vec<String>>,
    /// When it was stored, as the server wrote it.
    pub internal_date: Option<String>,
    /// Its length in bytes.
    pub size: Option<u64>,
    /// Its change number.
    pub modseq: Option<u64>,
    /// Its texts.
    pub sections: Vec<Section>,
}

/// What ESEARCH returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extended {
    /// Whether the numbers are UIDs.
    pub is_uid: bool,
    /// The smallest.
    pub min: Option<u32>,
    /// The largest.
    pub max: Option<u32>,
    /// How many.
    pub count: Option<u32>,
    /// All of them.
    pub all: Option<UidSet>,
}

/// An untagged response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response {
    /// A remark of the server: OK, NO or BAD without a tag.
    Remark {
        /// `false` for a warning or an error.
        is_ok: bool,
        /// Its code.
        code: Option<Code>,
        /// Its text.
        text: String,
    },
    /// What the server can do.
    Capability(Capabilities),
    /// A mailbox.
    List(Listed),
    /// Where mailboxes are.
    Namespace(Namespace),
    /// Counts of a mailbox.
    Counts(Counts),
    /// Flags that the mailbox knows.
    Flags(Vec<String>),
    /// So many messages are in the mailbox.
    Exists(u32),
    /// So many are new to this session.
    Recent(u32),
    /// The message with this number is gone; those after it move up.
    Expunge(u32),
    /// Messages with these UIDs are gone; whether they went before this session looked.
    Vanished(UidSet, bool),
    /// A message.
    Fetch(Fetch),
    /// Numbers that SEARCH found.
    Search(Vec<u32>),
    /// What ESEARCH found.
    Extended(Extended),
    /// Extensions that are on from now on.
    Enabled(Vec<String>),
}

fn strings(words: &[&[u8]]) -> Vec<String> {
    words.iter().map(|word| printable(word)).collect()
}

/// The code and the text of a line for people, which begins here.
pub(crate) fn text_for_people(reader: &mut Reader<'_>) -> (Option<Code>, String) {
    reader.blanks();
    let begin = reader.rest();
    let code = match reader.byte(b'[') {
        Some(()) => code(reader),
        None => None,
    };
    // A code that cannot be read is part of the text (Outlook: `OK [Error="..."]`).
    let text = if code.is_some() { reader.rest().trim_ascii_start() } else { begin };
    (code, printable(text))
}

fn code(reader: &mut Reader<'_>) -> Option<Code> {
    let name = reader.until(|byte| matches!(byte, b' ' | b']'))?;
    let name = String::from_utf8_lossy(name).to_ascii_uppercase();
    reader.blanks();
    let set = |reader: &mut Reader<'_>| {
        let text = reader.until(|byte| matches!(byte, b' ' | b']'));
        reader.blanks();
        text.and_then(UidSet::read)
    };
    let code = match name.as_str() {
        "CAPABILITY" => {
            let words = reader.until(|byte| byte == b']')?;
            let words: Vec<_> = words.split(|byte| *byte == b' ').collect();
            Code::Capability(Capabilities::read(&words))
        }
        "UIDVALIDITY" => Code::UidValidity(reader.number()?),
        "UIDNEXT" => Code::UidNext(reader.number()?),
        "HIGHESTMODSEQ" => Code::HighestModSeq(reader.number()?),
        "READ-ONLY" => Code::ReadOnly,
        "READ-WRITE" => Code::ReadWrite,
        "TRYCREATE" => Code::TryCreate,
        "APPENDUID" => {
            let validity = reader.number()?;
            reader.blanks();
            Code::AppendUid(validity, set(reader)?)
        }
        "COPYUID" => {
            let validity = reader.number()?;
            reader.blanks();
            Code::CopyUid(validity, set(reader)?, set(reader)?)
        }
        "MODIFIED" => Code::Modified(set(reader)?),
        "AUTHENTICATIONFAILED" => Code::AuthenticationFailed,
        "OVERQUOTA" => Code::OverQuota,
        "UNAVAILABLE" => Code::Unavailable,
        _ => {
            // Whatever it says, up to its end.
            let _ = reader.until(|byte| byte == b']');
            Code::Other(printable(name.as_bytes()))
        }
    };
    reader.byte(b']')?;
    Some(code)
}

/// Reads an untagged response, after its `* `.
pub(crate) fn untagged(frame: &Frame) -> Result<Response, Oddity> {
    let mut reader = Reader::new(frame);
    let _ = reader.byte(b'*');
    reader.blanks();
    let first = reader.word().ok_or(Oddity::Unreadable)?;
    if first.iter().all(u8::is_ascii_digit) {
        let number = std::str::from_utf8(first).ok().and_then(|digits| digits.parse().ok());
        reader.blanks();
        return numbered(number.ok_or(Oddity::Unreadable)?, &mut reader);
    }
    let name = String::from_utf8_lossy(first).to_ascii_uppercase();
    if let is_ok @ ("OK" | "NO" | "BAD") = name.as_str() {
        let (code, text) = text_for_people(&mut reader);
        return Ok(Response::Remark { is_ok: is_ok == "OK", code, text });
    }
    reader.blanks();
    let read = match name.as_str() {
        "CAPABILITY" | "ENABLED" => {
            let words: Vec<_> = reader.rest().split(|byte| *byte == b' ').collect();
            Some(match name.as_str() {
                "CAPABILITY" => Response::Capability(Capabilities::read(&words)),
                _ => Response::Enabled(strings(&words)),
            })
        }
        "LIST" => list(&mut reader).map(Response::List),
        "NAMESPACE" => namespace(&mut reader).map(Response::Namespace),
        "STATUS" => counts(&mut reader).map(Response::Counts),
        "FLAGS" => reader.words().map(|words| Response::Flags(strings(&words))),
        "SEARCH" => search(&mut reader).map(Response::Search),
        "ESEARCH" => extended(&mut reader).map(Response::Extended),
        "VANISHED" => {
            let is_earlier = reader.words().is_some();
            reader.blanks();
            let set = reader.word().and_then(UidSet::read);
            set.map(|set| Response::Vanished(set, is_earlier))
        }
        _ => return Err(Oddity::Unknown),
    };
    read.ok_or(Oddity::Unreadable)
}

fn numbered(number: u32, reader: &mut Reader<'_>) -> Result<Response, Oddity> {
    let name = reader.word().unwrap_or_default();
    match String::from_utf8_lossy(name).to_ascii_uppercase().as_str() {
        "EXISTS" => Ok(Response::Exists(number)),
        "RECENT" => Ok(Response::Recent(number)),
        "EXPUNGE" => Ok(Response::Expunge(number)),
        "FETCH" => fetch(number, reader).map(Response::Fetch).ok_or(Oddity::Unreadable),
        _ => Err(Oddity::Unknown),
    }
}

fn separator(reader: &mut Reader<'_>) -> Option<Option<char>> {
    Some(match reader.string()? {
        Text::Kept(text) => text.first().copied().map(char::from),
        Text::Nil | Text::Gone(_) => None,
    })
}

fn list(reader: &mut Reader<'_>) -> Option<Listed> {
    let attributes = strings(&reader.words()?);
    reader.blanks();
    let separator = separator(reader)?;
    reader.blanks();
    // A mailbox may be called NIL, but not without quotes.
    let Text::Kept(name) = reader.string()? else {
        return None;
    };
    Some(Listed { attributes, separator, name })
}

fn namespace(reader: &mut Reader<'_>) -> Option<Namespace> {
    let mut read = Namespace::default();
    for place in 0..3 {
        reader.blanks();
        if reader.byte(b'(').is_none() {
            reader.skip()?;
            continue;
        }
        loop {
            reader.blanks();
            if reader.byte(b')').is_some() {
                break;
            }
            reader.byte(b'(')?;
            let Text::Kept(prefix) = reader.string()? else {
                return None;
            };
            reader.blanks();
            let separator = separator(reader)?;
            loop {
                reader.blanks();
                if reader.byte(b')').is_some() {
                    break;
                }
                reader.skip()?;
            }
            match place {
                0 => read.personal.push((prefix, separator)),
                _ => read.foreign.push(prefix),
            }
        }
    }
    Some(read)
}

fn counts(reader: &mut Reader<'_>) -> Option<Counts> {
    let Text::Kept(name) = reader.string()? else {
        return None;
    };
    let mut read = Counts { name, ..Counts::default() };
    reader.blanks();
    reader.byte(b'(')?;
    loop {
        reader.blanks();
        if reader.byte(b')').is_some() {
            return Some(read);
        }
        let item = reader.word()?.to_ascii_uppercase();
        reader.blanks();
        match item.as_slice() {
            b"MESSAGES" => read.messages = Some(reader.number()?),
            b"UIDNEXT" => read.uid_next = Some(reader.number()?),
            b"UIDVALIDITY" => read.uid_validity = Some(reader.number()?),
            b"UNSEEN" => read.unseen = Some(reader.number()?),
            b"HIGHESTMODSEQ" => read.highest_modseq = Some(reader.number()?),
            _ => reader.skip()?,
        }
    }
}

fn search(reader: &mut Reader<'_>) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    loop {
        reader.blanks();
        if reader.is_at_end() {
            return Some(numbers);
        }
        if reader.rest().first() == Some(&b'(') {
            reader.skip()?; // (MODSEQ 8)
        } else {
            numbers.push(reader.number()?);
        }
    }
}

fn extended(reader: &mut Reader<'_>) -> Option<Extended> {
    let mut read = Extended::default();
    if reader.rest().first() == Some(&b'(') {
        reader.skip()?; // (TAG "b7")
    }
    loop {
        reader.blanks();
        if reader.is_at_end() {
            return Some(read);
        }
        let item = reader.word()?.to_ascii_uppercase();
        reader.blanks();
        match item.as_slice() {
            b"UID" => read.is_uid = true,
            b"MIN" => read.min = Some(reader.number()?),
            b"MAX" => read.max = Some(reader.number()?),
            b"COUNT" => read.count = Some(reader.number()?),
            b"ALL" => read.all = Some(UidSet::read(reader.word()?)?),
            _ => reader.skip()?,
        }
    }
}

fn fetch(number: u32, reader: &mut Reader<'_>) -> Option<Fetch> {
    let mut read = Fetch { number, ..Fetch::default() };
    reader.blanks();
    reader.byte(b'(')?;
    loop {
        reader.blanks();
        if reader.byte(b')').is_some() {
            return Some(read);
        }
        let name = item_name(reader)?;
        reader.blanks();
        match name.to_ascii_uppercase().as_str() {
            "UID" => read.uid = Some(reader.number()?),
            "FLAGS" => read.flags = Some(strings(&reader.words()?)),
            "RFC822.SIZE" => read.size = Some(reader.number()?),
            "INTERNALDATE" => match reader.string()? {
                Text::Kept(date) => read.internal_date = Some(printable(&date)),
                Text::Nil | Text::Gone(_) => {}
            },
            "MODSEQ" => {
                reader.byte(b'(')?;
                read.modseq = Some(reader.number()?);
                reader.byte(b')')?;
            }
            upper if is_text(upper) => {
                let body = match reader.string()? {
                    Text::Kept(text) => Body::Inline(text),
                    Text::Gone(bytes) => Body::Streamed(bytes),
                    Text::Nil => Body::Nil,
                };
                read.sections.push(Section { name, body });
            }
            _ => reader.skip()?,
        }
    }
}

fn is_text(name: &str) -> bool {
    name.starts_with("BODY[")
        || name.starts_with("BINARY[")
        || matches!(name, "RFC822" | "RFC822.TEXT" | "RFC822.HEADER")
}

/// The name of an item: a word, and what it has in brackets, with blanks (`BODY[HEADER.FIELDS
/// (TO)]<0>`).
fn item_name(reader: &mut Reader<'_>) -> Option<String> {
    let mut name = printable(reader.word()?);
    if reader.byte(b'[').is_some() {
        let inside = match reader.rest().first() {
            Some(b']') => String::new(),
            _ => printable(reader.until(|byte| byte == b']')?),
        };
        reader.byte(b']')?;
        name = format!("{name}[{inside}]");
        if let Some(b'<') = reader.rest().first() {
            name.push_str(&printable(reader.word()?));
        }
    }
    Some(name)
}
