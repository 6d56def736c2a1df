//! A listener of tests that keeps the content of the other side from nothing but what it hears, as a world with bytes does.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::Time;

use super::ledger::UNIT;
use super::listener::{PairListener, PairMove};
use crate::Extent;

/// The request that each unit of a LUN is from.
pub(super) type Content = BTreeMap<(u32, u64), u64>;

#[derive(Clone, Copy)]
struct Write {
    tag: u64,
    lun: u32,
    extent: Extent,
    number: Option<u64>,
}

impl Write {
    fn put(&self, content: &mut Content) {
        let units = self.extent.start.div_euclid(UNIT)..self.extent.end().div_euclid(UNIT);
        content.extend(units.map(|unit| ((self.lun, unit), self.tag)));
    }
}

#[derive(Default)]
struct Group {
    /// The other side when both were last in step, and all writes accepted since that it may not have had then.
    base: Content,
    since: Vec<Write>,
    other: Content,
    last_done: Option<u64>,
    is_copying: bool,
}

/// The contents of all groups; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Follower(Rc<RefCell<BTreeMap<usize, Group>>>);

impl Follower {
    /// What the other side has; `None` while it is inconsistent.
    pub(super) fn other(&self, group: usize) -> Option<Content> {
        let mut groups = self.0.borrow_mut();
        let own = groups.entry(group).or_default();
        (!own.is_copying).then(|| own.other.clone())
    }
}

impl PairListener for Follower {
    fn hear(&mut self, _: Time, group: usize, moved: PairMove) {
        let mut groups = self.0.borrow_mut();
        let own = groups.entry(group).or_default();
        match moved {
            PairMove::Accepted {
                tag,
                lun,
                extent,
                number,
            } => own.since.push(Write {
                tag,
                lun,
                extent,
                number,
            }),
            PairMove::Done { number } => {
                assert!(own.last_done < Some(number), "done in order, and once");
                own.last_done = Some(number);
                let write = own.since.iter().find(|one| one.number == Some(number));
                if let Some(write) = write.copied() {
                    write.put(&mut own.other);
                }
            }
            PairMove::Stopped | PairMove::GivenUp => {}
            PairMove::CopyBegins => own.is_copying = true,
            PairMove::InStep => {
                own.is_copying = false;
                for write in std::mem::take(&mut own.since) {
                    if write.number > own.last_done {
                        own.since.push(write);
                    } else {
                        write.put(&mut own.base);
                    }
                }
                own.other = own.base.clone();
            }
        }
    }
}
