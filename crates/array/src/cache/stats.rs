//! Counters of a cache.

/// Counters of a cache since measurement began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Host reads found entirely in the cache.
    pub read_hits: u64,
    /// Host reads that waited for a drive.
    pub read_misses: u64,
    /// Host writes accepted by the cache.
    pub writes: u64,
    /// Host writes that waited for room.
    pub stalled: u64,
    /// Pages written to drives.
    pub destaged_pages: u64,
    /// Stripes written for that.
    pub destages: u64,
    /// Sectors read ahead.
    pub prefetched_sectors: u64,
    /// Drive reads for parities before destages.
    pub parity_reads: u64,
    /// Parity reads avoided because the cache held the on-disk content.
    pub parity_reads_spared: u64,
    /// Most pages not fully on the drives at once.
    pub unwritten_most: u64,
    /// Pages not fully on the drives.
    pub unwritten: u64,
    /// Pages of the write cache.
    pub write_pages: u64,
    /// Most of the write cache not yet on the drives, in percent: with several caches, that of the
    /// fullest. Zero where a write cache has no pages.
    pub fullest_percent: u32,
}

impl CacheStats {
    /// Completes the counters with values of the cache itself: pages not fully on the drives, and
    /// the room for them.
    pub(crate) fn of(self, unwritten: u64, write_pages: u64) -> Self {
        // To the nearest percent.
        let share = (self.unwritten_most * 200 + write_pages).checked_div_euclid(2 * write_pages);
        Self {
            unwritten,
            write_pages,
            fullest_percent: share.map_or(0, |share| u32::try_from(share).unwrap_or(u32::MAX)),
            ..self
        }
    }

    /// Combines two caches.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            read_hits: self.read_hits + other.read_hits,
            read_misses: self.read_misses + other.read_misses,
            writes: self.writes + other.writes,
            stalled: self.stalled + other.stalled,
            destaged_pages: self.destaged_pages + other.destaged_pages,
            destages: self.destages + other.destages,
            prefetched_sectors: self.prefetched_sectors + other.prefetched_sectors,
            parity_reads: self.parity_reads + other.parity_reads,
            parity_reads_spared: self.parity_reads_spared + other.parity_reads_spared,
            unwritten_most: self.unwritten_most + other.unwritten_most,
            unwritten: self.unwritten + other.unwritten,
            write_pages: self.write_pages + other.write_pages,
            fullest_percent: self.fullest_percent.max(other.fullest_percent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_of_two_counts_and_none_without_room() {
        let cache = |unwritten_most, write_pages| {
            let stats = CacheStats { unwritten_most, ..CacheStats::default() };
            stats.of(1, write_pages)
        };
        let both = cache(100, 100).and(&cache(10, 100));
        assert_eq!((both.fullest_percent, both.unwritten_most), (100, 110));
        assert_eq!(cache(8, 0).fullest_percent, 0);
    }
}
