//! Claims of open transactions on one leaf: see [`crate::page::Claims`].

use brunt_units::PageNumber;
use smallvec::SmallVec;

use super::search::Search;
use super::{TreeId, node_at, order};
use crate::format::page::{Page, PageFlags};
use crate::page::{Change, Need, Pages};

/// Bytes by which nodes of a leaf may have to grow again.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    /// A node's index and how much longer it may become. A replaced entry has its key stored whole,
    /// so only its data counts.
    nodes: SmallVec<[(usize, usize); 4]>,
}

impl Claimed {
    /// The claims on page `number` of `tree`; none on a branch page.
    pub(super) fn on<P: Pages>(
        change: &Change<'_, P>,
        tree: TreeId,
        page: Page<'_>,
        number: PageNumber,
    ) -> Result<Self, Need> {
        let mut claimed = Self::default();
        let claims = change.claims();
        let Some(claims) = claims.filter(|claims| !claims.is_free(tree.root)) else {
            return Ok(claimed);
        };
        let count = page.node_count();
        let by_key = page.flags().has(PageFlags::LEAF) && !order::is_by_data(page);
        if count == 0 || !by_key {
            return Ok(claimed);
        }
        let key_at = |index| node_at(page, number, index).map(|node| node.key.to_vec());
        let (first, last) = (key_at(0)?, key_at(count - 1)?);
        for (key, bytes) in claims.between(tree.root, &first, &last) {
            let index = Search::new(page, false, key).first_not_below(count);
            let index = index.map_err(|_| Need::Repair(number))?;
            let node = node_at(page, number, index.min(count - 1))?;
            let more = bytes.saturating_sub(node.data.len());
            // If the entry is not there, the pages contradict the log.
            if more > 0 && order::compare(node, false, key).is_eq() {
                claimed.nodes.push((index, more));
            }
        }
        Ok(claimed)
    }

    /// How much node `index` may grow.
    pub(super) fn by(&self, index: usize) -> usize {
        let node = self.nodes.iter().find(|(claimed, _)| *claimed == index);
        node.map_or(0, |(_, bytes)| *bytes)
    }

    /// How much the nodes from `index` on may grow.
    pub(super) fn from(&self, index: usize) -> usize {
        let nodes = self.nodes.iter().filter(|(claimed, _)| *claimed >= index);
        nodes.map(|(_, bytes)| bytes).sum()
    }

    /// How much all nodes may grow.
    pub(super) fn all(&self) -> usize {
        self.from(0)
    }
}
