//! The bytes of one file.
//!
//! Chunks of 4 KiB are in groups of 64 (256 KiB). A chunk that was never written is absent and
//! reads as zero. Groups make the first change after a fork cheap (one group is copied, 64 counts
//! go up) and holes free, at any file length.
//!
//! Invariant: every byte at or past `length` is zero, so growing never exposes what was cut off.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use crate::Digest;

const CHUNK_BYTES: usize = 4096;
const GROUP_CHUNKS: usize = 64;
const GROUP_BYTES: u64 = (CHUNK_BYTES * GROUP_CHUNKS) as u64;

type Chunk = Rc<[u8; CHUNK_BYTES]>;

#[derive(Clone)]
struct Group([Option<Chunk>; GROUP_CHUNKS]);

impl Default for Group {
    fn default() -> Self {
        Self([const { None }; GROUP_CHUNKS])
    }
}

/// Length and content of a file; see the [module](self).
#[derive(Clone, Default)]
pub(super) struct FileBytes {
    length: u64,
    groups: BTreeMap<u64, Rc<Group>>,
}

/// The part of a range that lies in one chunk.
struct Piece {
    group: u64,
    chunk: usize,
    /// Within the chunk.
    bytes: Range<usize>,
}

/// `offset .. offset + length`, chunk by chunk.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let in_group = usize::try_from(at % GROUP_BYTES).expect("a group is small");
        let start = in_group % CHUNK_BYTES;
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        let stop = CHUNK_BYTES.min(start.saturating_add(left));
        let piece = Piece {
            group: at.div_euclid(GROUP_BYTES),
            chunk: in_group.div_euclid(CHUNK_BYTES),
            bytes: start..stop,
        };
        at += (stop - start) as u64;
        Some(piece)
    })
}

impl FileBytes {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) {
        let mut rest = into;
        for piece in pieces(offset, rest.len() as u64) {
            let (part, after) = rest.split_at_mut(piece.bytes.len());
            let group = self.groups.get(&piece.group);
            match group.and_then(|group| group.0[piece.chunk].as_ref()) {
                Some(chunk) => part.copy_from_slice(&chunk[piece.bytes]),
                None => part.fill(0),
            }
            rest = after;
        }
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.length = self.length.max(offset + bytes.len() as u64);
        let mut rest = bytes;
        for piece in pieces(offset, bytes.len() as u64) {
            let (part, after) = rest.split_at(piece.bytes.len());
            let group = Rc::make_mut(self.groups.entry(piece.group).or_default());
            let chunk = &mut group.0[piece.chunk];
            match <[u8; CHUNK_BYTES]>::try_from(part) {
                // A whole chunk is replaced without being copied first.
                Ok(whole) => *chunk = Some(Rc::new(whole)),
                Err(_) => {
                    let chunk = chunk.get_or_insert_with(|| Rc::new([0; CHUNK_BYTES]));
                    Rc::make_mut(chunk)[piece.bytes].copy_from_slice(part);
                }
            }
            rest = after;
        }
    }

    pub(super) fn write_zeros(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        self.clear(offset, end.min(self.length).saturating_sub(offset));
        self.length = self.length.max(end);
    }

    pub(super) fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.groups.split_off(&length.div_ceil(GROUP_BYTES));
            let rest = length.next_multiple_of(GROUP_BYTES) - length;
            self.clear(length, rest);
        }
        self.length = length;
    }

    /// Zeroes a range without changing the length. Visits existing groups only, not holes.
    fn clear(&mut self, offset: u64, length: u64) {
        // Files of tests without content have no groups at all.
        if length == 0 || self.groups.is_empty() {
            return;
        }
        let end = offset + length;
        let groups = offset.div_euclid(GROUP_BYTES)..end.div_ceil(GROUP_BYTES);
        for (number, group) in self.groups.range_mut(groups) {
            let start = offset.max(number * GROUP_BYTES);
            let stop = end.min((number + 1) * GROUP_BYTES);
            let group = Rc::make_mut(group);
            for piece in pieces(start, stop - start) {
                let chunk = &mut group.0[piece.chunk];
                if piece.bytes.len() == CHUNK_BYTES {
                    *chunk = None;
                } else if let Some(chunk) = chunk {
                    Rc::make_mut(chunk)[piece.bytes].fill(0);
                }
            }
        }
    }

    /// Hashes the length and every chunk that is not all zero.
    pub(super) fn digest(&self, digest: &mut Digest) {
        digest.mix(self.length);
        for (number, group) in &self.groups {
            for (chunk, bytes) in group.0.iter().enumerate() {
                if let Some(bytes) = bytes.as_ref().filter(|b| b.iter().any(|byte| *byte != 0)) {
                    digest.mix(number * GROUP_CHUNKS as u64 + chunk as u64);
                    digest.mix_bytes(&bytes[..]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::{Stream, Streams};

    use super::*;

    fn index(at: u64) -> usize {
        usize::try_from(at).unwrap()
    }

    fn draw(stream: &mut Stream, bound: u64) -> usize {
        index(stream.below(bound))
    }

    /// A simple reference: a vector.
    #[test]
    fn a_file_is_a_vector_of_bytes() {
        let mut stream = Streams::new(3).named("chunks");
        let most = 600_000;
        for _ in 0..30 {
            let (mut file, mut oracle) = (FileBytes::default(), Vec::<u8>::new());
            let mut forks = Vec::new();
            for _ in 0..40 {
                let offset = stream.below(most);
                let most_length = [512, 4096, 5000, 300_000][draw(&mut stream, 4)];
                let length = 1 + stream.below(most_length);
                let (at, end) = (index(offset), index(offset + length));
                match stream.below(5) {
                    0 => {
                        file.set_length(offset);
                        oracle.resize(at, 0);
                    }
                    1 => {
                        file.write_zeros(offset, length);
                        oracle.resize(oracle.len().max(end), 0);
                        oracle[at..end].fill(0);
                    }
                    _ => {
                        let mut bytes = vec![0; index(length)];
                        stream.fill(&mut bytes);
                        file.write(offset, &bytes);
                        oracle.resize(oracle.len().max(end), 0);
                        oracle[at..end].copy_from_slice(&bytes);
                    }
                }
                if stream.percent(20) {
                    forks.push((file.clone(), oracle.clone()));
                }
            }
            forks.push((file, oracle));
            for (file, oracle) in forks {
                assert_eq!(file.length(), oracle.len() as u64);
                let mut read = vec![7; oracle.len() + 5000];
                file.read(0, &mut read);
                assert!(read[..oracle.len()] == oracle[..], "content differs");
                assert!(read[oracle.len()..].iter().all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn holes_take_no_room_however_long() {
        let mut file = FileBytes::default();
        file.write_zeros(0, 1 << 50);
        file.write((1 << 50) - 4096, &[1; 4096]);
        file.write_zeros(512, 1 << 49);
        assert_eq!(file.groups.len(), 1);
        file.set_length(1 << 40);
        assert!(file.groups.is_empty());
    }
}
