//! Measures how fast trees are built and changed in memory: `cargo run --release -p brunt-ese
//! --example tree_rate`.
//!
//! Prints for each page size: bytes of sealed pages per second and core in a bulk load of messages
//! with bodies of 2,000 bytes, in a ring of 2 MiB like the one that file writes use; and changes
//! per second and core, log image included, for inserts at random places, replacements and removals
//! in a tree of 200-byte entries.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement of real time")]

use std::time::Instant;

use brunt_ese::format::long_value::LongValueId;
use brunt_ese::page::{Change, Need, Pages};
use brunt_ese::table::load::{LoadOptions, Loaded, RecordsLoad};
use brunt_ese::table::message::{Body, Message};
use brunt_ese::tree::bulk::PageSink;
use brunt_ese::tree::{self, Step, TreeId};
use brunt_units::{DatabaseTime, PageNumber, PageSize};
use brunt_world::random::Streams;

const RING_BYTES: usize = 2 << 20;
const MESSAGES: i64 = 300_000;
const BODY: [u8; 2000] = [0x55; 2000];
const CHANGES: u64 = 300_000;

/// Memory that pages reuse in turn.
struct Ring {
    size: PageSize,
    bytes: Vec<u8>,
}

impl PageSink for Ring {
    fn page(&mut self, number: PageNumber) -> &mut [u8] {
        let pages = RING_BYTES.div_euclid(self.size.bytes());
        let index = (number.0 as usize).rem_euclid(pages);
        &mut self.bytes[index * self.size.bytes()..][..self.size.bytes()]
    }
}

/// A database in memory, completely resident and large enough.
struct AllPages {
    size: PageSize,
    time: DatabaseTime,
    bytes: Vec<u8>,
}

impl Pages for AllPages {
    fn page_size(&self) -> PageSize {
        self.size
    }

    fn last(&self) -> PageNumber {
        let pages = self.bytes.len().div_euclid(self.size.bytes());
        PageNumber(u32::try_from(pages).expect("a small database"))
    }

    fn resident(&self, page: PageNumber) -> Result<&[u8], Need> {
        let start = (page.0 as usize - 1) * self.size.bytes();
        Ok(&self.bytes[start..start + self.size.bytes()])
    }

    fn claimed(&self, _: PageNumber) -> Result<(), Need> {
        Ok(())
    }

    fn change(&mut self, page: PageNumber) -> &mut [u8] {
        let start = (page.0 as usize - 1) * self.size.bytes();
        &mut self.bytes[start..start + self.size.bytes()]
    }

    fn time(&self) -> DatabaseTime {
        self.time
    }
}

impl AllPages {
    /// An empty database of `bytes` bytes.
    fn blank(size: PageSize, bytes: usize) -> (Self, TreeId) {
        let mut ring = ring(size);
        let pages = u32::try_from(bytes.div_euclid(size.bytes())).expect("a small database");
        let loaded = load(size, &mut ring, 0, pages - 39);
        let mut pages = Self { size, time: DatabaseTime(1), bytes: vec![0; bytes] };
        for (number, page) in &loaded.pages {
            pages.change(*number).copy_from_slice(page);
        }
        (pages, loaded.trees.records)
    }

    /// Makes changes until `work` is done; returns the bytes of the log images.
    fn run<T>(
        &mut self,
        mut work: impl FnMut(&mut Change<'_, Self>) -> Result<Step<T>, Need>,
    ) -> usize {
        let mut bytes = 0;
        loop {
            let mut change = Change::new(self);
            let result = work(&mut change).expect("everything is there");
            let changed = change.finish();
            bytes += changed.image.len();
            self.time = changed.time;
            if let Step::Done(_) = result {
                return bytes;
            }
        }
    }
}

fn ring(size: PageSize) -> Ring {
    Ring { size, bytes: vec![0; RING_BYTES] }
}

fn load(size: PageSize, ring: &mut Ring, messages: i64, free: u32) -> Loaded {
    let options = LoadOptions { size, fill_percent: 90, time: DatabaseTime(1) };
    let mut records = RecordsLoad::new(options);
    for id in 0..messages {
        let body = LongValueId(u32::try_from(id + 1).expect("few messages"));
        let message = Message {
            id,
            folder: 1,
            received: id,
            version: 0,
            subject: &BODY[..200],
            body: Body::Apart(body),
        };
        records.push(ring, &message);
    }
    let mut bodies = records.finish(ring);
    for id in 1..=u32::try_from(messages).expect("few messages") {
        bodies.begin(ring, LongValueId(id), 2000);
        bodies.chunk(ring, LongValueId(id), 0, &BODY);
    }
    let mut index = bodies.finish(ring);
    for id in 0..messages {
        index.push(ring, 1, id, id);
    }
    index.finish(ring, free)
}

fn main() {
    for size in PageSize::ALL {
        let mut ring = ring(size);
        let start = Instant::now();
        let loaded = load(size, &mut ring, MESSAGES, 0);
        let bytes = f64::from(loaded.used) * size.bytes() as f64;
        let rate = bytes / start.elapsed().as_secs_f64() / 1e9;
        println!("{size}: bulk load {rate:.2} GB/s");
        changes(size);
    }
}

fn changes(size: PageSize) {
    let (mut pages, tree) = AllPages::blank(size, 256 << 20);
    let mut draw = Streams::new(1).named("keys");
    let keys: Vec<[u8; 8]> = (0..CHANGES).map(|_| draw.bits().to_be_bytes()).collect();
    let mut phase = |name: &str, work: &mut dyn FnMut(&mut AllPages, &[u8; 8]) -> usize| {
        let start = Instant::now();
        let log: usize = keys.iter().map(|key| work(&mut pages, key)).sum();
        let rate = CHANGES as f64 / start.elapsed().as_secs_f64() / 1e3;
        let log = log as f64 / CHANGES as f64;
        println!("{size}: {name} {rate:.0} thousand/s, {log:.0} bytes of log each");
    };
    phase("insert", &mut |pages, key| {
        pages.run(|change| tree::insert(change, tree, key, &BODY[..200]))
    });
    let data = [0x66; 200];
    phase("replace", &mut |pages, key| pages.run(|change| tree::replace(change, tree, key, &data)));
    phase("remove", &mut |pages, key| {
        let log = pages.run(|change| tree::remove(change, tree, key));
        log + pages.run(|change| tree::shrink(change, tree, key))
    });
    let left = tree::seek(&pages, tree, &[]).expect("everything is there");
    assert_eq!(left.page, tree.root, "an empty tree is its root");
}
