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
    /// Everything that was tried, in order of the number.
    tried: Vec<(u64, Headline)>,
}

impl Found {
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
                    self.found.fails = Some(count);
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
                Err(SimulateError::Refused(_)) => self.found.fails = between.first().copied(),
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
            let side = match headline.passed {
                true => &mut self.found.passes,
                false => &mut self.found.fails,
            };
            let better = match headline.passed {
                true => side.is_none_or(|known| *count > known),
                false => side.is_none_or(|known| *count < known),
            };
            if better {
                *side = Some(*count);
            }
            self.found.tried.push((*count, headline));
        }
        Ok(())
    }
}
