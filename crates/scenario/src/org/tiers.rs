//! `[mailboxes]` and `[[tier]]`: kinds of users.

use brunt_units::ByteSize;

use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::by_itself;
use super::figures::up_to;

/// A kind of users.
#[derive(Clone, Debug)]
pub struct Tier {
    /// What they are called.
    pub name: String,
    pub count: Placed<u64>,
    /// What each mailbox may hold.
    pub quota: Placed<ByteSize>,
    /// Messages that each sends and receives in a day, if that was said.
    pub messages_per_day: Option<Placed<f64>>,
    /// Database reads and writes per second of each, if they were measured.
    pub io_per_s: Option<Placed<f64>>,
    /// How large a message is on average, if that was said.
    pub message_size: Option<Placed<ByteSize>>,
}

const KEYS: [&str; 6] = ["name", "count", "quota", "messages_per_day", "io_per_s", "message_size"];

const COUNT_MAX: u64 = 100_000_000;
/// More than one a second, all day.
const MESSAGES_MAX: f64 = 100_000.0;
const QUOTA_MAX: ByteSize = ByteSize::gib(100 << 10);
const EXAMPLE: &str = "[mailboxes]\ncount = 4000\nquota = \"2 GiB\"\nmessages_per_day = 100";

/// Reads the kinds of users.
pub(super) fn read(top: &mut Section) -> Result<Vec<Tier>, Refusal> {
    let all = top.take("mailboxes");
    let tiers = match top.take("tier") {
        Some(node) => Some((node.place.clone(), section::tables(node, "tier")?)),
        None => None,
    };
    match (all, tiers) {
        (Some(node), None) => Ok(vec![read_one(node, "[mailboxes]", "mailboxes")?]),
        (None, Some((_, nodes))) => {
            let mut read: Vec<Tier> = Vec::new();
            for (number, node) in (1..).zip(nodes) {
                let place = node.place.clone();
                let tier = read_one(node, "[[tier]]", &format!("tier {number}"))?;
                if read.iter().any(|other| other.name == tier.name) {
                    let what = format!("there are two tiers called \"{}\"", tier.name);
                    return Err(place.refuse(what));
                }
                read.push(tier);
            }
            Ok(read)
        }
        (Some(_), Some((place, _))) => {
            let refusal = place.refuse("mailboxes are counted twice, here and in [mailboxes]");
            Err(refusal.hint("keep [mailboxes] or [[tier]]"))
        }
        (None, None) => Err(top.lacks("mailboxes", EXAMPLE)),
    }
}

fn read_one(node: Node, title: &str, usual: &str) -> Result<Tier, Refusal> {
    let section = &mut Section::new(node, title, &KEYS)?;
    let name = section.read_or("name", usual.to_owned(), section::name)?;
    let count = section.read("count", |node| {
        section::integer(node, 0..=COUNT_MAX).and_then(|count| match count {
            0 => Err(by_itself(node.place.refuse("no mailboxes need no storage"))),
            count => Ok(count),
        })
    })?;
    let count = count.ok_or_else(|| section.lacks("count", "count = 4000"))?;
    let quota = section.read("quota", |node| match section::size(node)? {
        size if size.get() == 0 => Err(node.place.refuse("a mailbox that holds nothing")),
        size if size > QUOTA_MAX => Err(node.place.refuse(format!("is more than {QUOTA_MAX}"))),
        size => Ok(size),
    })?;
    let quota = quota.ok_or_else(|| section.lacks("quota", "quota = \"2 GiB\""))?;
    let messages_per_day = section.read("messages_per_day", |node| {
        section::positive(node)?;
        up_to(node, MESSAGES_MAX)
    })?;
    let io_per_s = section.read("io_per_s", section::rate)?;
    let message_size = section.read("message_size", |node| match section::size(node)? {
        size if size.get() == 0 => Err(node.place.refuse("a message that is empty")),
        size if size > ByteSize::gib(1) => Err(node.place.refuse("is more than 1 GiB")),
        size => Ok(size),
    })?;
    if messages_per_day.is_none() && io_per_s.is_none() {
        let refusal = section.lacks("messages_per_day", "messages_per_day = 100");
        return Err(refusal.hint("sent and received together; or `io_per_s`, if it was measured"));
    }
    Ok(Tier { name: name.value, count, quota, messages_per_day, io_per_s, message_size })
}
