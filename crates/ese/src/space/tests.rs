//! Space trees that grow large and shrink again, with every page accounted for.

use brunt_units::PageSize;

use super::*;
use crate::format::page::PageFlags;
use crate::tree::testing::{Database, Plan};
use crate::tree::{Step, insert, levels, remove, shrink};

fn plan() -> Plan {
    Plan { parent: TreeId::DATABASE, flags: PageFlags(0) }
}

/// Entries of one page each; every second one is removed, so that no two free pages are adjacent.
#[test]
fn scattered_pages_are_free_and_used_again() {
    let mut database = Database::new(PageSize::KIB_4, &[plan()]);
    let tree = database.trees[0];
    let data = [5; 3000];
    let put = |database: &mut Database, key: u32| {
        database.run(|change| insert(change, tree, &key.to_be_bytes(), &data));
    };
    let take = |database: &mut Database, key: u32| {
        database.run(|change| remove(change, tree, &key.to_be_bytes()));
        database.run(|change| shrink(change, tree, &key.to_be_bytes()));
    };
    for key in 0..2000 {
        put(&mut database, key);
    }
    let last = database.look(last_page);
    for key in (0..2000).step_by(2) {
        take(&mut database, key);
        if key % 200 == 0 {
            database.check();
        }
    }
    let space = database.look(|pages| Space::of(pages, tree));
    let available = database.look(|pages| levels(pages, space.available));
    assert!(available > 1, "a thousand scattered pages take several leaves");
    for key in (0..2000).step_by(2) {
        put(&mut database, key);
        if key % 200 == 0 {
            database.check();
        }
    }
    // The space trees themselves took a few.
    assert!(database.look(last_page).0 <= last.0 + 64);
    for key in 0..2000 {
        take(&mut database, key);
    }
    assert_eq!(database.check()[0].pages, 1);
}

/// Two trees alternately take single pages, so that neither owns adjacent ones.
#[test]
fn many_small_extents_make_the_owned_tree_high() {
    let mut database = Database::new(PageSize::KIB_4, &[plan(), plan()]);
    let trees = database.trees.clone();
    for round in 0..700 {
        for &tree in &trees {
            let mut owned = None;
            database.run(|change| {
                let space = Space::of(change.pages(), tree)?;
                let now = Extents::of(change.pages(), space.owned)?.sum()?;
                if *owned.get_or_insert(now) < now {
                    return Ok(Step::Done(()));
                }
                obtain(change, tree, 1)?;
                Ok(Step::Again)
            });
        }
        if round % 100 == 0 {
            database.pages.evict_all();
            database.check();
        }
    }
    database.check();
    let space = database.look(|pages| Space::of(pages, trees[0]));
    assert_eq!(database.look(|pages| levels(pages, space.owned)), 2);
}
