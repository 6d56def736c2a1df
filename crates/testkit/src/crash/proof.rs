//! Many stories, cut at random: the work of `brunt prove`.
//!
//! ```text
//!   seed --> round 0: configuration, story, steps 0 .. 249
//!        --> round 1: configuration, story --power failure--> story --power failure--> story, steps 250 .. 499
//! ```
//!
//! A round has one to three generations: each later one begins with the remains of a crash of the
//! one before, and continues to work. Its steps are spread over them. Every step has its own random
//! stream, so it is repeated by running its round's stories and that step only. The steps of a
//! story are taken in the order of their cuts, because going forwards is cheap.

use std::fmt;
use std::ops::Range;

use brunt_world::Frames;
use brunt_world::random::{Stream, Streams};
use brunt_world_virtual::crash::Sample;
use brunt_world_virtual::{Digest, Step};

use super::copy::CopyTrial;
use super::search::{Depth, Trial};
use super::story::Ruins;
use super::{Configuration, Coverage, Mistake, Story};

/// Steps of one story. More find little that is new; fewer waste time on running stories.
pub const STEPS_PER_STORY: u64 = 250;

/// The steps to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The seed of everything.
    pub seed: u64,
    /// The first step.
    pub first: u64,
    /// Number of steps.
    pub steps: u64,
    /// An injected bug, for tests of the search itself.
    pub mistake: Option<Mistake>,
    /// Share of the crash points at which a page rots, in percent.
    pub rot_percent: u32,
}

/// The result of a search that found no violation.
#[derive(Clone, Debug)]
pub struct Proven {
    pub coverage: Coverage,
    /// A hash of all results: equal for equal proofs.
    pub digest: Digest,
    /// The same without the numbers of events: requests to storage, and results.
    pub requests: Digest,
    /// A hash of the results of passive copies.
    pub copies: Digest,
    /// Whether it ran to its end; otherwise it was stopped.
    pub is_complete: bool,
}

/// A violation after a crash, or a run that failed without one.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is wrong.
    pub what: String,
    /// The configuration of the story.
    pub configuration: Configuration,
    /// The seed of the search.
    pub seed: u64,
    pub step: u64,
    /// The cut of the record, and what survived of the non-durable data; `None` when no crash had
    /// happened yet.
    pub crash: Option<(Step, Sample)>,
    /// The coverage until then.
    pub coverage: Coverage,
}

impl fmt::Display for Violation {
    /// One fact per line, with the command that repeats it last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "{:14}{}", "configuration", self.configuration)?;
        match self.crash {
            Some((cut, sample)) => {
                let cut = cut.0;
                writeln!(f, "{:14}after moment {cut}, {sample:?} survived", "crash")?;
            }
            None => writeln!(f, "{:14}none yet", "crash")?,
        }
        write!(f, "{:14}{}", "again", self.command())
    }
}

impl Violation {
    /// The command that repeats it.
    pub fn command(&self) -> String {
        format!("brunt prove --seed {} --first {} --steps 1", self.seed, self.step)
    }
}

/// One step of a round.
struct Planned {
    number: u64,
    cut: Step,
    sample: Sample,
    depth: Depth,
    /// Seed of the crash of a passive copy; `None` without one.
    copy: Option<u64>,
}

/// The crash of a copy takes as long as several others.
const COPY_PERCENT: u32 = 10;

/// Rot at every crash point would leave no time for what the durability contract allows.
const ROT_PERCENT: u32 = 10;

impl Proof {
    /// The first `steps` steps of `seed`.
    pub fn new(seed: u64, steps: u64) -> Self {
        Self { seed, first: 0, steps, mistake: None, rot_percent: ROT_PERCENT }
    }

    /// Runs all steps. `watch` sees the counts after each step, and stops the search by returning
    /// `false`.
    ///
    /// # Errors
    /// The first violation.
    pub fn run(&self, mut watch: impl FnMut(&Coverage) -> bool) -> Result<Proven, Box<Violation>> {
        let mut proven = Proven {
            coverage: Coverage::default(),
            digest: Digest::default(),
            requests: Digest::default(),
            copies: Digest::default(),
            is_complete: true,
        };
        // One pool for all worlds: frames are returned, slabs never are.
        let frames = Frames::in_memory();
        let (mut next, end) = (self.first, self.first.saturating_add(self.steps));
        while next < end && proven.is_complete {
            let round = next.div_euclid(STEPS_PER_STORY);
            let last = end.min((round + 1).saturating_mul(STEPS_PER_STORY));
            self.round(round, next..last, &frames, &mut proven, &mut watch)?;
            next = last;
        }
        Ok(proven)
    }

    fn round(
        &self,
        round: u64,
        steps: Range<u64>,
        frames: &Frames,
        proven: &mut Proven,
        watch: &mut impl FnMut(&Coverage) -> bool,
    ) -> Result<(), Box<Violation>> {
        let mut configuration =
            Configuration { mistake: self.mistake, ..Configuration::draw(self.seed, round) };
        let lives = Lives::plan(self.seed, round, steps);
        let mut ruins: Option<Ruins> = None;
        for generation in 0..lives.generations() {
            configuration.generation = generation;
            let violation = |what, step, crash, coverage: &Coverage| {
                Box::new(Violation {
                    what,
                    configuration: configuration.clone(),
                    seed: self.seed,
                    step,
                    crash,
                    coverage: coverage.clone(),
                })
            };
            let story = match ruins.take() {
                None => Story::run(&configuration, frames),
                Some(ruins) => Story::run_on(&configuration, ruins, frames),
            };
            let story = story.map_err(|what| {
                let step = lives.first_step_from(generation);
                violation(what, step, None, &proven.coverage)
            })?;
            proven.coverage.saw_story(&story);
            proven.digest.mix(story.digest.value());
            proven.requests.mix(story.requests.value());
            let (mut trial, mut copies) = (Trial::new(&story, frames), None);
            let cuts = trial.cuts();
            for step in self.plan(lives.steps(generation), &cuts) {
                let found = trial.step(step.cut, step.sample, step.depth, &mut proven.coverage);
                let found = found.map_err(|what| {
                    let crash = Some((step.cut, step.sample));
                    violation(what, step.number, crash, &proven.coverage)
                })?;
                proven.digest.mix(found.value());
                proven.requests.mix(found.value());
                // Copies begin with clean files.
                if let Some(seed) = step.copy.filter(|_| generation == 0) {
                    let copies = match &copies {
                        Some(copies) => copies,
                        None => {
                            let ran = CopyTrial::run(&story, frames).map_err(|what| {
                                violation(what, step.number, None, &proven.coverage)
                            })?;
                            copies.insert(ran)
                        }
                    };
                    if let Some(copies) = copies {
                        let found = copies.step(seed, &mut proven.coverage);
                        let found = found.map_err(|(what, cut, sample)| {
                            violation(what, step.number, Some((cut, sample)), &proven.coverage)
                        })?;
                        proven.copies.mix(found.value());
                    }
                }
                if !watch(&proven.coverage) {
                    proven.is_complete = false;
                    return Ok(());
                }
            }
            if generation + 1 < lives.generations() {
                let (cut, sample) = lives.end_of(generation, &cuts);
                let left = trial.lose_power(cut, sample).map_err(|what| {
                    let step = lives.first_step_from(generation + 1);
                    violation(what, step, Some((cut, sample)), &proven.coverage)
                })?;
                ruins = Some(left);
                configuration = story.configuration;
            }
        }
        Ok(())
    }

    /// The steps in the order of their cuts.
    fn plan(&self, steps: &[u64], cuts: &[Step]) -> Vec<Planned> {
        let planned = steps.iter().map(|number| self.planned(*number, cuts));
        let mut plan: Vec<_> = planned.collect();
        plan.sort_by_key(|step| (step.cut, step.number));
        plan
    }

    fn planned(&self, number: u64, cuts: &[Step]) -> Planned {
        let mut draw = Streams::new(self.seed).named(&format!("step/{number}"));
        let (cut, sample) = crash(&mut draw, cuts);
        Planned {
            number,
            cut,
            sample,
            depth: Depth {
                walk: draw.percent(25),
                second: draw.percent(25).then(|| draw.bits()),
                rot: draw.percent(self.rot_percent).then(|| draw.bits()),
            },
            copy: draw.percent(COPY_PERCENT).then(|| draw.bits()),
        }
    }
}

/// A crash: its cut, and what survives.
pub(super) fn crash(draw: &mut Stream, cuts: &[Step]) -> (Step, Sample) {
    let mut below =
        |bound: usize| usize::try_from(draw.below(bound as u64)).expect("below a length");
    let cut = cuts[below(cuts.len())];
    let corner = Sample::CORNERS[below(Sample::CORNERS.len())];
    let sample = match draw.percent(40) {
        true => corner,
        false => Sample::Random(draw.bits()),
    };
    (cut, sample)
}

/// The generation of a round that each of its steps cuts.
struct Lives {
    streams: Streams,
    /// The steps of each generation, up to the last one that has any.
    steps: Vec<Vec<u64>>,
}

impl Lives {
    fn plan(seed: u64, round: u64, steps: Range<u64>) -> Self {
        let streams = Streams::new(seed).part(&format!("round/{round}"));
        let all = match streams.named("generations").below(6) {
            0..3 => 1,
            3..5 => 2,
            _ => 3,
        };
        let mut lives = vec![Vec::new(); all];
        for step in steps {
            let mut draw = streams.named(&format!("generation of {step}"));
            let generation = draw.below(all as u64);
            lives[usize::try_from(generation).expect("three at most")].push(step);
        }
        let last = lives.iter().rposition(|steps| !steps.is_empty());
        lives.truncate(last.map_or(1, |last| last + 1));
        Self { streams, steps: lives }
    }

    fn generations(&self) -> u64 {
        self.steps.len() as u64
    }

    fn steps(&self, generation: u64) -> &[u64] {
        &self.steps[usize::try_from(generation).expect("three at most")]
    }

    /// The first step of this generation or a later one. Running it alone repeats everything before
    /// it.
    fn first_step_from(&self, generation: u64) -> u64 {
        let later = generation..self.generations();
        let first = later.filter_map(|generation| self.steps(generation).first());
        *first.min().expect("the last generation has steps")
    }

    /// The power failure that ends a generation, at one of `cuts`.
    fn end_of(&self, generation: u64, cuts: &[Step]) -> (Step, Sample) {
        let mut draw = self.streams.named(&format!("end of {generation}"));
        crash(&mut draw, cuts)
    }
}
