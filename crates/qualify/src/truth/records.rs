//! Records of the workload as messages of the engine's table, and back.
//!
//! ```text
//!    number  ---->  Received (the number itself), Folder (number modulo FOLDERS)
//!    key     ---->  Id (the same bits, signed)
//!    content ---->  Subject (short pad), Body (long pad, or sometimes a large message)
//!    version ---->  Version; counts replacements
//! ```
//!
//! **Nothing is stored outside the database.** Keys and bytes follow from a seed, and the seed
//! follows from the database's signature. So any later run can compute what every record must hold.
//!
//! A bulk load needs records in id order, which is a random order of their numbers. [`IdOrder`]
//! provides it in fixed memory: it makes several passes over the numbers and sorts one range of ids
//! in each.

use brunt_ese::format::stamp::Signature;
use brunt_ese::instance::messages::ReadMessage;
use brunt_units::PageNumber;
use brunt_workload::content::{Content, Part, Shape};
use brunt_workload::keys::{Mixer, Record};

/// Folders that the records are spread over.
pub const FOLDERS: u64 = 64;

/// What the records of one database must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    content: Content,
    mixer: Mixer,
}

/// Buffers for one message.
#[derive(Clone, Debug, Default)]
pub struct Pads {
    /// The short pad.
    pub subject: Vec<u8>,
    /// The long pad, or a large message.
    pub body: Vec<u8>,
    /// The version of these bytes.
    pub version: u32,
}

/// The result of comparing a stored message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The bytes match this version of the record.
    Version(u32),
    /// They match no version.
    Wrong,
}

/// A message's fields as stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredFields<'a> {
    /// `Folder`.
    pub folder: i32,
    /// `Received`.
    pub received: i64,
    /// `Version`.
    pub version: i32,
    /// `Subject`.
    pub subject: &'a [u8],
    /// `Body`, if it was read.
    pub body: Option<&'a [u8]>,
}

impl<'m> From<&'m ReadMessage> for StoredFields<'m> {
    fn from(message: &'m ReadMessage) -> Self {
        Self {
            folder: message.folder,
            received: message.received,
            version: message.version,
            subject: &message.subject,
            body: message.body.as_deref(),
        }
    }
}

impl Contents {
    /// The records of the database with this signature.
    pub fn new(signature: &Signature, shape: Shape) -> Self {
        let mut bytes = [0; 28];
        signature.write(&mut bytes, 0);
        // FNV-1a over the signature; the mixers spread it further.
        let seed = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Self {
            content: Content::new(shape, seed),
            mixer: Mixer::new(seed.rotate_left(32)).with_beside(shape.beside_percent),
        }
    }

    /// Maps numbers to keys.
    pub fn mixer(&self) -> Mixer {
        self.mixer
    }

    /// The primary key of a record.
    pub fn id(record: Record) -> i64 {
        record.key.cast_signed()
    }

    /// The record that has this primary key, whether it exists or not.
    pub fn record(&self, id: i64) -> Record {
        self.mixer.record(self.mixer.number(id.cast_unsigned()))
    }

    pub fn folder(record: Record) -> i32 {
        i32::try_from(record.number.rem_euclid(FOLDERS)).expect("few folders")
    }

    /// When a record was received: its number stands in for a date.
    pub fn received(record: Record) -> i64 {
        record.number.cast_signed()
    }

    /// Bytes in the body of a record.
    pub fn body_length(&self, record: Record) -> usize {
        self.body(record).1
    }

    fn body(&self, record: Record) -> (Part, usize) {
        match self.content.length(record.key, Part::Large) {
            0 => (Part::Long, self.content.length(record.key, Part::Long)),
            large => (Part::Large, large),
        }
    }

    /// Generates a record's bytes.
    pub fn fill(&self, record: Record, version: u32, pads: &mut Pads) {
        pads.version = version;
        self.fill_subject(record, version, &mut pads.subject);
        self.fill_body(record, version, &mut pads.body);
    }

    /// Generates a record's short pad.
    pub fn fill_subject(&self, record: Record, version: u32, subject: &mut Vec<u8>) {
        subject.resize(self.content.length(record.key, Part::Short), 0);
        self.content.fill(record.key, version, Part::Short, subject);
    }

    /// Generates a record's long pad or large message.
    pub fn fill_body(&self, record: Record, version: u32, body: &mut Vec<u8>) {
        let (part, length) = self.body(record);
        body.resize(length, 0);
        self.content.fill(record.key, version, part, body);
    }

    /// Generates what is in the free space of a page of a new database.
    pub fn fill_free(&self, page: PageNumber, free: &mut [u8]) {
        self.content.fill_free(page.0, free);
    }

    /// Compares a record with the fields stored under its id.
    pub fn compare(&self, record: Record, stored: &StoredFields<'_>) -> Compared {
        let Ok(version) = u32::try_from(stored.version) else {
            return Compared::Wrong;
        };
        let content = &self.content;
        let (part, length) = self.body(record);
        let same = stored.folder == Self::folder(record)
            && stored.received == Self::received(record)
            && stored.subject.len() == content.length(record.key, Part::Short)
            && content.matches(record.key, version, Part::Short, stored.subject)
            && stored.body.is_none_or(|body| {
                body.len() == length && content.matches(record.key, version, part, body)
            });
        match same {
            true => Compared::Version(version),
            false => Compared::Wrong,
        }
    }
}

/// Numbers in the id order of their records; see the [module](self).
#[derive(Clone, Debug)]
pub struct IdOrder<N> {
    mixer: Mixer,
    numbers: N,
    ranges: u64,
    /// The next range.
    range: u64,
    /// The current range, in reverse order.
    waiting: Vec<Record>,
}

/// Records sorted at once: 64 MiB of them.
const SORTED_AT_ONCE: u64 = 4 << 20;

impl<N: Iterator<Item = u64> + Clone> IdOrder<N> {
    /// Orders `numbers`; there are about `count` of them.
    pub fn new(mixer: Mixer, numbers: N, count: u64) -> Self {
        Self::in_ranges(mixer, numbers, count.div_ceil(SORTED_AT_ONCE).max(1))
    }

    fn in_ranges(mixer: Mixer, numbers: N, ranges: u64) -> Self {
        Self { mixer, numbers, ranges, range: 0, waiting: Vec::new() }
    }

    /// The range of a record, numbered in id order.
    fn range_of(&self, record: Record) -> u64 {
        let place = u128::from(sortable(record)) * u128::from(self.ranges);
        u64::try_from(place >> 64).expect("below the number of ranges")
    }
}

/// A number that sorts like the id.
fn sortable(record: Record) -> u64 {
    record.key ^ (1 << 63)
}

impl<N: Iterator<Item = u64> + Clone> Iterator for IdOrder<N> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.waiting.is_empty() && self.range < self.ranges {
            let records = self.numbers.clone().map(|number| self.mixer.record(number));
            let mut waiting = std::mem::take(&mut self.waiting);
            waiting.extend(records.filter(|record| self.range_of(*record) == self.range));
            waiting.sort_unstable_by_key(|record| std::cmp::Reverse(sortable(*record)));
            self.waiting = waiting;
            self.range += 1;
        }
        self.waiting.pop()
    }
}

#[cfg(test)]
mod tests {
    use brunt_ese::format::long_value::chunk_bytes;
    use brunt_ese::format::stamp::{RunId, Stamp};
    use brunt_units::PageSize;
    use brunt_workload::content::CHUNK_BYTES;

    use super::*;

    fn contents(random: u32) -> Contents {
        let signature = Signature::ours(random, Stamp::from_unix_millis(7), RunId(9));
        Contents::new(&signature, Shape::JETSTRESS)
    }

    #[test]
    fn chunks_begin_where_the_engine_cuts() {
        assert_eq!(PageSize::ALL.map(chunk_bytes), CHUNK_BYTES);
    }

    fn stored(record: Record, version: u32, pads: &Pads) -> StoredFields<'_> {
        StoredFields {
            folder: Contents::folder(record),
            received: Contents::received(record),
            version: version.cast_signed(),
            subject: &pads.subject,
            body: Some(&pads.body),
        }
    }

    #[test]
    fn a_record_is_known_by_its_id() {
        let contents = contents(1);
        for number in [0, 1, 77, 1 << 40] {
            let record = contents.mixer().record(number);
            assert_eq!(contents.record(Contents::id(record)), record);
        }
    }

    #[test]
    fn bytes_tell_their_version_and_any_change_of_them_is_seen() {
        let (contents, mut pads) = (contents(1), Pads::default());
        let record = contents.mixer().record(1_234);
        contents.fill(record, 3, &mut pads);
        assert_eq!((pads.subject.len(), pads.body.len()), (200, 2_000));
        let good = stored(record, 3, &pads);
        assert_eq!(contents.compare(record, &good), Compared::Version(3));
        let older = StoredFields { version: 2, ..good };
        assert_eq!(contents.compare(record, &older), Compared::Wrong);
        let shorter = StoredFields { body: Some(&pads.body[..1_999]), ..good };
        assert_eq!(contents.compare(record, &shorter), Compared::Wrong);
        let moved = StoredFields { folder: 63, ..good };
        assert_eq!(contents.compare(record, &moved), Compared::Wrong);
        let other = contents.mixer().record(1_235);
        assert_eq!(contents.compare(other, &good), Compared::Wrong);
    }

    #[test]
    fn two_databases_hold_different_records() {
        let ids = |random| {
            let contents = contents(random);
            (0..100).map(move |number| contents.mixer().key(number))
        };
        assert!(ids(1).zip(ids(2)).all(|(one, other)| one != other));
    }

    #[test]
    fn every_number_comes_once_and_ids_ascend_however_many_ranges_there_are() {
        let mixer = contents(5).mixer();
        let order = |ranges| -> Vec<i64> {
            let records = IdOrder::in_ranges(mixer, 100..1_100, ranges);
            records.map(Contents::id).collect()
        };
        let whole = order(1);
        assert_eq!(whole.len(), 1_000);
        assert!(whole.is_sorted_by(|one, next| one < next));
        assert_eq!(order(7), whole);
        assert_eq!(order(64), whole);
        assert_eq!(IdOrder::new(mixer, 5..5, 0).count(), 0);
    }
}
