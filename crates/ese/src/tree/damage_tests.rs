//! Pages that are valid individually and contradict each other: the result is an answer or a need
//! to repair, never a panic.

use brunt_units::{PageNumber, PageSize};
use brunt_world::random::{Stream, Streams};

use super::testing::{Database, Plan};
use super::*;
use crate::format::page::{FLAGS_AT, NEXT_AT, PREVIOUS_AT, Page, PageFlags};
use crate::page::Need;

fn key(draw: &mut Stream) -> Vec<u8> {
    let mut key = vec![3; usize::try_from(draw.below(200)).unwrap()];
    key.extend(draw.bits().to_be_bytes());
    key
}

fn database(draw: &mut Stream) -> Database {
    let plan = Plan { parent: TreeId::DATABASE, flags: PageFlags::default() };
    let mut database = Database::new(PageSize::KIB_4, &[plan]);
    let tree = database.trees[0];
    for _ in 0..400 {
        let key = key(draw);
        database.run(|change| insert(change, tree, &key, &[7; 300]));
    }
    database
}

/// Changes a few bytes of a page without violating the rules of a page. Returns whether that was
/// possible.
fn damage(database: &mut Database, draw: &mut Stream) -> bool {
    let size = PageSize::KIB_4;
    let numbers: Vec<PageNumber> = database.pages.numbers().collect();
    let number = numbers[usize::try_from(draw.below(numbers.len() as u64)).unwrap()];
    let mut page = database.pages.bytes(number).to_vec();
    if draw.percent(20) {
        // Put another page in its place.
        let other = numbers[usize::try_from(draw.below(numbers.len() as u64)).unwrap()];
        page = database.pages.bytes(other).to_vec();
    } else {
        let at = usize::try_from(match draw.percent(50) {
            true => 16 + draw.below(64),
            false => 16 + draw.below(4080),
        });
        let at = at.unwrap();
        for byte in page.iter_mut().skip(at).take(1 + usize::try_from(draw.below(4)).unwrap()) {
            *byte = u8::try_from(draw.below(256)).unwrap();
        }
    }
    // Only a page that breaks its own rules is detected when read.
    let sound = Page::new(&page, size).check().is_ok();
    if sound {
        database.pages.put(number, page);
    }
    sound
}

#[test]
fn damaged_trees_are_reported() {
    let mut draw = Streams::new(1).named("damage");
    let sound = database(&mut draw);
    let mut found = 0;
    for _ in 0..800 {
        let mut database = sound.clone();
        let tree = database.trees[0];
        let done = (0..4).filter(|_| damage(&mut database, &mut draw)).count();
        for _ in 0..20 * done {
            let key = key(&mut draw);
            let result = match draw.below(3) {
                0 => database.try_run(|change| insert(change, tree, &key, &[7; 300])).map(|_| ()),
                1 => database.try_run(|change| scan(change, tree, &key)).map(|_| ()),
                _ => take_one(&mut database, tree, &key),
            };
            found += u32::from(result.is_err());
        }
    }
    assert!(found > 100, "{found} damages found");
}

/// The leaves of a tree of two levels, in order.
fn leaves(database: &mut Database) -> Vec<PageNumber> {
    let tree = database.trees[0];
    let mut leaves = vec![database.look(|pages| seek(pages, tree, &[])).page];
    loop {
        let last = *leaves.last().unwrap();
        match Page::new(database.pages.bytes(last), PageSize::KIB_4).next() {
            PageNumber::NONE => return leaves,
            next => leaves.push(next),
        }
    }
}

#[test]
fn links_that_lead_round_in_circles_end_at_the_page_that_they_lead_to() {
    let mut draw = Streams::new(2).named("circles");
    let mut database = database(&mut draw);
    let tree = database.trees[0];
    let leaves = leaves(&mut database);
    let (first, third, last) = (leaves[0], leaves[2], leaves[leaves.len() - 1]);
    for (page, at, to) in [(last, NEXT_AT, third), (first, PREVIOUS_AT, third)] {
        let mut bytes = database.pages.bytes(page).to_vec();
        bytes[at..at + 4].copy_from_slice(&to.0.to_le_bytes());
        database.pages.put(page, bytes);
    }
    let (mut forth, mut back) = (Cursor::before(tree, &[]), Cursor::at_end(tree));
    let mut count = 0;
    let refused = loop {
        match forth.next(&database.pages) {
            Ok(entry) => count += u32::from(entry.is_some()),
            Err(need) => break need,
        }
    };
    assert_eq!((refused, count), (Need::Repair(third), 400));
    let refused = loop {
        match back.previous(&database.pages) {
            Ok(entry) => assert!(entry.is_some(), "no end before the circle"),
            Err(need) => break need,
        }
    };
    assert_eq!(refused, Need::Repair(third));
}

#[test]
fn a_flag_that_makes_data_part_of_the_order_is_not_believed_of_one_page() {
    let mut draw = Streams::new(3).named("flags");
    let mut database = database(&mut draw);
    let tree = database.trees[0];
    let leaf = leaves(&mut database)[1];
    let key = node_at(Page::new(database.pages.bytes(leaf), PageSize::KIB_4), leaf, 0);
    let key = key.unwrap().key.to_vec();
    set_flags(&mut database, leaf, PageFlags::NON_UNIQUE);
    let replaced = database.try_run(|change| replace(change, tree, &key, &[1; 300]));
    assert_eq!(replaced.map(|_| ()), Err(leaf));
    // Nor by the root: keys with their data exceed the longest key.
    set_flags(&mut database, tree.root, PageFlags::NON_UNIQUE);
    let inserted = database.try_run(|change| insert(change, tree, &key, &[1; 1200]));
    assert_eq!(inserted.map(|_| ()), Err(tree.root));
}

fn set_flags(database: &mut Database, page: PageNumber, more: PageFlags) {
    let mut bytes = database.pages.bytes(page).to_vec();
    let flags = Page::new(&bytes, PageSize::KIB_4).flags().with(more);
    bytes[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&flags.0.to_le_bytes());
    database.pages.put(page, bytes);
}

/// Moves twenty entries forward.
fn scan(
    change: &mut crate::page::Change<'_, crate::page::memory::MemoryPages>,
    tree: TreeId,
    key: &[u8],
) -> Result<Step<()>, crate::page::Need> {
    let mut cursor = Cursor::before(tree, key);
    for _ in 0..20 {
        if cursor.next(change.pages())?.is_none() {
            break;
        }
    }
    Ok(Step::Done(()))
}

/// Removes the first entry not below `key`.
fn take_one(database: &mut Database, tree: TreeId, key: &[u8]) -> Result<(), PageNumber> {
    let first = database.try_run(|change| {
        let mut cursor = Cursor::before(tree, key);
        let entry = cursor.next(change.pages())?;
        Ok(Step::Done(entry.map(|entry| entry.key.to_vec())))
    })?;
    if let Some(first) = first {
        database.try_run(|change| remove(change, tree, &first))?;
        database.try_run(|change| shrink(change, tree, &first))?;
    }
    Ok(())
}
