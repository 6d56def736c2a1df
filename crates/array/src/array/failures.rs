//! Drives that fail and return, and where lost pieces go.
//!
//! ```text
//!    a drive fails    its pieces are bad, its requests come back to their jobs, lost chunks are noted
//!    then             every bad piece of a chunk that survives gets a target: the replaced drive, else a spare
//!    it is replaced   and a spare stands in for it: what the spare holds is copied back, and the spare is free
//! ```

use brunt_units::Time;

use super::jobs::IoOwner;
use super::repair::{Campaign, CampaignKind};
use super::{Array, Event};
use crate::group::{Spot, Target};
use crate::incident::{Incident, Note, NoteKind};

impl Array {
    /// Lets `incident` happen at `at`.
    ///
    /// # Panics
    /// When `at` has passed, or the incident is about a drive or a group that is not there.
    pub fn schedule_incident(&mut self, at: Time, incident: Incident) {
        assert!(at >= self.now, "an incident before now");
        match incident {
            Incident::DriveFails(drive)
            | Incident::DriveReturns(drive)
            | Incident::DriveSlows(drive, _) => assert!(usize::from(drive) < self.drives.len()),
            Incident::RepairPriority(group, _) => assert!(group < self.groups.len()),
        }
        let number = u32::try_from(self.incidents.len()).expect("few incidents");
        self.incidents.push(incident);
        self.schedule.set(at, Event::Incident(number));
    }

    /// What was noted so far.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(super) fn note(&mut self, what: NoteKind) {
        self.notes.push(Note { at: self.now, what });
    }

    pub(super) fn group_name(&self, group: u32) -> String {
        self.names[group as usize].clone()
    }

    pub(super) fn befall(&mut self, number: u32) {
        match self.incidents[number as usize] {
            Incident::DriveFails(drive) => self.fail_drive(drive),
            Incident::DriveReturns(drive) => self.return_drive(drive),
            Incident::DriveSlows(drive, times) => {
                self.drives[usize::from(drive)].slow_down(times);
                self.note(NoteKind::DriveSlowed(drive, times));
            }
            Incident::RepairPriority(group, priority) => {
                let repair = &mut self.groups[group].repair;
                (repair.priority, repair.critical) = (priority, priority);
            }
        }
    }

    fn fail_drive(&mut self, drive: u16) {
        if self.drives[usize::from(drive)].is_failed() {
            return;
        }
        let lost = self.drives[usize::from(drive)].fail(self.now);
        self.spares.retain(|spare| *spare != drive);
        self.campaigns
            .retain(|campaign| campaign.onto != Some(drive));
        self.note(NoteKind::DriveFailed(drive));
        for group in 0..self.groups.len() {
            self.lose_pieces(group, drive);
        }
        for key in lost {
            let io = self.ios.remove(key).expect("the drive had it");
            match io.owner {
                IoOwner::Job(job) => self.job_disturbed(job),
                IoOwner::Repair(repair) => self.repair_io_ended(repair, true),
            }
        }
        self.look_for_targets();
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
    }

    fn return_drive(&mut self, drive: u16) {
        let was_failed = self.drives[usize::from(drive)].is_failed();
        self.drives[usize::from(drive)].heal();
        self.note(NoteKind::DriveReturned(drive));
        if !was_failed {
            return;
        }
        if !self.groups.iter().any(|group| group.is_home(drive)) {
            self.spares.push(drive);
            self.spares.sort_unstable();
        }
        self.look_for_targets();
        for group in 0..self.groups.len() {
            self.copy_back(u32::try_from(group).expect("few groups"), drive);
        }
    }

    /// Gives every lost piece that can be rebuilt a place to be rebuilt at.
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
        let end = piece.spot.sector + self.groups[group].piece_sectors();
        let fits = |drive: u16| {
            let drive = &self.drives[usize::from(drive)];
            !drive.is_failed() && drive.sectors() >= end
        };
        let onto = if fits(lost) {
            Some(lost)
        } else {
            self.spares.iter().copied().find(|spare| fits(*spare))
        };
        let name = self.names[group].clone();
        let Some(onto) = onto else {
            let note = NoteKind::NoSpare { group: name, lost };
            if !self.notes.iter().rev().any(|noted| noted.what == note) {
                self.note(note);
            }
            return;
        };
        self.spares.retain(|spare| *spare != onto);
        self.groups[group].chunks[chunk as usize].pieces[member as usize].target = Some(Target {
            spot: Spot {
                drive: onto,
                ..piece.spot
            },
            rows_done: 0,
        });
        self.campaigns.push(Campaign {
            group: u32::try_from(group).expect("few groups"),
            kind: CampaignKind::Rebuild,
            from: lost,
            onto: Some(onto),
            started_at: self.now,
            left: 1,
        });
        self.note(NoteKind::RebuildStarted {
            group: name,
            lost,
            onto: Some(onto),
        });
    }

    /// Copies what spares hold for `drive` back to it, if it is there.
    pub(super) fn copy_back(&mut self, group: u32, drive: u16) {
        if self.drives[usize::from(drive)].is_failed() {
            return;
        }
        let Some((chunk, member)) = self.groups[group as usize].away_from(drive) else {
            return;
        };
        let chunk = &mut self.groups[group as usize].chunks[chunk as usize];
        let piece = &mut chunk.pieces[member as usize];
        piece.target = Some(Target {
            spot: Spot {
                drive,
                ..piece.spot
            },
            rows_done: 0,
        });
        let from = piece.spot.drive;
        chunk.look();
        self.campaigns.push(Campaign {
            group,
            kind: CampaignKind::Copyback,
            from,
            onto: Some(drive),
            started_at: self.now,
            left: 1,
        });
        self.note(NoteKind::CopybackStarted {
            group: self.group_name(group),
            onto: drive,
        });
        self.start_repairs(group);
    }
}
