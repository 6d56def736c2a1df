//! `ledger.bin`: the ledger as bytes, and back.
//!
//! ```text
//!   "brunt.ledger/1\n" | length | checksum | mailing | record | record | ...
//!                         4 B      4 B       length B   32 B     32 B
//! ```
//!
//! | bytes | delivery | reservation | fault | end |
//! | --- | --- | --- | --- | --- |
//! | 0 | 1 | 2 | 3 | 4 |
//! | 1 | state | | kind | |
//! | 2-3 | code | | | |
//! | 4-7 | number | first number that is free | deliveries in flight | messages |
//! | 8-11 | recipient | | until, | |
//! | 12-15 | microseconds to the answer | | in ns | |
//! | 16-23 | sent, in ns | | from, in ns | |
//! | 24-27 | | | | |
//! | 28-31 | checksum | checksum | checksum | checksum |
//!
//! A message that a session sees (5) has its folder in bytes 2-3, its number, its account in bytes
//! 8-11 and its flags in byte 12 (byte 13 is 1 where an APPEND has no answer); a change (6) has also what it is in byte 1, flags to set and to clear
//! in bytes 12 and 13, and the reply in byte 14.
//!
//! Numbers are little-endian. The mailing is written by postcard. A record's checksum is CRC-32 of its
//! place in the file and its first 28 bytes, so a record that is missing, repeated or moved is
//! found like a damaged one. Reading ends before the first record that is not whole, and [`Cut`]
//! says why; what follows it is not read, because it is not known what is missing between.

use std::io::{self, Read};

use brunt_units::Time;

use super::{Delivery, Fault, FaultKind, Ledger, State};
use crate::mailing::{Mailing, MailingError, MailingOptions};
use crate::promises::{Change, Fate, Flags, Reply};

/// Name and version of the format, and the first line of the file.
pub const FORMAT: &str = "brunt.ledger/1\n";

const RECORD: usize = 32;
/// A mailing of a million accounts has a third of this.
const MAILING_MAX: u32 = 64 << 20;

const DELIVERY: u8 = 1;
const RESERVATION: u8 = 2;
const FAULT: u8 = 3;
const END: u8 = 4;
const SEEN: u8 = 5;
const CHANGE: u8 = 6;

/// Turns what happens into bytes.
#[derive(Debug)]
pub(super) struct Writer {
    unwritten: Vec<u8>,
    records: u64,
}

/// Where reading ended before the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whole records before it.
    pub after: u64,
    /// What is wrong with the next one.
    pub why: Why,
}

/// Why a record was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It ends before its length: the file was cut, or not yet written.
    Torn,
    /// Its checksum is wrong, or it means nothing.
    Damaged,
    /// Something follows the record that says that nothing does.
    AfterTheEnd,
}

/// A ledger that cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another version, or no ledger.
    #[error("is not a ledger of this version of brunt, which writes {}", FORMAT.trim_end())]
    Format,
    /// Its first part, which says how messages are made, is damaged or cut.
    #[error("says nothing reliable about its messages: its header is damaged")]
    Header,
    /// Its first part is whole and makes no messages.
    #[error("describes no messages: {0}")]
    Mailing(#[from] MailingError),
}

/// A ledger that was read back.
#[derive(Debug)]
pub struct Found {
    /// How to make its messages.
    pub mailing: MailingOptions,
    /// What it holds.
    pub ledger: Ledger,
    /// Where it ends early.
    pub cut: Option<Cut>,
}

impl Writer {
    pub(super) fn new(options: &MailingOptions) -> Self {
        let mailing = postcard::to_allocvec(options).expect("memory takes every write");
        let length = u32::try_from(mailing.len()).expect("addresses of at most four billion bytes");
        let mut unwritten = FORMAT.as_bytes().to_vec();
        unwritten.extend_from_slice(&length.to_le_bytes());
        unwritten.extend_from_slice(&crc32fast::hash(&mailing).to_le_bytes());
        unwritten.extend_from_slice(&mailing);
        Self { unwritten, records: 0 }
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unwritten)
    }

    pub(super) fn delivery(&mut self, delivery: &Delivery) {
        let mut record = [0; RECORD];
        (record[0], record[1]) = (DELIVERY, state_as_byte(delivery.state));
        record[2..4].copy_from_slice(&delivery.code.to_le_bytes());
        record[4..8].copy_from_slice(&delivery.number.to_le_bytes());
        record[8..12].copy_from_slice(&delivery.recipient.to_le_bytes());
        record[12..16].copy_from_slice(&delivery.answer_us.to_le_bytes());
        record[16..24].copy_from_slice(&delivery.sent.0.to_le_bytes());
        self.append(record);
    }

    pub(super) fn reserved(&mut self, until: u32) {
        self.append(numbered(RESERVATION, until));
    }

    pub(super) fn fault(&mut self, fault: &Fault) {
        let mut record = numbered(FAULT, fault.in_flight);
        record[1] = match fault.kind {
            FaultKind::Kill => 1,
            FaultKind::Freeze => 2,
            FaultKind::PowerCut => 3,
            FaultKind::Connection => 4,
            FaultKind::Room => 5,
            FaultKind::Restart => 6,
        };
        record[8..16].copy_from_slice(&fault.until.0.to_le_bytes());
        record[16..24].copy_from_slice(&fault.from.0.to_le_bytes());
        self.append(record);
    }

    pub(super) fn sees(
        &mut self,
        (account, number): (u32, u32),
        (folder, flags): (u16, Flags),
        is_sure: bool,
    ) {
        let mut record = about(SEEN, account, number, folder);
        record[12] = flags.0;
        record[13] = u8::from(!is_sure);
        self.append(record);
    }

    pub(super) fn change(&mut self, account: u32, number: u32, change: Change, reply: Reply) {
        let (kind, folder, set, clear) = match change {
            Change::Store(set, clear) => (1, 0, set, clear),
            Change::Move(to) => (2, to, Flags(0), Flags(0)),
            Change::Expunge => (3, 0, Flags(0), Flags(0)),
        };
        let mut record = about(CHANGE, account, number, folder);
        record[1] = kind;
        record[12] = set.0;
        record[13] = clear.0;
        record[14] = match reply {
            Reply::Ok => 1,
            Reply::No => 2,
            Reply::Nothing => 3,
        };
        self.append(record);
    }

    pub(super) fn end(&mut self, messages: u32) {
        self.append(numbered(END, messages));
    }

    fn append(&mut self, mut record: [u8; RECORD]) {
        let sum = checksum(self.records, &record);
        record[28..].copy_from_slice(&sum.to_le_bytes());
        self.unwritten.extend_from_slice(&record);
        self.records += 1;
    }
}

fn numbered(kind: u8, number: u32) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[0] = kind;
    record[4..8].copy_from_slice(&number.to_le_bytes());
    record
}

/// The beginning of a record about a message of an account.
fn about(kind: u8, account: u32, number: u32, folder: u16) -> [u8; RECORD] {
    let mut record = numbered(kind, number);
    record[2..4].copy_from_slice(&folder.to_le_bytes());
    record[8..12].copy_from_slice(&account.to_le_bytes());
    record
}

fn checksum(place: u64, record: &[u8; RECORD]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&place.to_le_bytes());
    hasher.update(&record[..28]);
    hasher.finalize()
}

impl Ledger {
    /// Reads a ledger back.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be read, or says nothing about its messages. A file that is
    /// damaged further on gives a shorter ledger.
    pub fn read(mut bytes: impl Read) -> Result<Found, LedgerError> {
        let mailing = read_mailing(&mut bytes)?;
        let mut ledger = Self::new(&Mailing::new(mailing.clone())?);
        ledger.take_unwritten();
        let mut cut = None;
        for place in 0.. {
            let mut record = [0; RECORD];
            let why = match fill(&mut bytes, &mut record)? {
                0 => break,
                RECORD if ledger.has_ended => Why::AfterTheEnd,
                RECORD if read_record(&mut ledger, place, &record, &mailing).is_some() => continue,
                RECORD => Why::Damaged,
                _ => Why::Torn,
            };
            cut = Some(Cut { after: place, why });
            break;
        }
        Ok(Found { mailing, ledger, cut })
    }
}

fn read_mailing(bytes: &mut impl Read) -> Result<MailingOptions, LedgerError> {
    let mut first = [0; FORMAT.len()];
    if fill(bytes, &mut first)? < first.len() || first != *FORMAT.as_bytes() {
        return Err(LedgerError::Format);
    }
    let mut border = [0; 8];
    if fill(bytes, &mut border)? < border.len() {
        return Err(LedgerError::Header);
    }
    let length = number_at(&border, 0);
    let mut mailing = Vec::new();
    if length > MAILING_MAX
        || bytes.take(length.into()).read_to_end(&mut mailing)? < length as usize
        || crc32fast::hash(&mailing) != number_at(&border, 4)
    {
        return Err(LedgerError::Header);
    }
    match postcard::take_from_bytes(&mailing) {
        Ok((options, [])) => Ok(options),
        _ => Err(LedgerError::Header),
    }
}

/// Adds what a record says; `None` when it is not whole or means nothing.
fn read_record(
    ledger: &mut Ledger,
    place: u64,
    record: &[u8; RECORD],
    mailing: &MailingOptions,
) -> Option<()> {
    if checksum(place, record) != number_at(record, 28) {
        return None;
    }
    let number = number_at(record, 4);
    match record[0] {
        DELIVERY => {
            let recipient = number_at(record, 8);
            (usize::try_from(recipient).ok()? < mailing.accounts.len()).then_some(())?;
            (number < ledger.reserved).then_some(())?;
            let mut delivery = Delivery::new(number, recipient, Time(long_at(record, 16)));
            delivery.state = state_of_byte(record[1])?;
            delivery.code = u16::from_le_bytes([record[2], record[3]]);
            delivery.answer_us = number_at(record, 12);
            ledger.next = ledger.next.max(number.checked_add(1)?);
            ledger.push(delivery);
        }
        RESERVATION => ledger.reserved = Some(number).filter(|until| *until > ledger.reserved)?,
        FAULT => {
            let kind = match record[1] {
                1 => FaultKind::Kill,
                2 => FaultKind::Freeze,
                3 => FaultKind::PowerCut,
                4 => FaultKind::Connection,
                5 => FaultKind::Room,
                6 => FaultKind::Restart,
                _ => return None,
            };
            let (from, until) = (Time(long_at(record, 16)), Time(long_at(record, 8)));
            ledger.faults.push(Fault { kind, from, until, in_flight: number });
        }
        SEEN => {
            let fate = Fate::In(folder_at(record), Flags(record[12]));
            ledger.promises.appended(number_at(record, 8), number, fate, record[13] == 0);
        }
        CHANGE => {
            let change = match record[1] {
                1 => Change::Store(Flags(record[12]), Flags(record[13])),
                2 => Change::Move(folder_at(record)),
                3 => Change::Expunge,
                _ => return None,
            };
            let reply = match record[14] {
                1 => Reply::Ok,
                2 => Reply::No,
                3 => Reply::Nothing,
                _ => return None,
            };
            ledger.promises.change(number_at(record, 8), number, change, reply);
        }
        END => {
            ledger.next = Some(number).filter(|messages| *messages >= ledger.next)?;
            ledger.has_ended = true;
        }
        _ => return None,
    }
    Some(())
}

fn state_as_byte(state: State) -> u8 {
    match state {
        State::Refused => 1,
        State::NotSent => 2,
        State::Unanswered => 3,
        State::Accepted => 4,
    }
}

fn state_of_byte(byte: u8) -> Option<State> {
    Some(match byte {
        1 => State::Refused,
        2 => State::NotSent,
        3 => State::Unanswered,
        4 => State::Accepted,
        _ => return None,
    })
}

fn folder_at(record: &[u8; RECORD]) -> u16 {
    u16::from_le_bytes([record[2], record[3]])
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn long_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// Reads until `buffer` is full or the bytes end; returns how many were read.
fn fill(bytes: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
