//! What storage that reduces data sees of the databases: a sample of their pages, compressed and
//! compared block by block.
//!
//! A setting says what records are like. Storage sees blocks: records among headers, tags and free
//! space. So it is measured.
//!
//! Compression is that of the LZ4 family, which arrays use: copies of four bytes or more from
//! earlier in the block, and no coding of what is left. A block is compressed by itself and is
//! never larger than it was. Copies are counted within the sample, so that what is rare is missed,
//! and what storage would gain much by is not.
//!
//! ```text
//!   page of 32 KiB   [hdr 1111|11111111|11111111| ... |11111111|1 tags ]   six blocks of 4 KiB inside a record
//!   page of 8 KiB    [hdr 1111|111 tags]                                   none
//! ```
//!
//! A page has its own number, time and checksum, and a record its own key, so that a block can be a
//! copy only if it lies inside one record. How many do is counted beside the copies: it is the most
//! that `duplicate_percent` of a scenario can become for storage that compares blocks.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use brunt_ese::format::page::{Page, header_bytes};
use brunt_report::result::ContentNumbers;
use brunt_units::PageSize;
use brunt_world::noise::COPY_BYTES;
use brunt_world::{Class, Io, OpenMode, Segment, World};

use crate::plan::Plan;

/// Bytes of one read, and of the largest blocks.
const CHUNK: usize = 32 << 10;
/// Chunks that are read of all databases together.
const CHUNKS: u64 = 256;
/// One chunk in this many is read at most: verification has read all of them before.
const ONE_IN: u64 = 64;
/// Block sizes that arrays and file systems work in.
const BLOCKS: [usize; 3] = [4 << 10, 8 << 10, CHUNK];

/// Reads a sample of the databases of `plan`. What cannot be read is left out: verification names
/// it.
pub(crate) async fn content(world: &World, plan: &Plan) -> Vec<ContentNumbers> {
    let mut tallies = BLOCKS.map(Tally::of);
    let databases = plan.databases().count().max(1) as u64;
    for database in plan.databases() {
        let chunks = CHUNKS.div_ceil(databases);
        sample(world, &database.path, plan.engine.page, chunks, &mut tallies).await;
    }
    let seen = tallies.iter().filter(|tally| tally.blocks > 0);
    seen.map(Tally::numbers).collect()
}

async fn sample(world: &World, path: &Path, page: PageSize, chunks: u64, tallies: &mut [Tally]) {
    let Ok(file) = world.volume.open(path, OpenMode::Read).await else {
        return;
    };
    let length = world.volume.length(file).await.unwrap_or(0);
    let there = length.div_euclid(CHUNK as u64);
    let first = (2 * page.bytes_u64()).div_ceil(CHUNK as u64);
    let most = there.saturating_sub(first).div_ceil(ONE_IN);
    let wanted = chunks.min(most);
    for number in 0..wanted {
        // The middle of its share: the first pages are those of the catalog, and hardly any.
        let chunk = first + ((there - first) * (2 * number + 1)).div_euclid(2 * wanted);
        let frame = world.frames.take(CHUNK);
        let read = Io::read(Class::Verify, file, chunk * CHUNK as u64, frame);
        let done = world.disk.submit(read).await;
        if let (Ok(()), Some(Segment::Fill(frame))) = (done.result, done.segments.first()) {
            // Pages that were never used are no content.
            let pages = frame.chunks(page.bytes());
            if pages.clone().all(|page| page.iter().any(|byte| *byte != 0)) {
                let records = records(frame, page);
                tallies.iter_mut().for_each(|tally| tally.add(frame, &records));
            }
        }
    }
    // It was only read.
    let _ = world.volume.close(file).await;
}

/// Where the data of records is in whole pages.
fn records(pages: &[u8], size: PageSize) -> Vec<Range<usize>> {
    let of_page = |(number, bytes): (usize, &[u8])| {
        let (page, items) = (Page::new(bytes, size), number * size.bytes() + header_bytes(size));
        let nodes = (0..page.node_count()).filter_map(|index| {
            let (tag, node) = (page.tag(index + 1).ok()?, page.node(index).ok()?);
            let end = items + tag.offset + tag.size;
            Some(end - node.data.len()..end)
        });
        nodes.collect::<Vec<_>>()
    };
    pages.chunks_exact(size.bytes()).enumerate().flat_map(of_page).collect()
}

/// Adds the blocks of another shard. Its databases are its own, and none has a record of another.
pub(crate) fn absorb(all: &mut Vec<ContentNumbers>, part: Vec<ContentNumbers>) {
    for part in part {
        let Some(own) = all.iter_mut().find(|own| own.block_bytes == part.block_bytes) else {
            all.push(part);
            continue;
        };
        let blocks = own.blocks + part.blocks;
        let share = part.blocks as f64 / blocks as f64;
        let mean = |own: &mut f64, part: f64| *own += (part - *own) * share;
        mean(&mut own.compressible_percent, part.compressible_percent);
        mean(&mut own.duplicate_percent, part.duplicate_percent);
        mean(&mut own.inside_percent, part.inside_percent);
        own.blocks = blocks;
    }
}

/// Blocks of one size.
struct Tally {
    block: usize,
    blocks: u64,
    packed: u64,
    copies: u64,
    inside: u64,
    seen: BTreeSet<u64>,
}

impl Tally {
    fn of(block: usize) -> Self {
        Self { block, blocks: 0, packed: 0, copies: 0, inside: 0, seen: BTreeSet::new() }
    }

    /// Adds the blocks of `bytes`, in which records are where `records` says.
    fn add(&mut self, bytes: &[u8], records: &[Range<usize>]) {
        for (number, block) in bytes.chunks_exact(self.block).enumerate() {
            let (start, end) = (number * self.block, (number + 1) * self.block);
            let is_inside = records.iter().any(|data| data.start <= start && end <= data.end);
            self.blocks += 1;
            self.inside += u64::from(is_inside);
            self.packed += packed(block) as u64;
            self.copies += u64::from(!self.seen.insert(print(block)));
        }
    }

    fn numbers(&self) -> ContentNumbers {
        let bytes = (self.blocks * self.block as u64) as f64;
        ContentNumbers {
            block_bytes: self.block as u64,
            blocks: self.blocks,
            compressible_percent: 100.0 * (1.0 - self.packed as f64 / bytes),
            duplicate_percent: 100.0 * self.copies as f64 / self.blocks as f64,
            inside_percent: 100.0 * self.inside as f64 / self.blocks as f64,
        }
    }
}

/// Tells blocks apart: FNV-1a over words.
fn print(block: &[u8]) -> u64 {
    let words = block.as_chunks::<8>().0.iter();
    words.fold(0xCBF2_9CE4_8422_2325, |hash, word| {
        let mixed = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x0000_0100_0000_01B3);
        mixed ^ mixed >> 29
    })
}

/// Least bytes of a copy.
const COPY_MIN: usize = 4;

/// Bytes of `block` after compression.
fn packed(block: &[u8]) -> usize {
    let mut last = [0_u16; 4096];
    let (mut at, mut bytes) = (0, 0);
    while let Some(word) = block[at..].first_chunk::<COPY_MIN>() {
        let hashed = u32::from_le_bytes(*word).wrapping_mul(2_654_435_761);
        let slot = &mut last[(hashed >> 20) as usize];
        let here = u16::try_from(at + 1).expect("blocks have at most 32 KiB");
        let before = usize::from(std::mem::replace(slot, here));
        let former = before.checked_sub(1).map(|from| &block[from..]);
        let same = former.map_or(0, |former| {
            let pairs = former.iter().zip(&block[at..]);
            pairs.take_while(|(a, b)| a == b).count()
        });
        if same >= COPY_MIN {
            bytes += COPY_BYTES + same.div_euclid(255);
            at += same;
        } else {
            bytes += 1;
            at += 1;
        }
    }
    (bytes + block.len() - at).min(block.len())
}

#[cfg(test)]
mod tests {
    use brunt_workload::content::{Content, Shape};

    use super::*;

    fn tallied(percent: u32, block: usize) -> ContentNumbers {
        let shape = Shape { compressible_percent: percent, ..Shape::JETSTRESS };
        let content = Content::new(shape, 7);
        let mut tally = Tally::of(block);
        let mut bytes = vec![0; CHUNK];
        for page in 0..8 {
            content.fill_free(page, &mut bytes);
            tally.add(&bytes, &[]);
        }
        tally.numbers()
    }

    #[test]
    fn what_is_measured_is_what_was_asked_for() {
        for block in BLOCKS {
            for percent in [0, 25, 50] {
                let seen = tallied(percent, block);
                let off = seen.compressible_percent - f64::from(percent);
                assert!(off.abs() < 5.0, "{percent} % of {block}: {seen:?}");
                assert_eq!(seen.duplicate_percent, 0.0);
            }
        }
    }

    #[test]
    fn copies_and_zeros_are_seen() {
        let mut tally = Tally::of(4096);
        tally.add(&vec![0; CHUNK], &[]);
        let seen = tally.numbers();
        assert_eq!((seen.blocks, seen.duplicate_percent), (8, 87.5));
        assert!(seen.compressible_percent > 99.0, "{seen:?}");
    }
}
