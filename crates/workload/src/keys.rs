//! Chooses the record for each operation: the live records of a database, in memory that does not
//! grow with it.
//!
//! Records are numbered in order of insertion. A record's *key* is its number, mixed by an
//! invertible function, so records inserted together are far apart in the tree: inserts scatter
//! evenly over the primary index, and so do the oldest records. Deletes can therefore always take
//! the oldest, and the live records form one interval:
//!
//! ```text
//!    deleted                live                     never inserted
//!   ............|.x...LLLLLLLLLLLLLLLLLLLLLLLLL..L.L|
//!               low    x gone early                 next
//! ```
//!
//! But mail arrives in clusters. So some records lie *beside* the one inserted before them: their
//! keys are adjacent, and an operation on one finds the page of the other in memory.
//!
//! Exceptions are few and listed: *locked* numbers, at most one per operation in progress, and
//! *gone* numbers above `low`: deleted out of order because an older one was locked, or rolled-back
//! inserts. A locked record is never handed out, so two operations never use the same record.
//!
//! A replace prefers a record that the same session recently inserted or read ([`Recent`]):
//! published reports show that replaces cost no read, so their pages must be cached. A read draws
//! uniformly from all live records.

use std::collections::BTreeSet;

use brunt_world::random::Stream;

/// A record: its insertion number, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Insertion number, from 0.
    pub number: u64,
    /// Key in the primary index.
    pub key: u64,
}

/// The mixer between numbers and keys: a bijection of 64-bit numbers, selected by a seed.
///
/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014) after an exclusive or with the seed; each of its steps is invertible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixer {
    seed: u64,
    /// Records in a hundred that lie beside the previous one.
    beside: u64,
}

/// Upper limit of record numbers when some records lie beside others.
const NUMBERS_MAX: u64 = 1 << 62;

const FACTORS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

impl Mixer {
    /// The mixer for a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed, beside: 0 }
    }

    /// The same mixer, with `percent` of the records beside the previous one.
    ///
    /// # Panics
    /// When `percent` is over 50.
    #[must_use]
    pub const fn with_beside(self, percent: u32) -> Self {
        assert!(percent <= 50, "a record lies beside one other");
        Self { beside: percent as u64, ..self }
    }

    /// The key of a number.
    ///
    /// # Panics
    /// When records lie beside others and the number is 2^62 or more.
    pub const fn key(self, number: u64) -> u64 {
        if self.beside == 0 {
            return self.mix(number, u64::MAX);
        }
        assert!(number < NUMBERS_MAX, "there are fewer records");
        // A hundred numbers take this many places; each number that lies beside the previous one
        // shares its place.
        let places = 100 - self.beside;
        let (hundred, at) = (number.div_euclid(100), number.rem_euclid(100));
        let place = (at * places).div_euclid(100);
        let second = at - first_at(place, places);
        self.mix(hundred * places + place, u64::MAX >> 1) << 1 | second
    }

    /// The number of a key: the inverse of [`Self::key`]. A key that belongs to no number gives an
    /// arbitrary number.
    pub const fn number(self, key: u64) -> u64 {
        if self.beside == 0 {
            return self.unmix(key, u64::MAX);
        }
        let places = 100 - self.beside;
        let place = self.unmix(key >> 1, u64::MAX >> 1);
        let (hundred, place) = (place.div_euclid(places), place.rem_euclid(places));
        let number = hundred * 100 + first_at(place, places) + (key & 1);
        if number < NUMBERS_MAX { number } else { NUMBERS_MAX - 1 }
    }

    /// Permutes the numbers up to `mask`, which is all ones.
    const fn mix(self, number: u64, mask: u64) -> u64 {
        let mut x = (number ^ self.seed) & mask;
        x = (x ^ (x >> 30)).wrapping_mul(FACTORS[0]) & mask;
        x = (x ^ (x >> 27)).wrapping_mul(FACTORS[1]) & mask;
        x ^ (x >> 31)
    }

    /// The inverse of [`Self::mix`].
    const fn unmix(self, mixed: u64, mask: u64) -> u64 {
        let mut x = unshift(mixed, 31).wrapping_mul(inverse(FACTORS[1])) & mask;
        x = unshift(x, 27).wrapping_mul(inverse(FACTORS[0])) & mask;
        (unshift(x, 30) ^ self.seed) & mask
    }

    pub const fn record(self, number: u64) -> Record {
        Record { number, key: self.key(number) }
    }
}

/// The first number of a hundred at `place`, of `places`.
const fn first_at(place: u64, places: u64) -> u64 {
    (place * 100).div_ceil(places)
}

/// Undoes `x ^ (x >> bits)`.
const fn unshift(mixed: u64, bits: u32) -> u64 {
    let mut x = mixed;
    let mut known = bits;
    while known < 64 {
        x = mixed ^ (x >> bits);
        known += bits;
    }
    x
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the correct
/// bits.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut step = 0;
    while step < 5 {
        x = x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

/// The records of a database at rest: all the state to save and restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The oldest number that may be live.
    pub low: u64,
    /// The number of the next insert.
    pub next: u64,
    /// Numbers from `low` on that are not live, ascending.
    pub gone: Vec<u64>,
}

/// The live records of one database; see the [module](self).
#[derive(Clone, Debug)]
pub struct Population {
    mixer: Mixer,
    low: u64,
    next: u64,
    gone: BTreeSet<u64>,
    /// Numbers in use by operations, ascending.
    locked: Vec<u64>,
    /// No number between `low` and here is free. Without this, a record locked for a long time
    /// would make each delete walk past all records deleted after it.
    search: u64,
    /// Records whose delete failed. The next delete would fail at the same place, and all deletes
    /// after it.
    spared: BTreeSet<u64>,
}

/// Random draws before falling back to a sequential search.
const TRIES: u32 = 64;

impl Population {
    /// `records` records, numbered from 0.
    pub fn new(mixer: Mixer, records: u64) -> Self {
        let extent = Extent { next: records, ..Extent::default() };
        Self::restore(mixer, &extent)
    }

    /// Restores a saved population.
    ///
    /// # Panics
    /// When a gone number lies outside the interval.
    pub fn restore(mixer: Mixer, extent: &Extent) -> Self {
        let interval = extent.low..extent.next;
        assert!(
            extent.gone.iter().all(|number| interval.contains(number)),
            "gone without having been there"
        );
        let mut population = Self {
            mixer,
            low: extent.low,
            next: extent.next,
            gone: extent.gone.iter().copied().collect(),
            locked: Vec::new(),
            search: extent.low,
            spared: BTreeSet::new(),
        };
        population.advance();
        population
    }

    /// The same as a kill leaves it: no operation is in progress, and records that were being
    /// inserted or deleted count as live.
    #[must_use]
    pub fn left(&self) -> Self {
        Self { locked: Vec::new(), search: self.low, ..self.clone() }
    }

    /// The state to save. It is complete only at rest.
    ///
    /// # Panics
    /// When an operation is in progress.
    pub fn extent(&self) -> Extent {
        assert!(self.locked.is_empty(), "operations are under way");
        Extent { low: self.low, next: self.next, gone: self.gone.iter().copied().collect() }
    }

    /// Number of records that are live or being inserted or deleted.
    pub fn len(&self) -> u64 {
        self.next - self.low - self.gone.len() as u64
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The live records, oldest first.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let live = (self.low..self.next).filter(|number| !self.gone.contains(number));
        live.map(|number| self.mixer.record(number))
    }

    /// Locks the next new record, for an insert.
    pub fn insert(&mut self) -> Record {
        let number = self.next;
        self.next += 1;
        self.locked.push(number);
        self.mixer.record(number)
    }

    /// Locks the oldest free record, for a delete.
    pub fn delete(&mut self) -> Option<Record> {
        let from = self.search.max(self.low);
        let may_go = |number: &u64| self.is_free(*number) && !self.spared.contains(number);
        let found = (from..self.next).find(may_go);
        self.search = found.unwrap_or(self.next);
        Some(self.lock(found?))
    }

    /// Locks a record drawn uniformly from the free ones, for a read or replace.
    pub fn draw(&mut self, random: &mut Stream) -> Option<Record> {
        let span = self.next - self.low;
        if span == 0 {
            return None;
        }
        let mut number = self.low + random.below(span);
        for _ in 0..TRIES {
            if self.is_free(number) {
                return Some(self.lock(number));
            }
            number = self.low + random.below(span);
        }
        // Hardly any record is free: takes the first free one after the last draw.
        let mut round = (number..self.next).chain(self.low..number);
        let number = round.find(|number| self.is_free(*number))?;
        Some(self.lock(number))
    }

    /// Locks the record that the session touched last, or falls back to [`Self::draw`].
    pub fn draw_latest(&mut self, recent: &Recent, random: &mut Stream) -> Option<Record> {
        match recent.latest().filter(|number| self.is_free(*number)) {
            Some(number) => Some(self.lock(number)),
            None => self.draw(random),
        }
    }

    /// Locks a record that the session touched recently, or falls back to [`Self::draw`].
    pub fn draw_recent(&mut self, recent: &Recent, random: &mut Stream) -> Option<Record> {
        let known = recent.draw(random).filter(|number| self.is_free(*number));
        match known {
            Some(number) => Some(self.lock(number)),
            None => self.draw(random),
        }
    }

    /// Ends the operation on a record that stays live: it was read or replaced, its insert was
    /// committed, or its delete was rolled back.
    ///
    /// # Panics
    /// When the record was not locked.
    pub fn keep(&mut self, record: Record) {
        self.unlock(record);
        self.search = self.search.min(record.number);
    }

    /// Ends the failed delete of a record, which is not to be deleted any more.
    ///
    /// # Panics
    /// When the record was not locked.
    pub fn spare(&mut self, record: Record) {
        self.unlock(record);
        self.spared.insert(record.number);
    }

    /// Ends the operation on a record that is gone: its delete was committed, or its insert was
    /// rolled back.
    ///
    /// # Panics
    /// When the record was not locked.
    pub fn remove(&mut self, record: Record) {
        self.unlock(record);
        self.gone.insert(record.number);
        self.advance();
    }

    fn is_free(&self, number: u64) -> bool {
        (self.low..self.next).contains(&number)
            && !self.gone.contains(&number)
            && self.locked.binary_search(&number).is_err()
    }

    fn lock(&mut self, number: u64) -> Record {
        let at = self.locked.binary_search(&number).unwrap_err();
        self.locked.insert(at, number);
        self.mixer.record(number)
    }

    fn unlock(&mut self, record: Record) {
        let at = self.locked.binary_search(&record.number);
        self.locked.remove(at.expect("the record is locked"));
    }

    fn advance(&mut self) {
        while self.gone.first() == Some(&self.low) {
            self.gone.pop_first();
            self.low += 1;
        }
    }
}

/// Records that a session remembers per database.
///
/// Not calibrated. With 37 inserts and reads in a batch of 50, this covers the last seven batches
/// on that database; with eight instances, a record is replaced one to three thousand operations of
/// its session after it was touched.
pub const RECENT: usize = 256;

/// The records of one database that one session recently inserted or read; the oldest is forgotten
/// first.
///
/// Each session has one for each database: thousands of lists, most of a workload's memory.
#[derive(Clone, Debug)]
pub struct Recent {
    numbers: Vec<Packed>,
    capacity: usize,
    oldest: usize,
}

/// A record's number in five bytes: a database has fewer than 2^40 records.
type Packed = [u8; 5];

fn packed(number: u64) -> Packed {
    let [a, b, c, d, e, 0, 0, 0] = number.to_le_bytes() else {
        panic!("record numbers have 40 bits, not {number}");
    };
    [a, b, c, d, e]
}

fn unpacked([a, b, c, d, e]: Packed) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
}

impl Recent {
    /// An empty list that remembers up to `capacity` records. Memory is allocated as they come.
    pub fn new(capacity: usize) -> Self {
        Self { numbers: Vec::new(), capacity, oldest: 0 }
    }

    /// Records that the session touched a record.
    pub fn remember(&mut self, record: Record) {
        if self.numbers.len() < self.capacity {
            self.numbers.push(packed(record.number));
        } else if let Some(oldest) = self.numbers.get_mut(self.oldest) {
            *oldest = packed(record.number);
            self.oldest = (self.oldest + 1) % self.capacity;
        }
    }

    fn latest(&self) -> Option<u64> {
        let newest = match self.numbers.len() < self.capacity {
            true => self.numbers.len(),
            false => self.oldest + self.capacity,
        };
        let at = newest.checked_sub(1)?.checked_rem(self.capacity)?;
        self.numbers.get(at).copied().map(unpacked)
    }

    fn draw(&self, random: &mut Stream) -> Option<u64> {
        if self.numbers.is_empty() {
            return None;
        }
        let at = random.below(self.numbers.len() as u64);
        #[expect(clippy::cast_possible_truncation, reason = "below the length of a vector")]
        self.numbers.get(at as usize).copied().map(unpacked)
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn mixing_can_be_undone_and_scatters() {
        let mixer = Mixer::new(0x1234_5678_9ABC_DEF0);
        let mut buckets = [0_u32; 64];
        for number in (0..64_000).chain([u64::MAX, 1 << 63]) {
            let key = mixer.key(number);
            assert_eq!(mixer.number(key), number);
            buckets[usize::try_from(key >> 58).unwrap()] += 1;
        }
        let square = |count: &u32| (f64::from(*count) - 1_000.0).powi(2) / 1_000.0;
        let per_degree = buckets.iter().map(square).sum::<f64>() / 63.0;
        assert!((0.6..1.5).contains(&per_degree), "chi2/df = {per_degree}");
    }

    #[test]
    fn records_lie_beside_the_one_before_them_as_often_as_asked() {
        for percent in [1, 30, 33, 50] {
            let mixer = Mixer::new(0x1234_5678_9ABC_DEF0).with_beside(percent);
            let mut beside = 0;
            for number in (0..10_000).chain([1 << 40, NUMBERS_MAX - 1]) {
                let key = mixer.key(number);
                assert_eq!(mixer.number(key), number);
                beside += u32::from(
                    number > 0 && number < 10_000 && mixer.key(number - 1).abs_diff(key) == 1,
                );
            }
            assert_eq!(beside, percent * 100);
        }
    }

    #[test]
    fn what_was_touched_last_is_known() {
        let highest = (1 << 40) - 1;
        assert_eq!(unpacked(packed(highest)), highest);
        let mut recent = Recent::new(3);
        assert_eq!(recent.latest(), None);
        for number in 0..8 {
            recent.remember(Mixer::new(1).record(number));
            assert_eq!(recent.latest(), Some(number));
        }
    }

    #[test]
    fn reads_draw_evenly_from_what_lives() {
        let mut random = Streams::new(2).named("reads");
        let mut population = Population::new(Mixer::new(7), 100);
        for _ in 0..20 {
            let record = population.delete().unwrap();
            population.remove(record);
        }
        let mut drawn = [0_u32; 100];
        for _ in 0..80_000 {
            let record = population.draw(&mut random).unwrap();
            drawn[usize::try_from(record.number).unwrap()] += 1;
            population.keep(record);
        }
        assert!(drawn[..20].iter().all(|count| *count == 0));
        let square = |count: &u32| (f64::from(*count) - 1_000.0).powi(2) / 1_000.0;
        let per_degree = drawn[20..].iter().map(square).sum::<f64>() / 79.0;
        assert!((0.6..1.5).contains(&per_degree), "chi2/df = {per_degree}");
    }

    /// Sessions begin and end operations in random order; some roll back. A set of all live numbers
    /// is the oracle.
    #[test]
    fn concurrent_operations_never_meet_and_the_books_balance() {
        let mut random = Streams::new(5).named("books");
        for start in [0, 1, 3, 200] {
            let mut population = Population::new(Mixer::new(start), start);
            let mut recent = Recent::new(8);
            let mut live: BTreeSet<u64> = (0..start).collect();
            // Records in use: (record, whether it is live after a commit, and after a rollback).
            let mut open: Vec<(Record, bool, bool)> = Vec::new();
            for _ in 0..20_000 {
                let free = live.iter().filter(|n| open.iter().all(|o| o.0.number != **n));
                let free: BTreeSet<u64> = free.copied().collect();
                let begun = match random.below(6) {
                    0 | 1 if open.len() < 6 => Some((population.insert(), true, false)),
                    2 if open.len() < 6 => {
                        let record = population.delete();
                        assert_eq!(record.map(|r| r.number), free.first().copied());
                        record.map(|record| (record, false, true))
                    }
                    3 if open.len() < 6 => {
                        let record = if random.percent(50) {
                            population.draw(&mut random)
                        } else {
                            population.draw_recent(&recent, &mut random)
                        };
                        assert_eq!(record.is_some(), !free.is_empty());
                        assert!(record.is_none_or(|r| free.contains(&r.number)));
                        record.map(|record| (record, true, true))
                    }
                    _ => None,
                };
                if let Some((record, ..)) = begun {
                    assert!(open.iter().all(|other| other.0 != record), "two on one record");
                    recent.remember(record);
                    open.extend(begun);
                } else if !open.is_empty() {
                    let at = usize::try_from(random.below(open.len() as u64)).unwrap();
                    let (record, committed, rolled_back) = open.swap_remove(at);
                    let lives = if random.percent(80) { committed } else { rolled_back };
                    if lives {
                        population.keep(record);
                        live.insert(record.number);
                    } else {
                        population.remove(record);
                        live.remove(&record.number);
                    }
                }
            }
            for (record, ..) in open.drain(..) {
                population.keep(record);
                live.insert(record.number);
            }
            assert!(population.records().map(|r| r.number).eq(live.iter().copied()));
            assert_eq!(population.len(), live.len() as u64);
            let extent = population.extent();
            let restored = Population::restore(Mixer::new(start), &extent);
            assert_eq!(restored.extent(), extent);
            assert!(restored.records().eq(population.records()));
        }
    }

    #[test]
    fn deletes_in_order_leave_nothing_to_remember() {
        let mut population = Population::new(Mixer::new(1), 1_000);
        for _ in 0..5_000 {
            let new = population.insert();
            let old = population.delete().unwrap();
            population.keep(new);
            population.remove(old);
        }
        let expected = Extent { low: 5_000, next: 6_000, gone: Vec::new() };
        assert_eq!(population.extent(), expected);
    }

    #[test]
    fn a_session_remembers_its_latest_records() {
        let mixer = Mixer::new(0);
        let mut random = Streams::new(1).named("recent");
        let mut recent = Recent::new(4);
        (0..10).for_each(|number| recent.remember(mixer.record(number)));
        let drawn: BTreeSet<_> = (0..200).filter_map(|_| recent.draw(&mut random)).collect();
        assert_eq!(drawn, BTreeSet::from([6, 7, 8, 9]));
        let mut nothing = Recent::new(0);
        nothing.remember(mixer.record(1));
        assert_eq!(nothing.draw(&mut random), None);
    }
}
