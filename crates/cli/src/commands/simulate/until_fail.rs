//! `--until-fail`: the largest number of mailboxes for which every rule holds.
//!
//! Doubled until a rule fails, then narrowed down, as many points at once as there are cores. That assumes what holds for
//! storage in general: what bears a number bears a smaller one. The result is good to [`NEAR`].

use brunt_qualify::progress::Stop;

use super::points::{Point, simulate_all};
use super::sweep::table;
use super::{Engine, Headline, SimulateError, Source};
use crate::scenario::{Override, Place};

/// How near the largest that passes and the smallest that fails are in the end, as a share.
const NEAR: f64 = 0.02;
const DOUBLINGS_MAX: u32 = 20;

/// What was found.
pub(super) struct Found {
    /// The largest number that passed; nothing when even the smallest tried did not.
    pub(super) passes: Option<u64>,
    /// The smallest that failed; nothing when none did.
    pub(super) fails: Option<u64>,
    /// One that does not fit on the storage.
    refused: Option<u64>,
    /// Everything that was tried, in order of the number.
    tried: Vec<(u64, Headline)>,
}

impl Found {
    /// The largest number that passed, and the smallest above it that did not: a small system may fail for another reason than
    /// that it bears too much.
    fn judge(&mut self) {
        let passed = |wanted: bool| {
            let tried = self.tried.iter();
            tried
                .filter(move |(_, headline)| headline.passed == wanted)
                .map(|(count, _)| *count)
        };
        let passes = passed(true).max();
        let above = |count: &u64| passes.is_none_or(|passes| *count > passes);
        self.fails = passed(false).chain(self.refused).filter(above).min();
        self.passes = passes;
    }

    pub(super) fn tell(&self) -> String {
        let labels = self.tried.iter().map(|(count, _)| count.to_string());
        let headlines: Vec<Headline> = self.tried.iter().map(|(_, headline)| *headline).collect();
        let verdict = match (self.passes, self.fails) {
            (Some(passes), Some(fails)) => {
                format!("{passes} mailboxes pass, {fails} do not")
            }
            (Some(passes), None) => format!("{passes} mailboxes pass, and more was not tried"),
            (None, _) => "no number of mailboxes that was tried passes".to_owned(),
        };
        format!("{verdict}\n\n{}", table("mailboxes", labels, &headlines))
    }
}

/// Looks for it, beginning with what the scenario says.
///
/// # Errors
/// [`SimulateError`] when the scenario has no mailboxes, or cannot be simulated.
pub(super) fn search(
    source: &Source,
    overrides: &[Override],
    engine: Engine,
    stop: &Stop,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Found, SimulateError> {
    let scenario = source.test(overrides)?;
    let Some(mailboxes) = &scenario.scenario.mailboxes else {
        let refusal = Place::flag("--until-fail").refuse("needs a table [mailboxes]");
        return Err(refusal.hint("with `count`, `quota` and `io_per_s`").into());
    };
    let mut search = Search {
        source,
        overrides,
        engine,
        stop,
        told,
        found: Found {
            passes: None,
            fails: None,
            refused: None,
            tried: Vec::new(),
        },
    };
    search.double(mailboxes.count)?;
    search.narrow()?;
    search.found.tried.sort_by_key(|(count, _)| *count);
    Ok(search.found)
}

struct Search<'a> {
    source: &'a Source,
    overrides: &'a [Override],
    engine: Engine,
    stop: &'a Stop,
    told: &'a (dyn Fn(usize) + Sync),
    found: Found,
}

impl Search<'_> {
    /// Doubles `count` until a rule fails, or halves it until none does.
    fn double(&mut self, mut count: u64) -> Result<(), SimulateError> {
        for _ in 0..DOUBLINGS_MAX {
            if self.stop.is_asked() || (self.found.passes.is_some() && self.found.fails.is_some()) {
                break;
            }
            match self.try_all(&[count]) {
                Ok(()) => {}
                // Databases that do not fit are the end of it, too.
                Err(SimulateError::Refused(_)) if self.found.passes.is_some() => {
                    self.found.refused = Some(count);
                    self.found.judge();
                }
                Err(error) => return Err(error),
            }
            count = match self.found.passes {
                Some(passes) => passes * 2,
                None => count.div_ceil(2),
            };
            if self.found.passes.is_none() && self.found.fails == Some(1) {
                break;
            }
        }
        Ok(())
    }

    fn narrow(&mut self) -> Result<(), SimulateError> {
        while let (Some(passes), Some(fails)) = (self.found.passes, self.found.fails) {
            let near = (fails - passes) as f64 <= (passes as f64 * NEAR).max(1.0);
            if near || self.stop.is_asked() {
                break;
            }
            let third = (fails - passes).div_ceil(3);
            let between: Vec<u64> = [passes + third, passes + 2 * third]
                .into_iter()
                .filter(|count| *count < fails)
                .collect();
            match self.try_all(&between) {
                Err(SimulateError::Refused(_)) => {
                    self.found.refused = between.first().copied();
                    self.found.judge();
                }
                other => other?,
            }
        }
        Ok(())
    }

    fn try_all(&mut self, counts: &[u64]) -> Result<(), SimulateError> {
        let points: Vec<Point> = counts
            .iter()
            .map(|count| Point {
                set: vec![format!("mailboxes.count={count}")],
            })
            .collect();
        let headlines = simulate_all(
            self.source,
            self.overrides,
            self.engine,
            &points,
            self.stop,
            self.told,
        )?;
        for (count, headline) in counts.iter().zip(headlines) {
            self.found.tried.push((*count, headline));
        }
        self.found.judge();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::simulate::LogFigures;

    fn found(tried: &[(u64, bool)], refused: Option<u64>) -> (Option<u64>, Option<u64>) {
        let log = LogFigures {
            per_s: 1.0,
            ms: 1.0,
            bytes: 1.0,
        };
        let headline = |passed| Headline {
            io_per_s: 1.0,
            reads_per_s: 1.0,
            writes_per_s: 1.0,
            read_ms: 1.0,
            write_ms: 1.0,
            log,
            log_volume: log,
            utilisation: 0.5,
            passed,
        };
        let tried = tried.iter();
        let mut found = Found {
            passes: None,
            fails: None,
            refused,
            tried: tried
                .map(|(count, passed)| (*count, headline(*passed)))
                .collect(),
        };
        found.judge();
        (found.passes, found.fails)
    }

    #[test]
    fn a_failure_below_a_pass_is_not_the_border() {
        assert_eq!(
            found(&[(400, false), (200, true)], None),
            (Some(200), Some(400))
        );
        assert_eq!(found(&[(100, false), (200, true)], None), (Some(200), None));
        assert_eq!(found(&[(200, true)], Some(400)), (Some(200), Some(400)));
        assert_eq!(
            found(&[(400, false), (200, false)], None),
            (None, Some(200))
        );
    }
}
