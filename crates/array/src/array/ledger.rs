//! The content an array would hold if it stored any: for tests only.
//!
//! Every host write has a version. The ledger follows versions through the cache, jobs, drives and
//! repairs exactly as the array moves them. A parity is the list of versions it was computed from;
//! computing a lost strip from it requires having read all the other strips at exactly these
//! versions. A replaced drive holds garbage until it is written. So any mistake the array makes
//! about content ends in a panic here, or in a read that returns too old a version.

use std::collections::BTreeMap;
use std::ops::Range;

use super::jobs::{IoOwner, Owner};
use super::observer::{Move, Observer};
use super::{Array, HostIo, Verb};
use crate::Extent;
use crate::cache::pages::Sectors;
use crate::group::plan::{Method, Step};
use crate::group::{Group, Spot};
use crate::slab::Key;

/// What a drive sector holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// The initial content of an empty array: version 0 of everything.
    Empty,
    Data(u64),
    /// The versions of the row's data strips.
    Parity(Vec<u64>),
    /// Meaningless content.
    Garbage,
}

#[derive(Clone, Debug)]
enum Moves {
    Read {
        owner: IoOwner,
        member: u32,
        within: u64,
        length: u64,
    },
    Write(Vec<Content>),
    /// Sectors of a group starting here, for a fill.
    FromTier {
        fill: Key,
        first: u64,
        length: u64,
    },
}

struct JobNote {
    /// New versions, by sector of the stripe's data.
    new: BTreeMap<u64, u64>,
    /// Content read, by member and sector of the strip.
    read: BTreeMap<(u32, u64), Content>,
    method: Method,
}

#[derive(Default)]
pub(super) struct Ledger {
    drives: BTreeMap<u16, BTreeMap<u64, Content>>,
    replaced: Vec<u16>,
    ios: BTreeMap<Key, (Spot, Moves)>,
    jobs: BTreeMap<Key, JobNote>,
    repairs: BTreeMap<Key, BTreeMap<(u32, u64), Content>>,
    cache: BTreeMap<(u32, u64), u64>,
    /// On-disk versions that the cache keeps beside newer ones.
    olds: BTreeMap<(u32, u64), u64>,
    /// Versions being destaged.
    destaging: BTreeMap<(u32, u64), u64>,
    fills: BTreeMap<Key, BTreeMap<u64, u64>>,
    requests: BTreeMap<Key, BTreeMap<u64, u64>>,
    /// The versions that each read has returned, by its tag.
    pub(super) answers: BTreeMap<u64, Vec<u64>>,
}

impl Ledger {
    fn at(&self, drive: u16, sector: u64) -> Content {
        let held = self.drives.get(&drive).and_then(|drive| drive.get(&sector));
        match held {
            Some(content) => content.clone(),
            None if self.replaced.contains(&drive) => Content::Garbage,
            None => Content::Empty,
        }
    }
}

fn data(content: &Content) -> u64 {
    match content {
        Content::Empty => 0,
        Content::Data(version) => *version,
        other => panic!("data was read and is {other:?}"),
    }
}

fn parity(content: &Content, strips: u32) -> Vec<u64> {
    match content {
        Content::Empty => vec![0; strips as usize],
        Content::Parity(versions) => versions.clone(),
        other => panic!("a parity was read and is {other:?}"),
    }
}

/// The data strip that a member holds in a row; `None` for a parity.
fn strip_of(group: &Group, row: u64, member: u32) -> Option<u32> {
    use crate::group::Protection;
    match group.shape.protection {
        Protection::Mirror => Some(0),
        _ => (0..group.shape.data_strips())
            .find(|index| group.shape.data_member(row, *index) == member),
    }
}

/// The versions of all data strips at one sector, as far as the reads show them.
fn known(
    group: &Group,
    row: u64,
    read: &BTreeMap<(u32, u64), Content>,
    sector: u64,
) -> Vec<Option<u64>> {
    let strips = group.shape.data_strips();
    let mut known = vec![None; strips as usize];
    let here: Vec<(u32, &Content)> = read
        .iter()
        .filter(|((_, at), _)| *at == sector)
        .map(|((member, _), content)| (*member, content))
        .collect();
    for (member, content) in &here {
        if let Some(strip) = strip_of(group, row, *member) {
            known[strip as usize] = Some(data(content));
        }
    }
    for (member, content) in &here {
        if strip_of(group, row, *member).is_some() {
            continue;
        }
        let versions = parity(content, strips);
        for (known, version) in known.iter().zip(&versions) {
            assert!(known.is_none_or(|known| known == *version), "parity {versions:?} of {here:?}");
        }
        if here.len() >= strips as usize {
            known = versions.into_iter().map(Some).collect();
        }
    }
    known
}

impl Observer for Ledger {
    fn see(&mut self, array: &Array<Self>, moved: Move) {
        match moved {
            Move::JobBegan(job) => self.note_job(array, job),
            Move::JobPlanned(job, method) => self.note_plan(array, job, method),
            Move::ReadBegan { io, owner, spot, member, within } => {
                self.note_read(io, owner, spot, member, within)
            }
            Move::WriteBegan { io, job, spot, step } => self.note_write(array, io, job, spot, step),
            Move::RebuildBegan { io, repair, spot, rows } => {
                self.note_rebuilt(array, io, repair, spot, rows)
            }
            Move::TierReadBegan { io, spot, fill, part } => {
                self.note_tier_read(io, spot, fill, part)
            }
            Move::TierWriteBegan { io, spot, group, part } => {
                self.note_tier_write(io, spot, group, part)
            }
            Move::DeviceEnded(io) => self.note_device(io),
            Move::JobRead(job) => self.note_found(array, job),
            Move::Filled { fill, slot, part } => self.note_filled(array, fill, slot, part),
            Move::Accepted(request) => self.note_accepted(array, request),
            Move::Destaged { slot, keeps_old } => self.note_destaged(array, slot, keeps_old),
            Move::CacheLost => self.note_cache_lost(),
            Move::DriveFailed(drive) => self.note_failed(drive),
            Move::Answered(request) => self.note_answer(array, request),
        }
    }
}

impl Ledger {
    /// A job begins: it writes a request's data, or the cache's.
    fn note_job(&mut self, array: &Array<Self>, key: Key) {
        let job = &array.jobs[key];
        let first = array.groups[job.group as usize].first_sector(job.at);
        let mut new = BTreeMap::new();
        let written = match job.verb {
            Verb::Write => job.extents.as_slice(),
            Verb::Read => &[],
        };
        for sector in written.iter().flat_map(|extent| extent.start..extent.end()) {
            let version = match job.owner {
                Owner::Request(request) => array.requests[request].io.tag,
                Owner::Fill(_) | Owner::Destage(_) => {
                    let place = (job.group, first + sector);
                    let held = self.cache[&place];
                    self.destaging.insert(place, held);
                    held
                }
            };
            new.insert(sector, version);
        }
        let note = JobNote { new, read: BTreeMap::new(), method: Method::Direct };
        self.jobs.insert(key, note);
    }

    fn note_plan(&mut self, array: &Array<Self>, job: Key, method: Method) {
        let note = self.jobs.get_mut(&job).expect("it began");
        note.method = method;
        note.read.clear();
        if matches!(array.jobs[job].owner, Owner::Destage(_)) {
            self.note_known(array, job);
        }
    }

    /// On-disk content in the cache, which the job need not read.
    fn note_known(&mut self, array: &Array<Self>, job: Key) {
        let (group, at) = (array.jobs[job].group, array.jobs[job].at);
        let Some(cache) = &array.cache else { return };
        let entry = &array.groups[group as usize];
        let (first, strip) = (entry.first_sector(at), entry.shape.strip_sectors);
        let note = self.jobs.get_mut(&job).expect("it began");
        for sector in 0..entry.shape.data_sectors() {
            let place = (group, first + sector);
            if cache.lacks(group, Extent::new(place.1, 1)).is_some() {
                continue;
            }
            let version = self.olds.get(&place);
            let version = version.unwrap_or_else(|| &self.cache[&place]);
            let index = u32::try_from(sector.div_euclid(strip)).unwrap();
            let member = entry.shape.data_member(at.row, index);
            let content = Content::Data(*version);
            note.read.insert((member, sector % strip), content);
        }
    }

    /// A page whose destage ends.
    fn note_destaged(&mut self, array: &Array<Self>, slot: u32, keeps_old: bool) {
        let cache = array.cache.as_ref().expect("it destages");
        let page = cache.pages.page(slot);
        let first = page.key.number() * cache.page_sectors;
        for bit in (0..64).filter(|bit| page.destaging >> bit & 1 == 1) {
            let place = (page.key.group(), first + bit);
            let written = self.destaging.remove(&place).expect("it was");
            self.olds.remove(&place);
            if keeps_old && page.dirty >> bit & 1 == 1 {
                self.olds.insert(place, written);
            }
        }
    }

    fn note_read(&mut self, io: Key, owner: IoOwner, spot: Spot, member: u32, within: Extent) {
        let moves = Moves::Read { owner, member, within: within.start, length: within.length };
        self.ios.insert(io, (spot, moves));
    }

    /// A job writes part of one strip: its own data, or a parity computed from that and what it has
    /// read.
    fn note_write(&mut self, array: &Array<Self>, io: Key, job: Key, spot: Spot, step: Step) {
        let at = array.jobs[job].at;
        let group = &array.groups[array.jobs[job].group as usize];
        let note = &self.jobs[&job];
        let (strip, strips) = (group.shape.strip_sectors, group.shape.data_strips());
        let content = |sector: u64| {
            let own = |index: u32| note.new.get(&(u64::from(index) * strip + sector)).copied();
            if let Some(index) = strip_of(group, at.row, step.member) {
                return Content::Data(own(index).expect("only new data is written"));
            }
            let versions: Vec<u64> = if note.method == Method::ReadModifyWrite {
                let old = parity(&note.read[&(step.member, sector)], strips);
                (0..)
                    .zip(old)
                    .map(|(index, old): (u32, u64)| match own(index) {
                        None => old,
                        Some(new) => {
                            let member = group.shape.data_member(at.row, index);
                            assert_eq!(
                                data(&note.read[&(member, sector)]),
                                old,
                                "the old data is in the parity"
                            );
                            new
                        }
                    })
                    .collect()
            } else {
                let read = known(group, at.row, &note.read, sector);
                (0..strips)
                    .map(|index| own(index).or(read[index as usize]).expect("all data is known"))
                    .collect()
            };
            Content::Parity(versions)
        };
        let contents = (step.within.start..step.within.end()).map(content).collect();
        self.ios.insert(io, (spot, Moves::Write(contents)));
    }

    /// A drive has completed an I/O.
    fn note_device(&mut self, io: Key) {
        let (spot, moves) = self.ios.remove(&io).expect("every request to a drive was noted");
        match moves {
            Moves::Write(contents) => {
                let drive = self.drives.entry(spot.drive).or_default();
                drive.extend((spot.sector..).zip(contents));
            }
            Moves::Read { owner, member, within, length } => {
                let read: Vec<_> = (0..length)
                    .map(|at| ((member, within + at), self.at(spot.drive, spot.sector + at)))
                    .collect();
                match owner {
                    IoOwner::Job(job) => {
                        let note = self.jobs.get_mut(&job).expect("it began");
                        for (place, content) in read {
                            let before = note.read.insert(place, content.clone());
                            let is_other =
                                before.is_some_and(|known| data(&known) != data(&content));
                            assert!(!is_other, "the cache took it for something else");
                        }
                    }
                    IoOwner::Repair(repair) => {
                        self.repairs.entry(repair).or_default().extend(read);
                    }
                    IoOwner::Scan | IoOwner::Tier(_) => {
                        unreachable!("what they read is noted elsewhere")
                    }
                }
            }
            Moves::FromTier { fill, first, length } => {
                let read = (0..length)
                    .map(|at| (first + at, data(&self.at(spot.drive, spot.sector + at))));
                let read = read.collect();
                self.note_fill_found(fill, read);
            }
        }
    }

    /// A read job succeeded: its content passes to its owner.
    fn note_found(&mut self, array: &Array<Self>, key: Key) {
        let job = &array.jobs[key];
        let (group, note) = (&array.groups[job.group as usize], &self.jobs[&key]);
        let first = group.first_sector(job.at);
        let extent = job.extents[0];
        let found = (extent.start..extent.end()).map(|sector| {
            let strip = group.shape.strip_sectors;
            let versions = known(group, job.at.row, &note.read, sector % strip);
            let index = usize::try_from(sector.div_euclid(strip)).unwrap();
            (first + sector, versions[index].expect("what was asked for is known"))
        });
        let found: BTreeMap<u64, u64> = found.collect();
        match job.owner {
            Owner::Request(request) => self.requests.entry(request).or_default().extend(found),
            Owner::Fill(fill) => self.note_fill_found(fill, found),
            Owner::Destage(_) => unreachable!("a destage writes"),
        }
    }

    fn note_fill_found(&mut self, fill: Key, found: BTreeMap<u64, u64>) {
        self.fills.entry(fill).or_default().extend(found);
    }

    /// The tier is read for `part` of a group.
    fn note_tier_read(&mut self, io: Key, spot: Spot, fill: Key, part: Extent) {
        let moves = Moves::FromTier { fill, first: part.start, length: part.length };
        self.ios.insert(io, (spot, moves));
    }

    /// The cached `part` of a group is written to the tier.
    fn note_tier_write(&mut self, io: Key, spot: Spot, group: u32, part: Extent) {
        let held = (part.start..part.end()).map(|sector| self.cache[&(group, sector)]);
        let contents = held.map(Content::Data).collect();
        self.ios.insert(io, (spot, Moves::Write(contents)));
    }

    /// A fill delivers sectors of a page; sectors already valid stay as they are.
    fn note_filled(&mut self, array: &Array<Self>, fill: Key, slot: u32, part: Sectors) {
        let cache = array.cache.as_ref().expect("it is filled");
        let page = cache.pages.page(slot);
        let (group, first) = (page.key.group(), page.key.number() * cache.page_sectors);
        let part = part & !page.valid;
        for sector in (0..64).filter(|sector| part >> sector & 1 == 1).map(|sector| first + sector)
        {
            let version = self.fills[&fill][&sector];
            self.cache.insert((group, sector), version);
        }
    }

    /// The cache accepts a write.
    fn note_accepted(&mut self, array: &Array<Self>, request: Key) {
        let version = array.requests[request].io.tag;
        let (group, extent) = array.requests[request].place();
        for sector in extent.start..extent.end() {
            let before = self.cache.insert((group, sector), version);
            let cache = array.cache.as_ref().expect("it has taken a write");
            if cache.lacks(group, Extent::new(sector, 1)).is_none() {
                let before = before.expect("old sectors were there");
                self.olds.entry((group, sector)).or_insert(before);
            }
        }
    }

    /// A host gets its answer.
    fn note_answer(&mut self, array: &Array<Self>, request: Key) {
        let HostIo { verb, tag, .. } = array.requests[request].io;
        if verb == Verb::Write {
            return;
        }
        let (group, extent) = array.requests[request].place();
        let found = self.requests.remove(&request).unwrap_or_default();
        let is_cached = array.cache.is_some();
        let versions = (extent.start..extent.end())
            .map(|sector| if is_cached { self.cache[&(group, sector)] } else { found[&sector] });
        let versions = versions.collect();
        self.answers.insert(tag, versions);
    }

    /// A repair writes its target with what it has read or computed.
    fn note_rebuilt(
        &mut self,
        array: &Array<Self>,
        io: Key,
        repair: Key,
        spot: Spot,
        rows: Range<u64>,
    ) {
        let member = array.repairs[repair].member;
        let group = &array.groups[array.repairs[repair].group as usize];
        let strip = group.shape.strip_sectors;
        let read = self.repairs.remove(&repair).expect("it has read");
        let mut contents = Vec::new();
        for row in rows.clone() {
            // Only this row, as sectors of the strip.
            let from = (row - rows.start) * strip;
            let here = read.iter().filter(|((_, at), _)| (from..from + strip).contains(at));
            let here: BTreeMap<(u32, u64), Content> = here
                .map(|((member, at), content)| ((*member, at - from), content.clone()))
                .collect();
            for sector in 0..strip {
                if let Some(copied) = here.get(&(member, sector)) {
                    contents.push(copied.clone());
                    continue;
                }
                let versions: Vec<u64> = known(group, row, &here, sector)
                    .into_iter()
                    .map(|known| known.expect("enough is read"))
                    .collect();
                contents.push(match strip_of(group, row, member) {
                    Some(index) => Content::Data(versions[index as usize]),
                    None => Content::Parity(versions),
                });
            }
        }
        self.ios.insert(io, (spot, Moves::Write(contents)));
    }

    /// The cache loses everything.
    fn note_cache_lost(&mut self) {
        self.cache.clear();
        self.olds.clear();
        self.destaging.clear();
    }

    /// A drive loses everything.
    fn note_failed(&mut self, drive: u16) {
        self.drives.remove(&drive);
        if !self.replaced.contains(&drive) {
            self.replaced.push(drive);
        }
    }
}

#[path = "truth.rs"]
mod truth;
