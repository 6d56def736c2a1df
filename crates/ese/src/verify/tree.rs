//! Reading trees from a file that may be damaged.
//!
//! A page is accepted only if its checksum is right (or repairs it), it belongs to the tree, and it
//! was not visited before. So a walk ends, whatever the bytes.

use brunt_units::{PageNumber, PageSize};
use brunt_world::IoError;

use super::page_set::PageSet;
use super::source::Source;
use crate::format::checksum::{Diagnosis, diagnose};
use crate::format::node::Node;
use crate::format::page::{Page, PageError, PageFlags};

/// Why a tree cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TreeTrouble {
    #[error("page {0} is not in the file")]
    Outside(PageNumber),
    #[error("page {0} is bad")]
    Bad(PageNumber),
    #[error("page {0} cannot be read: {1}")]
    Read(PageNumber, IoError),
    #[error("page {0} belongs to another tree")]
    OtherTree(PageNumber),
    #[error("page {0} is reached twice")]
    Twice(PageNumber),
    #[error("page {0}: {1}")]
    Page(PageNumber, PageError),
}

impl TreeTrouble {
    /// The page that could not be followed.
    pub(super) fn page(self) -> PageNumber {
        match self {
            Self::Outside(page)
            | Self::Bad(page)
            | Self::Read(page, _)
            | Self::OtherTree(page)
            | Self::Twice(page)
            | Self::Page(page, _) => page,
        }
    }
}

/// Reads single pages of a file.
pub(super) struct Trees<'s> {
    pub(super) source: &'s Source,
    pub(super) size: PageSize,
    /// Number of pages in the file, from 1.
    pub(super) pages: u32,
}

impl Trees<'_> {
    /// The valid bytes of a page.
    pub(super) async fn page(&self, number: PageNumber) -> Result<Vec<u8>, TreeTrouble> {
        if !number.is_some() || number.0 > self.pages {
            return Err(TreeTrouble::Outside(number));
        }
        let read = self.source.read(number.offset(self.size), self.size.bytes());
        let frame = read.await.map_err(|error| TreeTrouble::Read(number, error))?;
        let mut bytes = frame.to_vec();
        match diagnose(&bytes, self.size, number) {
            Diagnosis::Sound => {}
            Diagnosis::Correctable(flips) => flips.repair(&mut bytes),
            Diagnosis::Uninitialised | Diagnosis::OtherNumber(_) | Diagnosis::Damaged => {
                return Err(TreeTrouble::Bad(number));
            }
        }
        Ok(bytes)
    }

    /// Calls `visit` with each node of the tree's leaves in order, except deleted ones.
    pub(super) async fn leaves(
        &self,
        root: PageNumber,
        mut visit: impl FnMut(Node<'_>),
    ) -> Result<(), TreeTrouble> {
        let mut visited = PageSet::new(self.pages);
        let mut number = root;
        let mut object = None;
        loop {
            if !visited.insert(number) && visited.contains(number) {
                return Err(TreeTrouble::Twice(number));
            }
            let bytes = self.page(number).await?;
            let page = Page::new(&bytes, self.size);
            if *object.get_or_insert(page.object()) != page.object() {
                return Err(TreeTrouble::OtherTree(number));
            }
            if !page.flags().has(PageFlags::LEAF) {
                let first = page.node(0).map_err(|error| TreeTrouble::Page(number, error))?;
                number = first.child().ok_or(TreeTrouble::Bad(number))?;
                continue;
            }
            for node in page.nodes() {
                let node = node.map_err(|error| TreeTrouble::Page(number, error))?;
                if !node.is_deleted() {
                    visit(node);
                }
            }
            number = page.next();
            if !number.is_some() {
                return Ok(());
            }
        }
    }

    /// Calls `visit` with every child that a branch page of the tree points to.
    pub(super) async fn children(
        &self,
        root: PageNumber,
        mut visit: impl FnMut(PageNumber),
    ) -> Result<(), TreeTrouble> {
        let mut visited = PageSet::new(self.pages);
        let mut waiting = vec![root];
        while let Some(number) = waiting.pop() {
            if !visited.insert(number) {
                return Err(TreeTrouble::Twice(number));
            }
            let bytes = self.page(number).await?;
            let page = Page::new(&bytes, self.size);
            if page.flags().has(PageFlags::LEAF) {
                continue;
            }
            for node in page.nodes() {
                let node = node.map_err(|error| TreeTrouble::Page(number, error))?;
                let child = node.child().ok_or(TreeTrouble::Bad(number))?;
                visit(child);
                if !page.flags().has(PageFlags::PARENT_OF_LEAF) {
                    waiting.push(child);
                }
            }
        }
        Ok(())
    }
}
