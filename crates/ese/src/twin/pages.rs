//! The pages of an operation: made resident one after another, and pinned until they are changed.
//!
//! ```text
//!    read                branch, leaf
//!    delete, replace     leaf | end of the folder in the index | body
//!    insert              new pages of the body | leaf | on a split: new page, next leaf, branch | end of the folder
//!    remove              as a delete | if its leaf becomes empty: leaves on both sides, branch
//! ```

use brunt_units::PageNumber;
use smallvec::SmallVec;

use super::leaves::Leaf;
use super::supply::Taker;
use super::{TwinRecord, TwinTable};
use crate::cache::{Pin, Trust};
use crate::content::Ghost;
use crate::error::EngineError;
use crate::instance::Instance;

/// Pages that an operation will change, in the order it reached them, pinned.
#[derive(Default)]
pub(super) struct Held {
    pages: SmallVec<[PageNumber; 8]>,
    pins: SmallVec<[Pin<Ghost>; 8]>,
}

impl Held {
    fn take(&mut self, page: PageNumber, pin: Pin<Ghost>) {
        self.pages.push(page);
        self.pins.push(pin);
    }

    pub(super) fn pages(&self) -> &[PageNumber] {
        &self.pages
    }
}

impl TwinTable {
    /// The leaf of a record, pinned.
    pub(super) async fn descend(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
    ) -> Result<(Leaf, Pin<Ghost>), EngineError> {
        if self.layout.reads_branches {
            let branch = self.records.borrow().branch(self.find(record));
            self.fetch(instance, branch).await?;
        }
        // A split may have moved it in the meantime.
        let leaf = self.find(record);
        Ok((leaf, self.fetch(instance, leaf.page).await?))
    }

    fn find(&self, record: TwinRecord) -> Leaf {
        let inserted = record.number >= self.layout.records;
        self.records.borrow().find(record.key, inserted)
    }

    async fn fetch(
        &self,
        instance: &Instance<Ghost>,
        page: PageNumber,
    ) -> Result<Pin<Ghost>, EngineError> {
        instance.cache().fetch(self.number, page, Trust::Verified).await
    }

    /// Pins a page to change.
    async fn hold(
        &self,
        instance: &Instance<Ghost>,
        page: PageNumber,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        held.take(page, self.fetch(instance, page).await?);
        Ok(())
    }

    /// Pins a page to change without reading it.
    async fn claim(
        &self,
        instance: &Instance<Ghost>,
        page: PageNumber,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        held.take(page, instance.cache().claim(self.number, page).await?);
        Ok(())
    }

    /// Pins a branch page to change.
    async fn hold_branch(
        &self,
        instance: &Instance<Ghost>,
        branch: PageNumber,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        match self.layout.reads_branches {
            true => self.hold(instance, branch, held).await,
            false => self.claim(instance, branch, held).await,
        }
    }

    /// Pins the leaf of a record to change.
    pub(super) async fn leaf_of(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        held: &mut Held,
    ) -> Result<Leaf, EngineError> {
        let (leaf, pin) = self.descend(instance, record).await?;
        held.take(leaf.page, pin);
        Ok(leaf)
    }

    /// Pins all pages of an existing record, after waiting for room in the log.
    pub(super) async fn pages_of(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        head: PageNumber,
    ) -> Result<Held, EngineError> {
        instance.log().room().await?;
        let mut held = Held::default();
        self.leaf_of(instance, record, &mut held).await?;
        self.hold(instance, head, &mut held).await?;
        self.body_of(instance, record, &mut held).await?;
        Ok(held)
    }

    /// Pins the pages of a record's separate body: a run somewhere in their tree.
    pub(super) async fn body_of(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        let pages = self.layout.measure.body_pages(record.body);
        let (first, there) = self.bodies;
        if pages == 0.0 || there == 0 {
            return Ok(());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few pages")]
        let count = (pages.ceil() as u32).min(there);
        let at = (u128::from(record.key) * u128::from(there - count + 1)) >> 64;
        let at = first.after(u32::try_from(at).expect("below a 32-bit number"));
        for page in (0..count).map(|index| at.after(index)) {
            self.hold(instance, page, held).await?;
        }
        Ok(())
    }

    /// Allocates a new page for a tree.
    pub(super) async fn fresh(
        &self,
        instance: &Instance<Ghost>,
        taker: Taker,
        held: &mut Held,
    ) -> Result<PageNumber, EngineError> {
        loop {
            let pages = instance.0.database(self.database).pages.get();
            let taken = self.supply.borrow_mut().take(taker, pages);
            if let Some(page) = taken {
                self.claim(instance, page, held).await?;
                return Ok(page);
            }
            self.grow(instance).await?;
        }
    }

    /// Splits a leaf: a new page, the link of the next leaf, and the branch page above.
    pub(super) async fn split(
        &self,
        instance: &Instance<Ghost>,
        leaf: Leaf,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        let new = self.fresh(instance, Taker::Records, held).await?;
        let (behind, branch) = {
            let records = self.records.borrow();
            (records.behind(leaf), records.branch(leaf))
        };
        if let Some(behind) = behind {
            self.hold(instance, behind, held).await?;
        }
        self.hold_branch(instance, branch, held).await?;
        self.records.borrow_mut().split(leaf, new);
        Ok(())
    }

    /// Removes the empty leaf of a record: the links of the leaves on both sides, and the branch
    /// page above.
    pub(super) async fn unlink(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        let leaf = self.find(record);
        let (beside, branch) = {
            let mut records = self.records.borrow_mut();
            let beside = [records.before(leaf), records.behind(leaf)];
            records.unlink(leaf);
            (beside, records.branch(leaf))
        };
        self.supply.borrow_mut().give_back(leaf.page);
        for page in beside.into_iter().flatten() {
            self.hold(instance, page, held).await?;
        }
        self.hold_branch(instance, branch, held).await
    }

    /// Inserts the entry of record `number` into the index; returns the additional log if its page
    /// splits.
    pub(super) async fn enter(
        &self,
        instance: &Instance<Ghost>,
        number: u64,
        held: &mut Held,
    ) -> Result<usize, EngineError> {
        let tail = self.ends.borrow().tail(number);
        self.hold(instance, tail, held).await?;
        if !self.ends.borrow_mut().insert(number) {
            return Ok(0);
        }
        let page = self.fresh(instance, Taker::Index, held).await?;
        self.ends.borrow_mut().split(number, page);
        let measure = &self.layout.measure;
        Ok(measure.split_log(measure.index_cost()))
    }
}
