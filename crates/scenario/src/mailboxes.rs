//! `[mailboxes]`: how large databases are and how hard they work, from the number of mailboxes.

use std::fmt::{self, Write};

use brunt_units::ByteSize;

use super::format::size;
use super::place::{Cause, Placed, Refusal};
use super::section::{self, Section};
use super::test::Test;

/// A mailbox profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Mailboxes {
    /// How many, on all databases together.
    pub count: u64,
    /// What each may hold.
    pub quota: Placed<ByteSize>,
    /// Database reads and writes per second of each.
    pub io_per_s: Placed<f64>,
}

const KEYS: [&str; 3] = ["count", "quota", "io_per_s"];

const COUNT_MAX: u64 = 100_000_000;

impl Mailboxes {
    /// Reads `[mailboxes]`, which give `test` its target.
    pub(super) fn read(top: &mut Section, test: &mut Test) -> Result<Option<Self>, Refusal> {
        let Some(node) = top.take("mailboxes") else {
            return Ok(None);
        };
        let section = &mut Section::new(node, "[mailboxes]", &KEYS)?;
        let count = section.read("count", |node| section::integer(node, 1..=COUNT_MAX))?;
        let count = count.ok_or_else(|| section.lacks("count", "count = 4000"))?;
        let quota = section.read("quota", section::size)?;
        let quota = quota.ok_or_else(|| section.lacks("quota", "quota = \"2 GiB\""))?;
        if quota.value.get() == 0 {
            let refusal = quota.place.refuse("mailboxes that hold nothing make no databases");
            let refusal = refusal.hint("for example: quota = \"2 GiB\"");
            return Err(refusal.because(Cause::Value));
        }
        let io_per_s = section.read("io_per_s", section::rate)?;
        let io_per_s = io_per_s.ok_or_else(|| section.lacks("io_per_s", "io_per_s = 0.12"))?;
        let mailboxes = Self { count: count.value, quota, io_per_s };
        let own = mailboxes.target();
        if own.value > section::RATE_MAX {
            return Err(section::too_much(&own.place));
        }
        if let Some(target) = &test.target_io_per_s {
            let refusal = target.place.refuse("is a second target beside that of the mailboxes");
            return Err(refusal.hint("keep `target_io_per_s` or the table [mailboxes]"));
        }
        if test.operations_per_s.is_some() {
            let what = "the mailboxes pace the sessions, and so does `operations_per_s`";
            return Err(section.place().refuse(what));
        }
        test.target_io_per_s = Some(own);
        Ok(Some(mailboxes))
    }

    /// Writes `[mailboxes]`.
    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\n[mailboxes]\ncount = {}", self.count)?;
        writeln!(out, "quota = {}", size(self.quota.value))?;
        writeln!(out, "io_per_s = {:?}", self.io_per_s.value)
    }

    /// The size of each database when there are this many.
    pub(super) fn database_size(&self, databases: u64) -> ByteSize {
        let all = u128::from(self.count) * u128::from(self.quota.value.get());
        let each = all.div_ceil(u128::from(databases.max(1)));
        ByteSize::bytes(u64::try_from(each).unwrap_or(u64::MAX))
    }

    /// What all of them ask for.
    #[expect(clippy::cast_precision_loss, reason = "mailboxes are far below 2^53")]
    fn target(&self) -> Placed<f64> {
        Placed {
            value: self.count as f64 * self.io_per_s.value,
            place: self.io_per_s.place.clone(),
        }
    }
}
