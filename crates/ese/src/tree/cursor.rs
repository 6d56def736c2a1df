//! Traversing a tree in order.
//!
//! A cursor holds no page. It remembers the entry it returned last, and where. If that page has not
//! changed, the next entry is beside it; otherwise the cursor seeks. Every change stamps the pages
//! it touches, including those it empties, with a new database time, so an unchanged time means an
//! unchanged place.
//!
//! The cursor enforces the order of entries: links that lead back, or in circles, are reported as
//! damage.

use std::cmp::Ordering;

use brunt_units::{DatabaseTime, PageNumber};

use super::find::last_leaf;
use super::{TreeId, descend, load, node_at, order};
use crate::format::node::Key;
use crate::format::page::Page;
use crate::page::{Need, Pages};

/// A position on or between entries of a tree.
#[derive(Clone, Debug)]
pub struct Cursor {
    tree: TreeId,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// Before the first entry that is not below this sort key.
    Before(Vec<u8>),
    /// On the entry with this sort key, last seen there.
    On(Vec<u8>, Sighting),
    /// After all entries.
    End,
}

/// Where and when an entry was seen.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    page: PageNumber,
    index: usize,
    time: DatabaseTime,
}

/// The entry that a cursor has reached.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'p> {
    /// Its leaf page.
    pub page: PageNumber,
    pub key: Key<'p>,
    pub data: &'p [u8],
    /// Whether it is marked deleted.
    pub deleted: bool,
}

impl Cursor {
    /// A cursor before the first entry that is not below `key`, as in [`super::seek`].
    pub fn before(tree: TreeId, key: &[u8]) -> Self {
        Self { tree, place: Place::Before(key.to_vec()) }
    }

    /// A cursor after the last entry.
    pub fn at_end(tree: TreeId) -> Self {
        Self { tree, place: Place::End }
    }

    /// Moves to the next entry, marked deleted or not. `None` if there is none; the cursor is then
    /// at the end.
    ///
    /// # Errors
    /// [`Need::Page`], [`Need::Repair`]; the cursor stays in place.
    pub fn next<'p, P: Pages>(&mut self, pages: &'p P) -> Result<Option<Entry<'p>>, Need> {
        let (mut number, mut index) = match &self.place {
            Place::End => return Ok(None),
            Place::Before(key) => {
                let leaf = descend(pages, self.tree, key)?.leaf();
                (leaf.page, leaf.index)
            }
            Place::On(key, seen) => match self.still_there(pages, *seen)? {
                true => (seen.page, seen.index + 1),
                false => {
                    let descent = descend(pages, self.tree, key)?;
                    let leaf = descent.leaf();
                    (leaf.page, leaf.index + usize::from(descent.exact))
                }
            },
        };
        loop {
            let page = load(pages, self.tree, number)?;
            if index < page.node_count() {
                self.is_ahead(page, number, index, Ordering::Greater)?;
                return self.stand(page, number, index).map(Some);
            }
            self.has_nodes(page, number)?;
            (number, index) = (page.next(), 0);
            if !number.is_some() {
                self.place = Place::End;
                return Ok(None);
            }
        }
    }

    /// Moves to the previous entry, marked deleted or not. `None` if there is none; the cursor is
    /// then at the beginning.
    ///
    /// # Errors
    /// [`Need::Page`], [`Need::Repair`]; the cursor stays in place.
    pub fn previous<'p, P: Pages>(&mut self, pages: &'p P) -> Result<Option<Entry<'p>>, Need> {
        let (mut number, mut index) = match &self.place {
            Place::End => {
                let number = last_leaf(pages, self.tree)?;
                (number, load(pages, self.tree, number)?.node_count())
            }
            Place::On(_, seen) if self.still_there(pages, *seen)? => (seen.page, seen.index),
            Place::Before(key) | Place::On(key, _) => {
                let leaf = descend(pages, self.tree, key)?.leaf();
                (leaf.page, leaf.index)
            }
        };
        loop {
            let page = load(pages, self.tree, number)?;
            if index > 0 {
                self.is_ahead(page, number, index - 1, Ordering::Less)?;
                return self.stand(page, number, index - 1).map(Some);
            }
            number = page.previous();
            if !number.is_some() {
                self.place = Place::Before(Vec::new());
                return Ok(None);
            }
            let page = load(pages, self.tree, number)?;
            self.has_nodes(page, number)?;
            index = page.node_count();
        }
    }

    fn still_there<P: Pages>(&self, pages: &P, seen: Sighting) -> Result<bool, Need> {
        let page = Page::new(pages.resident(seen.page)?, pages.page_size());
        Ok(page.database_time() == seen.time)
    }

    /// Only a root may have no nodes; otherwise links could lead in circles.
    fn has_nodes(&self, page: Page<'_>, number: PageNumber) -> Result<(), Need> {
        match page.node_count() {
            0 if number != self.tree.root => Err(Need::Repair(number)),
            _ => Ok(()),
        }
    }

    /// The next node must be `ahead` of the cursor. After [`Place::Before`], it may also have
    /// exactly that key.
    fn is_ahead(
        &self,
        page: Page<'_>,
        number: PageNumber,
        index: usize,
        ahead: Ordering,
    ) -> Result<(), Need> {
        let (key, begins) = match &self.place {
            Place::End => return Ok(()),
            Place::Before(key) => (key, ahead == Ordering::Greater),
            Place::On(key, _) => (key, false),
        };
        let found = order::compare(node_at(page, number, index)?, order::is_by_data(page), key);
        match found == ahead || (begins && found == Ordering::Equal) {
            true => Ok(()),
            false => Err(Need::Repair(number)),
        }
    }

    fn stand<'p>(
        &mut self,
        page: Page<'p>,
        number: PageNumber,
        index: usize,
    ) -> Result<Entry<'p>, Need> {
        let node = node_at(page, number, index)?;
        let seen = Sighting { page: number, index, time: page.database_time() };
        self.place = Place::On(order::sort_key_of(node, order::is_by_data(page)), seen);
        Ok(Entry { page: number, key: node.key, data: node.data, deleted: node.is_deleted() })
    }
}
