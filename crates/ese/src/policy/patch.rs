//! Whether a page offered by a copy of the database may replace a bad one.
//!
//! A page that is not in the cache was last changed before the log's durable end, and cannot change
//! while it is being read. So a copy that has replayed the log up to there has exactly the version
//! that is missing here:
//!
//! ```text
//!   this log     ......x......x.......|  durable when the bad page is read
//!                             newest change of the page
//!   copy A       ...............................)    replayed that far: its page is right
//!   copy B       ..........)                         behind: its page may lack a change
//!   copy C       ................................#   replayed log that this one never wrote: another history
//! ```
//!
//! A copy reports how far it has replayed, but its own page may be wrong. So what is known here
//! about the page counts as well: its time must not exceed the database's, it must match the
//! remembered low bits of the latest write, and if an old version was found, it must be newer than
//! that. A page with a flipped bit is refused although the bit could be corrected: the copy's
//! storage is unreliable too.
//!
//! Microsoft's engine writes a request into the log, and a copy answers when its replay reaches it,
//! which demands the same.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese (namespace PagePatching).

use std::fmt;

use brunt_units::{DatabaseTime, LogPosition};

use crate::content::Sound;
use crate::error::PageFault;
use crate::format::stamp::Signature;

/// What is known here about the bad page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The database.
    pub signature: Signature,
    /// Log that was durable when the bad page was read; the page may contain any change before this
    /// position.
    pub replayed: LogPosition,
    /// Log that is durable now; no copy can have replayed more of it.
    pub durable: LogPosition,
    /// Upper bound of the page's time; `None` until recovery has read to the end of the log.
    pub newest: Option<DatabaseTime>,
    /// Time of an outdated version that was found.
    pub newer_than: Option<DatabaseTime>,
    /// Low bits of the page's time, if the latest write is remembered ([`low_bits`]).
    pub low_bits: Option<u8>,
}

/// What a copy reports about its page, and the result of checking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The database of the copy.
    pub signature: Signature,
    /// Log replayed into the copy: everything before this position.
    pub replayed: LogPosition,
    /// The checked page.
    pub page: Result<Sound, PageFault>,
}

/// Why an offered page was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The copy did not answer in time.
    NoAnswer,
    /// It is a copy of another database.
    OtherDatabase,
    /// It has not replayed enough of the log.
    Behind,
    /// It has replayed log that this database never wrote.
    Diverged,
    /// Its page is bad too.
    Bad(PageFault),
    /// Its page has a flipped bit. It could be corrected, but its storage is unreliable too.
    Corrected,
    /// Its page is outdated, however far it claims to have replayed.
    Old,
    /// Its page is newer than this database.
    New,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("no answer"),
            Self::OtherDatabase => f.write_str("a copy of another database"),
            Self::Behind => f.write_str("has not replayed enough of the log"),
            Self::Diverged => f.write_str("has replayed log that was never written here"),
            Self::Bad(fault) => write!(f, "its page is bad, too: {fault} (ESE {})", fault.code()),
            Self::Corrected => f.write_str("its page has a flipped bit"),
            Self::Old => f.write_str("its page is an older version"),
            Self::New => f.write_str("its page is newer than the database"),
        }
    }
}

/// Whether the page may be used.
///
/// # Errors
/// The first reason against it.
pub fn judge(offered: &Offered, demand: &Demand) -> Result<(), Refusal> {
    let sound = judge_within(offered, demand.signature, demand.replayed, demand.durable)?;
    let Some(time) = sound.time else {
        return Ok(());
    };
    if demand.newest.is_some_and(|newest| time > newest) {
        return Err(Refusal::New);
    }
    let is_old = demand.newer_than.is_some_and(|older| time <= older)
        || demand.low_bits.is_some_and(|bits| bits != low_bits(time));
    if is_old {
        return Err(Refusal::Old);
    }
    Ok(())
}

/// What a passive copy knows when its active offers a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Its database.
    pub signature: Signature,
    /// Where it would begin to replay after a crash.
    pub checkpoint: LogPosition,
    /// The end of the log that it has stored.
    pub logged: LogPosition,
}

/// Whether a passive copy may take a page of its active. The page may be newer than the copy: redo
/// from the checkpoint passes over what the page has and adds the rest, as long as no change before
/// the checkpoint is missing and all log of the page is there.
///
/// # Errors
/// The first reason against it.
pub fn judge_ahead(offered: &Offered, ahead: &Ahead) -> Result<(), Refusal> {
    judge_within(offered, ahead.signature, ahead.checkpoint, ahead.logged).map(drop)
}

/// Whether a page of the database with that `signature` is whole, and belongs to a place in its log
/// from `first` to `last`.
fn judge_within(
    offered: &Offered,
    signature: Signature,
    first: LogPosition,
    last: LogPosition,
) -> Result<Sound, Refusal> {
    if offered.signature != signature {
        return Err(Refusal::OtherDatabase);
    }
    if offered.replayed < first {
        return Err(Refusal::Behind);
    }
    if offered.replayed > last {
        return Err(Refusal::Diverged);
    }
    let sound = offered.page.map_err(Refusal::Bad)?;
    match sound.corrected {
        true => Err(Refusal::Corrected),
        false => Ok(sound),
    }
}

/// Whether a copy could help: not when the end of this database or of its file is missing.
pub fn is_patchable(fault: PageFault) -> bool {
    !matches!(fault, PageFault::TooNew | PageFault::Device(brunt_world::IoError::PastEnd))
}

/// The low bits of a page's time, remembered for its latest write.
pub fn low_bits(time: DatabaseTime) -> u8 {
    u8::try_from(time.0 & 0x1F).expect("five bits")
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;
    use crate::format::stamp::{RunId, Stamp};

    fn signature(random: u32) -> Signature {
        Signature::ours(random, Stamp::from_unix_millis(1), RunId(1))
    }

    fn at(generation: u32) -> LogPosition {
        LogPosition::start_of(generation)
    }

    fn sound(time: u64) -> Sound {
        Sound { corrected: false, flush_type: 1, time: Some(DatabaseTime(time)) }
    }

    /// A copy that has replayed just enough, and full knowledge here.
    fn ordinary() -> (Demand, Offered) {
        let demand = Demand {
            signature: signature(7),
            replayed: at(5),
            durable: at(6),
            newest: Some(DatabaseTime(1000)),
            newer_than: Some(DatabaseTime(900)),
            low_bits: Some(low_bits(DatabaseTime(950))),
        };
        let offered = Offered { signature: signature(7), replayed: at(5), page: Ok(sound(950)) };
        (demand, offered)
    }

    #[test]
    fn the_version_that_is_missing_is_taken() {
        let (demand, offered) = ordinary();
        assert_eq!(judge(&offered, &demand), Ok(()));
        let replayed = at(6);
        assert_eq!(judge(&Offered { replayed, ..offered }, &demand), Ok(()));
    }

    #[test]
    fn each_way_to_be_wrong_has_its_name() {
        let (demand, right) = ordinary();
        let judge = |offered: Offered| judge(&offered, &demand).unwrap_err();
        let of_page = |page| judge(Offered { page, ..right });
        let of_replay = |replayed| judge(Offered { replayed, ..right });
        let signature = signature(8);
        assert_eq!(judge(Offered { signature, ..right }), Refusal::OtherDatabase);
        assert_eq!(of_replay(at(4)), Refusal::Behind);
        assert_eq!(of_replay(at(7)), Refusal::Diverged);
        let checksum = PageFault::Checksum;
        assert_eq!(of_page(Err(checksum)), Refusal::Bad(checksum));
        let corrected = Sound { corrected: true, ..sound(950) };
        assert_eq!(of_page(Ok(corrected)), Refusal::Corrected);
        assert_eq!(of_page(Ok(sound(949))), Refusal::Old, "other bits");
        assert_eq!(of_page(Ok(sound(950 - 32 * 2))), Refusal::Old, "what turned up here");
        assert_eq!(of_page(Ok(sound(950 + 32 * 2))), Refusal::New);
    }

    #[test]
    fn a_copy_takes_a_page_only_within_the_log_that_it_has() {
        let ahead = Ahead { signature: signature(7), checkpoint: at(3), logged: at(6) };
        let right = ordinary().1;
        let judge = |offered: Offered| judge_ahead(&offered, &ahead);
        for generation in 3..=6 {
            let replayed = at(generation);
            assert_eq!(judge(Offered { replayed, ..right }), Ok(()));
        }
        let of = |generation| judge(Offered { replayed: at(generation), ..right });
        assert_eq!(of(2), Err(Refusal::Behind), "a change before it is lost");
        assert_eq!(of(7), Err(Refusal::Diverged), "its log may never come");
        let other = Offered { signature: signature(8), ..right };
        assert_eq!(judge(other), Err(Refusal::OtherDatabase));
        let page = Err(PageFault::Checksum);
        let bad = Err(Refusal::Bad(PageFault::Checksum));
        assert_eq!(judge(Offered { page, ..right }), bad);
        let page = Ok(Sound { corrected: true, ..sound(950) });
        assert_eq!(judge(Offered { page, ..right }), Err(Refusal::Corrected));
    }

    /// For a random page history, however much is known, only the latest version passes, as far as
    /// the bits can tell. A copy that overstates its replay is caught unless its version is a
    /// multiple of 32 changes old and no outdated version was found.
    #[test]
    fn only_the_latest_version_passes() {
        let mut draw = Streams::new(4).named("histories");
        for _ in 0..2000 {
            let mut times = vec![1 + draw.below(50)];
            for _ in 0..draw.below(8) {
                times.push(times[times.len() - 1] + 1 + draw.below(40));
            }
            let latest = times[times.len() - 1];
            let pick = usize::try_from(draw.below(times.len() as u64)).unwrap();
            let turned_up = draw.percent(50).then(|| times[pick]).filter(|time| *time != latest);
            let demand = Demand {
                newest: Some(DatabaseTime(latest + draw.below(9))),
                newer_than: turned_up.map(DatabaseTime),
                low_bits: draw.percent(70).then(|| low_bits(DatabaseTime(latest))),
                ..ordinary().0
            };
            for time in times {
                let page = Ok(sound(time));
                let taken = judge(&Offered { page, ..ordinary().1 }, &demand).is_ok();
                let is_caught = turned_up.is_some_and(|old| time <= old)
                    || demand.low_bits.is_some() && (latest - time) % 32 != 0;
                assert_eq!(taken, !is_caught, "{time} of {latest}: {demand:?}");
                assert!(taken || time != latest, "the latest is never refused");
            }
        }
    }

    #[test]
    fn no_copy_helps_a_database_that_lacks_its_end() {
        assert!(is_patchable(PageFault::Checksum) && is_patchable(PageFault::LostFlush));
        assert!(!is_patchable(PageFault::TooNew));
    }
}
