//! Checks that incidents of a pair can follow each other: what returns was lost, what fails over is
//! served elsewhere.
//!
//! Only what is certain from the timeline is refused. Whether a planned failover ends before the
//! next loss, or a full copy before a failover, the simulation finds out; it notes what it does not
//! do.

use brunt_array::{Failover, PairDesign, PairIncident, Site};
use brunt_units::Time;

/// A group as far as the timeline tells.
#[derive(Clone, Copy)]
struct Group {
    is_failsafe: bool,
    /// The site that serves; nothing when that depends on the load.
    serving: Option<Site>,
    /// Whether it fails over as planned, or has done so.
    is_planned: bool,
    is_split: bool,
}

/// The sites of a pair, its link and its groups after some incidents.
#[derive(Default)]
pub(super) struct Sites {
    groups: Vec<Group>,
    lost: [bool; 2],
    is_link_lost: bool,
    flaps_until: Option<Time>,
}

impl Sites {
    /// Where nothing has happened.
    pub(super) fn of(pair: &PairDesign) -> Self {
        let groups = pair.groups.iter().map(|group| Group {
            is_failsafe: group.failsafe,
            serving: Some(Site::Source),
            is_planned: false,
            is_split: false,
        });
        Self { groups: groups.collect(), ..Self::default() }
    }

    /// `what` comes next.
    ///
    /// # Errors
    /// Why it cannot; the way out on a second line.
    pub(super) fn follow(&mut self, at: Time, what: PairIncident) -> Result<(), String> {
        match what {
            PairIncident::LinkLost => self.set_link(at, true),
            PairIncident::LinkReturns => self.set_link(at, false),
            PairIncident::LinkFlaps { times, down, up } => {
                self.set_link(at, true)?;
                self.is_link_lost = false;
                self.flaps_until = Some(at + (down + up) * u64::from(times));
                Ok(())
            }
            PairIncident::SourceLost => self.set_storage(Site::Source, true),
            PairIncident::SourceReturns => self.set_storage(Site::Source, false),
            PairIncident::DestinationLost => self.set_storage(Site::Destination, true),
            PairIncident::DestinationReturns => self.set_storage(Site::Destination, false),
            PairIncident::FailOver { group, to, how } => {
                self.each(group, |own, one| own.fail_over(one, to, how))
            }
            PairIncident::Keep { group, site } => self.each(group, |own, one| own.keep(one, site)),
            _ => Ok(()),
        }
    }

    fn each(
        &mut self,
        group: Option<usize>,
        change: impl Fn(&Self, &mut Group) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut groups = std::mem::take(&mut self.groups);
        let all = groups.iter_mut().enumerate();
        let mut these = all.filter(|(number, _)| group.is_none_or(|one| one == *number));
        let result = these.try_for_each(|(_, one)| change(self, one));
        self.groups = groups;
        result
    }

    fn set_link(&mut self, at: Time, is_lost: bool) -> Result<(), String> {
        if self.flaps_until.is_some_and(|until| at < until) {
            let why = "the link flaps then\nlet it flap for a shorter time, or lose it later";
            return Err(why.to_owned());
        }
        if std::mem::replace(&mut self.is_link_lost, is_lost) == is_lost {
            let is = if is_lost { "lost already" } else { "there then" };
            return Err(format!("the link is {is}"));
        }
        self.something_is_lost();
        Ok(())
    }

    fn set_storage(&mut self, site: Site, is_lost: bool) -> Result<(), String> {
        let own = usize::from(site == Site::Destination);
        if std::mem::replace(&mut self.lost[own], is_lost) == is_lost {
            let is = if is_lost { "lost already" } else { "there then" };
            return Err(format!("the {site} is {is}"));
        }
        self.something_is_lost();
        Ok(())
    }

    /// A planned failover may not have ended before.
    fn something_is_lost(&mut self) {
        for group in &mut self.groups {
            if std::mem::take(&mut group.is_planned) {
                group.serving = None;
            }
        }
    }

    fn is_lost(&self, site: Site) -> bool {
        self.lost[usize::from(site == Site::Destination)]
    }

    fn fail_over(&self, group: &mut Group, to: Site, how: Failover) -> Result<(), String> {
        let from = to.other();
        if group.is_split {
            let why = "both sites serve then\nchoose one before: what = \"split ends\"";
            return Err(why.to_owned());
        }
        if self.is_lost(to) {
            return Err(format!("the {to} is lost then, and cannot serve"));
        }
        if group.serving == Some(to) && how != Failover::Forced {
            return Err(format!("the {to} serves already"));
        }
        if how == Failover::Planned {
            let missing = match (self.is_lost(from), self.is_link_lost) {
                (true, _) => format!("the {from} is lost then"),
                (false, true) => "the link is lost then".to_owned(),
                (false, false) => {
                    (group.serving, group.is_planned) = (Some(to), true);
                    return Ok(());
                }
            };
            return Err(format!(
                "{missing}, and a planned failover needs both sites and the link\nplanned = false does without"
            ));
        }
        let is_alive = group.serving == Some(from) && !self.is_lost(from) && self.is_link_lost;
        if is_alive && !group.is_failsafe && how == Failover::Unplanned {
            return Err(format!(
                "the {from} serves then and cannot be told, as the link is lost\nforced = true lets both serve"
            ));
        }
        // A source with failsafe serves no hosts without its link, if it is in force.
        group.is_split = is_alive && !group.is_failsafe;
        // Where it was not known which site served, both may now.
        let may_be_split = group.serving.is_none() && how == Failover::Forced && self.is_link_lost;
        group.serving = (!may_be_split).then_some(to);
        Ok(())
    }

    fn keep(&self, group: &mut Group, site: Site) -> Result<(), String> {
        if !group.is_split && group.serving.is_some() {
            return Err("only one site serves then: there is nothing to choose".to_owned());
        }
        if self.is_link_lost || self.lost.contains(&true) {
            let why = "the sites cannot talk then\nlet link and storage return before";
            return Err(why.to_owned());
        }
        (group.is_split, group.serving) = (false, Some(site));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use brunt_array::{ArrayDesign, Level, Mode, PairGroupDesign, drive::library};
    use brunt_units::Span;

    use super::*;
    use PairIncident::{
        DestinationLost, DestinationReturns, LinkFlaps, LinkLost, LinkReturns, SourceLost,
        SourceReturns,
    };

    fn sites(failsafe: bool) -> Sites {
        let model = library::find("cheetah-15k5-146-fc").unwrap();
        let array = ArrayDesign::one_group(&model, 4, Level::Raid10);
        let mut pair = PairDesign::new(array.clone().into(), array.into());
        pair.groups = vec![PairGroupDesign {
            name: "mail".to_owned(),
            luns: Vec::new(),
            mode: Mode::Synchronous,
            failsafe,
        }];
        Sites::of(&pair)
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    fn to(to: Site, how: Failover) -> PairIncident {
        let group = None;
        PairIncident::FailOver { group, to, how }
    }

    /// What is said of the last of `incidents`, which come a second apart; the others are in order.
    fn says(failsafe: bool, incidents: &[PairIncident]) -> String {
        let mut sites = sites(failsafe);
        let (last, before) = incidents.split_last().unwrap();
        for (second, one) in (1..).zip(before) {
            assert_eq!(sites.follow(at(second), *one), Ok(()), "{one:?}");
        }
        let end = at(1 + before.len() as u64);
        sites.follow(end, *last).err().unwrap_or_default()
    }

    #[test]
    fn what_returns_was_lost_and_what_fails_over_is_served_elsewhere() {
        use Failover::{Forced, Planned, Unplanned};
        use Site::{Destination, Source};
        let says = |incidents: &[PairIncident]| says(false, incidents);
        assert_eq!(says(&[LinkLost, LinkReturns, LinkLost]), "");
        assert_eq!(says(&[LinkReturns]), "the link is there then");
        assert_eq!(says(&[SourceLost; 2]), "the source is lost already");
        assert_eq!(says(&[SourceReturns]), "the source is there then");
        assert_eq!(says(&[DestinationLost, DestinationReturns]), "");
        let over = to(Destination, Unplanned);
        assert_eq!(says(&[SourceLost, over, SourceReturns]), "");
        assert_eq!(says(&[SourceLost, over, over]), "the destination serves already");
        let back = to(Source, Planned);
        assert_eq!(says(&[SourceLost, over, SourceReturns, back]), "");
        assert_eq!(
            says(&[SourceLost, over, to(Source, Unplanned)]),
            "the source is lost then, and cannot serve"
        );
        let planned = to(Destination, Planned);
        assert!(says(&[SourceLost, planned]).ends_with("\nplanned = false does without"));
        assert!(says(&[LinkLost, planned]).starts_with("the link is lost then"));
        // Whether it ended in time depends on the load.
        assert_eq!(says(&[planned, SourceLost, over]), "");
        assert_eq!(says(&[planned, planned]), "the destination serves already");
        assert!(says(&[LinkLost, over]).ends_with("\nforced = true lets both serve"));
        let forced = to(Destination, Forced);
        assert!(says(&[LinkLost, forced, over]).starts_with("both sites serve then"));
        let keep = PairIncident::Keep { group: None, site: Source };
        assert!(says(&[keep]).starts_with("only one site serves then"));
        assert!(says(&[LinkLost, forced, keep]).starts_with("the sites cannot talk then"));
        assert_eq!(says(&[LinkLost, forced, LinkReturns, keep, planned]), "");
    }

    #[test]
    fn a_source_with_failsafe_does_not_serve_without_its_link() {
        let over = to(Site::Destination, Failover::Unplanned);
        assert_eq!(says(true, &[LinkLost, over]), "");
    }

    #[test]
    fn a_link_that_flaps_is_left_alone() {
        let flaps = LinkFlaps { times: 2, down: Span::seconds(1), up: Span::seconds(1) };
        assert!(says(false, &[flaps, LinkLost]).starts_with("the link flaps then"));
        let mut sites = sites(false);
        assert_eq!(sites.follow(at(1), flaps), Ok(()));
        assert_eq!(sites.follow(at(5), LinkLost), Ok(()));
        let lost = "the link is lost already".to_owned();
        assert_eq!(sites.follow(at(6), flaps), Err(lost));
    }
}
