//! `[throughput]`: how large databases are and how hard they work, as shares of what the storage
//! has.
//!
//! The share of the most is 100 % as usual: a closed loop, as fast as it goes. Below that the
//! maximum has to be known, and is found before the test, which is then paced at its share.

use super::keys::{At, Maybe, Whole, keys};
use super::mailboxes::Mailboxes;
use super::place::{Place, Placed, Refusal};
use super::section::Section;
use super::test::Test;

/// What `[throughput]` says: shares of each volume and of the maximum, in percent.
#[derive(Default)]
pub(super) struct Shares {
    pub(super) capacity: Option<Placed<u64>>,
    pub(super) throughput: Option<u32>,
}

keys! {
    THROUGHPUT of Shares = "[throughput]";
    /// The share of each volume that databases fill, in percent.
    capacity_percent: Option<Placed<u64>> = [capacity], Maybe(At(Whole(1..=100))), "100, or `database_size`";
    /// The share of the most I/O that has to pass, in percent.
    throughput_percent: Option<u32> = [throughput], Maybe(Whole(1..=100)), "100";
}

impl Shares {
    /// Reads `[throughput]`, and whether the share of the capacity was written.
    pub(super) fn read(
        top: &mut Section,
        mailboxes: Option<&Mailboxes>,
        test: &Test,
    ) -> (Self, bool) {
        let mut shares = Self::default();
        let Some(node) = top.take("throughput") else {
            return (shares, false);
        };
        let place = node.place.clone();
        shares.throughput = Some(100);
        let section = THROUGHPUT.read(node, &mut shares);
        if mailboxes.is_some() {
            let refusal = place.refuse("sizes come from the mailboxes already");
            section.refuse(refusal.hint("keep [mailboxes] or [throughput]"));
        } else if shares.throughput != Some(100) {
            let throughput = section.place_of("throughput_percent");
            section.sink().catch(check_pace(throughput, test));
        }
        let has_capacity = shares.capacity.is_some();
        shares.capacity.get_or_insert(Placed { value: 100, place });
        (shares, has_capacity)
    }

    /// Writes `[throughput]`, if there is something to write.
    pub(super) fn write(&self, out: &mut String) {
        if self.capacity.is_some() || self.throughput.is_some() {
            THROUGHPUT.write(self, out);
        }
    }
}

fn check_pace(place: &Place, test: &Test) -> Result<(), Refusal> {
    if !test.kind.has_limits() {
        return Err(
            place.refuse("only performance and stress tests are paced by a share of the maximum")
        );
    }
    if test.target_io_per_s.is_some() || test.operations_per_s.is_some() {
        let refusal = place.refuse("paces the sessions, and so does [test]");
        return Err(
            refusal.hint("keep `throughput_percent`, or `target_io_per_s` or `operations_per_s`")
        );
    }
    Ok(())
}
