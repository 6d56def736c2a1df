//! The operation mix: the shares of inserts, deletes, replaces and reads, and how they commit.
//!
//! Meaning of the operations (hmlee, "How Jet database operation mix works", Microsoft blog
//! archive): delete is seek and delete; replace is seek, set a column and update; insert is set
//! columns and update; read is seek. Reads make up the rest to 100 %. *Lazy* is the share of
//! commits that do not wait for the log. It is drawn for every operation, including reads, as the
//! counts of hard commits per batch in published reports suggest.

use brunt_world::random::Stream;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Adds a record.
    Insert,
    /// Deletes a record.
    Delete,
    /// Changes a record in place.
    Replace,
    /// Looks a record up.
    Read,
}

impl Kind {
    /// Every kind, in report order.
    pub const ALL: [Self; 4] = [Self::Insert, Self::Delete, Self::Replace, Self::Read];
}

/// How an operation's transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Commit {
    /// Waits until its log is durable.
    Hard,
    /// Returns at once; the log follows within the lazy flush time.
    Lazy,
}

/// Shares in percent. [`Mix::new`] rejects impossible ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    insert: u32,
    delete: u32,
    replace: u32,
    lazy: u32,
}

/// An invalid mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixError {
    /// The sum of inserts, deletes and replaces is this, more than 100 %.
    Operations(u32),
    /// The share of lazy commits is this, more than 100 %.
    Lazy(u32),
}

impl std::error::Error for MixError {}

impl std::fmt::Display for MixError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operations(sum) => {
                write!(f, "insert, delete and replace add up to {sum} %, over 100 %")
            }
            Self::Lazy(lazy) => write!(f, "{lazy} % of commits are lazy, over 100 %"),
        }
    }
}

/// A problem with a valid mix in a long test. Jetstress 2003 warned of both (hmlee, see the
/// [module](self)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixWarning {
    /// More than 10 % deletes: the version store grows.
    ManyDeletes,
    /// More deletes than inserts: the database runs out of records.
    Shrinking,
}

impl Mix {
    /// A mix of these percentages; the rest to 100 % is reads.
    ///
    /// # Errors
    /// [`MixError`] when the shares exceed 100 %.
    pub const fn new(insert: u32, delete: u32, replace: u32, lazy: u32) -> Result<Self, MixError> {
        let sum = insert.saturating_add(delete).saturating_add(replace);
        if sum > 100 {
            return Err(MixError::Operations(sum));
        }
        if lazy > 100 {
            return Err(MixError::Lazy(lazy));
        }
        Ok(Self { insert, delete, replace, lazy })
    }

    /// The share of a kind in percent.
    pub const fn percent(self, kind: Kind) -> u32 {
        match kind {
            Kind::Insert => self.insert,
            Kind::Delete => self.delete,
            Kind::Replace => self.replace,
            Kind::Read => 100 - self.insert - self.delete - self.replace,
        }
    }

    /// The share of lazy commits in percent.
    pub const fn lazy_percent(self) -> u32 {
        self.lazy
    }

    /// The warnings that Jetstress 2003 would have given.
    pub fn warnings(self) -> impl Iterator<Item = MixWarning> {
        let many = (self.delete > 10).then_some(MixWarning::ManyDeletes);
        let shrinking = (self.delete > self.insert).then_some(MixWarning::Shrinking);
        many.into_iter().chain(shrinking)
    }

    /// Draws an operation; always takes two draws from the stream.
    pub fn draw(self, random: &mut Stream) -> (Kind, Commit) {
        let commit = if random.percent(self.lazy) { Commit::Lazy } else { Commit::Hard };
        let at = random.below(100);
        let mut end = 0;
        for kind in Kind::ALL {
            end += u64::from(self.percent(kind));
            if at < end {
                return (kind, commit);
            }
        }
        unreachable!("the shares add up to 100")
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn impossible_mixes_are_refused() {
        assert_eq!(Mix::new(40, 40, 21, 0), Err(MixError::Operations(101)));
        assert_eq!(Mix::new(40, 40, 20, 101), Err(MixError::Lazy(101)));
        assert_eq!(Mix::new(40, 40, 20, 100).unwrap().percent(Kind::Read), 0);
        let text = MixError::Operations(101).to_string();
        assert_eq!(text, "insert, delete and replace add up to 101 %, over 100 %");
    }

    #[test]
    fn doubtful_mixes_are_named() {
        let warnings = |insert, delete| -> Vec<_> {
            Mix::new(insert, delete, 0, 0).unwrap().warnings().collect()
        };
        assert_eq!(warnings(40, 10), []);
        assert_eq!(warnings(40, 20), [MixWarning::ManyDeletes]);
        assert_eq!(warnings(4, 5), [MixWarning::Shrinking]);
    }

    #[test]
    fn draws_match_the_shares() {
        let mix = Mix::new(40, 20, 5, 70).unwrap();
        let mut random = Streams::new(1).named("mix");
        let count = 200_000;
        let draws: Vec<_> = (0..count).map(|_| mix.draw(&mut random)).collect();
        let near = |seen: usize, percent: u32| {
            let share = f64::from(percent) / 100.0;
            let deviation = (f64::from(count) * share * (1.0 - share)).sqrt();
            let error = (seen as f64 - f64::from(count) * share).abs();
            assert!(error < 4.0 * deviation, "{seen} of {count} for {percent} %");
        };
        for kind in Kind::ALL {
            near(draws.iter().filter(|draw| draw.0 == kind).count(), mix.percent(kind));
        }
        let lazy = draws.iter().filter(|draw| draw.1 == Commit::Lazy);
        near(lazy.count(), 70);
        // Commit and kind are independent.
        let lazy_reads = draws.iter().filter(|draw| **draw == (Kind::Read, Commit::Lazy));
        assert!((lazy_reads.count() as f64 / f64::from(count) - 0.35 * 0.7).abs() < 0.005);
    }
}
