//! Snapshots, clones and restored LUNs with content: each holds exactly what its instant says, and
//! keeps it.
//!
//! A host remembers, by place, what it has written and what is under way. A copy may have the one
//! or the other; whatever the first read of it finds is there for ever.

use std::collections::{BTreeMap, BTreeSet};

use brunt_units::{ByteSize, Span};
use brunt_world::IoError;
use brunt_world::random::{Stream, Streams};

use super::notes::{CloneOf, SnapshotPlan, VolumeIncident, VolumeNote};
use super::tests::{Observed, design};
use super::{PagedArray, PagedDesign, PagedLunDesign, ReserveDesign, WhenFull};
use crate::incident::{Incident, NoteKind, Scheduled};
use crate::{Extent, Finished, HostIo, Verb};

const PLACE: u64 = 6;
/// Whatever a failed write has left.
const UNKNOWN: u64 = u64::MAX;

#[derive(Clone, Debug, Default)]
struct Place {
    version: u64,
    /// Writes that were under way when the copy was made.
    or: Vec<u64>,
    /// The write under way.
    writing: Option<u64>,
    readers: u32,
}

impl Place {
    fn copied(&self) -> Self {
        Self {
            version: self.version,
            or: self.or.iter().copied().chain(self.writing).collect(),
            writing: None,
            readers: 0,
        }
    }
}

struct Asked {
    lun: u32,
    first: usize,
    count: usize,
    verb: Verb,
}

struct Host {
    array: Observed,
    stream: Stream,
    luns: BTreeMap<u32, Vec<Place>>,
    /// Hosts write only to these.
    volumes: BTreeSet<u32>,
    asked: BTreeMap<u64, Asked>,
    next: u64,
    notes_seen: usize,
    restoring: Option<(Vec<u32>, Vec<u32>)>,
    counts: BTreeMap<&'static str, u32>,
}

fn two_luns(pages: u64, reserve: Option<ReserveDesign>) -> PagedDesign {
    let mut design = design(2, pages, true);
    let lun = |name: &str| PagedLunDesign {
        name: name.into(),
        size: ByteSize::kib(24 * 6),
        is_thin: true,
        reserve,
    };
    design.luns = vec![lun("data"), lun("log")];
    design
}

impl Host {
    fn new(seed: u64) -> Self {
        let mut stream = Streams::new(seed).named("host");
        let when_full = [WhenFull::DeleteOldest, WhenFull::Borrow, WhenFull::KeepNewest];
        let reserve = stream.percent(50).then(|| ReserveDesign {
            percent: 50,
            when_full: when_full[usize::try_from(stream.below(3)).unwrap()],
        });
        let design = two_luns(8 + stream.below(14), reserve);
        let places = usize::try_from((24 * 6 * 2_u64).div_euclid(PLACE)).unwrap();
        Self {
            array: Observed::new(&design, Streams::new(seed)).unwrap(),
            stream,
            luns: (0..2).map(|lun| (lun, vec![Place::default(); places])).collect(),
            volumes: BTreeSet::from([0, 1]),
            asked: BTreeMap::new(),
            next: 1,
            notes_seen: 0,
            restoring: None,
            counts: BTreeMap::new(),
        }
    }

    fn draw(&mut self, bound: usize) -> usize {
        usize::try_from(self.stream.below(bound as u64)).unwrap()
    }

    fn submit(&mut self, lun: u32, first: usize, count: usize, verb: Verb) {
        let tag = self.next;
        self.next += 1;
        let places = &mut self.luns.get_mut(&lun).unwrap()[first..first + count];
        for place in places {
            match verb {
                Verb::Read => place.readers += 1,
                Verb::Write => place.writing = Some(tag),
            }
        }
        self.asked.insert(tag, Asked { lun, first, count, verb });
        let extent = Extent::new(first as u64 * PLACE, count as u64 * PLACE);
        let now = self.array.now();
        self.array.submit(now, HostIo { lun, verb, extent, tag });
        self.collect();
    }

    fn ask(&mut self) {
        let luns: Vec<u32> = self.luns.keys().copied().collect();
        let lun = luns[self.draw(luns.len())];
        let places = self.luns[&lun].len();
        let first = self.draw(places);
        let most = [1, 3, 12][self.draw(3)];
        let count = (1 + self.draw(most)).min(places - first);
        let is_volume = self.volumes.contains(&lun);
        let verb = match is_volume && self.stream.percent(70) {
            true => Verb::Write,
            false => Verb::Read,
        };
        let mut there = self.luns[&lun][first..first + count].iter();
        let is_free = |place: &Place| place.writing.is_none() && place.readers == 0;
        if there.all(is_free) {
            self.submit(lun, first, count, verb);
        }
    }

    fn collect(&mut self) {
        let done: Vec<Finished> = self.array.finished().collect();
        for one in done {
            self.answered(&one);
        }
        let notes: Vec<NoteKind> =
            self.array.notes()[self.notes_seen..].iter().map(|note| note.what.clone()).collect();
        self.notes_seen += notes.len();
        for note in notes {
            self.noted(&note);
        }
    }

    fn answered(&mut self, one: &Finished) {
        let found = self.array.found(one.tag);
        let Asked { lun, first, count, verb } = self.asked.remove(&one.tag).unwrap();
        let Some(places) = self.luns.get_mut(&lun) else {
            return;
        };
        let places = &mut places[first..first + count];
        match (verb, one.result) {
            (Verb::Write, result) => {
                for place in places {
                    place.writing = None;
                    (place.version, place.or) = match result {
                        Ok(()) => (one.tag, Vec::new()),
                        Err(_) => (UNKNOWN, Vec::new()),
                    };
                }
                if result == Err(IoError::NoSpace) {
                    *self.counts.entry("refused").or_default() += 1;
                }
            }
            (Verb::Read, Err(error)) => assert_eq!(error, IoError::Device, "LUN {lun}"),
            (Verb::Read, Ok(())) => {
                for place in &mut *places {
                    place.readers -= 1;
                }
                for (sector, version) in found.unwrap() {
                    let at = usize::try_from(sector.div_euclid(PLACE)).unwrap() - first;
                    let place = &mut places[at];
                    let is_it = place.version == version || place.or.contains(&version);
                    let at = self.array.now();
                    assert!(
                        is_it || place.version == UNKNOWN || place.or.contains(&UNKNOWN),
                        "LUN {lun}, sector {sector} at {at:?}: {version}, not {place:?}"
                    );
                    (place.version, place.or) = (version, Vec::new());
                }
            }
        }
    }

    /// Follows what the array did by itself.
    fn noted(&mut self, note: &NoteKind) {
        if let NoteKind::Volume(VolumeNote::Gone(_)) = note {
            self.restoring = None;
        }
        if let NoteKind::Volume(VolumeNote::Restored { before, .. }) = note {
            let (luns, from) = self.restoring.take().unwrap();
            let sets = &self.array.snapshots;
            for member in sets.sets[sets.find(before).unwrap()].members.clone() {
                // Requests that have come since are not in it.
                let content = self.luns[&member.volume].iter().map(|one| Place {
                    writing: None,
                    readers: 0,
                    ..one.clone()
                });
                let content = content.collect();
                self.luns.insert(member.snapshot, content);
            }
            for (lun, from) in luns.into_iter().zip(from) {
                let content: Vec<Place> = self.luns[&from].iter().map(Place::copied).collect();
                let places = self.luns.get_mut(&lun).unwrap();
                for (place, content) in places.iter_mut().zip(content) {
                    // A request that has come since finds the restored content, and ends later.
                    *place = Place { writing: place.writing, readers: place.readers, ..content };
                }
            }
            *self.counts.entry("restored").or_default() += 1;
        }
        if matches!(note, NoteKind::Volume(VolumeNote::Deleted { .. })) {
            *self.counts.entry("deleted").or_default() += 1;
        }
        let map = &self.array.map;
        self.luns.retain(|lun, _| map.kind(*lun).is_some());
        self.volumes.retain(|lun| map.kind(*lun).is_some());
    }

    fn incident(&mut self, incident: VolumeIncident) {
        let at = self.array.now();
        let one = Scheduled::new(at, Incident::Volumes(incident));
        self.array.schedule_incident(&one).unwrap();
        self.array.advance(at);
        self.collect();
    }

    /// Adds what the array has copied; `of` are the LUNs whose content that is.
    fn adopt(&mut self, of: &[u32], is_volume: bool) {
        let first = self.array.map.luns() - u32::try_from(of.len()).unwrap();
        for (copy, of) in (first..).zip(of) {
            let content = self.luns[of].iter().map(Place::copied).collect();
            self.luns.insert(copy, content);
            if is_volume {
                self.volumes.insert(copy);
            }
        }
    }

    fn apply_incident(&mut self) {
        let name = format!("{}", self.next);
        let sets = self.array.snapshots.sets.clone();
        match self.draw(8) {
            0..=2 if self.luns.len() < 9 => {
                let luns = [vec![0, 1], vec![0], vec![1, 0]][self.draw(3)].clone();
                let keep = self.stream.percent(50).then_some(2);
                // A series, of which some are kept.
                let series = if keep.is_some() { "kept" } else { &name };
                let plan = SnapshotPlan {
                    luns: luns.clone(),
                    name: series.to_owned(),
                    every: None,
                    keep: None,
                };
                self.incident(VolumeIncident::Take(plan));
                self.adopt(&luns, false);
                if let Some(keep) = keep {
                    self.array.keep_newest("kept", keep);
                    self.noted(&NoteKind::ThinFull);
                }
            }
            3 if self.luns.len() < 9 => {
                let volumes: Vec<u32> = self.volumes.iter().copied().collect();
                let lun = volumes[self.draw(volumes.len())];
                let of = CloneOf::Luns(vec![lun]);
                self.incident(VolumeIncident::Clone { of, name });
                self.adopt(&[lun], true);
            }
            4 if !sets.is_empty() && self.luns.len() < 9 => {
                let set = &sets[self.draw(sets.len())];
                let of = CloneOf::Snapshot(set.name.clone());
                let luns: Vec<u32> = self.array.snapshots.sets
                    [self.array.snapshots.find(&set.name).unwrap()]
                .members
                .iter()
                .map(|one| one.snapshot)
                .collect();
                self.incident(VolumeIncident::Clone { of, name });
                self.adopt(&luns, true);
            }
            5 if !sets.is_empty() => {
                let set = sets[self.draw(sets.len())].name.clone();
                self.incident(VolumeIncident::Remove(set));
            }
            6 if !sets.is_empty() && self.restoring.is_none() => {
                let name = sets[self.draw(sets.len())].name.clone();
                let set = &self.array.snapshots.sets[self.array.snapshots.find(&name).unwrap()];
                let (luns, from): (Vec<u32>, Vec<u32>) =
                    set.members.iter().map(|one| (one.volume, one.snapshot)).unzip();
                self.restoring = Some((luns, from));
                self.incident(VolumeIncident::Restore(name));
                // What it is restored from must not go before.
                self.pass(Span::millis(300));
                assert!(self.restoring.is_none(), "it waits for nothing else");
            }
            _ => {
                let clones: Vec<u32> =
                    self.volumes.iter().copied().filter(|one| *one > 1).collect();
                let is_busy = |lun: &u32| self.asked.values().any(|asked| asked.lun == *lun);
                if let Some(clone) = clones.first().filter(|one| !is_busy(one)) {
                    let at = self.array.now();
                    let removed = Scheduled::new(at, Incident::LunRemoved(*clone));
                    self.array.schedule_incident(&removed).unwrap();
                    self.array.advance(at);
                    self.collect();
                }
            }
        }
    }

    fn pass(&mut self, span: Span) {
        let end = self.array.now() + span;
        while let Some(next) = self.array.next_at().filter(|at| *at <= end) {
            self.array.advance(next);
            self.collect();
        }
        self.array.advance(end);
        self.collect();
    }

    /// Reads everything.
    fn check(&mut self) {
        self.pass(Span::seconds(5));
        assert!(self.asked.is_empty(), "all is answered");
        let luns: Vec<u32> = self.luns.keys().copied().collect();
        for lun in luns {
            let count = self.luns[&lun].len();
            self.submit(lun, 0, count, Verb::Read);
        }
        self.pass(Span::seconds(5));
        assert!(self.asked.is_empty(), "all is read");
    }
}

#[test]
fn every_copy_holds_what_its_instant_says_and_keeps_it() {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..80 {
        let mut host = Host::new(seed);
        for step in 0..250 {
            host.ask();
            if step % 9 == 5 {
                host.apply_incident();
                // The newest copy is read at once, while writes are under way.
                let newest = *host.luns.keys().last().unwrap();
                let is_free = |place: &Place| place.writing.is_none() && place.readers == 0;
                if host.luns[&newest].iter().all(is_free) {
                    let count = host.luns[&newest].len();
                    host.submit(newest, 0, count, Verb::Read);
                }
            }
            let micros = [0, 0, 300, 4000, 15_000][host.draw(5)];
            host.pass(Span::micros(micros));
        }
        host.check();
        // Once more, long after: nothing has changed by itself.
        host.check();
        for (what, count) in host.counts {
            *counts.entry(what).or_default() += count;
        }
    }
    for what in ["refused", "restored", "deleted"] {
        assert!(counts[what] > 30, "{counts:?}");
    }
}

fn write(array: &mut PagedArray, lun: u32, start: u64, sectors: u64, tag: u64) {
    let io = HostIo { lun, verb: Verb::Write, extent: Extent::new(start, sectors), tag };
    let now = array.now();
    array.submit(now, io);
}

fn end(array: &mut PagedArray) -> Vec<Finished> {
    let mut done: Vec<Finished> = array.finished().collect();
    while let Some(next) = array.next_at() {
        array.advance(next);
        done.extend(array.finished());
    }
    done
}

fn read(array: &mut Observed, lun: u32, start: u64, sectors: u64) -> Vec<u64> {
    let io = HostIo { lun, verb: Verb::Read, extent: Extent::new(start, sectors), tag: u64::MAX };
    let now = array.now();
    array.submit(now, io);
    end(array);
    let found = array.found(u64::MAX).unwrap();
    found.into_values().collect()
}

fn happens(array: &mut PagedArray, incident: Incident) {
    let now = array.now();
    let one = Scheduled::new(now, incident);
    array.schedule_incident(&one).unwrap();
    array.advance(now);
}

fn take(luns: &[u32], name: &str) -> Incident {
    Incident::Volumes(VolumeIncident::Take(SnapshotPlan {
        luns: luns.to_vec(),
        name: name.into(),
        every: None,
        keep: None,
    }))
}

fn pool(pages: u64, reserve: Option<ReserveDesign>) -> Observed {
    let mut design = two_luns(pages, reserve);
    design.balance = None;
    Observed::new(&design, Streams::new(1)).unwrap()
}

fn said(array: &PagedArray) -> Vec<String> {
    let notes = array.notes().iter();
    notes.map(|note| note.what.to_string()).collect()
}

/// A page is completed for one LUN while a write that came before both are copied is on its way to
/// the same node.
#[test]
fn completing_a_page_does_not_undo_a_write_under_way() {
    let mut array = pool(20, None);
    write(&mut array, 0, 0, 48, 1);
    end(&mut array);
    happens(&mut array, take(&[0], "first"));
    write(&mut array, 0, 0, 8, 2);
    happens(&mut array, take(&[0], "second"));
    write(&mut array, 0, 16, 8, 3);
    happens(&mut array, Incident::Volumes(VolumeIncident::Remove("first".into())));
    assert_eq!(end(&mut array).len(), 2);
    assert!(array.stats().made_whole > 0, "it was completed meanwhile");
    assert_eq!(read(&mut array, 0, 0, 1), [2]);
}

#[test]
fn a_schedule_keeps_the_newest() {
    let mut array = pool(20, None);
    let plan = SnapshotPlan {
        luns: vec![0, 1],
        name: "hourly".into(),
        every: Some(Span::seconds(3600)),
        keep: Some(2),
    };
    happens(&mut array, Incident::Volumes(VolumeIncident::Take(plan)));
    for hour in 0..4 {
        write(&mut array, 0, 0, 8, 10 + hour);
        write(&mut array, 1, 0, 8, 20 + hour);
        let next = array.now() + Span::seconds(3600);
        array.advance(next);
        assert_eq!(array.finished().count(), 2);
    }
    let names: Vec<&str> = array.snapshots.sets.iter().map(|set| &*set.name).collect();
    assert_eq!(names, ["hourly 4", "hourly 5"]);
    for set in array.snapshots.sets.clone() {
        let first = match &*set.name {
            "hourly 4" => 12,
            _ => 13,
        };
        for (member, base) in set.members.iter().zip([0, 10]) {
            let io = HostIo {
                lun: member.snapshot,
                verb: Verb::Read,
                extent: Extent::new(0, 8),
                tag: 0,
            };
            let now = array.now();
            array.submit(now, io);
            array.advance(now + Span::seconds(1));
            array.finished().for_each(drop);
            let found = array.found(0).unwrap();
            assert!(found.values().all(|version| *version == first + base));
        }
    }
    let expired = said(&array).into_iter().filter(|text| text.contains("newer"));
    assert_eq!(
        expired.collect::<Vec<_>>(),
        [1, 2, 3].map(|n| format!("snapshot \"hourly {n}\" removed: newer ones are kept"))
    );
}

/// Each LUN has four pages and 50 % of them, two, for its snapshots.
fn with_reserve(when_full: WhenFull) -> Observed {
    let mut array = pool(20, Some(ReserveDesign { percent: 50, when_full }));
    write(&mut array, 0, 0, 4 * 48, 1);
    end(&mut array);
    happens(&mut array, take(&[0], "one"));
    for page in 0..2 {
        write(&mut array, 0, page * 48, 48, 2);
    }
    assert!(end(&mut array).iter().all(|one| one.result.is_ok()));
    assert_eq!(array.map.held(0, super::LunKind::Snapshot), (2, Some(2)));
    array
}

#[test]
fn a_full_reserve_costs_the_oldest_snapshot_or_the_lun_or_what_is_free() {
    let over = |array: &mut PagedArray| {
        write(array, 0, 2 * 48, 48, 3);
        end(array)[0].result
    };
    let mut array = with_reserve(WhenFull::DeleteOldest);
    happens(&mut array, take(&[0], "two"));
    // A page that "two" alone keeps counts, too.
    assert_eq!(over(&mut array), Ok(()));
    let deleted = "snapshot \"one\" deleted: the snapshot reserve of \"data\" is full";
    assert_eq!(said(&array).last().unwrap(), deleted);
    assert_eq!(array.map.held(0, super::LunKind::Snapshot).0, 1);

    let mut array = with_reserve(WhenFull::Offline);
    assert_eq!(over(&mut array), Err(IoError::Device));
    assert_eq!(over(&mut array), Err(IoError::Device));
    assert_eq!(said(&array)[1..], ["\"data\" offline: its snapshot reserve is full"]);
    for incident in [VolumeIncident::Remove("one".into()), VolumeIncident::Online(0)] {
        happens(&mut array, Incident::Volumes(incident));
    }
    assert_eq!(over(&mut array), Ok(()));

    let mut array = with_reserve(WhenFull::Borrow);
    assert_eq!(over(&mut array), Ok(()));
    assert_eq!(array.map.held(0, super::LunKind::Snapshot), (3, Some(2)));
    assert_eq!(said(&array).len(), 1, "nothing was deleted");
    let mut array = with_reserve(WhenFull::KeepNewest);
    assert_eq!(over(&mut array), Err(IoError::NoSpace));
}

/// Borrowed pages go back when something else needs them; a reserve is nobody else's.
#[test]
fn a_reserve_is_set_aside_and_what_is_borrowed_is_given_back() {
    let mut array = with_reserve(WhenFull::Borrow);
    for page in 2..4 {
        write(&mut array, 0, page * 48, 48, 3);
    }
    end(&mut array);
    assert_eq!(array.map.held(0, super::LunKind::Snapshot), (4, Some(2)));
    // 8 slots are in use; the rest goes to the other LUN until the borrower has to give back.
    let mut written = 0;
    happens(&mut array, Incident::LunGrows(1, ByteSize::mib(10)));
    for page in 0..60 {
        write(&mut array, 1, page * 48, 48, 4);
        written += u64::from(end(&mut array)[0].result.is_ok());
    }
    let deleted = said(&array).iter().any(|text| text.contains("\"one\" deleted"));
    assert!(deleted && written > 10, "{written}");
    let used: f64 = array.used_shares().iter().sum();
    assert!(used < 2.0, "the reserve of \"data\" is left: {used}");
}

#[test]
fn a_restored_set_and_a_clone_have_what_the_snapshot_has() {
    let mut array = pool(30, None);
    for lun in 0..2 {
        write(&mut array, lun, 0, 96, 1 + u64::from(lun));
    }
    end(&mut array);
    happens(&mut array, take(&[0, 1], "noon"));
    for lun in 0..2 {
        write(&mut array, lun, 0, 48, 5 + u64::from(lun));
    }
    end(&mut array);
    let of = CloneOf::Snapshot("noon".into());
    let name = "test".into();
    happens(&mut array, Incident::Volumes(VolumeIncident::Clone { of, name }));
    happens(&mut array, Incident::Volumes(VolumeIncident::Restore("noon".into())));
    let clone = |array: &PagedArray, name: &str| {
        let at = array.names.iter().position(|one| one == name).unwrap();
        u32::try_from(at).unwrap()
    };
    let data = clone(&array, "test: data");
    assert_eq!(read(&mut array, data, 0, 1), [1]);
    write(&mut array, data, 0, 48, 9);
    end(&mut array);
    assert_eq!(read(&mut array, 0, 0, 1), [1]);
    assert_eq!(read(&mut array, 1, 0, 1), [2]);
    let safe = clone(&array, "before noon was restored: log");
    assert_eq!(read(&mut array, safe, 0, 1), [6]);
    assert_eq!(read(&mut array, safe, 48, 1), [2]);
    let texts = said(&array);
    assert_eq!(texts[0], "snapshot \"noon\" of 2 LUNs taken");
    assert_eq!(texts[1], "\"test\" is a clone of \"noon\" of 6.03 ms");
}
