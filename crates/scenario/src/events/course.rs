//! Checks that incidents can follow each other: a part that returns was away, and a part that fails
//! was there.
//!
//! An array ignores an incident that changes nothing, so a typo in a scenario would test something
//! else.

use std::collections::BTreeSet;

use brunt_array::{Incident, PairIncident, Scheduled, SystemDesign};

use super::sites::Sites;

/// What can be away, with the member that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Drive(u16),
    Controller(usize),
    Path(usize),
    Battery,
    LinkPath(usize),
}

/// The state of the parts of a system after some incidents.
#[derive(Default)]
pub(super) struct Course {
    away: BTreeSet<(usize, Part)>,
    slow: BTreeSet<(usize, u16)>,
    joined: BTreeSet<usize>,
    sites: Sites,
}

impl Course {
    /// That of a system where nothing has happened.
    pub(super) fn of(design: &SystemDesign) -> Self {
        let sites = match design {
            SystemDesign::Pair(pair) => Sites::of(pair),
            _ => Sites::default(),
        };
        Self { sites, ..Self::default() }
    }

    /// `incident` comes next.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn follow(&mut self, next: &Scheduled) -> Result<(), String> {
        let member = next.array;
        match next.incident {
            Incident::DriveFails(drive) => {
                self.slow.remove(&(member, drive));
                self.leave(member, Part::Drive(drive))
            }
            Incident::DriveSlows(drive, _) => {
                if self.away.contains(&(member, Part::Drive(drive))) {
                    return Err(format!("drive {drive} has failed before"));
                }
                self.slow.insert((member, drive));
                Ok(())
            }
            Incident::DriveReturns(drive) => {
                let was_slow = self.slow.remove(&(member, drive));
                match self.come_back(member, Part::Drive(drive)) {
                    Err(_) if was_slow => Ok(()),
                    come_back => come_back,
                }
            }
            Incident::ControllerFails(number) => self.leave(member, Part::Controller(number)),
            Incident::ControllerReturns(number) => self.come_back(member, Part::Controller(number)),
            Incident::PathDown(number) => self.leave(member, Part::Path(number)),
            Incident::PathUp(number) => self.come_back(member, Part::Path(number)),
            Incident::BatteryLost => self.leave(member, Part::Battery),
            Incident::BatteryReturns => self.come_back(member, Part::Battery),
            Incident::Pair(PairIncident::LinkPathLost(path)) => self.leave(0, Part::LinkPath(path)),
            Incident::Pair(PairIncident::LinkPathReturns(path)) => {
                self.come_back(0, Part::LinkPath(path))
            }
            Incident::Pair(what) => self.sites.follow(next.at, what),
            Incident::MemberJoins(member) if !self.joined.insert(member) => {
                Err(format!("member {member} has joined before"))
            }
            _ => Ok(()),
        }
    }

    fn leave(&mut self, member: usize, part: Part) -> Result<(), String> {
        match self.away.insert((member, part)) {
            true => Ok(()),
            false => Err(match part {
                Part::Drive(drive) => format!("drive {drive} has failed before"),
                Part::Controller(number) => format!("controller {number} has failed before"),
                Part::Path(number) => format!("path {number} is down already"),
                Part::Battery => "the battery is lost already".to_owned(),
                Part::LinkPath(number) => format!("path {number} of the link is lost already"),
            }),
        }
    }

    fn come_back(&mut self, member: usize, part: Part) -> Result<(), String> {
        match self.away.remove(&(member, part)) {
            true => Ok(()),
            false => Err(match part {
                Part::Drive(drive) => {
                    format!("drive {drive} has neither failed nor become slow before")
                }
                Part::Controller(number) => format!("controller {number} has not failed before"),
                Part::Path(number) => format!("path {number} is not down then"),
                Part::Battery => "the battery is there then".to_owned(),
                Part::LinkPath(number) => format!("path {number} of the link is there then"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_units::Time;

    use super::*;

    #[test]
    fn who_returns_was_away_and_who_fails_is_there() {
        let says = |incidents: &[&Incident]| {
            let mut course = Course::default();
            let all = incidents.iter().copied().cloned();
            let last = all.map(|one| course.follow(&Scheduled::new(Time::ZERO, one)));
            last.last().unwrap().err().unwrap_or_default()
        };
        let (fails, returns) = (&Incident::DriveFails(3), &Incident::DriveReturns(3));
        let slows = &Incident::DriveSlows(3, 2.0);
        assert_eq!(says(&[fails, returns, fails]), "");
        assert_eq!(says(&[slows, slows, returns]), "");
        assert_eq!(says(&[slows, fails, returns]), "");
        assert_eq!(says(&[fails, fails]), "drive 3 has failed before");
        assert_eq!(says(&[fails, slows]), "drive 3 has failed before");
        let neither = "drive 3 has neither failed nor become slow before";
        assert_eq!(says(&[returns]), neither);
        assert_eq!(says(&[slows, returns, returns]), neither);
        assert_eq!(says(&[&Incident::DriveFails(2), returns]), neither);
        let controller = says(&[&Incident::ControllerReturns(1)]);
        assert_eq!(controller, "controller 1 has not failed before");
        let path = says(&[&Incident::PathDown(1); 2]);
        assert_eq!(path, "path 1 is down already");
        let battery = says(&[&Incident::BatteryLost; 2]);
        assert_eq!(battery, "the battery is lost already");
    }

    #[test]
    fn members_have_courses_of_their_own_and_join_once() {
        let mut course = Course::default();
        for member in 0..2 {
            let incident =
                Scheduled { array: member, ..Scheduled::new(Time::ZERO, Incident::DriveFails(0)) };
            assert_eq!(course.follow(&incident), Ok(()));
        }
        let joins = Scheduled::new(Time::ZERO, Incident::MemberJoins(2));
        assert_eq!(course.follow(&joins), Ok(()));
        assert_eq!(course.follow(&joins), Err("member 2 has joined before".to_owned()));
    }
}
