//! Draws who mail goes to.

use brunt_world::random::{Stream, Streams};

use super::{ListOfRecipients, Recipients};

/// Distribution lists; the benchmark of 2003 has as many for each site.
const LISTS: u64 = 1_000;

impl Recipients {
    /// Recipients of a message from account `from` of `accounts`, each once: a list, or single
    /// accounts. A list has the same members each time. A single account writes to itself.
    ///
    /// # Panics
    /// When there are no accounts.
    pub fn draw(&self, accounts: u32, from: u32, streams: Streams, draw: &mut Stream) -> Vec<u32> {
        if let Some(list) = self.list
            && draw.unit() * 100.0 < list.percent
        {
            let number = draw.below(LISTS);
            let mut members = streams.named(&format!("list/{number}"));
            let count = list.members(&mut members);
            return distinct(count, accounts, from, &mut members);
        }
        distinct(around(self.single(), draw), accounts, from, draw)
    }

    /// Recipients of a message that goes to no list, so that all have the mean.
    fn single(&self) -> f64 {
        let Some(list) = self.list else {
            return self.mean;
        };
        let share = list.percent / 100.0;
        match share < 1.0 {
            true => (self.mean - share * list.members_mean) / (1.0 - share),
            false => 1.0,
        }
    }
}

impl ListOfRecipients {
    /// The size of a list: between its ends, and on average the mean. Below the mean all sizes are
    /// equally likely, and so are those above it.
    fn members(&self, draw: &mut Stream) -> u32 {
        let (min, max) = (f64::from(self.members_min), f64::from(self.members_max));
        let (below, above) = (self.members_mean - min, max - self.members_mean);
        if below + above <= 0.0 {
            return self.members_min;
        }
        // The halves' means are half of `below` and of `above` away: in these shares they cancel.
        let is_above = draw.unit() < below / (below + above);
        let size = match is_above {
            true => self.members_mean + draw.unit() * above,
            false => self.members_mean - draw.unit() * below,
        };
        around(size, draw).clamp(self.members_min, self.members_max)
    }
}

/// One of the two whole numbers around `mean`, with this mean.
fn around(mean: f64, draw: &mut Stream) -> u32 {
    let whole = libm::floor(mean);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "profiles have at most 1,000 recipients"
    )]
    let number = whole as u32;
    (number + u32::from(draw.unit() < mean - whole)).max(1)
}

/// So many of the accounts without `from`, or all of them.
fn distinct(count: u32, accounts: u32, from: u32, draw: &mut Stream) -> Vec<u32> {
    assert!(accounts > 0, "somebody sends");
    if accounts == 1 {
        return vec![from];
    }
    let mut chosen = Vec::new();
    while chosen.len() < count.min(accounts - 1) as usize {
        let one = u32::try_from(draw.below(u64::from(accounts))).expect("it is below a u32");
        if one != from && !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn recipients_have_the_mean_of_their_profile() {
        for name in Profile::names() {
            let recipients = Profile::built_in(name).unwrap().recipients;
            let streams = Streams::new(7);
            let mut draw = streams.named("draw");
            let mut all = 0;
            for message in 0..20_000_u32 {
                let from = message % 1_000;
                let to = recipients.draw(1_000, from, streams, &mut draw);
                assert!(!to.is_empty() && !to.contains(&from), "{name}");
                all += to.len();
            }
            let mean = all as f64 / 20_000.0;
            assert!((mean / recipients.mean - 1.0).abs() < 0.03, "{name}: {mean}");
        }
    }

    #[test]
    fn few_accounts_are_all_there_are() {
        let recipients = Recipients { mean: 5.0, list: None };
        let streams = Streams::new(1);
        let mut draw = streams.named("draw");
        assert_eq!(recipients.draw(1, 0, streams, &mut draw), [0]);
        let mut three = recipients.draw(3, 1, streams, &mut draw);
        three.sort_unstable();
        assert_eq!(three, [0, 2]);
    }
}
