//! Which sectors of a LUN hold a file.
//!
//! A LUN is cut into units of 1 MiB. A growing file gets the lowest free units, so files that are
//! created at full size lie in one piece, one after the other, as on a fresh file system. The units
//! of a removed file are reused.
//!
//! A file is stored as a few pieces, not as its units, of which a large file has tens of thousands.
//!
//! Invariant: a unit belongs to at most one file. Invariant: successive pieces of a file are
//! contiguous within the file but not on the LUN; otherwise they would be one piece.

use std::collections::BTreeMap;

use brunt_array::Extent;
use brunt_world_virtual::Inode;
use smallvec::SmallVec;

/// Sectors of a unit: 1 MiB.
const UNIT: u64 = 2048;

/// Consecutive units of a file.
#[derive(Clone, Copy)]
struct Piece {
    /// Its first unit within the file.
    from: u64,
    /// Its first unit on the LUN.
    first: u64,
    length: u64,
}

/// The pieces of a file, in file order.
type Pieces = Vec<Piece>;

/// Where a part of a file lies: nearly always in one place.
pub(super) type Places = SmallVec<[Extent; 1]>;

/// The files of one LUN.
pub(super) struct FileMap {
    /// First unit of each free run, and its length.
    free: BTreeMap<u64, u64>,
    files: BTreeMap<Inode, Pieces>,
}

/// The LUN has no free unit left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl FileMap {
    /// An empty LUN of `sectors`.
    pub(super) fn new(sectors: u64) -> Self {
        let units = sectors.div_euclid(UNIT);
        Self {
            free: (units > 0).then_some((0, units)).into_iter().collect(),
            files: BTreeMap::new(),
        }
    }

    /// Sets the length of a file to `sectors`.
    pub(super) fn resize(&mut self, file: Inode, sectors: u64) -> Result<(), Full> {
        let wanted = sectors.div_ceil(UNIT);
        let mut pieces = self.files.remove(&file).unwrap_or_default();
        let result = self.grow(&mut pieces, wanted);
        self.shrink(&mut pieces, wanted);
        self.files.insert(file, pieces);
        result
    }

    /// Allocates free units, lowest first, until the file has `wanted`.
    fn grow(&mut self, pieces: &mut Pieces, wanted: u64) -> Result<(), Full> {
        while units(pieces) < wanted {
            let (from, lacks) = (units(pieces), wanted - units(pieces));
            let (first, length) = self.free.pop_first().ok_or(Full)?;
            let taken = length.min(lacks);
            if taken < length {
                self.free.insert(first + taken, length - taken);
            }
            match pieces.last_mut() {
                Some(last) if last.first + last.length == first => last.length += taken,
                _ => pieces.push(Piece { from, first, length: taken }),
            }
        }
        Ok(())
    }

    /// Frees units from the end of the file until it has `wanted`.
    fn shrink(&mut self, pieces: &mut Pieces, wanted: u64) {
        while let Some(last) = pieces.last_mut()
            && last.from + last.length > wanted
        {
            let stays = wanted.saturating_sub(last.from);
            let (first, length) = (last.first + stays, last.length - stays);
            last.length = stays;
            if stays == 0 {
                pieces.pop();
            }
            self.give_back(first, length);
        }
    }

    /// The extents of the LUN that files use.
    pub(super) fn in_use(&self) -> Vec<Extent> {
        let pieces = self.files.values().flatten();
        let mut runs: Vec<Extent> =
            pieces.map(|piece| Extent::new(piece.first * UNIT, piece.length * UNIT)).collect();
        runs.sort_unstable();
        runs.dedup_by(|next, run| {
            let joins = run.end() == next.start;
            if joins {
                run.length += next.length;
            }
            joins
        });
        runs
    }

    pub(super) fn remove(&mut self, file: Inode) {
        for piece in self.files.remove(&file).unwrap_or_default() {
            self.give_back(piece.first, piece.length);
        }
    }

    /// Frees a run of units.
    fn give_back(&mut self, mut first: u64, mut length: u64) {
        if let Some(after) = self.free.remove(&(first + length)) {
            length += after;
        }
        let before = self.free.range(..first).next_back();
        if let Some((start, before)) = before.map(|(start, length)| (*start, *length))
            && start + before == first
        {
            (first, length) = (start, length + before);
        }
        self.free.insert(first, length);
    }

    /// Where `extent` of a file lies; grows the file if `extent` reaches past its units.
    pub(super) fn find(&mut self, file: Inode, extent: Extent) -> Result<Places, Full> {
        let has = self.files.get(&file).map_or(0, units);
        if extent.end() > has * UNIT {
            self.resize(file, extent.end())?;
        }
        Ok(self.there(file, extent))
    }

    /// Where `extent` of a file lies, up to the end of its units.
    pub(super) fn there(&self, file: Inode, extent: Extent) -> Places {
        let pieces: &[Piece] = self.files.get(&file).map_or(&[], |pieces| pieces);
        let before = pieces.partition_point(|piece| piece.from * UNIT <= extent.start);
        let holding = pieces[before.saturating_sub(1)..].iter();
        let parts = holding.map_while(|piece| {
            let held = Extent::new(piece.from * UNIT, piece.length * UNIT);
            let part = extent.overlap(held)?;
            let start = piece.first * UNIT + (part.start - held.start);
            Some(Extent::new(start, part.length))
        });
        parts.collect()
    }
}

/// Number of units of a file.
fn units(pieces: &Pieces) -> u64 {
    pieces.last().map_or(0, |last| last.from + last.length)
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use std::collections::BTreeSet;

    use super::*;

    fn places(extents: &[Extent]) -> Places {
        Places::from_slice(extents)
    }

    #[test]
    fn files_made_at_once_lie_in_one_piece() {
        let mut map = FileMap::new(100 * UNIT);
        map.resize(Inode(1), 10 * UNIT).unwrap();
        map.resize(Inode(2), 5 * UNIT).unwrap();
        assert_eq!(map.in_use(), [Extent::new(0, 15 * UNIT)]);
        assert_eq!(
            map.find(Inode(2), Extent::new(UNIT - 8, 16)),
            Ok(places(&[Extent::new(11 * UNIT - 8, 16)]))
        );
        map.remove(Inode(1));
        assert_eq!(map.in_use(), [Extent::new(10 * UNIT, 5 * UNIT)]);
        map.resize(Inode(3), 85 * UNIT).unwrap();
        let all = map.find(Inode(3), Extent::new(0, 85 * UNIT)).unwrap();
        let pieces = [Extent::new(0, 10 * UNIT), Extent::new(15 * UNIT, 75 * UNIT)];
        assert_eq!(all, places(&pieces));
        assert_eq!(map.find(Inode(4), Extent::new(0, 11 * UNIT)), Err(Full));
        let end = Extent::new(85 * UNIT - 8, 16);
        let last = Extent::new(90 * UNIT - 8, 8);
        assert_eq!(map.there(Inode(3), end), places(&[last]), "it ends there");
        assert_eq!(map.there(Inode(9), end), places(&[]), "nobody knows it");
    }

    /// A reference map of single units.
    #[derive(Default)]
    struct Oracle {
        files: BTreeMap<Inode, Vec<u64>>,
    }

    impl Oracle {
        fn resize(&mut self, file: Inode, wanted: u64, all: u64) -> Result<(), Full> {
            let mut units = self.files.remove(&file).unwrap_or_default();
            let used: BTreeSet<u64> = self.files.values().flatten().copied().collect();
            let mut free = (0..all).filter(|unit| !used.contains(unit) && !units.contains(unit));
            let missing = wanted.saturating_sub(units.len() as u64);
            let more: Vec<u64> = free.by_ref().take(usize::try_from(missing).unwrap()).collect();
            let result = if more.len() as u64 == missing { Ok(()) } else { Err(Full) };
            units.extend(more);
            units.truncate(usize::try_from(wanted).unwrap());
            self.files.insert(file, units);
            result
        }
    }

    #[test]
    fn it_agrees_with_a_map_of_single_units() {
        let mut stream = Streams::new(2).named("files");
        let (mut map, mut oracle) = (FileMap::new(50 * UNIT), Oracle::default());
        for _ in 0..3000 {
            let file = Inode(u32::try_from(stream.below(6)).unwrap());
            if stream.percent(30) {
                map.remove(file);
                oracle.files.remove(&file);
            } else {
                let sectors = stream.below(20 * UNIT);
                let expected = oracle.resize(file, sectors.div_ceil(UNIT), 50);
                assert_eq!(map.resize(file, sectors), expected);
            }
            let free: u64 = map.free.values().sum();
            let used: u64 = map.in_use().iter().map(|run| run.length).sum();
            assert_eq!(free * UNIT + used, 50 * UNIT, "a unit has one owner");
            let extent = Extent::new(stream.below(12 * UNIT), 1 + stream.below(9 * UNIT));
            let units: &[u64] = oracle.files.get(&file).map_or(&[], |units| units);
            let mut expected: Vec<u64> = Vec::new();
            for (unit, part) in extent.split(UNIT) {
                if let Some(unit) = units.get(usize::try_from(unit).unwrap()) {
                    expected.extend((part.start..part.end()).map(|sector| unit * UNIT + sector));
                }
            }
            let places = map.there(file, extent);
            let found: Vec<u64> = places.iter().flat_map(|at| at.start..at.end()).collect();
            assert_eq!(found, expected);
            let apart = places.windows(2).all(|two| two[0].end() != two[1].start);
            assert!(apart, "{places:?} could be fewer");
        }
    }
}
