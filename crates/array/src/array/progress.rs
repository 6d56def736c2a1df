//! Progress of an array's repairs.

use brunt_units::Span;

use super::Array;
use super::observer::Observer;
use super::repair::{Campaign, CampaignKind};
use crate::standing::{Standing, Unfinished};

impl<O: Observer> Array<O> {
    /// The standing of the worst group. It changes only when something is noted.
    pub fn standing(&self) -> Standing {
        let groups = (0..).zip(&self.groups);
        let each = groups.map(|(number, group)| {
            let is_at = |kind: CampaignKind| {
                let mut own = self.campaigns.iter().filter(|one| one.group == number);
                own.any(|one| one.kind == kind)
            };
            match (group.lost_chunks(), group.failures()) {
                (1.., _) => Standing::Lost,
                (0, 0) if is_at(CampaignKind::Copyback) => Standing::CopyingBack,
                (0, 0) => Standing::Whole,
                (0, _) if is_at(CampaignKind::Rebuild) => Standing::Rebuilding,
                (0, _) => Standing::Degraded,
            }
        });
        each.max().unwrap_or_default()
    }

    /// The repairs under way, in the order in which they began.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let all = self.campaigns.iter();
        all.map(|campaign| self.how_far(campaign)).collect()
    }

    /// Rows of strips that a repair still has to write.
    pub(super) fn rows_left(&self, campaign: &Campaign) -> u64 {
        let group = &self.groups[campaign.group as usize];
        match (campaign.kind, campaign.onto) {
            (CampaignKind::Copyback, Some(onto)) => group.rows_to_move(onto),
            _ => group.rows_to_rebuild(campaign.from),
        }
    }

    fn how_far(&self, campaign: &Campaign) -> Unfinished {
        let all = campaign.rows.max(1);
        let left = self.rows_left(campaign).min(all);
        let done = (all - left) as f64 / all as f64;
        let took = (self.now - campaign.started_at).as_seconds();
        let lost = (campaign.kind == CampaignKind::Rebuild).then_some(campaign.from);
        Unfinished {
            member: None,
            group: self.group_name(campaign.group),
            lost,
            onto: campaign.onto,
            done,
            left: (left < all).then(|| Span::from_seconds(took * (1.0 - done) / done)),
        }
    }
}
