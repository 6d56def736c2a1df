//! Is anything lost when both sites lose power at one instant? Searched by seed, with the engine
//! itself.
//!
//! A round is a small mail server on a pair that the seed draws: synchronous or not, failsafe or
//! not, with links that come and go. At random instants everything stops:
//!
//! ```text
//!   source        what has ended, and of each write in flight nothing, all of it, or any of its sectors
//!   destination   what the pair has brought, and of the oldest write under way nothing, all, or any sectors
//! ```
//!
//! Each image is recovered by the engine and every changed record is read. At the source nothing
//! that was acknowledged may be missing. The destination must be a beginning of each log, and what
//! it lacks no older than what the pair said to be at risk.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

use brunt_array::{Control as Fault, Mode, PairIncident, ResumePolicy, Site, SystemDesign};
use brunt_drill::{Cut, Ledger, Loss, Pair};
use brunt_qualify::plan::Plan;
use brunt_qualify::server::Records;
use brunt_run::{Listener, Silence, Stop};
use brunt_scenario::{Document, ModelledScenario, Override};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::{Stream, Streams};
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

use super::DrillError;
use super::mail_server::{DrillEngine, MailServer, open_records};
use super::pair::{ArrayPair, CoursePlan};
use super::sites::{TwoSites, plan_at};
use super::unable::Unable;

const SCENARIO: &str = include_str!("prove.toml");

/// Instants of a round at which everything stops.
const CUTS: u64 = 20;
/// The longest time between two.
const BETWEEN: Span = Span::millis(150);

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairProof {
    pub seed: u64,
    /// The first step; the search begins with its round, and a round has [`PairProof::ROUND`]
    /// steps.
    pub first: u64,
    /// Instants at which both sites stop.
    pub steps: u64,
}

/// What was searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCoverage {
    /// Rounds that were begun.
    pub rounds: u64,
    /// Instants at which both sites stopped.
    pub steps: u64,
    /// Images that were recovered.
    pub recovered: u64,
    /// Instants at which a full copy had left the destination inconsistent.
    pub inconsistent: u64,
    /// Acknowledged commits that the destination lacked, as the pair had said.
    pub at_risk: u64,
    /// Acknowledged commits that were there.
    pub kept: u64,
}

/// A search that found nothing lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairProven {
    /// What was searched.
    pub coverage: PairCoverage,
    /// Whether it was searched to the end.
    pub is_complete: bool,
}

/// Something was lost, or a site could not be recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairViolation {
    pub seed: u64,
    pub step: u64,
    /// What was found.
    pub what: String,
    /// What was searched until then.
    pub coverage: PairCoverage,
}

impl PairViolation {
    /// The command that repeats it.
    pub fn command(&self) -> String {
        let first = self.step - self.step % CUTS;
        let steps = self.step + 1 - first;
        format!("brunt prove --pair --seed {} --first {first} --steps {steps}", self.seed)
    }
}

impl fmt::Display for PairViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nagain         {}", self.what, self.command())
    }
}

impl PairProof {
    /// Steps of a round.
    pub const ROUND: u64 = CUTS;

    /// Searches; `watch` hears of every step, and ends the search by `false`.
    ///
    /// # Errors
    /// When something was lost.
    pub fn run(
        &self,
        watch: impl FnMut(&PairCoverage) -> bool,
    ) -> Result<PairProven, Box<PairViolation>> {
        self.search(None, watch)
    }

    /// The same on a pair with a `fault`.
    fn search(
        &self,
        fault: Option<Fault>,
        mut watch: impl FnMut(&PairCoverage) -> bool,
    ) -> Result<PairProven, Box<PairViolation>> {
        let mut search = Search {
            coverage: PairCoverage::default(),
            left: self.steps,
            watch: &mut watch,
            is_ended: false,
        };
        let first = self.first.div_euclid(CUTS);
        for round in first.. {
            let ran = Round::draw(self.seed, round).run(fault, &mut search);
            let found = ran.map_err(|error| error.to_string());
            let found = found.and_then(|found| found.map_err(|unable| unable.to_string()));
            found.map_err(|what| PairViolation {
                seed: self.seed,
                step: first * CUTS + search.coverage.steps - 1,
                what,
                coverage: search.coverage,
            })?;
            if search.is_ended || search.left == 0 {
                break;
            }
        }
        Ok(PairProven { coverage: search.coverage, is_complete: !search.is_ended })
    }
}

/// A search under way.
struct Search<'a> {
    coverage: PairCoverage,
    /// Steps to do.
    left: u64,
    watch: &'a mut dyn FnMut(&PairCoverage) -> bool,
    is_ended: bool,
}

struct Round {
    scenario: ModelledScenario,
    draw: Stream,
}

impl Round {
    fn draw(seed: u64, round: u64) -> Self {
        let mut draw = Streams::new(seed).part("pair").named(&round.to_string());
        let document = Document::new("prove.toml", SCENARIO, Path::new("/"));
        let document = document.expect("it is TOML");
        let seed = format!("test.seed={}", draw.bits() >> 2);
        // Up to what the link and the drives carry, and a little beyond.
        let pace = format!("test.operations_per_s={}", 25 << draw.below(6));
        let overrides = [seed, pace].map(|set| Override::of_set(&set).expect("it has a key"));
        let scenario = document.modelled_test(&overrides);
        let mut scenario = scenario.expect("it is a scenario");
        let SystemDesign::Pair(pair) = &mut scenario.arrays[0].design else {
            unreachable!("the scenario has a pair");
        };
        let mode = match draw.percent(30) {
            true => Mode::Asynchronous,
            false => Mode::Synchronous,
        };
        let failsafe = mode == Mode::Synchronous && draw.percent(20);
        for group in &mut pair.groups {
            (group.mode, group.failsafe) = (mode, failsafe);
        }
        pair.link.round_trip = Span::micros(draw.below(8_000));
        pair.link.jitter = Span::micros(draw.below(500));
        pair.link.bytes_per_second = 4_000_000 << draw.below(5);
        pair.outstanding = 1 + u32::try_from(draw.below(16)).expect("few");
        if draw.percent(30) {
            // Logs that overflow.
            pair.history.limit = ByteSize::kib(64 << draw.below(6));
            pair.history.initial = pair.history.limit;
        }
        if draw.percent(30) {
            pair.resume = ResumePolicy::Staggered;
        }
        Self { scenario, draw }
    }

    fn run(
        self,
        fault: Option<Fault>,
        search: &mut Search<'_>,
    ) -> Result<Result<(), Unable>, DrillError> {
        let Self { scenario, mut draw } = self;
        let seed = scenario.scenario.test.seed;
        let mut built = TwoSites::build(&scenario, seed, fault)?;
        let plans = Site::ALL.map(|site| plan_at(&scenario, site, 0, seed));
        let server = MailServer::<Records>::new(0, "pair", plans.clone());
        let plan = CoursePlan {
            drill: scenario.drill,
            timeline: Vec::new(),
            warm_up: Span::ZERO,
            patience: Span::ZERO,
        };
        let listener: Rc<dyn Listener> = Rc::new(Silence);
        let pair = ArrayPair::new(built.sites(), plan, vec![server], &listener, &Stop::default());
        let pair = Rc::new(pair);
        let executor = &mut built.made.executor;
        let opening = Rc::clone(&pair);
        executor.block_on(async move { opening.open().await })?;
        search.coverage.rounds += 1;
        let mut away = Away::default();
        for _ in 0..CUTS.min(search.left) {
            let passing = Rc::clone(&pair);
            let until = pair.sites.now() + Span::nanos(draw.below(BETWEEN.0));
            executor.block_on(async move { passing.pass(until).await })?;
            search.coverage.steps += 1;
            search.left -= 1;
            let found = away
                .change(&pair, &mut draw)
                .and_then(|()| cut(&pair, &plans, &mut draw, &mut search.coverage));
            if found.is_err() {
                return Ok(found);
            }
            if !(search.watch)(&search.coverage) {
                search.is_ended = true;
                break;
            }
        }
        Ok(Ok(()))
    }
}

/// What is away now.
#[derive(Default)]
struct Away {
    link: bool,
    destination: bool,
}

impl Away {
    /// Loses something or lets it return, sometimes.
    fn change(&mut self, pair: &ArrayPair<Records>, draw: &mut Stream) -> Result<(), Unable> {
        let what = match draw.below(10) {
            0 | 1 => {
                self.link ^= true;
                match self.link {
                    true => PairIncident::LinkLost,
                    false => PairIncident::LinkReturns,
                }
            }
            2 => {
                self.destination ^= true;
                match self.destination {
                    true => PairIncident::DestinationLost,
                    false => PairIncident::DestinationReturns,
                }
            }
            _ => return Ok(()),
        };
        Ok(pair.sites.strike(what)?)
    }
}

/// Everything stops now: recovers what each side would find.
fn cut(
    pair: &ArrayPair<Records>,
    plans: &[Plan; 2],
    draw: &mut Stream,
    coverage: &mut PairCoverage,
) -> Result<(), Unable> {
    let server = &pair.servers[0];
    let ledger = server.ledger.lock().clone();
    let now = pair.sites.now();
    let reported = pair.at_risk();
    let mirror = pair.sites.mirror.borrow();
    if let Some(broken) = mirror.broken_order() {
        return Err(Unable::Order { at: now, what: broken.to_owned() });
    }
    let source = mirror.with_in_flight(&pair.sites.machine.store(), draw);
    let named =
        |site: Site| move |error: Unable| Unable::At { at: now, site, error: Box::new(error) };
    let loss = recovered(source, &plans[0], &ledger, now).map_err(named(Site::Source))?;
    coverage.recovered += 1;
    coverage.kept += loss.kept;
    if loss.transactions > 0 {
        return Err(Unable::SourceLacks { at: now, commits: loss.transactions });
    }
    let Some(destination) = mirror.torn_other_side(draw) else {
        coverage.inconsistent += 1;
        return Ok(());
    };
    let loss = recovered(destination, &plans[0], &ledger, now).map_err(named(Site::Destination))?;
    coverage.recovered += 1;
    coverage.at_risk += loss.transactions;
    let is_older = match (loss.first_at, reported.since) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(lost), Some(since)) => lost < since,
    };
    match is_older {
        true => Err(Unable::DestinationLacks {
            at: now,
            commits: loss.transactions,
            first: loss.first_at,
            writes: reported.writes,
            since: reported.since,
        }),
        false => Ok(()),
    }
}

/// Recovers `files`, whose paths are those of `plan`, and compares every changed record with
/// `ledger`.
fn recovered(files: Store, plan: &Plan, ledger: &Ledger, now: Time) -> Result<Loss, Unable> {
    let mut made = VirtualWorld::new(VirtualOptions { store: files, ..VirtualOptions::new(1) });
    let (world, plan, ledger) = (made.world.clone(), plan.clone(), ledger.clone());
    made.executor.block_on(async move {
        let opened = open_records(&world, &plan).await?;
        let found = Records::found(opened, ledger.keys()).await?;
        let cut = Cut::of(&ledger, &found)?;
        Ok(Loss::of(&ledger, &cut, now))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_dropped_is_found() {
        let proof = PairProof { seed: 1, first: 0, steps: 400 };
        let found = proof.search(Some(Fault::DropOne), |_| true);
        assert!(found.is_err(), "{found:?}");
    }
}
