//! Which sectors of a LUN hold a file.
//!
//! A LUN is cut into units of 1 MiB. A file gets the lowest free units when it grows, so files that are made large at
//! once lie in one piece, one after the other, as on a fresh file system; the units of a file that is gone are used
//! again.
//!
//! Invariant: a unit belongs to one file at most.

use std::collections::{BTreeMap, BTreeSet};

use brunt_world_virtual::Inode;

use crate::Extent;

/// Sectors of a unit: 1 MiB.
const UNIT: u64 = 2048;

/// The files of one LUN.
pub(crate) struct FileMap {
    /// First unit of each free run, and its length.
    free: BTreeMap<u64, u64>,
    /// The units of each file, in its order.
    files: BTreeMap<Inode, Vec<u64>>,
}

/// The LUN has no free unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl FileMap {
    /// An empty LUN of `sectors`.
    pub(crate) fn new(sectors: u64) -> Self {
        let units = sectors.div_euclid(UNIT);
        Self {
            free: (units > 0).then_some((0, units)).into_iter().collect(),
            files: BTreeMap::new(),
        }
    }

    /// The file is `sectors` long from now on.
    pub(crate) fn resize(&mut self, file: Inode, sectors: u64) -> Result<(), Full> {
        let wanted = sectors.div_ceil(UNIT);
        let mut units = self.files.remove(&file).unwrap_or_default();
        while (units.len() as u64) < wanted {
            let Some((first, length)) = self.free.pop_first() else {
                self.files.insert(file, units);
                return Err(Full);
            };
            let taken = length.min(wanted - units.len() as u64);
            units.extend(first..first + taken);
            if taken < length {
                self.free.insert(first + taken, length - taken);
            }
        }
        while units.len() as u64 > wanted {
            self.give_back(units.pop().expect("there are more than wanted"));
        }
        self.files.insert(file, units);
        Ok(())
    }

    /// What files have of the LUN.
    pub(crate) fn in_use(&self) -> Vec<Extent> {
        let units: BTreeSet<u64> = self.files.values().flatten().copied().collect();
        let mut runs: Vec<Extent> = Vec::new();
        for unit in units {
            match runs.last_mut() {
                Some(last) if last.end() == unit * UNIT => last.length += UNIT,
                _ => runs.push(Extent::new(unit * UNIT, UNIT)),
            }
        }
        runs
    }

    /// The file is gone.
    pub(crate) fn remove(&mut self, file: Inode) {
        for unit in self.files.remove(&file).unwrap_or_default() {
            self.give_back(unit);
        }
    }

    fn give_back(&mut self, unit: u64) {
        let (mut first, mut length) = (unit, 1);
        if let Some(after) = self.free.remove(&(unit + 1)) {
            length += after;
        }
        let before = self.free.range(..unit).next_back();
        if let Some((start, before)) = before.map(|(start, length)| (*start, *length))
            && start + before == unit
        {
            (first, length) = (start, length + before);
        }
        self.free.insert(first, length);
    }

    /// Where `extent` of the file lies, growing the file when it reaches past its units.
    pub(crate) fn find(&mut self, file: Inode, extent: Extent) -> Result<Vec<Extent>, Full> {
        let has = self.files.get(&file).map_or(0, |units| units.len() as u64);
        if extent.end() > has * UNIT {
            self.resize(file, extent.end())?;
        }
        Ok(self.there(file, extent))
    }

    /// Where `extent` of the file lies, as far as the file reaches.
    pub(crate) fn there(&self, file: Inode, extent: Extent) -> Vec<Extent> {
        let units: &[u64] = self.files.get(&file).map_or(&[], |units| units);
        let Some(extent) = extent.overlap(Extent::new(0, units.len() as u64 * UNIT)) else {
            return Vec::new();
        };
        let mut found: Vec<Extent> = Vec::new();
        for (number, part) in extent.split(UNIT) {
            let unit = units[usize::try_from(number).expect("a file has few units")];
            let start = unit * UNIT + part.start;
            match found.last_mut() {
                Some(last) if last.end() == start => last.length += part.length,
                _ => found.push(Extent::new(start, part.length)),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn files_made_at_once_lie_in_one_piece() {
        let mut map = FileMap::new(100 * UNIT);
        map.resize(Inode(1), 10 * UNIT).unwrap();
        map.resize(Inode(2), 5 * UNIT).unwrap();
        assert_eq!(map.in_use(), [Extent::new(0, 15 * UNIT)]);
        assert_eq!(
            map.find(Inode(2), Extent::new(UNIT - 8, 16)),
            Ok(vec![Extent::new(11 * UNIT - 8, 16)])
        );
        map.remove(Inode(1));
        assert_eq!(map.in_use(), [Extent::new(10 * UNIT, 5 * UNIT)]);
        map.resize(Inode(3), 85 * UNIT).unwrap();
        let all = map.find(Inode(3), Extent::new(0, 85 * UNIT)).unwrap();
        assert_eq!(
            all,
            [Extent::new(0, 10 * UNIT), Extent::new(15 * UNIT, 75 * UNIT)]
        );
        assert_eq!(map.find(Inode(4), Extent::new(0, 11 * UNIT)), Err(Full));
        let end = Extent::new(85 * UNIT - 8, 16);
        let last = Extent::new(90 * UNIT - 8, 8);
        assert_eq!(map.there(Inode(3), end), [last], "it ends there");
        assert_eq!(map.there(Inode(9), end), [], "nobody knows it");
    }

    #[test]
    fn no_unit_has_two_owners() {
        let mut stream = Streams::new(2).named("files");
        let mut map = FileMap::new(50 * UNIT);
        for _ in 0..2000 {
            let file = Inode(u32::try_from(stream.below(6)).unwrap());
            if stream.percent(30) {
                map.remove(file);
            } else {
                let _ = map.resize(file, stream.below(20 * UNIT));
            }
            let owned = map.files.values().flatten().copied();
            let free = map
                .free
                .iter()
                .flat_map(|(first, length)| *first..first + length);
            let all: Vec<u64> = owned.chain(free).collect();
            assert_eq!(all.len(), 50);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 50);
        }
    }
}
