//! Torn or rotten? Examines a page with a wrong checksum before redo changes it.
//!
//! A torn page can be rebuilt from the log: each of its sectors is from *some* version since the
//! checkpoint, and the log has every byte in which those versions differ. A rotten page cannot:
//! bytes that no log record writes would stay rotten, and a new checksum would hide that. Both look
//! alike, so the durable log decides:
//!
//! ```text
//!   versions of the page    0 ----- 1 ----- 2 ----- 3       version 0: before the first change in the log
//!   log, since checkpoint       c1      c2      c3          each change is bytes and places
//!   found                   [ 1 | 1 | 2 | 0 | 1 ... ]       torn: sector 0 has the time and the checksum of version 1
//! ```
//!
//! * The first sector holds the page's time. If no version had that time, the page is rotten or a
//!   write was lost.
//! * If all other sectors are of that version or older, replaying up to it gives that version byte
//!   for byte, and the stored checksum must match.
//! * If it does not match, a torn page has a sector of a *later* version: it agrees with everything
//!   that the log has written there up to the later version, and that differs from the earlier
//!   content. A page without such a sector is rotten, unless a single flipped bit explains the
//!   checksum, which is then corrected. The order matters: three bits in which two versions differ
//!   can look like one flipped bit elsewhere.
//!
//! A torn page is never mistaken for a rotten one. A rotten page that also has such a sector is
//! treated as torn. Rot is harmless if a record begins the page anew.

use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber, PageSize};

use super::replayer::Replayer;
use crate::error::EngineError;
use crate::format::checksum::{self, Diagnosis};
use crate::format::page::{CHECKSUM_AT, DATABASE_TIME_AT, FLAGS_AT, NUMBER_AT, Page};
use crate::log::{Appended, LogRecord};
use crate::page::{PageChange, PageChanges, Pages, Remains};

/// Storage writes sectors whole: the durability contract, see [`brunt_world::Disk`].
const SECTOR: usize = 512;
/// Where a large page keeps the checksums of its further blocks.
const MORE_CHECKSUMS_AT: usize = 40;

/// One record's change to a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Database time of the page before the change.
    pub(super) before: DatabaseTime,
    /// Database time after it.
    pub(super) time: DatabaseTime,
    /// What the page begins with, if the change starts a new one.
    pub(super) fresh: Option<Remains>,
    /// Bytes and their offsets, in write order.
    pub(super) ranges: Vec<(usize, Vec<u8>)>,
}

impl Turn {
    /// Adds a record's change; several changes by the same record become one turn.
    fn add(turns: &mut Vec<Self>, change: &PageChange<'_>, time: DatabaseTime) {
        let ranges = change.ranges().map(|range| (range.offset, range.bytes.to_vec()));
        match turns.last_mut().filter(|_| change.is_again) {
            Some(turn) => turn.ranges.extend(ranges),
            None => turns.push(Self {
                before: change.before,
                time,
                fresh: change.fresh,
                ranges: ranges.collect(),
            }),
        }
    }

    fn apply(&self, page: &mut [u8]) {
        if let Some(remains) = self.fresh {
            remains.fill(page);
        }
        for (offset, bytes) in &self.ranges {
            page[*offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        page[DATABASE_TIME_AT..DATABASE_TIME_AT + 8].copy_from_slice(&self.time.0.to_le_bytes());
    }
}

/// Result of an assay.
pub(super) enum Assay {
    /// The page was torn, or its rot is harmless. Holds the page after the last turn.
    Rebuilt(Vec<u8>),
    /// A block had one flipped bit. Holds the page after the last turn, with the bit corrected.
    Corrected(Vec<u8>),
    Rotten,
}

/// Examines page `number`, whose checksum is wrong. `turns` are the changes that the log makes to
/// it.
pub(super) fn assay(found: &[u8], size: PageSize, number: PageNumber, turns: &[Turn]) -> Assay {
    let Some(first) = turns.first() else {
        return Assay::Rotten;
    };
    let rebuilt = |mut page: Vec<u8>, from: usize| {
        turns[from..].iter().for_each(|turn| turn.apply(&mut page));
        page
    };
    if turns.iter().any(|turn| turn.fresh.is_some()) {
        return Assay::Rebuilt(rebuilt(found.to_vec(), 0));
    }
    let has = Page::new(found, size).database_time();
    let mut times = std::iter::once(first.before).chain(turns.iter().map(|turn| turn.time));
    let Some(version) = times.position(|time| time == has) else {
        return Assay::Rotten;
    };
    let mut page = version_of(found, size, &turns[..version]);
    match checksum::diagnose(&page, size, number) {
        Diagnosis::Sound => Assay::Rebuilt(rebuilt(page, version)),
        _ if has_later_sector(found, turns, version) => Assay::Rebuilt(rebuilt(found.to_vec(), 0)),
        Diagnosis::Correctable(flips) => {
            flips.repair(&mut page);
            Assay::Corrected(rebuilt(page, version))
        }
        _ => Assay::Rotten,
    }
}

/// The page after replaying `turns`, which end at its own time. Checksum and flush type stay as
/// found.
fn version_of(found: &[u8], size: PageSize, turns: &[Turn]) -> Vec<u8> {
    let mut page = found.to_vec();
    turns.iter().for_each(|turn| turn.apply(&mut page));
    // The log does not record these.
    let mut keep = |from: usize, to: usize| page[from..to].copy_from_slice(&found[from..to]);
    keep(CHECKSUM_AT, DATABASE_TIME_AT);
    if size.is_large() {
        keep(MORE_CHECKSUMS_AT, NUMBER_AT);
    }
    let flush_type = Page::new(found, size).flags().flush_type();
    let flags = Page::new(&page, size).flags().with_flush_type(flush_type);
    page[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&flags.0.to_le_bytes());
    page
}

/// Whether a sector after the first matches a version after `version`, and differs from `version`
/// itself.
fn has_later_sector(found: &[u8], turns: &[Turn], version: usize) -> bool {
    // What the log has written so far; `None` where it has not written, so the content is unknown.
    let mut written: Vec<Option<u8>> = vec![None; found.len()];
    let write = |turn: &Turn, written: &mut Vec<Option<u8>>| {
        for (offset, bytes) in &turn.ranges {
            let places = &mut written[*offset..offset + bytes.len()];
            places.iter_mut().zip(bytes).for_each(|(place, byte)| *place = Some(*byte));
        }
    };
    let (until, after) = turns.split_at(version);
    until.iter().for_each(|turn| write(turn, &mut written));
    let then = written.clone();
    for turn in after {
        write(turn, &mut written);
        let sectors = written.chunks(SECTOR).zip(then.chunks(SECTOR)).zip(found.chunks(SECTOR));
        let mut later = sectors.skip(1).filter(|((now, then), found)| {
            let agrees =
                now.iter().zip(*found).all(|(now, byte)| now.is_none_or(|now| now == *byte));
            agrees && now != then
        });
        if later.next().is_some() {
            return true;
        }
    }
    false
}

impl Replayer {
    /// Rebuilds a page that looks torn, up to the end of the log, before the record at `appended`
    /// changes it. The page is pinned, and no earlier record has changed it.
    ///
    /// All at once, not record by record. Halfway, the page would have an old time and bytes of
    /// later versions; if it were written and torn again in that state, it would look rotten.
    ///
    /// # Errors
    /// [`EngineError::Page`] when the page is rotten; an error when the log cannot be read.
    pub(super) async fn rebuild(
        &mut self,
        database: u8,
        page: PageNumber,
        appended: Appended,
    ) -> Result<(), EngineError> {
        let base = Rc::clone(&self.base);
        let (entry, size) = (base.database(database), base.options.page_size);
        if !self.turns.contains_key(&(database, page)) {
            self.gather(database, appended.start).await?;
        }
        let turns = self.turns.remove(&(database, page)).unwrap_or_default();
        let mut pages = base.cache.pages(entry.number);
        let found = pages.resident(page).expect("it is pinned");
        let assayed = assay(found, size, page, &turns);
        let is_corrected = matches!(assayed, Assay::Corrected(_));
        let rebuilt = match assayed {
            Assay::Rebuilt(bytes) | Assay::Corrected(bytes) => Some(bytes),
            Assay::Rotten => None,
        };
        let rebuilt = rebuilt.filter(|bytes| Page::new(bytes, size).check().is_ok());
        let (Some(rebuilt), Some(last)) = (rebuilt, turns.last()) else {
            drop(pages);
            let fault = base.cache.rot(entry.number, page);
            return Err(base.page_error(entry, page, fault));
        };
        pages.change(page).copy_from_slice(&rebuilt);
        drop(pages);
        if is_corrected {
            let meters = base.cache.meters();
            meters.with(|meters| meters.corrected.tick());
        }
        base.cache.changed(entry.number, &[page], appended, last.time);
        base.cache.rebuilt(entry.number, page);
        self.report.torn_pages += 1;
        self.report.changes += turns.len() as u64;
        Ok(())
    }

    /// Collects from the log, starting at `from`, all changes to the pages of a database that look
    /// torn.
    async fn gather(&mut self, database: u8, from: LogPosition) -> Result<(), EngineError> {
        let torn = self.base.cache.torn(self.base.database(database).number);
        let size = self.base.options.page_size;
        for page in &torn {
            self.turns.entry((database, *page)).or_default().clear();
        }
        for generation in self.there.clone() {
            if generation < from.generation {
                continue;
            }
            let log = self.read_generation(generation).await?;
            for located in log.records().filter(|record| record.start >= from) {
                let Some(LogRecord::Change { database: of, time, image, .. }) = located.record
                else {
                    continue;
                };
                let changes = PageChanges::new(image, size).flatten();
                for change in changes.filter(|change| of == database && torn.contains(&change.page))
                {
                    let turns = self.turns.entry((database, change.page)).or_default();
                    Turn::add(turns, &change, time);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::{Stream, Streams};

    use super::*;
    use crate::format::page::PageFlags;
    use crate::overwrite::{BLOCK, stages};

    const PAGE: PageNumber = PageNumber(9);

    /// Versions of a page as written to disk, and the turns between them.
    ///
    /// `news` percent of the ranges hold new content; the others repeat what is there already.
    fn history(size: PageSize, news: u32, draw: &mut Stream) -> (Vec<Vec<u8>>, Vec<Turn>) {
        let below =
            |draw: &mut Stream, bound: usize| usize::try_from(draw.below(bound as u64)).unwrap();
        let mut page = vec![0; size.bytes()];
        draw.fill(&mut page);
        let mut time = DatabaseTime(100);
        let seal = |page: &mut Vec<u8>, time: DatabaseTime, draw: &mut Stream| {
            page[8..16].copy_from_slice(&time.0.to_le_bytes());
            let flush_type = u8::try_from(1 + draw.below(3)).unwrap();
            let flags = PageFlags::ALWAYS.with_flush_type(flush_type);
            page[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&flags.0.to_le_bytes());
            checksum::seal(page, size, PAGE);
            page.clone()
        };
        let (mut versions, mut turns) = (vec![seal(&mut page, time, draw)], Vec::new());
        for _ in 0..1 + draw.below(5) {
            let before = time;
            time = DatabaseTime(time.0 + 1 + draw.below(9));
            let ranges = (0..1 + draw.below(4)).map(|_| {
                let length = 1 + below(draw, 90);
                // The page header has its own rules.
                let offset = 80 + below(draw, size.bytes() - length - 80);
                let mut bytes = page[offset..offset + length].to_vec();
                if draw.percent(news) {
                    draw.fill(&mut bytes);
                }
                (offset, bytes)
            });
            let turn = Turn { before, time, fresh: None, ranges: ranges.collect() };
            turn.apply(&mut page);
            versions.push(seal(&mut page, time, draw));
            turns.push(turn);
        }
        (versions, turns)
    }

    const SIZES: [PageSize; 3] = [PageSize::KIB_4, PageSize::KIB_8, PageSize::KIB_32];

    /// Takes each sector from a random version; such a page must never be called rotten.
    #[test]
    fn a_torn_page_is_never_rotten() {
        let mut draw = Streams::new(1).named("torn");
        let mut torn = 0;
        for round in 0..3000 {
            let size = SIZES[round % 3];
            let (versions, turns) = history(size, 80, &mut draw);
            let pick =
                |draw: &mut Stream| usize::try_from(draw.below(versions.len() as u64)).unwrap();
            let (one, other, share) = (pick(&mut draw), pick(&mut draw), draw.below(101));
            let mut found = versions[one].clone();
            for (number, sector) in found.chunks_mut(SECTOR).enumerate() {
                let version = match draw.below(4) {
                    0 => pick(&mut draw),
                    _ if draw.below(100) < share => one,
                    _ => other,
                };
                sector.copy_from_slice(&versions[version][number * SECTOR..][..SECTOR]);
            }
            torn += u32::from(!checksum::is_sound(&found, size, PAGE));
            if !checksum::is_sound(&found, size, PAGE) {
                // The log does not record what the write adds (checksum, flush type).
                let expected = version_of(&versions[0], size, &turns);
                let Assay::Rebuilt(rebuilt) = assay(&found, size, PAGE, &turns) else {
                    panic!("round {round}: called rotten");
                };
                assert!(rebuilt[80..] == expected[80..], "round {round}");
            }
        }
        assert!(torn > 1000, "{torn} were torn");
    }

    /// A version as written, with rot where the log writes nothing.
    #[test]
    fn a_rotten_page_is_noticed() {
        let mut draw = Streams::new(2).named("rotten");
        for round in 0..1000 {
            let size = SIZES[round % 3];
            let (versions, turns) = history(size, 100, &mut draw);
            let version = usize::try_from(draw.below(versions.len() as u64)).unwrap();
            let mut found = versions[version].clone();
            let logged = |at: usize| {
                let mut ranges = turns.iter().flat_map(|turn| &turn.ranges);
                ranges.any(|(offset, bytes)| (*offset..offset + bytes.len()).contains(&at))
            };
            let mut bad = 0;
            while bad < 2 {
                let at = 80 + usize::try_from(draw.below(size.bytes_u64() - 80)).unwrap();
                if !logged(at) {
                    found[at] ^= 1 << draw.below(8);
                    bad += 1;
                }
            }
            if !checksum::is_sound(&found, size, PAGE) {
                let expected = version_of(&versions[version], size, &turns);
                // A large page can have a bit corrected in each of two blocks.
                let is_noticed = match assay(&found, size, PAGE, &turns) {
                    Assay::Rotten => true,
                    Assay::Corrected(page) => size.is_large() && page[80..] == expected[80..],
                    Assay::Rebuilt(_) => false,
                };
                assert!(is_noticed, "round {round}");
            }
        }
    }

    /// A bad page that is being replaced, and a crash in between. A plain write is sometimes taken
    /// for a torn one of the engine's, and what the log does not have stays bad.
    #[test]
    fn a_replacement_that_is_torn_is_never_taken_for_a_torn_page() {
        let mut draw = Streams::new(5).named("replaced");
        let mut mistaken = 0;
        for round in 0..2000 {
            let size = SIZES[round % 3];
            let (versions, turns) = history(size, 80, &mut draw);
            let below = |draw: &mut Stream, bound: usize| {
                usize::try_from(draw.below(bound as u64)).unwrap()
            };
            let new = below(&mut draw, versions.len());
            let good = &versions[new];
            let mut found = versions[below(&mut draw, new + 1)].clone();
            for _ in 0..3 {
                let sector = below(&mut draw, size.bytes().div_euclid(SECTOR) - 1) + 1;
                draw.fill(&mut found[sector * SECTOR..][..SECTOR]);
            }
            let right = version_of(&versions[0], size, &turns);
            let is_wrong = |page: &[u8]| match assay(page, size, PAGE, &turns) {
                Assay::Rebuilt(page) | Assay::Corrected(page) => page[80..] != right[80..],
                Assay::Rotten => false,
            };
            if checksum::is_sound(&found, size, PAGE) || is_wrong(&found) {
                continue;
            }
            let torn = |draw: &mut Stream, before: &[u8], after: &[u8]| {
                let mut torn = before.to_vec();
                for at in (0..after.len()).step_by(SECTOR) {
                    if draw.percent(50) {
                        torn[at..at + SECTOR].copy_from_slice(&after[at..at + SECTOR]);
                    }
                }
                torn
            };
            let plain = torn(&mut draw, &found, good);
            mistaken += u32::from(!checksum::is_sound(&plain, size, PAGE) && is_wrong(&plain));
            let mut page = found.clone();
            for stage in stages(&found[..BLOCK], good) {
                let torn = torn(&mut draw, &page, &stage);
                let is_sound = checksum::is_sound(&torn, size, PAGE);
                assert!(is_sound || !is_wrong(&torn), "round {round}");
                assert!(!is_sound || torn == *good, "round {round}");
                page[..stage.len()].copy_from_slice(&stage);
            }
            assert_eq!(&page, good);
        }
        assert!(mistaken > 10, "{mistaken}");
    }

    #[test]
    fn one_flipped_bit_is_turned_back() {
        let mut draw = Streams::new(4).named("flipped");
        for round in 0..300 {
            let size = SIZES[round % 3];
            let (versions, turns) = history(size, 100, &mut draw);
            let version = usize::try_from(draw.below(versions.len() as u64)).unwrap();
            let mut found = versions[version].clone();
            let at = 80 + usize::try_from(draw.below(size.bytes_u64() - 80)).unwrap();
            found[at] ^= 1 << draw.below(8);
            let expected = version_of(&versions[version], size, &turns);
            match assay(&found, size, PAGE, &turns) {
                // Rot disappears where the log writes again.
                Assay::Rebuilt(rebuilt) | Assay::Corrected(rebuilt) => {
                    assert!(rebuilt[80..] == expected[80..], "round {round}");
                }
                Assay::Rotten => panic!("round {round}"),
            }
        }
    }

    #[test]
    fn a_time_that_no_version_had_is_rot_and_zeros_make_everything_harmless() {
        let size = PageSize::KIB_4;
        let (versions, mut turns) = history(size, 80, &mut Streams::new(3).named("times"));
        let mut found = versions[0].clone();
        found[3000] ^= 1;
        found[8] ^= 0x80;
        let zeros = vec![0; size.bytes()];
        let is_rotten =
            |page: &[u8], turns: &[Turn]| matches!(assay(page, size, PAGE, turns), Assay::Rotten);
        assert!(is_rotten(&found, &turns) && is_rotten(&zeros, &turns));
        assert!(is_rotten(&found, &[]), "no record touches it");
        turns.last_mut().unwrap().fresh = Some(Remains::ZEROS);
        let assayed = assay(&found, size, PAGE, &turns);
        assert!(matches!(assayed, Assay::Rebuilt(_)));
    }
}
