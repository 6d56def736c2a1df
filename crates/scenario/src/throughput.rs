//! `[throughput]`: how large databases are and how hard they work, as shares of what the storage
//! has.
//!
//! The share of the most is 100 % as usual: a closed loop, as fast as it goes. Below that the
//! maximum has to be known, and is found before the test, which is then paced at its share.

use std::fmt::{self, Write};

use super::mailboxes::Mailboxes;
use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::test::Test;

const KEYS: [&str; 2] = ["capacity_percent", "throughput_percent"];

/// What `[throughput]` says.
pub(super) struct Shares {
    /// The share of each volume, in percent.
    pub(super) capacity: Placed<u64>,
    /// Whether it was written.
    pub(super) has_capacity: bool,
    /// The share of the maximum, in percent.
    pub(super) throughput: Placed<u64>,
}

impl Shares {
    /// Reads `[throughput]`.
    pub(super) fn read(
        top: &mut Section,
        mailboxes: Option<&Mailboxes>,
        test: &Test,
    ) -> Result<Option<Self>, Refusal> {
        let Some(node) = top.take("throughput") else {
            return Ok(None);
        };
        let mut section = Section::new(node, "[throughput]", &KEYS)?;
        let place = section.place().clone();
        if mailboxes.is_some() {
            let refusal = place.refuse("sizes come from the mailboxes already");
            return Err(refusal.hint("keep [mailboxes] or [throughput]"));
        }
        let percent = |node: &_| section::integer(node, 1..=100);
        let capacity = section.read("capacity_percent", percent)?;
        let throughput = section.read_or("throughput_percent", 100, percent)?;
        if throughput.value < 100 {
            check_pace(&throughput, test)?;
        }
        Ok(Some(Self {
            has_capacity: capacity.is_some(),
            capacity: capacity.unwrap_or(Placed { value: 100, place }),
            throughput,
        }))
    }
}

fn check_pace(throughput: &Placed<u64>, test: &Test) -> Result<(), Refusal> {
    let place = &throughput.place;
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

/// Writes `[throughput]`, if there is something to write.
pub(super) fn write(
    capacity: Option<u64>,
    throughput: Option<u32>,
    out: &mut String,
) -> fmt::Result {
    if capacity.is_none() && throughput.is_none() {
        return Ok(());
    }
    writeln!(out, "\n[throughput]")?;
    if let Some(percent) = capacity {
        writeln!(out, "capacity_percent = {percent}")?;
    }
    if let Some(percent) = throughput {
        writeln!(out, "throughput_percent = {percent}")?;
    }
    Ok(())
}
