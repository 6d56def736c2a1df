//! Random operations on trees, compared with a map.

use std::collections::BTreeMap;

use brunt_units::{DatabaseTime, PageNumber, PageSize};
use brunt_world::random::{Stream, Streams};

use super::testing::{Database, Plan};
use super::*;
use crate::format::page::PageFlags;
use crate::format::page_builder::PageBuilder;

/// Expected content: key (and data, if keys are not unique) to data and mark.
type Oracle = BTreeMap<Vec<u8>, (Vec<u8>, bool)>;

struct Trial {
    database: Database,
    tree: TreeId,
    by_data: bool,
    oracle: Oracle,
    draw: Stream,
    /// Maximum length of key and data.
    most: (u64, u64),
    start: BTreeMap<PageNumber, Vec<u8>>,
    /// Most levels the tree has had.
    levels: usize,
    /// A cursor that continues through all changes, and the key it is on.
    walker: (Cursor, Option<Vec<u8>>),
}

impl Trial {
    fn new(seed: u64, size: PageSize, by_data: bool, most: (u64, u64)) -> Self {
        let flags = match by_data {
            true => PageFlags::INDEX.with(PageFlags::NON_UNIQUE),
            false => PageFlags(0),
        };
        let table = TreeId { root: PageNumber(4), object: ObjectId(8) };
        let plans =
            [Plan { parent: TreeId::DATABASE, flags: PageFlags(0) }, Plan { parent: table, flags }];
        let database = Database::new(size, &plans);
        let start = database.pages.numbers();
        let start = start.map(|page| (page, database.pages.bytes(page).to_vec())).collect();
        let tree = database.trees[1];
        Self {
            tree,
            database,
            start,
            levels: 0,
            walker: (Cursor::before(tree, &[]), None),
            by_data,
            oracle: Oracle::new(),
            draw: Streams::new(seed).named("trees"),
            most,
        }
    }

    /// Random bytes: small numbers with an occasional long common prefix, so that separators get
    /// long and trees high. The last byte never occurs inside a key, so no key is a prefix of
    /// another.
    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let mut length = usize::try_from(self.draw.below(most)).unwrap();
        let mut bytes = Vec::new();
        if self.draw.percent(50) {
            length = length.div_ceil(3);
            bytes.resize(length, 2);
        }
        bytes.extend((0..length).map(|_| u8::try_from(self.draw.below(4)).unwrap()));
        bytes.push(9);
        bytes
    }

    fn any_key(&mut self) -> Option<Vec<u8>> {
        let target = self.bytes(6);
        let above = self.oracle.range(target..).next().or_else(|| self.oracle.iter().next());
        above.map(|(key, _)| key.clone())
    }

    fn insert(&mut self) {
        let (key, data) = (self.bytes(self.most.0), self.bytes(self.most.1));
        self.insert_entry(key, data);
    }

    fn insert_entry(&mut self, key: Vec<u8>, data: Vec<u8>) {
        let whole = if self.by_data { [key.clone(), data.clone()].concat() } else { key.clone() };
        let tree = self.tree;
        let outcome = self.database.run(|change| insert(change, tree, &key, &data));
        let expected = match self.oracle.get(&whole) {
            None => InsertOutcome::Inserted,
            Some((_, false)) => InsertOutcome::Duplicate,
            Some((_, true)) => InsertOutcome::Deleted,
        };
        assert_eq!(outcome, expected);
        self.oracle.entry(whole).or_insert((data, false));
    }

    fn replace(&mut self) {
        let Some(key) = self.any_key().filter(|_| !self.by_data) else {
            return;
        };
        let data = self.bytes(self.most.1);
        let tree = self.tree;
        let marked = self.oracle[&key].1;
        let outcome = self.database.run(|change| match marked {
            true => revive(change, tree, &key, &data),
            false => replace(change, tree, &key, &data),
        });
        assert_eq!(outcome, ReplaceOutcome::Replaced);
        let other = self.database.run(|change| revive(change, tree, &key, &data));
        assert_eq!(other, ReplaceOutcome::Marked(false));
        self.oracle.insert(key, (data, false));
    }

    fn mark(&mut self) {
        let Some(key) = self.any_key() else { return };
        let deleted = self.draw.percent(70);
        let tree = self.tree;
        let outcome = self.database.run(|change| {
            let outcome = match deleted {
                true => mark_deleted(change, tree, &key)?,
                false => clear_deleted(change, tree, &key)?,
            };
            Ok(Step::Done(outcome))
        });
        let mark = &mut self.oracle.get_mut(&key).unwrap().1;
        let expected = match *mark == deleted {
            true => MarkOutcome::Unchanged,
            false => MarkOutcome::Changed,
        };
        assert_eq!(outcome, expected);
        *mark = deleted;
    }

    fn remove(&mut self) {
        if let Some(key) = self.any_key() {
            self.remove_entry(&key);
        }
    }

    fn remove_entry(&mut self, key: &[u8]) {
        let (tree, growths) = (self.tree, self.database.growths);
        let outcome = self.database.run(|change| remove(change, tree, key));
        assert!(matches!(outcome, RemoveOutcome::Removed { .. }));
        if outcome == (RemoveOutcome::Removed { sparse: true }) {
            self.database.run(|change| shrink(change, tree, key));
        }
        // Undoing an insert is a removal, and must work on full volumes too.
        assert_eq!(self.database.growths, growths, "a removal needed pages");
        self.oracle.remove(key);
        let again = self.database.run(|change| remove(change, tree, key));
        assert_eq!(again, RemoveOutcome::NotFound);
    }

    fn scan(&mut self) {
        let start = self.bytes(6);
        let steps = 1 + self.draw.below(40);
        let forward = self.draw.percent(50);
        let mut cursor = Cursor::before(self.tree, &start);
        let mut expected: Vec<_> = match forward {
            true => self.oracle.range(start..).take(40).collect(),
            false => self.oracle.range(..start).rev().take(40).collect(),
        };
        expected.truncate(usize::try_from(steps).unwrap());
        for (key, (data, mark)) in expected {
            let found = self.database.look(|pages| {
                let entry = match forward {
                    true => cursor.next(pages)?,
                    false => cursor.previous(pages)?,
                };
                Ok(entry.map(|entry| (entry.key.to_vec(), entry.data.to_vec(), entry.deleted)))
            });
            let (found_key, found_data, deleted) = found.expect("the oracle has one more");
            let whole =
                if self.by_data { [found_key, found_data.clone()].concat() } else { found_key };
            assert_eq!((&whole, &found_data, deleted), (key, data, *mark));
        }
    }

    /// A cursor left in place finds its neighbour, whatever has happened to its page.
    fn walk(&mut self) {
        let forward = self.draw.percent(60);
        let (cursor, on) = &mut self.walker;
        let found = self.database.look(|pages| {
            let entry = match forward {
                true => cursor.next(pages)?,
                false => cursor.previous(pages)?,
            };
            Ok(entry.map(|entry| (entry.key.to_vec(), entry.data.to_vec())))
        });
        let found = found.map(|(key, data)| match self.by_data {
            true => [key, data].concat(),
            false => key,
        });
        let keys = self.oracle.keys();
        let expected = match (&on, forward) {
            (None, true) => keys.min(),
            (None, false) => None,
            (Some(on), true) => keys.filter(|key| *key > on).min(),
            (Some(on), false) => keys.filter(|key| *key < on).max(),
        };
        assert_eq!(found.as_ref(), expected);
        if found.is_none() {
            *cursor = Cursor::before(self.tree, &[]);
        }
        *on = found;
    }

    /// Makes `leaf` the tree's only leaf. No extent contains it.
    fn put_only_leaf(&mut self, leaf: PageNumber, mut page: PageBuilder) {
        page.time = DatabaseTime(1);
        self.database.pages.put(leaf, page.seal(leaf));
        let tree = self.tree;
        self.database.pages.change_with(|change| {
            let mut editor = change.edit(tree.root);
            let flags = editor.page().flags().without(PageFlags::LEAF);
            editor.set_flags(flags.with(PageFlags::PARENT_OF_LEAF));
            editor.insert(0, &[], &leaf.0.to_le_bytes());
            Ok(())
        });
    }

    /// Compares the whole tree in both directions, and accounts for all pages.
    fn agree(&mut self) {
        let summary = self.database.check()[1];
        let deleted = self.oracle.values().filter(|(_, deleted)| *deleted).count();
        let counts = (summary.entries + summary.deleted, summary.deleted);
        assert_eq!(counts, (self.oracle.len() as u64, deleted as u64));
        self.levels = self.levels.max(summary.levels);
        self.agree_on_entries();
    }

    /// Compares the whole tree in both directions.
    fn agree_on_entries(&mut self) {
        let by_data = self.by_data;
        let mut there = Vec::new();
        let mut cursor = Cursor::before(self.tree, &[]);
        while let Some(entry) = self.database.look(|pages| {
            let entry = cursor.next(pages)?;
            Ok(entry.map(|entry| {
                let key = entry.key.to_vec();
                let key = if by_data { [&key, entry.data].concat() } else { key };
                (key, (entry.data.to_vec(), entry.deleted))
            }))
        }) {
            there.push(entry);
        }
        let expected: Vec<_> = self.oracle.clone().into_iter().collect();
        assert!(there == expected, "the tree is not what it should be");
        let mut cursor = Cursor::at_end(self.tree);
        for (key, _) in self.oracle.iter().rev() {
            let found = self.database.look(|pages| {
                let entry = cursor.previous(pages)?;
                Ok(entry.map(|entry| entry.key.to_vec()))
            });
            assert!(key.starts_with(&found.expect("one more")));
        }
        assert!(self.database.look(|pages| Ok(cursor.previous(pages)?.is_none())));
    }

    fn work(&mut self, rounds: u64) {
        // Alternately grows and shrinks.
        for round in 0..rounds {
            let growing = round % 800 < 400;
            let insert_below = if growing { 60 } else { 25 };
            match self.draw.below(100) {
                draw if draw < insert_below => self.insert(),
                draw if draw < 70 => self.remove(),
                70..80 => self.replace(),
                80..90 => self.mark(),
                _ => self.scan(),
            }
            if self.draw.percent(30) {
                self.walk();
            }
            if self.draw.percent(2) {
                self.database.pages.evict_all();
            }
            if round % 200 == 199 {
                self.agree();
            }
        }
        self.agree();
        self.replay();
    }

    /// Replays all changes over the initial pages, some of them with torn sectors of the final
    /// state; then replays them again over the result, which must not change it.
    fn replay(&mut self) {
        let mut torn = self.start.clone();
        for (number, page) in &mut torn {
            for (sector, bytes) in page.chunks_exact_mut(512).enumerate() {
                if self.draw.percent(50) {
                    let end = self.database.pages.bytes(*number);
                    bytes.copy_from_slice(&end[sector * 512..][..512]);
                }
            }
        }
        for _ in 0..2 {
            self.database.pages.replay_over(&mut torn);
            self.is_replayed(&torn);
        }
    }

    fn is_replayed(&self, torn: &BTreeMap<PageNumber, Vec<u8>>) {
        let size = crate::page::Pages::page_size(&self.database.pages).bytes();
        for number in self.database.pages.numbers() {
            // A claimed page that was never written has arbitrary content.
            let fresh = vec![0xEE; size];
            let replayed = torn.get(&number).unwrap_or(&fresh);
            assert!(replayed == self.database.pages.bytes(number), "page {number} differs");
        }
    }
}

#[test]
fn trees_agree_with_a_map() {
    for (size, most) in
        PageSize::ALL.into_iter().zip([(900, 3000), (1900, 4000), (1900, 8000), (1900, 30000)])
    {
        let mut trial = Trial::new(1, size, false, most);
        trial.work(2000);
    }
}

#[test]
fn trees_of_repeated_keys_agree_with_a_map() {
    for seed in 0..3 {
        let mut trial = Trial::new(seed, PageSize::KIB_4, true, (500, 400));
        trial.work(2000);
        assert!(trial.levels >= 3, "{} levels", trial.levels);
    }
}

/// A leaf whose nodes share the page's prefix stays readable through every edit.
#[test]
fn pages_with_prefixes_are_edited() {
    for size in [PageSize::KIB_4, PageSize::KIB_32] {
        let mut trial = Trial::new(5, size, false, (60, 200));
        let leaf = PageNumber(5000);
        let object = trial.tree.object;
        let common = vec![2; 40];
        let mut page = PageBuilder::new(size, object);
        page.flags = page.flags.with(PageFlags::LEAF);
        page.header = common.clone();
        for number in 0_u16.. {
            let key = [common.as_slice(), &number.to_be_bytes(), &[9]].concat();
            if !page.fits(&key, &[1; 20]) {
                break;
            }
            page.push(&key, &[1; 20]);
            trial.oracle.insert(key, (vec![1; 20], false));
        }
        trial.put_only_leaf(leaf, page);
        let seen = trial.oracle.len();
        trial.agree_on_entries();
        for _ in 0..1500 {
            match trial.draw.below(10) {
                0..4 => trial.insert(),
                4..7 => trial.replace(),
                7 => trial.mark(),
                _ => trial.remove(),
            }
        }
        trial.agree_on_entries();
        assert!(seen > 50);
    }
}

#[test]
fn loading_in_order_fills_pages() {
    let mut trial = Trial::new(1, PageSize::KIB_4, false, (9, 200));
    for key in 0_u32..3000 {
        let tree = trial.tree;
        let outcome =
            trial.database.run(|change| insert(change, tree, &key.to_be_bytes(), &[7; 190]));
        assert_eq!(outcome, InsertOutcome::Inserted);
    }
    let leaves = trial.database.look(|pages| {
        let (mut number, mut leaves) = (descend(pages, trial.tree, &[])?.leaf().page, 0);
        while number.is_some() {
            (number, leaves) = (load(pages, trial.tree, number)?.next(), leaves + 1);
        }
        Ok(leaves)
    });
    // 200 bytes per node, 4,052 per page.
    assert_eq!(leaves, 3000_u32.div_ceil(20));
}

#[test]
fn small_entries_and_long_separators() {
    for (seed, most) in [(1, (30, 60)), (2, (990, 5))] {
        Trial::new(seed, PageSize::KIB_4, false, most).work(2000);
    }
}

/// Removes branch pages between full ones together with their last leaf, which changes separators
/// around them. No removal takes a page, so none can fail on a full volume.
#[test]
fn removals_take_no_pages() {
    for seed in 0..6 {
        let mut trial = Trial::new(seed, PageSize::KIB_4, false, (9, 1500));
        // In order, so that pages are full; in groups that differ late, so that separators are
        // long, and of all lengths.
        for group in 0_u8..60 {
            let common = usize::try_from(50 + trial.draw.below(800)).unwrap();
            for entry in 0..=u8::try_from(trial.draw.below(9)).unwrap() {
                let key = [&[group], vec![2; common].as_slice(), &[entry, 9]].concat();
                trial.insert_entry(key, vec![7; 1500]);
            }
        }
        trial.agree();
        assert!(trial.levels >= 4, "{} levels", trial.levels);
        while !trial.oracle.is_empty() {
            let group = u8::try_from(trial.draw.below(60)).unwrap();
            let keys: Vec<_> = match trial.draw.percent(50) {
                true => trial.oracle.range(vec![group]..).take(40).collect(),
                false => trial.oracle.range(..vec![group]).rev().take(40).collect(),
            };
            let keys: Vec<_> = keys.into_iter().map(|(key, _)| key.clone()).collect();
            for key in keys {
                let pages = trial.database.check()[1].pages;
                trial.remove_entry(&key);
                assert!(trial.database.check()[1].pages <= pages);
            }
            trial.agree();
        }
    }
}
