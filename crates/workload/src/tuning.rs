//! Finds the number of sessions in short trials. A pure policy: it proposes trials, and the caller
//! reports their results.
//!
//! Two questions, one search. More sessions ask more of the storage; somewhere the answer changes
//! from *more* to *enough*:
//!
//! ```text
//!    maximum   the most sessions whose load the storage sustains:        passes passes passes | fails fails fails
//!    pace      the fewest that keep up with a given I/O rate:            late   late   late   | keeps up  keeps up
//!                                                                        ------- more ------> | <---- enough -----
//!
//!    double, or halve, until both sides are known -> halve between them -> one long trial of the answer -> found
//!                                                                                |
//!                                  if it refutes the answer, that moves to the other side and the search continues
//! ```
//!
//! **Noise.** A trial near the border may fall on either side. So a number of sessions near the
//! border is tried up to three times, and its trials are averaged; and no answer is final until a
//! long trial confirms it. The border of a maximum lies a tenth below the limits: a narrow pass in
//! a short trial fails in a long test.
//!
//! **Saturation.** Storage may saturate long before a limit is reached: more sessions only wait
//! longer. When four times the sessions achieve hardly more, the search for a maximum ends with the
//! fewest that achieve about as much as the best, and the search for a pace ends without an answer.
//!
//! Alternatives not taken: the slope of latencies over a fixed number of samples, as in Jetstress,
//! takes minutes per step and gives up where latencies scatter; a model fitted to the trials would
//! need to know the shape of the storage being tested.

use std::collections::{BTreeMap, BTreeSet};

/// The goal of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The fewest sessions that keep a given pace.
    Pace,
    /// The most sessions that pass.
    Maximum,
}

/// The range of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Session counts are multiples of this, at least one.
    pub unit: u32,
    /// The first number to try.
    pub first: u32,
    /// The largest number to try.
    pub most: u32,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// The worst measured value as a share of its limit: up to 1 passes.
    pub strain: f64,
    /// How far sessions are behind their pace, as a share of what is allowed: up to 1 keeps it.
    /// Zero without a pace.
    pub late: f64,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Run a trial with this many sessions, as long as several trials if `long`.
    Try {
        sessions: u32,
        /// Whether the trial is to confirm an answer.
        long: bool,
    },
    /// The answer.
    Found {
        sessions: u32,
        /// Mean of all trials of that number.
        reading: Reading,
    },
    /// There is no answer.
    Failed(Why),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Even the fewest sessions exceed a limit, or those that keep the pace do.
    Limits,
    /// No number of sessions keeps the pace.
    Pace,
    /// The trials contradict each other, and the trial limit was reached.
    Unsteady,
}

/// The trials of one number of sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    trials: u32,
    sum: Reading,
    /// Whether a long trial was among them.
    confirmed: bool,
}

/// The search; see the [module](self).
#[derive(Clone, Debug)]
pub struct Tuner {
    goal: Goal,
    bounds: Bounds,
    /// Trials by number of sessions, in units.
    tried: BTreeMap<u32, Tried>,
    /// Answers that a long trial has refuted, in units.
    refuted: BTreeSet<u32>,
    trials: u32,
}

/// The border of a maximum, as a share of the limits.
const BORDER: f64 = 0.9;
/// A long trial of a maximum may exceed the border by half of the margin to the limits.
const CONFIRMED: f64 = 0.95;
/// Allowed lateness of a long trial of a pace.
const CONFIRMED_LATE: f64 = 1.25;
/// A trial within this factor of the border is near it.
const NEAR: f64 = 1.2;
/// Maximum number of trials per number of sessions, apart from a long one.
const REPEATED_MAX: u32 = 3;
/// The sides are close when they differ by this share or less.
const CLOSE: f64 = 0.1;
/// Storage is saturated when four times the sessions achieve less than this factor more.
const GAIN_MIN: f64 = 1.05;
/// This share of the best rate counts as about as much.
const ABOUT: f64 = 0.97;
/// Maximum number of trials in a search.
const TRIALS_MAX: u32 = 48;

impl Tuner {
    /// A new search. Bounds are adjusted to be consistent.
    ///
    /// # Panics
    /// When the unit is zero.
    pub fn new(goal: Goal, bounds: Bounds) -> Self {
        assert!(bounds.unit > 0, "sessions come in units");
        let most = bounds.most.max(bounds.unit);
        Self {
            goal,
            bounds: Bounds { first: bounds.first.clamp(bounds.unit, most), most, ..bounds },
            tried: BTreeMap::new(),
            refuted: BTreeSet::new(),
            trials: 0,
        }
    }

    /// Number of trials so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Records the result of a trial of `sessions`. A long trial counts as three.
    pub fn observe(&mut self, sessions: u32, long: bool, reading: Reading) {
        let units = self.units(sessions);
        let weight = if long { 3 } else { 1 };
        let tried = self.tried.entry(units).or_default();
        tried.add(&reading, weight);
        tried.confirmed |= long;
        self.trials += 1;
        let holds = match self.goal {
            Goal::Maximum => reading.strain <= CONFIRMED,
            Goal::Pace => reading.late <= CONFIRMED_LATE,
        };
        if long && !holds {
            self.refuted.insert(units);
        }
    }

    pub fn next(&self) -> Step {
        if let Some(units) = self.uncertain() {
            return self.attempt(units);
        }
        let (more, enough) = self.sides();
        let (least, most) = (1, self.units(self.bounds.most));
        match (more, enough) {
            (None, None) => self.attempt(self.units(self.bounds.first)),
            (Some(more), None) if more == most || self.is_saturated(more) => match self.goal {
                Goal::Maximum => self.answer(self.as_good_as_any()),
                Goal::Pace => Step::Failed(Why::Pace),
            },
            (Some(more), None) => self.attempt((more * 2).min(most)),
            (None, Some(enough)) if enough == least => match self.goal {
                Goal::Maximum => Step::Failed(Why::Limits),
                Goal::Pace => self.answer(enough),
            },
            (None, Some(enough)) => self.attempt((enough >> 1).max(least)),
            (Some(more), Some(enough)) if is_close(more, enough) => match self.goal {
                Goal::Maximum => self.answer(self.as_good_as_any()),
                Goal::Pace => self.answer(enough),
            },
            (Some(more), Some(enough)) => self.attempt(between(more, enough)),
        }
    }

    fn units(&self, sessions: u32) -> u32 {
        sessions.div_euclid(self.bounds.unit).max(1)
    }

    fn attempt(&self, units: u32) -> Step {
        if self.trials >= TRIALS_MAX {
            return Step::Failed(Why::Unsteady);
        }
        Step::Try { sessions: units * self.bounds.unit, long: false }
    }

    /// Proposes a long trial of an answer, or returns it once confirmed.
    fn answer(&self, units: u32) -> Step {
        let tried = self.tried.get(&units).copied().unwrap_or_default();
        let sessions = units * self.bounds.unit;
        match tried.confirmed {
            true if self.goal == Goal::Pace && tried.mean().strain > 1.0 => {
                Step::Failed(Why::Limits)
            }
            true => Step::Found { sessions, reading: tried.mean() },
            false if self.trials >= TRIALS_MAX => Step::Failed(Why::Unsteady),
            false => Step::Try { sessions, long: true },
        }
    }

    /// Whether the trial shows that more sessions are wanted.
    fn wants_more(&self, units: u32, tried: &Tried) -> bool {
        let refuted = self.refuted.contains(&units);
        match self.goal {
            Goal::Maximum => !refuted && tried.mean().strain <= BORDER,
            Goal::Pace => refuted || tried.mean().late > 1.0,
        }
    }

    /// The largest number that is too few, and the smallest that is enough, in units.
    fn sides(&self) -> (Option<u32>, Option<u32>) {
        let enough = self.tried.iter().find(|(units, tried)| !self.wants_more(**units, tried));
        let enough = enough.map(|(units, _)| *units);
        let below = self.tried.range(..enough.unwrap_or(u32::MAX));
        (below.map(|(units, _)| *units).next_back(), enough)
    }

    /// A number of sessions that must be tried again.
    fn uncertain(&self) -> Option<u32> {
        let (more, enough) = self.sides();
        let near = |units: &u32| {
            let tried = &self.tried[units];
            let (value, border) = match self.goal {
                Goal::Maximum => (tried.mean().strain, BORDER),
                Goal::Pace => (tried.mean().late, 1.0),
            };
            let is_near = value < border * NEAR && value > border / NEAR;
            is_near && tried.trials < REPEATED_MAX && self.trials < TRIALS_MAX
        };
        [more, enough].into_iter().flatten().find(near)
    }

    /// Whether this many sessions achieve hardly more than a quarter as many.
    fn is_saturated(&self, units: u32) -> bool {
        let most = self.tried[&units].mean().io_per_s;
        let mut few = self.tried.range(..=(units >> 2));
        few.any(|(_, tried)| most < tried.mean().io_per_s * GAIN_MIN)
    }

    /// The fewest passing sessions that achieve about as much as the best.
    fn as_good_as_any(&self) -> u32 {
        let passing = || self.tried.iter().filter(|(units, tried)| self.wants_more(**units, tried));
        let best = passing().map(|(_, tried)| tried.mean().io_per_s).fold(0.0, f64::max);
        let mut good = passing().filter(|(_, tried)| tried.mean().io_per_s >= best * ABOUT);
        good.next().map_or(1, |(units, _)| *units)
    }
}

impl Tried {
    fn add(&mut self, reading: &Reading, weight: u32) {
        let times = f64::from(weight);
        self.trials += weight;
        self.sum.io_per_s += reading.io_per_s * times;
        self.sum.strain += reading.strain * times;
        self.sum.late += reading.late * times;
    }

    fn mean(&self) -> Reading {
        let count = f64::from(self.trials.max(1));
        Reading {
            io_per_s: self.sum.io_per_s / count,
            strain: self.sum.strain / count,
            late: self.sum.late / count,
        }
    }
}

fn is_close(less: u32, more: u32) -> bool {
    more - less <= 1 || f64::from(more - less) <= f64::from(less) * CLOSE
}

/// A number strictly between two that are not adjacent: their geometric mean.
fn between(less: u32, more: u32) -> u32 {
    let middle = (f64::from(less) * f64::from(more)).sqrt().round();
    #[expect(clippy::cast_possible_truncation, reason = "between two numbers of 32 bits")]
    let middle = middle as u32;
    middle.clamp(less + 1, more - 1)
}

#[cfg(test)]
mod tests {
    use brunt_world::random::{Stream, Streams};

    use super::*;

    /// Storage with parallel channels that each serve one operation in a fixed time; sessions pause
    /// in between.
    #[derive(Clone, Copy, Debug)]
    struct Model {
        channels: f64,
        service_ms: f64,
        pause_ms: f64,
        limit_ms: f64,
    }

    impl Model {
        fn rate(&self, sessions: f64) -> f64 {
            let free = sessions / (self.service_ms + self.pause_ms);
            1e3 * free.min(self.channels / self.service_ms)
        }

        fn latency_ms(&self, sessions: f64) -> f64 {
            (1e3 * sessions / self.rate(sessions) - self.pause_ms).max(self.service_ms)
        }

        /// A closed loop, measured with noise.
        fn closed(&self, sessions: u32, noise: f64, random: &mut Stream) -> Reading {
            let mut noisy = |value: f64| value * (1.0 + noise * (random.unit() * 2.0 - 1.0));
            let sessions = f64::from(sessions);
            Reading {
                io_per_s: noisy(self.rate(sessions)),
                strain: noisy(self.latency_ms(sessions) / self.limit_ms),
                late: 0.0,
            }
        }

        /// Paced sessions: lateness grows as the sessions become busy.
        fn paced(&self, sessions: u32, pace: f64, noise: f64, random: &mut Stream) -> Reading {
            let mut noisy = |value: f64| value * (1.0 + noise * (random.unit() * 2.0 - 1.0));
            let most = self.rate(f64::from(sessions));
            let busy = pace / most;
            let done = pace.min(most);
            let wait = if busy < 1.0 { busy.powi(8) * 4.0 } else { 100.0 };
            let queue = done * self.service_ms / 1e3 / self.channels;
            Reading {
                io_per_s: noisy(done),
                strain: noisy(self.service_ms * (1.0 + queue.powi(4)) / self.limit_ms),
                late: noisy(wait),
            }
        }
    }

    fn search(mut tuner: Tuner, mut trial: impl FnMut(u32) -> Reading) -> (Step, u32) {
        loop {
            match tuner.next() {
                Step::Try { sessions, long } => tuner.observe(sessions, long, trial(sessions)),
                end => return (end, tuner.trials()),
            }
        }
    }

    fn bounds(first: u32) -> Bounds {
        Bounds { unit: 1, first, most: 4_096 }
    }

    fn models(random: &mut Stream) -> Model {
        let mut draw = |least: f64, most: f64| least * (most / least).powf(random.unit());
        let service_ms = draw(0.05, 8.0);
        Model {
            channels: draw(1.0, 200.0).round(),
            service_ms,
            pause_ms: service_ms * draw(0.1, 4.0),
            limit_ms: 20.0,
        }
    }

    #[test]
    fn the_maximum_passes_and_little_is_left() {
        let mut random = Streams::new(5).named("models");
        for noise in [0.0, 0.05, 0.12] {
            for round in 0..300 {
                let model = models(&mut random);
                let first = 1 << (round % 9);
                let tuner = Tuner::new(Goal::Maximum, bounds(first));
                let (end, trials) = search(tuner, |n| model.closed(n, noise, &mut random));
                let Step::Found { sessions, .. } = end else {
                    panic!("{end:?} of {model:?}");
                };
                let strain = model.latency_ms(f64::from(sessions)) / model.limit_ms;
                assert!(strain <= 1.0 + noise / 2.0, "{sessions}: {strain} of {model:?}");
                let best = model.channels / model.service_ms * 1e3;
                let share = model.rate(f64::from(sessions)) / best;
                // With few sessions, one less is a large share.
                let least = 0.93 - noise - 1.0 / f64::from(sessions.max(2));
                assert!(share >= least, "{sessions}: {share} of {model:?}");
                assert!(trials <= TRIALS_MAX, "{trials} trials");
            }
        }
    }

    #[test]
    fn the_fewest_sessions_keep_the_pace() {
        let mut random = Streams::new(6).named("models");
        for noise in [0.0, 0.05, 0.12] {
            for round in 0..300 {
                let model = models(&mut random);
                let pace = 0.7 * model.channels / model.service_ms * 1e3;
                let first = 1 << (round % 9);
                let tuner = Tuner::new(Goal::Pace, bounds(first));
                let (end, _) = search(tuner, |n| model.paced(n, pace, noise, &mut random));
                let Step::Found { sessions, reading } = end else {
                    panic!("{end:?} of {model:?}");
                };
                let busy = |sessions: u32| pace / model.rate(f64::from(sessions));
                assert!(busy(sessions) < 0.9, "{sessions} of {model:?}");
                if sessions > 1 {
                    let fewer = sessions - (sessions.div_euclid(5)).max(1);
                    assert!(busy(fewer) > 0.8, "{fewer} would do, of {model:?}");
                }
                assert!((reading.io_per_s / pace - 1.0).abs() <= noise + 1e-9);
            }
        }
    }

    #[test]
    fn what_cannot_be_says_why() {
        let mut random = Streams::new(7).named("models");
        let slow = Model { channels: 4.0, service_ms: 30.0, pause_ms: 1.0, limit_ms: 20.0 };
        let tuner = Tuner::new(Goal::Maximum, bounds(64));
        let (end, _) = search(tuner, |n| slow.closed(n, 0.05, &mut random));
        assert_eq!(end, Step::Failed(Why::Limits), "one session is too much");
        let tuner = Tuner::new(Goal::Pace, bounds(8));
        let (end, trials) = search(tuner, |n| slow.paced(n, 500.0, 0.05, &mut random));
        assert_eq!(end, Step::Failed(Why::Pace), "133 /s is all it does");
        assert!(trials < 10, "{trials} trials to see it");
        let tuner = Tuner::new(Goal::Pace, bounds(8));
        let (end, _) = search(tuner, |n| slow.paced(n, 60.0, 0.05, &mut random));
        assert_eq!(end, Step::Failed(Why::Limits), "kept, and too slow");
    }

    #[test]
    fn a_search_among_contradictions_ends() {
        for seed in 0..100 {
            let mut random = Streams::new(seed).named("noise");
            for goal in [Goal::Pace, Goal::Maximum] {
                let (_, trials) = search(Tuner::new(goal, bounds(8)), |_| Reading {
                    io_per_s: 100.0 + random.unit() * 900.0,
                    strain: random.unit() * 2.0,
                    late: random.unit() * 2.0,
                });
                assert!(trials <= TRIALS_MAX);
            }
        }
    }

    #[test]
    fn sessions_come_in_units() {
        let bounds = Bounds { unit: 6, first: 48, most: 600 };
        let mut seen = Vec::new();
        let (end, _) = search(Tuner::new(Goal::Maximum, bounds), |sessions| {
            seen.push(sessions);
            let strain = f64::from(sessions) / 100.0;
            Reading { io_per_s: f64::from(sessions), strain, late: 0.0 }
        });
        assert!(matches!(end, Step::Found { sessions: 78 | 84 | 90, .. }), "{end:?}");
        assert!(seen.iter().all(|sessions| sessions.is_multiple_of(6)), "{seen:?}");
    }
}
