//! Drive failures and returns, and where lost pieces are rebuilt.
//!
//! ```text
//!    a drive fails      its pieces are bad, its requests return to their jobs, lost chunks are reported
//!    then               every bad piece of a surviving chunk gets a target: the replaced drive, otherwise a spare
//!    it is replaced     while a spare stands in for it: the spare's content is copied back, and the spare is free
//! ```

use brunt_units::Time;

use super::jobs::IoOwner;
use super::observer::{Move, Observer};
use super::repair::{Campaign, CampaignKind};
use super::{Array, Event};
use crate::breakdown::Breakdown;
use crate::group::{Spot, Target};
use crate::incident::{Incident, Misplaced, Note, NoteKind};

impl<O: Observer> Array<O> {
    /// Schedules `incident` for `at`.
    ///
    /// # Errors
    /// [`Misplaced`] when the array lacks a part that the incident names.
    ///
    /// # Panics
    /// When `at` is in the past.
    pub fn schedule_incident(&mut self, at: Time, incident: Incident) -> Result<(), Misplaced> {
        assert!(at >= self.now, "an incident before now");
        self.find_parts(&incident)?;
        let number = u32::try_from(self.incidents.len()).expect("few incidents");
        self.incidents.push(incident);
        self.schedule.set(at, Event::Incident(number));
        Ok(())
    }

    /// Checks that every part `incident` names exists.
    fn find_parts(&self, incident: &Incident) -> Result<(), Misplaced> {
        let find = |kind, number, count| match number < count {
            true => Ok(()),
            false => Err(Misplaced::Part(kind, number)),
        };
        let drive = |number: u16| find("drive", usize::from(number), self.drives.len());
        let group = |number| find("group", number, self.groups.len());
        match *incident {
            Incident::DriveFails(number)
            | Incident::DriveReturns(number)
            | Incident::DriveSlows(number, _) => drive(number),
            Incident::RepairPriority(number, _) => group(number),
            Incident::PoolGrows(number, joining) => group(number).and_then(|()| drive(joining)),
            Incident::LunGrows(lun, _) => find("LUN", lun as usize, self.luns.len()),
            Incident::ControllerFails(number) | Incident::ControllerReturns(number) => {
                find("controller", number, self.front.controllers())
            }
            Incident::PathDown(port) | Incident::PathUp(port) => {
                find("path", port, self.front.ports())
            }
            Incident::BatteryLost | Incident::BatteryReturns => Ok(()),
            Incident::Snapshot(..)
            | Incident::Volumes(_)
            | Incident::LunRemoved(_)
            | Incident::MemberJoins(_) => Err(Misplaced::NoPool),
            Incident::Pair(_) => Err(Misplaced::NoPair),
        }
    }

    /// Events noted so far.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(super) fn note(&mut self, what: NoteKind) {
        self.notes.push(Note { at: self.now, what });
    }

    pub(super) fn group_name(&self, group: u32) -> String {
        self.names[group as usize].clone()
    }

    pub(super) fn apply_incident(&mut self, number: u32) {
        match self.incidents[number as usize] {
            Incident::DriveFails(drive) => self.fail_drive(drive),
            Incident::DriveReturns(drive) => self.return_drive(drive),
            Incident::DriveSlows(drive, times) => {
                self.drives[usize::from(drive)].slow_down(times);
                self.note(NoteKind::DriveSlowed(drive, times));
            }
            Incident::PoolGrows(group, drive) => self.grow_pool(group, drive),
            Incident::LunGrows(lun, size) => self.grow_lun(lun, size),
            Incident::RepairPriority(group, priority) => {
                let repair = &mut self.groups[group].repair;
                (repair.priority, repair.critical) = (priority, priority);
            }
            Incident::ControllerFails(number) => self.set_controller(number, false),
            Incident::ControllerReturns(number) => self.set_controller(number, true),
            Incident::PathDown(port) => {
                self.front.set_port(port, false);
                self.note(NoteKind::Path(port, false));
            }
            Incident::PathUp(port) => {
                self.front.set_port(port, true);
                self.note(NoteKind::Path(port, true));
            }
            Incident::BatteryLost => self.set_battery(false),
            Incident::BatteryReturns => self.set_battery(true),
            Incident::Snapshot(..)
            | Incident::Volumes(_)
            | Incident::LunRemoved(_)
            | Incident::MemberJoins(_)
            | Incident::Pair(_) => {
                unreachable!("an array does not take them")
            }
        }
    }

    fn set_controller(&mut self, number: usize, is_up: bool) {
        if self.front.is_up(number) == is_up {
            return;
        }
        let ownerships = self.luns.iter_mut().map(|lun| &mut lun.ownership);
        self.front.set_controller(self.now, number, is_up, ownerships);
        self.note(NoteKind::Controller(number, is_up));
        let mirrored = self.cache.as_ref().is_some_and(|cache| cache.design.mirrored);
        if self.front.working() == 0 {
            self.fail_requests();
        }
        if !is_up && (self.front.working() == 0 || !mirrored) {
            self.lose_cache();
        }
        self.review_write_back();
    }

    fn set_battery(&mut self, is_there: bool) {
        if self.has_battery == is_there {
            return;
        }
        self.has_battery = is_there;
        self.note(NoteKind::Battery(is_there));
        self.review_write_back();
    }

    fn fail_drive(&mut self, drive: u16) {
        if self.drives[usize::from(drive)].is_failed() {
            return;
        }
        let lost = self.drives[usize::from(drive)].fail(self.now);
        self.observe(Move::DriveFailed(drive));
        self.spares.retain(|spare| *spare != drive);
        self.campaigns.retain(|campaign| campaign.onto != Some(drive));
        self.note(NoteKind::DriveFailed(drive));
        for group in 0..self.groups.len() {
            self.lose_pieces(group, drive);
        }
        if let Some(tier) = &mut self.tier {
            tier.set_drive(drive, false);
        }
        for key in lost {
            let io = self.ios.remove(key).expect("the drive had it");
            match io.owner {
                IoOwner::Job(job) => self.job_disturbed(job),
                IoOwner::Repair(repair) => self.repair_io_ended(repair, true),
                IoOwner::Scan => self.scan_later(drive),
                IoOwner::Tier(tier) => self.tier_io_ended(tier, Breakdown::default(), true),
            }
        }
        self.look_for_targets();
        for group in 0..self.groups.len() {
            self.review_campaigns(u32::try_from(group).expect("few groups"));
        }
    }

    fn lose_pieces(&mut self, group: usize, drive: u16) {
        let rebuilding = !self.groups[group].repairing.is_empty();
        let before = self.groups[group].lost_chunks();
        self.groups[group].lose(drive);
        let entry = &self.groups[group];
        let after = entry.lost_chunks();
        if after > before {
            let what = NoteKind::DataLost {
                group: self.names[group].clone(),
                failures: entry.failures(),
                rebuilding,
                share: after as f64 / entry.chunks.len() as f64,
            };
            self.note(what);
        }
        if let Some(onto) = self.groups[group].copied_from(drive) {
            // The copy continues as a rebuild from the other members.
            let onto = self.groups[group].slots.is_none().then_some(onto);
            self.begin_campaign(group, CampaignKind::Rebuild, drive, onto);
        }
    }

    fn return_drive(&mut self, drive: u16) {
        let was_failed = self.drives[usize::from(drive)].is_failed();
        self.drives[usize::from(drive)].heal();
        self.note(NoteKind::DriveReturned(drive));
        if !was_failed {
            return;
        }
        if let Some(tier) = self.tier.as_mut().filter(|tier| tier.uses(drive)) {
            return tier.set_drive(drive, true);
        }
        for group in self.groups.iter_mut().filter(|group| group.pools(drive)) {
            group.gain_slots(drive);
        }
        if !self.groups.iter().any(|group| group.is_home(drive)) {
            self.add_spare(drive);
        }
        self.look_for_targets();
        for group in 0..self.groups.len() {
            self.copy_back(u32::try_from(group).expect("few groups"), drive);
        }
    }

    /// Assigns a target to every lost piece that can be rebuilt.
    pub(super) fn look_for_targets(&mut self) {
        for group in 0..self.groups.len() {
            for (chunk, member) in self.groups[group].homeless() {
                self.find_target(group, chunk, member);
            }
            self.start_repairs(u32::try_from(group).expect("few groups"));
        }
    }

    fn find_target(&mut self, group: usize, chunk: u32, member: u32) {
        let piece = self.groups[group].chunks[chunk as usize].pieces[member as usize];
        let lost = piece.spot.drive;
        let onto = if self.groups[group].slots.is_some() {
            let placed = self.groups[group].place_target(chunk, member, &mut self.placement);
            placed.then_some(None)
        } else {
            let end = piece.spot.sector + self.groups[group].piece_sectors();
            self.stand_in(piece.home, lost, end).map(|drive| {
                let spot = Spot { drive, ..piece.spot };
                let chunk = &mut self.groups[group].chunks[chunk as usize];
                chunk.pieces[member as usize].target = Some(Target { spot, rows_done: 0 });
                Some(drive)
            })
        };
        match onto {
            Some(onto) => self.begin_campaign(group, CampaignKind::Rebuild, lost, onto),
            None => {
                let group = self.names[group].clone();
                self.note_once(NoteKind::NoSpare { group, lost });
            }
        }
    }

    /// A drive for a lost piece: its home drive if that works, otherwise a spare, preferably the
    /// one that held it.
    fn stand_in(&mut self, home: u16, lost: u16, sectors: u64) -> Option<u16> {
        let fits = |drive: u16| {
            let drive = &self.drives[usize::from(drive)];
            !drive.is_failed() && drive.sectors() >= sectors
        };
        if fits(home) {
            return Some(home);
        }
        let spares = self.spares.iter().enumerate();
        let fitting = spares.filter(|(_, spare)| fits(**spare));
        let (at, _) = fitting.min_by_key(|(_, spare)| (**spare != lost, **spare))?;
        Some(self.spares.remove(at))
    }

    /// Notes `what` unless it has been noted since the last drive failure.
    fn note_once(&mut self, what: NoteKind) {
        let since = |note: &&Note| !matches!(note.what, NoteKind::DriveFailed(_));
        let mut recent = self.notes.iter().rev().take_while(since);
        if !recent.any(|note| note.what == what) {
            self.note(what);
        }
    }

    /// Starts and notes a campaign that moves pieces off `from` to `onto`, or to all drives, unless
    /// one is already running.
    fn begin_campaign(&mut self, group: usize, kind: CampaignKind, from: u16, onto: Option<u16>) {
        let number = u32::try_from(group).expect("few groups");
        let is_it = |campaign: &Campaign| {
            (campaign.group, campaign.kind, campaign.from) == (number, kind, from)
        };
        if self.campaigns.iter().any(is_it) {
            return;
        }
        let mut campaign = Campaign {
            group: number,
            kind,
            from,
            onto,
            started_at: self.now,
            rows: 0,
            has_moved: false,
        };
        campaign.rows = self.rows_left(&campaign);
        self.campaigns.push(campaign);
        let group = self.names[group].clone();
        self.note(match (kind, onto) {
            (CampaignKind::Copyback, Some(onto)) => NoteKind::CopybackStarted { group, onto },
            _ => NoteKind::RebuildStarted { group, lost: from, onto },
        });
    }

    /// Copies what spares hold for `drive` back to it, if it works; a pool moves pieces to it.
    pub(super) fn copy_back(&mut self, group: u32, drive: u16) {
        if self.drives[usize::from(drive)].is_failed() {
            return;
        }
        let entry = &mut self.groups[group as usize];
        if entry.pools(drive) {
            if entry.rebalance(drive) {
                let kind = CampaignKind::Copyback;
                self.begin_campaign(group as usize, kind, drive, Some(drive));
            }
        } else if let Some((chunk, member)) = entry.away_from(drive) {
            let chunk = &mut entry.chunks[chunk as usize];
            let piece = &mut chunk.pieces[member as usize];
            let from = piece.spot.drive;
            piece.target = Some(Target { spot: Spot { drive, ..piece.spot }, rows_done: 0 });
            chunk.look();
            self.begin_campaign(group as usize, CampaignKind::Copyback, from, Some(drive));
        }
        self.start_repairs(group);
    }
}
