//! Cross-references between pages, and whether both sides agree.
//!
//! An intact but outdated page, whose last write was lost, shows up where another page was written
//! since:
//!
//! | one side | the other |
//! | --- | --- |
//! | a leaf names the next leaf | that leaf names its previous one |
//! | a branch page points to a child | every page except a root is a child of one |
//! | a record of `Messages` has an entry in its index | the entry exists |
//! | a record has a separate body | the long value exists |
//! | a long value has a length | its chunks follow one another up to there |
//!
//! Memory does not grow with the file. Both sides of a claim have the same 64-bit number. One adds
//! it to one of [`SUMS`] sums, the other subtracts it. If everything agrees, all sums are zero in
//! the end, and that is the only cost. If one is not, the file is read once more and the claims of
//! some such sums are collected, which identifies the pages. It remains unknown which of two pages
//! is outdated; both are named.
//!
//! Only databases of ours are checked, if closed and without other damage: the neighbours of every
//! bad page would miss it, recovery may still have to write one side, and other programs leave
//! remnants of removed trees.

use std::collections::BTreeMap;

use brunt_units::PageNumber;

use super::report::Contradiction;
use super::tree::Trees;
use crate::format::catalog::CatalogRow;
use crate::format::catalog::schema::Table;
use crate::format::catalog::system::CATALOG_ROOT;
use crate::format::long_value::{LongValueId, LongValueKey, LongValueRoot};
use crate::format::node::Key;
use crate::format::page::{Page, PageFlags};
use crate::table::Messages;
use crate::table::message::{Body, Message};

/// Number of sums that claims are distributed over.
const SUMS: usize = 4096;
/// Sums whose claims the second pass collects: enough for a few pages, and at most a sixty-fourth
/// of the claims.
const COLLECTED_SUMS: usize = 64;

/// One side of a claim.
struct Claim {
    what: Contradiction,
    number: u64,
    /// Whether this side adds or subtracts.
    adds: bool,
}

/// The sums of claims.
pub(super) struct Neighbours {
    sums: Vec<u64>,
    messages: Option<Messages>,
}

impl Neighbours {
    /// No claims yet. The catalog names the trees whose content is compared.
    pub(super) async fn of(trees: &Trees<'_>) -> Self {
        let mut rows = Vec::new();
        // An unreadable catalog has findings of its own.
        let read = trees.leaves(CATALOG_ROOT, |node| {
            rows.extend(CatalogRow::decode(node.data, trees.size));
        });
        let tables = read.await.ok().and_then(|()| Table::from_rows(&rows).ok());
        Self { sums: vec![0; SUMS], messages: tables.and_then(|tables| Messages::among(&tables)) }
    }

    /// Records the claims of a valid page.
    pub(super) fn visit(&mut self, page: Page<'_>, number: PageNumber) {
        let Self { sums, messages } = self;
        claims(page, number, messages.as_ref(), |claim| {
            let sum = &mut sums[place(claim.number)];
            *sum = match claim.adds {
                true => sum.wrapping_add(claim.number),
                false => sum.wrapping_sub(claim.number),
            };
        });
    }

    /// The second pass to run if there was a contradiction; it must [visit](Inquiry::visit) the same
    /// pages again.
    pub(super) fn inquiry(self) -> Option<Inquiry> {
        let odd = (0..SUMS).filter(|at| self.sums[*at] != 0);
        let odd: Vec<usize> = odd.take(COLLECTED_SUMS).collect();
        (!odd.is_empty()).then(|| Inquiry { odd, messages: self.messages, claims: BTreeMap::new() })
    }
}

/// The second pass, which identifies contradicting pages.
pub(super) struct Inquiry {
    /// Indices of the nonzero sums, ascending.
    odd: Vec<usize>,
    messages: Option<Messages>,
    /// By number: how much more often one side claims it than the other, its kind, and the last
    /// page to claim it.
    claims: BTreeMap<u64, (i64, Contradiction, PageNumber)>,
}

impl Inquiry {
    /// Collects the claims of a valid page that belong to nonzero sums.
    pub(super) fn visit(&mut self, page: Page<'_>, number: PageNumber) {
        let Self { odd, messages, claims: found } = self;
        claims(page, number, messages.as_ref(), |claim| {
            if odd.binary_search(&place(claim.number)).is_err() {
                return;
            }
            let first = (0, claim.what, number);
            let (balance, _, by) = found.entry(claim.number).or_insert(first);
            *balance += if claim.adds { 1 } else { -1 };
            *by = number;
        });
    }

    /// The contradicted pages, ascending, and in what.
    pub(super) fn contradicted(self) -> BTreeMap<PageNumber, Contradiction> {
        let claims = self.claims.into_values();
        let odd = claims.filter(|(balance, _, _)| *balance != 0);
        odd.map(|(_, what, page)| (page, what)).collect()
    }
}

/// The sum that a claim belongs to.
fn place(number: u64) -> usize {
    usize::try_from(number >> (u64::BITS - SUMS.ilog2())).expect("12 bits")
}

/// Calls `visit` with all claims of a page about others.
fn claims(
    page: Page<'_>,
    number: PageNumber,
    messages: Option<&Messages>,
    mut visit: impl FnMut(Claim),
) {
    let flags = page.flags();
    if flags.has(PageFlags::EMPTY) {
        return;
    }
    let mut say = |what, number, adds| visit(Claim { what, number, adds });
    let tree = u64::from(page.object().0) << 32 | u64::from(flags.kind().0);
    let is_leaf = flags.has(PageFlags::LEAF);
    let link = |from: PageNumber, to: PageNumber| {
        let pages = u64::from(from.0) << 32 | u64::from(to.0);
        number_of(Contradiction::Order, [tree, pages])
    };
    if page.next().is_some() {
        say(Contradiction::Order, link(number, page.next()), true);
    }
    if page.previous().is_some() {
        say(Contradiction::Order, link(page.previous(), number), false);
    }
    let child = |page: PageNumber, is_leaf: bool| {
        let page = u64::from(page.0) << 1 | u64::from(is_leaf);
        number_of(Contradiction::Child, [tree, page])
    };
    if !flags.has(PageFlags::ROOT) {
        say(Contradiction::Child, child(number, is_leaf), false);
    }
    let nodes = page.nodes().flatten().filter(|node| !node.is_deleted());
    if !is_leaf {
        let are_leaves = flags.has(PageFlags::PARENT_OF_LEAF);
        for below in nodes.filter_map(|node| node.child()) {
            say(Contradiction::Child, child(below, are_leaves), true);
        }
        return;
    }
    let Some(messages) = messages.filter(|_| !flags.has(PageFlags::SPACE_TREE)) else {
        return;
    };
    if page.object() == messages.records.object {
        let records = nodes.filter_map(|node| Message::decode(node.data, page.size()).ok());
        for message in records {
            let (key, data) = (message.received_key(), message.primary_key());
            let entry = entry(Key::whole(&key), &data);
            say(Contradiction::Index, entry, true);
            if let Body::Apart(id) = message.body {
                say(Contradiction::LongValue, long_value(id, None), true);
            }
        }
    } else if page.object() == messages.by_received.object {
        for node in nodes {
            say(Contradiction::Index, entry(node.key, node.data), false);
        }
    } else if page.object() == messages.bodies.object {
        for node in nodes {
            // A chain from the root's length down to zero, with each chunk as a link.
            let mut chain = |id, at, adds| {
                let number = long_value(id, Some(at));
                say(Contradiction::LongValue, number, adds);
            };
            match LongValueKey::from_key(node.key) {
                Some(LongValueKey::Root(id)) => {
                    let bytes = LongValueRoot::from_bytes(node.data).map_or(0, |root| root.bytes);
                    chain(id, bytes, true);
                    chain(id, 0, false);
                    say(Contradiction::LongValue, long_value(id, None), false);
                }
                Some(LongValueKey::Chunk(id, at)) => {
                    let bytes = u32::try_from(node.data.len()).expect("a page is small");
                    chain(id, at, true);
                    chain(id, at.wrapping_add(bytes), false);
                }
                None => {}
            }
        }
    }
}

/// The number of an index entry.
fn entry(key: Key<'_>, data: &[u8]) -> u64 {
    let bytes = key.prefix.iter().chain(key.suffix).chain(data);
    // FNV-1a; the caller scatters it further.
    let hash = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    number_of(Contradiction::Index, [hash, 0])
}

/// The number of a long value, or of an offset in it.
fn long_value(id: LongValueId, at: Option<u32>) -> u64 {
    let at = at.map_or(0, |at| 1 << 32 | u64::from(at));
    number_of(Contradiction::LongValue, [u64::from(id.0), at])
}

/// A number that is unlikely to collide: the finaliser of MurmurHash3, word by word.
fn number_of(what: Contradiction, words: [u64; 2]) -> u64 {
    words.into_iter().fold(what as u64 + 1, |hash, word| {
        let mut mixed = (hash ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        mixed ^= mixed >> 33;
        mixed = mixed.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        mixed ^ mixed >> 29
    })
}
