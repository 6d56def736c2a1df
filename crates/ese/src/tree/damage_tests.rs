//! Pages that are sound one by one and contradict one another: an answer or a need to repair, never a panic.

use brunt_units::{PageNumber, PageSize};
use brunt_world::random::{Stream, Streams};

use super::testing::{Database, Plan};
use super::*;
use crate::format::page::{Page, PageFlags};

fn key(draw: &mut Stream) -> Vec<u8> {
    let mut key = vec![3; usize::try_from(draw.below(200)).unwrap()];
    key.extend(draw.bits().to_be_bytes());
    key
}

fn database(draw: &mut Stream) -> Database {
    let plan = Plan {
        parent: TreeId::DATABASE,
        flags: PageFlags::default(),
    };
    let mut database = Database::new(PageSize::KIB_4, &[plan]);
    let tree = database.trees[0];
    for _ in 0..400 {
        let key = key(draw);
        database.run(|change| insert(change, tree, &key, &[7; 300]));
    }
    database
}

/// Changes a few bytes of a page so that it still keeps the rules of a page; whether that was possible.
fn damage(database: &mut Database, draw: &mut Stream) -> bool {
    let size = PageSize::KIB_4;
    let numbers: Vec<PageNumber> = database.pages.numbers().collect();
    let number = numbers[usize::try_from(draw.below(numbers.len() as u64)).unwrap()];
    let mut page = database.pages.bytes(number).to_vec();
    if draw.percent(20) {
        // Another page in its place.
        let other = numbers[usize::try_from(draw.below(numbers.len() as u64)).unwrap()];
        page = database.pages.bytes(other).to_vec();
    } else {
        let at = usize::try_from(match draw.percent(50) {
            true => 16 + draw.below(64),
            false => 16 + draw.below(4080),
        });
        let at = at.unwrap();
        for byte in page
            .iter_mut()
            .skip(at)
            .take(1 + usize::try_from(draw.below(4)).unwrap())
        {
            *byte = u8::try_from(draw.below(256)).unwrap();
        }
    }
    // What breaks a rule of its own is found when it is read.
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
                0 => database
                    .try_run(|change| insert(change, tree, &key, &[7; 300]))
                    .map(|_| ()),
                1 => database
                    .try_run(|change| scan(change, tree, &key))
                    .map(|_| ()),
                _ => take_one(&mut database, tree, &key),
            };
            found += u32::from(result.is_err());
        }
    }
    assert!(found > 100, "{found} damages found");
}

/// Goes twenty entries on.
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
