//! Space trees that claim pages beyond the file: the result is a need to repair, and the file does
//! not grow for it.
//!
//! Found by the fuzz target `messages`: a last owned page far beyond the end of the file, up to
//! which the file was then filled with zeros.

use brunt_units::{PageNumber, PageSize};

use super::*;
use crate::format::page_builder::PageBuilder;
use crate::format::space::Extent;
use crate::page::Change;
use crate::page::memory::MemoryPages;
use crate::tree::testing::{Database, Plan};
use crate::tree::{Step, insert};

/// The last page of the file.
const LAST: PageNumber = PageNumber(24);
/// Space trees of the tree under test.
const OWNED_ROOT: PageNumber = PageNumber(5);
const AVAILABLE_ROOT: PageNumber = PageNumber(6);

fn database() -> Database {
    let plan = Plan { parent: TreeId::DATABASE, flags: crate::format::page::PageFlags(0) };
    let mut database = Database::new(PageSize::KIB_4, &[plan]);
    database.pages.end_behind(LAST);
    database
}

/// Rewrites the root of a space tree.
fn write(database: &mut Database, root: PageNumber, buffer: &[u8], extents: &[Extent]) {
    let old = Page::new(database.pages.bytes(root), PageSize::KIB_4);
    let mut page = PageBuilder::new(PageSize::KIB_4, old.object());
    page.flags = old.flags();
    page.header = buffer.to_vec();
    for extent in extents {
        page.push(&extent.key(), &extent.data());
    }
    database.pages.put(root, page.seal(root));
}

/// Inserts entries into the tree until one fails; returns the page to be repaired.
fn fill(database: &mut Database) -> PageNumber {
    let tree = database.trees[0];
    for key in 0..100_u32 {
        let put = |change: &mut Change<'_, MemoryPages>| {
            insert(change, tree, &key.to_be_bytes(), &[5; 1500])
        };
        if let Err(page) = database.try_run(put) {
            return page;
        }
    }
    panic!("more pages than the file has");
}

#[test]
fn no_page_is_taken_from_behind_the_end_of_the_file() {
    let mut database = database();
    let beyond = Extent::starting_at(PageNumber(20), 6);
    write(&mut database, AVAILABLE_ROOT, &[0; 16], &[beyond]);
    assert_eq!(fill(&mut database), AVAILABLE_ROOT);
    assert_eq!(database.growths, 0);
}

#[test]
fn no_split_buffer_holds_a_page_behind_the_end_of_the_file() {
    let mut database = database();
    let mut buffer = SplitBuffer::default();
    buffer.put(LAST.after(1));
    let within = Extent::starting_at(PageNumber(12), 12);
    write(&mut database, AVAILABLE_ROOT, &buffer.to_bytes(), &[within]);
    assert_eq!(fill(&mut database), AVAILABLE_ROOT);
    assert_eq!(database.growths, 0);
}

#[test]
fn what_a_database_owns_ends_with_its_file() {
    let mut database = database();
    assert_eq!(database.look(last_page), PageNumber(6));
    let root = PageNumber(2);
    let all = Extent::starting_at(PageNumber(1), LAST.0);
    write(&mut database, root, &[0; 16], &[all]);
    assert_eq!(database.look(last_page), LAST);
    let more = Extent::starting_at(PageNumber(1), LAST.0 + 1);
    write(&mut database, root, &[0; 16], &[more]);
    assert_eq!(last_page(&database.pages), Err(Need::Repair(root)));
}

#[test]
fn space_trees_that_lead_round_in_circles_or_backwards_are_damaged() {
    let mut database = database();
    let tree = TreeId { root: OWNED_ROOT, ..database.trees[0] };
    let mut count = |extents: &[Extent]| {
        write(&mut database, OWNED_ROOT, &[0; 16], extents);
        Extents::of(&database.pages, tree)?.sum()
    };
    let (four, ten) = (PageNumber(4), PageNumber(10));
    let extents = [Extent::starting_at(four, 3), Extent::starting_at(ten, 2)];
    assert_eq!(count(&extents), Ok(5));
    let overlapping = [Extent::starting_at(four, 7), Extent::starting_at(ten, 2)];
    assert_eq!(count(&overlapping), Err(Need::Repair(OWNED_ROOT)));
}

#[test]
fn a_neighbour_that_is_no_extent_is_noticed_before_anything_is_written() {
    let mut database = database();
    let tree = database.trees[0];
    let old = Page::new(database.pages.bytes(AVAILABLE_ROOT), PageSize::KIB_4);
    let mut page = PageBuilder::new(PageSize::KIB_4, old.object());
    page.flags = old.flags();
    page.header = vec![0; 16];
    page.push(&11_u32.to_be_bytes(), &[1, 0, 0]);
    database.pages.put(AVAILABLE_ROOT, page.seal(AVAILABLE_ROOT));
    let freed = database.try_run(|change| {
        let Step::Done(()) = prepare_free(change, tree, &[PageNumber(12)])? else {
            return Ok(Step::Again);
        };
        free(change, tree, PageNumber(12));
        Ok(Step::Done(()))
    });
    assert_eq!(freed, Err(AVAILABLE_ROOT));
}

#[test]
fn only_the_database_root_has_no_parent() {
    let mut database = database();
    let tree = database.trees[0];
    for (root, parent) in [(tree.root, 0_u32), (PageNumber(1), 4)] {
        let sound = database.pages.bytes(root).to_vec();
        let page = Page::new(&sound, PageSize::KIB_4);
        let header = page.item(0).unwrap().as_ptr().addr() - sound.as_ptr().addr();
        let mut bytes = sound.clone();
        bytes[header + 4..header + 8].copy_from_slice(&parent.to_le_bytes());
        database.pages.put(root, bytes);
        assert_eq!(fill(&mut database), root);
        assert_eq!(database.growths, 0);
        database.pages.put(root, sound);
    }
}
