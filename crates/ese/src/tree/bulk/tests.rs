//! Bulk-loaded trees, verified by everything that reads trees.

use brunt_world::random::Streams;

use super::*;
use crate::format::page::{ObjectId, Page};
use crate::format::space::{SpaceHeader, SpaceKind};
use crate::page::memory::MemoryPages;
use crate::tree::Cursor;
use crate::tree::check::{TreeCheck, TreeProblem, TreeSummary, Visitor};

const TREE: TreeId = TreeId { root: PageNumber(4), object: ObjectId(8) };
const FIRST: PageNumber = PageNumber(7);

/// The pages of the run, each once.
#[derive(Default)]
struct Met(Vec<PageNumber>);

impl Visitor for Met {
    fn page(&mut self, page: PageNumber) -> Result<(), TreeProblem> {
        self.0.push(page);
        Ok(())
    }
}

fn header() -> SpaceHeader {
    SpaceHeader {
        pages: 3,
        parent: PageNumber(1),
        non_unique: false,
        second_version: false,
        kind: SpaceKind::Multiple { owned_root: PageNumber(5) },
    }
}

fn load(options: BulkOptions, entries: &[(Vec<u8>, Vec<u8>)]) -> (MemoryPages, TreeSummary, u32) {
    let size = options.size;
    let room = (2 * entries.len() + 20).min((32_usize << 20).div_ceil(size.bytes()));
    let mut memory = vec![0xEE; room * size.bytes()];
    let mut run = PageRun { first: FIRST, size, bytes: &mut memory };
    let mut tree = BulkTree::new(TREE, FIRST, options);
    for (key, data) in entries {
        tree.push(&mut run, key, data);
    }
    let done = tree.finish(&mut run, |_| header().to_bytes());
    assert_eq!(done.entries, entries.len() as u64);
    let mut pages = MemoryPages::new(size);
    for number in (FIRST.0..done.next.0).map(PageNumber) {
        let page = run.page(number);
        assert!(crate::format::checksum::is_sound(page, size, number));
        pages.put(number, page.to_vec());
    }
    assert_eq!(Page::new(&done.root, size).space_header(), Ok(header()));
    pages.put(TREE.root, done.root);
    let mut met = Met::default();
    let summary = TreeCheck::new(TREE).run(&pages, &mut met).unwrap();
    met.0.sort_unstable();
    let all: Vec<_> = pages.numbers().collect();
    assert_eq!(met.0, all, "no page is left over");
    (pages, summary, done.next.0 - FIRST.0)
}

#[test]
fn what_goes_in_comes_out_at_every_size() {
    let mut draw = Streams::new(3).named("bulk");
    for size in PageSize::ALL {
        for (count, key_most, by_data) in
            [(0, 9, false), (1, 9, false), (40, 9, false), (3000, 900, false), (3000, 300, true)]
        {
            let kind = match by_data {
                true => PageFlags::INDEX.with(PageFlags::NON_UNIQUE),
                false => PageFlags(0),
            };
            let entries: std::collections::BTreeSet<(Vec<u8>, Vec<u8>)> = (0..count)
                .map(|_| {
                    let mut key = vec![7; usize::try_from(draw.below(key_most)).unwrap()];
                    key.extend(u32::try_from(draw.below(1 << 30)).unwrap().to_be_bytes());
                    key.push(9);
                    let data = vec![1; usize::try_from(1 + draw.below(200)).unwrap()];
                    (key, data)
                })
                .collect();
            let entries: Vec<_> = entries.into_iter().collect();
            let fill_percent = 90;
            let time = DatabaseTime(3);
            let (pages, summary, _) =
                load(BulkOptions { size, kind, fill_percent, time }, &entries);
            assert_eq!(summary.entries, entries.len() as u64);
            let mut cursor = Cursor::before(TREE, &[]);
            for (key, data) in &entries {
                let entry = cursor.next(&pages).unwrap().unwrap();
                assert_eq!((&entry.key.to_vec(), entry.data), (key, data.as_slice()));
                let sort_key = if by_data { [key.as_slice(), data].concat() } else { key.clone() };
                assert!(crate::tree::seek(&pages, TREE, &sort_key).unwrap().exact);
            }
            assert!(cursor.next(&pages).unwrap().is_none());
        }
    }
}

/// All entry counts around the points where pages, levels and the root change.
#[test]
fn every_size_of_tree_is_sound() {
    let size = PageSize::KIB_4;
    let (kind, time) = (PageFlags(0), DatabaseTime(1));
    for count in (0..200).chain(2000..2040) {
        let entries: Vec<_> = (0..count)
            .map(|entry: u32| {
                let mut key = vec![b'k'; 700];
                key.extend(entry.to_be_bytes());
                (key, vec![1; 600])
            })
            .collect();
        load(
            BulkOptions { size, kind, fill_percent: if count % 2 == 0 { 100 } else { 10 }, time },
            &entries,
        );
    }
}

#[test]
fn pages_are_as_full_as_asked_for() {
    let entries: Vec<_> =
        (0..6000_u32).map(|entry| (entry.to_be_bytes().to_vec(), vec![5; 90])).collect();
    let pages = |fill_percent| {
        let options = BulkOptions {
            size: PageSize::KIB_8,
            kind: PageFlags(0),
            fill_percent,
            time: DatabaseTime(1),
        };
        load(options, &entries).2
    };
    // 100 bytes per node: at most 81 on a page, 40 on half of one.
    assert_eq!(pages(100), 6000_u32.div_ceil(81));
    assert_eq!(pages(50), 6000_u32.div_ceil(40));
}
