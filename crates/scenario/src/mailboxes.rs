//! `[mailboxes]`: how large databases are and how hard they work, from the number of mailboxes.

use brunt_units::ByteSize;

use super::keys::{At, RATE, Whole, keys, sized};
use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::test::Test;
use super::tree::Node;

keys! {
    /// A mailbox profile: a field for each key of [`MAILBOXES`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct Mailboxes; MAILBOXES = "[mailboxes]";
    /// How many, on all databases together.
    count: u64 = 1, Whole(1..=COUNT_MAX), needs "count = 4000";
    /// What each may hold.
    quota: Placed<ByteSize> = Placed::unwritten(ByteSize::gib(2)), At(sized(read_quota, "size above 0")), needs "quota = \"2 GiB\"";
    /// Database reads and writes per second of each.
    io_per_s: Placed<f64> = Placed::unwritten(1.0), At(RATE), needs "io_per_s = 0.12";
}

const COUNT_MAX: u64 = 100_000_000;

impl Mailboxes {
    /// Reads `[mailboxes]`, which give `test` its target.
    pub(super) fn read(top: &mut Section, test: &mut Test) -> Option<Self> {
        let node = top.take("mailboxes")?;
        let mut mailboxes = Self::default();
        let section = MAILBOXES.read(node, &mut mailboxes);
        let own = mailboxes.target();
        if own.value > section::RATE_MAX {
            section.refuse(section::too_much(&own.place));
        }
        if let Some(target) = &test.target_io_per_s {
            let refusal = target.place.refuse("is a second target beside that of the mailboxes");
            section.refuse(refusal.hint("keep `target_io_per_s` or the table [mailboxes]"));
        }
        if test.operations_per_s.is_some() {
            let what = "the mailboxes pace the sessions, and so does `operations_per_s`";
            section.refuse(section.place().refuse(what));
        }
        test.target_io_per_s = Some(own);
        Some(mailboxes)
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

fn read_quota(node: &Node) -> Result<ByteSize, Refusal> {
    match section::size(node)? {
        size if size.get() > 0 => Ok(size),
        _ => {
            let refusal = node.place.refuse("mailboxes that hold nothing make no databases");
            Err(refusal.hint("for example: quota = \"2 GiB\""))
        }
    }
}
