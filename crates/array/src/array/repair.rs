//! Rebuilding lost pieces, and copying them back.
//!
//! ```text
//!    claim some rows -> read their sources -> write the target -> advance the mark -> release the rows -> pause
//! ```
//!
//! Each repair works on one unit of rows at a time, with one repair per chunk. Within the claimed
//! rows no job writes, so the computed data stays current; below the mark every write also goes to
//! the target.
//!
//! When a source fails, the repair switches to other sources, and a copy becomes a rebuild. When
//! the target fails, the repair ends and another target is chosen.
//!
//! A campaign keeps no count of its own: its end is derived from the pieces, which change for many
//! reasons.

use std::ops::Range;

use brunt_units::{Span, Time};

use super::jobs::IoOwner;
use super::observer::{Move, Observer};
use super::{Array, Event};
use crate::Extent;
use crate::group::locks::ClaimId;
use crate::group::{Spot, StripeAt, Target, members};
use crate::incident::NoteKind;
use crate::slab::Key;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Claiming,
    Reading,
    Writing,
    Pausing,
}

/// A piece being rebuilt or copied.
pub(super) struct Repair {
    pub(super) group: u32,
    chunk: u32,
    pub(super) member: u32,
    rows: Range<u64>,
    claim: Option<ClaimId>,
    phase: Phase,
    pending: u32,
    disturbed: bool,
    /// When the unit began.
    since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CampaignKind {
    Rebuild,
    Copyback,
}

/// The repairs in one group on behalf of one drive, for the notes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Campaign {
    pub(super) group: u32,
    pub(super) kind: CampaignKind,
    /// The drive whose pieces move elsewhere.
    pub(super) from: u16,
    /// Where they move, if to a single drive.
    pub(super) onto: Option<u16>,
    pub(super) started_at: Time,
    /// Rows of strips to write when it started.
    pub(super) rows: u64,
    /// Whether any piece has moved.
    pub(super) has_moved: bool,
}

impl<O: Observer> Array<O> {
    /// Starts every repair that can start in `group`.
    pub(super) fn start_repairs(&mut self, group: u32) {
        while let Some((chunk, member)) = self.groups[group as usize].next_repair() {
            let entry = &mut self.groups[group as usize];
            entry.repairing.push(chunk);
            let repair = self.repairs.insert(Repair {
                group,
                chunk,
                member,
                rows: 0..0,
                claim: None,
                phase: Phase::Pausing,
                pending: 0,
                disturbed: false,
                since: self.now,
            });
            self.next_unit(repair);
        }
    }

    /// Claims the next rows, or ends the repair.
    pub(super) fn next_unit(&mut self, key: Key) {
        let Some(repair) = self.repairs.get(key) else {
            return;
        };
        let group = &mut self.groups[repair.group as usize];
        let chunk = &group.chunks[repair.chunk as usize];
        let piece = &chunk.pieces[repair.member as usize];
        let Some(target) = piece.target else {
            // The target has failed.
            return self.end_repair(key, false);
        };
        let mut others = chunk.pieces.iter();
        if piece.is_good && others.any(|other| !other.is_good && other.target.is_some()) {
            // A rebuild comes first; the copy goes on from here afterwards.
            return self.end_repair(key, false);
        }
        if target.rows_done == group.rows_per_chunk {
            return self.end_repair(key, true);
        }
        let end = (target.rows_done + group.repair.unit_rows).min(group.rows_per_chunk);
        let rows = target.rows_done..end;
        let (claim, begun) = group.locks.claim(repair.chunk, rows.clone());
        let repair = &mut self.repairs[key];
        repair.rows = rows;
        repair.claim = Some(claim);
        repair.phase = Phase::Claiming;
        repair.since = self.now;
        if begun {
            self.read_unit(key);
        }
    }

    /// A claim in `group` has been granted.
    pub(super) fn claim_begun(&mut self, group: u32, claim: ClaimId) {
        let is_it = |repair: &Repair| repair.group == group && repair.claim == Some(claim);
        let key = self.repairs.find(is_it).expect("the claim is some repair's");
        self.read_unit(key);
    }

    fn read_unit(&mut self, key: Key) {
        let repair = &self.repairs[key];
        let group = &self.groups[repair.group as usize];
        let at = StripeAt { chunk: repair.chunk, row: repair.rows.start };
        let piece = &group.chunks[at.chunk as usize].pieces[repair.member as usize];
        let row = group.row(at);
        let sources = if piece.target.is_none() || !row.shape.survives(row.readable) {
            0
        } else if piece.is_good {
            1 << repair.member
        } else {
            row.sources()
        };
        let length = (repair.rows.end - repair.rows.start) * group.shape.strip_sectors;
        let spots: Vec<(u32, Spot)> =
            members(sources).map(|member| (member, group.read_spot(at, member, 0))).collect();
        if spots.is_empty() {
            // The target or too many sources are gone.
            return self.end_repair(key, false);
        }
        let repair = &mut self.repairs[key];
        repair.phase = Phase::Reading;
        repair.disturbed = false;
        repair.pending = u32::try_from(spots.len()).expect("few sources");
        for (member, spot) in spots {
            let owner = IoOwner::Repair(key);
            let io = self.ask_drive(owner, spot, length, false);
            self.observe(Move::ReadBegan {
                io,
                owner,
                spot,
                member,
                within: Extent::new(0, length),
            });
        }
    }

    /// A device I/O of the repair has ended; `failed` when its drive failed.
    pub(super) fn repair_io_ended(&mut self, key: Key, failed: bool) {
        let repair = &mut self.repairs[key];
        repair.disturbed |= failed;
        repair.pending -= 1;
        if repair.pending > 0 {
            return;
        }
        match (repair.phase, repair.disturbed) {
            (Phase::Reading, true) => self.read_unit(key),
            (Phase::Reading, false) => self.write_unit(key),
            (Phase::Writing, true) => self.end_repair(key, false),
            (Phase::Writing, false) => self.unit_ended(key),
            (Phase::Claiming | Phase::Pausing, _) => unreachable!("it asks no drive"),
        }
    }

    fn write_unit(&mut self, key: Key) {
        let repair = &self.repairs[key];
        let group = &self.groups[repair.group as usize];
        let piece = &group.chunks[repair.chunk as usize].pieces[repair.member as usize];
        // There may be a new target by now, which starts from the first row.
        let is_same = |target: &Target| target.rows_done == repair.rows.start;
        let Some(Target { spot, .. }) = piece.target.filter(is_same) else {
            return self.end_repair(key, false);
        };
        let strip = group.shape.strip_sectors;
        let sector = spot.sector + repair.rows.start * strip;
        let length = (repair.rows.end - repair.rows.start) * strip;
        let repair = &mut self.repairs[key];
        (repair.phase, repair.pending) = (Phase::Writing, 1);
        let (spot, rows) = (Spot { sector, ..spot }, repair.rows.clone());
        let io = self.ask_drive(IoOwner::Repair(key), spot, length, true);
        self.observe(Move::RebuildBegan { io, repair: key, spot, rows });
    }

    fn unit_ended(&mut self, key: Key) {
        let repair = &mut self.repairs[key];
        repair.phase = Phase::Pausing;
        let (group, busy, end) = (repair.group, self.now - repair.since, repair.rows.end);
        let (chunk, member) = (repair.chunk, repair.member);
        let entry = &mut self.groups[group as usize];
        let target = entry.chunks[chunk as usize].pieces[member as usize].target.as_mut();
        target.expect("its write has just ended").rows_done = end;
        let pause = entry.repair_priority(chunk).pause(busy);
        self.unclaim(key);
        if pause == Span::ZERO {
            self.next_unit(key);
        } else {
            self.schedule.set(self.now + pause, Event::NextUnit(key));
        }
    }

    fn unclaim(&mut self, key: Key) {
        let repair = &mut self.repairs[key];
        let group = repair.group;
        if let Some(claim) = repair.claim.take() {
            for job in self.groups[group as usize].locks.unclaim(claim) {
                self.job_locked(job);
            }
        }
    }

    /// Ends the repair. Unless `done`, its piece waits for another target.
    fn end_repair(&mut self, key: Key, done: bool) {
        self.unclaim(key);
        let repair = self.repairs.remove(key).expect("it is under way");
        let entry = &mut self.groups[repair.group as usize];
        entry.repairing.retain(|chunk| *chunk != repair.chunk);
        let chunk = &mut entry.chunks[repair.chunk as usize];
        let piece = &mut chunk.pieces[repair.member as usize];
        let mut given_up = None;
        if done {
            let target = piece.target.take().expect("it is complete");
            let left = std::mem::replace(&mut piece.spot, target.spot);
            let was_copy = std::mem::replace(&mut piece.is_good, true);
            chunk.look();
            if was_copy {
                entry.free_spot(left);
            }
            let onto = target.spot.drive;
            self.piece_moved(repair.group, left.drive, onto, was_copy);
        } else if piece.target.is_some() && !entry.chunk_survives(repair.chunk) {
            // The piece cannot be computed any more.
            let chunk = &mut entry.chunks[repair.chunk as usize];
            let target = chunk.pieces[repair.member as usize].target.take();
            chunk.look();
            if let Some(target) = target {
                entry.free_spot(target.spot);
                given_up = Some(target.spot.drive);
            }
        }
        self.start_repairs(repair.group);
        self.review_campaigns(repair.group);
        if let Some(drive) = given_up {
            self.spare_again(drive);
        }
    }

    /// A spare whose rebuild was given up can stand in for another drive, if nothing else is on it.
    fn spare_again(&mut self, drive: u16) {
        let is_used = self.groups.iter().any(|group| group.uses(drive));
        let is_failed = self.drives[usize::from(drive)].is_failed();
        if !is_used && !is_failed && !self.spares.contains(&drive) {
            self.add_spare(drive);
            self.look_for_targets();
        }
    }

    /// Lets `drive` stand in for others.
    pub(super) fn add_spare(&mut self, drive: u16) {
        self.spares.push(drive);
        self.spares.sort_unstable();
    }

    /// Records that a piece moved from drive `left` to drive `onto`.
    fn piece_moved(&mut self, group: u32, left: u16, onto: u16, was_good: bool) {
        let kind = if was_good { CampaignKind::Copyback } else { CampaignKind::Rebuild };
        let is_it = |campaign: &&mut Campaign| {
            // A pool's moves come from many drives.
            let is_route = campaign.from == left || was_good && campaign.onto == Some(onto);
            campaign.group == group && campaign.kind == kind && is_route
        };
        if let Some(campaign) = self.campaigns.iter_mut().find(is_it) {
            campaign.has_moved = true;
        }
    }

    /// Ends the campaigns of `group` that have nothing left to do. A campaign that moved nothing
    /// gets no note: its drives have failed, and its pieces belong to another campaign or are lost.
    pub(super) fn review_campaigns(&mut self, group: u32) {
        loop {
            let entry = &self.groups[group as usize];
            let is_over = |campaign: &Campaign| {
                campaign.group == group
                    && match (campaign.kind, campaign.onto) {
                        (CampaignKind::Copyback, Some(onto)) => !entry.moves_onto(onto),
                        _ => !entry.rebuilds(campaign.from),
                    }
            };
            let Some(at) = self.campaigns.iter().position(is_over) else {
                return;
            };
            let campaign = self.campaigns.remove(at);
            if campaign.has_moved {
                self.campaign_ended(campaign);
            }
        }
    }

    fn campaign_ended(&mut self, campaign: Campaign) {
        let took = self.now - campaign.started_at;
        let group = self.group_name(campaign.group);
        match (campaign.kind, campaign.onto) {
            (CampaignKind::Copyback, Some(onto)) => {
                self.note(NoteKind::CopybackEnded { group, onto, took });
                if campaign.from != onto {
                    self.add_spare(campaign.from);
                }
                self.look_for_targets();
            }
            _ => {
                let lost = campaign.from;
                self.note(NoteKind::RebuildEnded { group, lost, took });
                self.copy_back(campaign.group, lost);
                // The lost drive may have stood in for one that has returned meanwhile.
                for home in self.groups[campaign.group as usize].homes_away() {
                    self.copy_back(campaign.group, home);
                }
            }
        }
    }
}
