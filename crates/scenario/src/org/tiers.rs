//! `[mailboxes]` and `[[tier]]`: kinds of users.

use brunt_units::ByteSize;

use super::super::keys::{At, Maybe, NAME, RATE, keys, number, own, sized};
use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::figures::up_to;

keys! {
    /// A kind of users: a field for each key of [`TIER`].
    #[derive(Clone, Debug)]
    pub struct Tier; TIER = "[[tier]]";
    /// What they are called.
    name: String = String::new(), NAME, "`\"mailboxes\"`, or `\"tier 1\"` and so on";
    /// How many mailboxes.
    count: Placed<u64> = Placed::unwritten(1), At(own(read_count, "1 to 100000000")), needs "count = 4000";
    /// What each mailbox may hold.
    quota: Placed<ByteSize> = Placed::unwritten(ByteSize::gib(1)), At(sized(read_quota, "size above 0")), needs "quota = \"2 GiB\"";
    /// Messages that each sends and receives in a day; has to be there without `io_per_s`.
    messages_per_day: Option<Placed<f64>> = None, Maybe(At(number(read_messages, "number above 0"))), "not known";
    /// Database reads and writes per second of each, if they were measured.
    io_per_s: Option<Placed<f64>> = None, Maybe(At(RATE)), "by messages";
    /// How large a message is on average.
    message_size: Option<Placed<ByteSize>> = None, Maybe(At(sized(read_message_size, "size, up to 1 GiB"))), "by version";
}

const COUNT_MAX: u64 = 100_000_000;
/// More than one a second, all day.
const MESSAGES_MAX: f64 = 100_000.0;
const QUOTA_MAX: ByteSize = ByteSize::gib(100 << 10);
const EXAMPLE: &str = "[mailboxes]\ncount = 4000\nquota = \"2 GiB\"\nmessages_per_day = 100";

/// Reads the kinds of users.
pub(super) fn read(top: &mut Section) -> Vec<Tier> {
    if top.has("tier") && top.take("mailboxes").is_some() {
        let refusal =
            top.place_of("tier").refuse("mailboxes are counted twice, here and in [mailboxes]");
        top.refuse(refusal.hint("keep [mailboxes] or [[tier]]"));
    }
    if !top.has("tier") {
        return vec![read_one(top.needed("mailboxes", EXAMPLE), "[mailboxes]", "mailboxes")];
    }
    let mut read: Vec<Tier> = Vec::new();
    for (number, node) in (1..).zip(top.tables("tier")) {
        let place = node.place.clone();
        let tier = read_one(node, "[[tier]]", &format!("tier {number}"));
        if read.iter().any(|other| other.name == tier.name) {
            top.refuse(place.refuse(format!("there are two tiers called \"{}\"", tier.name)));
        }
        read.push(tier);
    }
    read
}

fn read_one(node: Node, title: &'static str, usual: &str) -> Tier {
    let mut tier = Tier { name: usual.to_owned(), ..Tier::default() };
    let section = TIER.titled(title).read(node, &mut tier);
    if tier.messages_per_day.is_none() && tier.io_per_s.is_none() {
        let refusal = section.lacks("messages_per_day", "messages_per_day = 100");
        let hint = "sent and received together; or `io_per_s`, if it was measured";
        section.refuse(refusal.hint(hint));
    }
    tier
}

fn read_count(node: &Node) -> Result<u64, Refusal> {
    match section::integer(node, 0..=COUNT_MAX)? {
        0 => Err(node.place.refuse("no mailboxes need no storage")),
        count => Ok(count),
    }
}

fn read_quota(node: &Node) -> Result<ByteSize, Refusal> {
    match section::size(node)? {
        size if size.get() == 0 => Err(node.place.refuse("a mailbox that holds nothing")),
        size if size > QUOTA_MAX => Err(node.place.refuse(format!("is more than {QUOTA_MAX}"))),
        size => Ok(size),
    }
}

fn read_messages(node: &Node) -> Result<f64, Refusal> {
    section::positive(node)?;
    up_to(node, MESSAGES_MAX)
}

fn read_message_size(node: &Node) -> Result<ByteSize, Refusal> {
    match section::size(node)? {
        size if size.get() == 0 => Err(node.place.refuse("a message that is empty")),
        size if size > ByteSize::gib(1) => Err(node.place.refuse("is more than 1 GiB")),
        size => Ok(size),
    }
}
