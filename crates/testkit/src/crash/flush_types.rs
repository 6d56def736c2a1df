//! An audit of all writes: two different consecutive writes of a page must differ in their flush
//! type.
//!
//! Only this lets a reader detect that the later one was lost, and crash images do not reveal a
//! violation, because a written page is there. A clean page that is written along to fill a gap may
//! keep its type, for its bytes are equal.
//!
//! The rule holds within the life of a process. Redo rebuilds a page from zeros when a log record
//! begins it, without knowing the type of the page on disk. So such pages count as unknown after a
//! crash.

use std::collections::BTreeMap;

use brunt_ese::format::page::PageFlags;
use brunt_units::{PageNumber, PageSize};
use brunt_world_virtual::Journal;
use brunt_world_virtual::journal::{Action, Content, Moment};

use super::Configuration;
use super::story::BEGAN;
use crate::tiny::database_path;

/// Offset of the page flags: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/cpage.hxx.
const FLAGS_AT: usize = 36;
/// The flush type is two bits of the flags.
const FLUSH_TYPE_SHIFT: u32 = 15;

/// Checks every write of every database.
///
/// # Errors
/// The first page that was written twice with the same flush type, in words.
pub fn audit(journal: &Journal, configuration: &Configuration) -> Result<(), String> {
    let size = configuration.page_size;
    for database in 0..configuration.databases {
        let file = journal.base().find(&database_path(database.into()));
        let mut last: BTreeMap<PageNumber, &[u8]> = BTreeMap::new();
        for moment in journal.moments() {
            let number = match moment {
                Moment::Submitted(number) => *number as usize,
                Moment::Marked(mark) if mark.what == BEGAN => {
                    last.clear();
                    continue;
                }
                Moment::Marked(_) | Moment::Completed(_) => continue,
            };
            let Some(Action::Write {
                file: written, offset, content: Content::Bytes(bytes), ..
            }) = &journal.actions()[number].action
            else {
                continue;
            };
            if file != Some(*written) {
                continue;
            }
            for (page, bytes) in pages(size, *offset, bytes) {
                let former = last.insert(page, bytes);
                if former.is_some_and(|former| repeats(former, bytes)) {
                    let kind = flush_type(bytes);
                    return Err(format!(
                        "page {page} of database {database} was written twice with flush type {kind}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Whether a write differs from the previous one but has the same flush type.
fn repeats(former: &[u8], bytes: &[u8]) -> bool {
    former != bytes && flush_type(former) == flush_type(bytes)
}

/// The pages that a write covers and that carry a flush type; headers do not.
fn pages(size: PageSize, offset: u64, bytes: &[u8]) -> impl Iterator<Item = (PageNumber, &[u8])> {
    let first = offset.div_euclid(size.bytes_u64());
    let slots = (first..).zip(bytes.chunks_exact(size.bytes()));
    slots.filter_map(|(slot, bytes)| {
        let number = u32::try_from(slot.checked_sub(1)?).ok()?;
        let has_type = number > 0 && flush_type(bytes) != 0;
        has_type.then_some((PageNumber(number), bytes))
    })
}

fn flush_type(page: &[u8]) -> u32 {
    let flags = page[FLAGS_AT..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let flags = PageFlags(flags.expect("a page is longer than its head"));
    (flags.0 >> FLUSH_TYPE_SHIFT) & 3
}
