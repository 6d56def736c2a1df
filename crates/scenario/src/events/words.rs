//! The words of `what`: one row for each.

use brunt_array::Incident;
use brunt_array::PairIncident::{
    DestinationLost, DestinationReturns, LinkLost, LinkPathLost, LinkPathReturns, LinkReturns,
    SourceLost, SourceReturns,
};
use brunt_units::Span;
use brunt_world::fault::FaultKind;

use super::super::place::Refusal;
use super::incidents::One;

/// A word of `what`.
pub(super) struct Word {
    pub(super) word: &'static str,
    pub(super) event: Event,
    /// Keys besides those that its kind of event has.
    more: &'static [&'static str],
}

/// What a word stands for. It says where the word applies, and which keys it has.
#[derive(Clone, Copy)]
pub(super) enum Event {
    /// A fault of a file in a test. It waits for requests; values with a key of their own are read
    /// later.
    Fault(FaultKind),
    /// Something on a modelled array.
    Array(Read),
    /// Something on the LUNs of `[array.pages]`.
    Pages(Read),
    /// Something on a LUN under raw load.
    Lun(Read),
    /// Something on a replicated array.
    Pair(Read),
}

/// Reads what happens on an array.
type Read = fn(&mut One<'_>) -> Result<Incident, Refusal>;

use Event::{Array, Fault, Lun, Pages, Pair};

pub(super) static WORDS: [Word; 47] = [
    word("bit-flip", Fault(FaultKind::BitFlip), &[]),
    word("two-bit-flip", Fault(FaultKind::TwoBitFlip), &[]),
    word("zeroed", Fault(FaultKind::Zeroed), &[]),
    word("stale-read", Fault(FaultKind::Stale), &[]),
    word("misdirected-read", Fault(FaultKind::MisdirectedRead(0)), &["by"]),
    word("short-read", Fault(FaultKind::ShortRead), &[]),
    word("torn-write", Fault(FaultKind::Torn), &[]),
    word("lost-write", Fault(FaultKind::Lost), &[]),
    word("misdirected-write", Fault(FaultKind::MisdirectedWrite(0)), &["by"]),
    word("io-error", Fault(FaultKind::DeviceError), &["only"]),
    word("medium-error", Fault(FaultKind::MediumError), &[]),
    word("no-space", Fault(FaultKind::NoSpace), &[]),
    word("dropped-sync", Fault(FaultKind::DroppedSync), &[]),
    word("stuck", Fault(FaultKind::Stuck), &["only"]),
    word("slow", Fault(FaultKind::Slow(Span::ZERO)), &["only", "delay"]),
    word("lun grows", Lun(|one| one.lun_grows()), &["lun", "size"]),
    word("drive fails", Array(|one| Ok(Incident::DriveFails(one.drive()?))), &["drive"]),
    word("drive slows", Array(|one| one.drive_slows()), &["drive", "times"]),
    word("drive returns", Array(|one| Ok(Incident::DriveReturns(one.drive()?))), &["drive"]),
    word("rebuild priority", Array(|one| one.rebuild_priority()), &["group", "priority"]),
    word("pool grows", Array(|one| one.pool_grows()), &["group", "drive"]),
    word(
        "controller fails",
        Array(|one| Ok(Incident::ControllerFails(one.controller()?))),
        &["controller"],
    ),
    word(
        "controller returns",
        Array(|one| Ok(Incident::ControllerReturns(one.controller()?))),
        &["controller"],
    ),
    word("battery lost", Array(|one| one.of_battery(Incident::BatteryLost)), &[]),
    word("battery returns", Array(|one| one.of_battery(Incident::BatteryReturns)), &[]),
    word("path down", Array(|one| Ok(Incident::PathDown(one.path()?))), &["path"]),
    word("path up", Array(|one| Ok(Incident::PathUp(one.path()?))), &["path"]),
    word("snapshot", Pages(|one| one.snapshot()), &["lun", "luns", "name", "every", "keep"]),
    word("restore", Pages(|one| one.restore()), &["snapshot"]),
    word("clone", Pages(|one| one.clone_luns()), &["lun", "luns", "snapshot", "replica", "name"]),
    word("lun online", Pages(|one| one.lun_online()), &["lun"]),
    word("remove lun", Pages(|one| one.remove_lun()), &["lun"]),
    word("member joins", Pages(|one| one.member_joins()), &["member"]),
    word("link lost", Pair(|_| Ok(of_pair(LinkLost))), &[]),
    word("link returns", Pair(|_| Ok(of_pair(LinkReturns))), &[]),
    word("link flaps", Pair(|one| one.link_flaps()), &["times", "down", "up"]),
    word("link path lost", Pair(|one| Ok(of_pair(LinkPathLost(one.link_path()?)))), &["path"]),
    word(
        "link path returns",
        Pair(|one| Ok(of_pair(LinkPathReturns(one.link_path()?)))),
        &["path"],
    ),
    word("destination lost", Pair(|_| Ok(of_pair(DestinationLost))), &[]),
    word("destination returns", Pair(|_| Ok(of_pair(DestinationReturns))), &[]),
    word("source lost", Pair(|_| Ok(of_pair(SourceLost))), &[]),
    word("source returns", Pair(|_| Ok(of_pair(SourceReturns))), &[]),
    word("failover", Pair(|one| one.failover()), &["group", "to", "planned", "forced"]),
    word("failback", Pair(|one| one.failback()), &["group", "planned", "forced"]),
    word("split ends", Pair(|one| one.split_ends()), &["group", "keep"]),
    word("group suspended", Pair(|one| one.group_suspended()), &["group"]),
    word("group resumed", Pair(|one| one.group_resumed()), &["group", "full_copy"]),
];

const fn of_pair(what: brunt_array::PairIncident) -> Incident {
    Incident::Pair(what)
}

const fn word(word: &'static str, event: Event, more: &'static [&'static str]) -> Word {
    Word { word, event, more }
}

impl Word {
    pub(super) fn is_fault(&self) -> bool {
        matches!(self.event, Fault(_))
    }

    /// Its keys, besides `what`.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        let usual: &[&str] = match self.event {
            Fault(FaultKind::DroppedSync) => &["file", "after", "times"],
            Fault(_) => &["file", "page", "offset", "length", "after", "times"],
            Array(_) => &["at", "array", "site", "member"],
            Pages(_) | Lun(_) | Pair(_) => &["at", "array"],
        };
        usual.iter().chain(self.more).copied()
    }
}
