//! Looking for a crash that recovery does not survive.

use std::fmt;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brunt_ese::log::Durability;
use brunt_world::Frames;
use brunt_world_virtual::Step;
use brunt_world_virtual::crash::{CrashImages, Sample};

use crate::story::{Plan, State, recover};

const SEGMENTS: [usize; 2] = [512, 4096];
const DURABILITIES: [(&str, Durability); 2] = [
    ("through", Durability::WriteThrough),
    ("sync", Durability::WriteThenSync),
];

/// What is searched.
///
/// As text, each word may be left out: `seeds=3-4 segment=512 durability=sync killed=1 cut=77 every=7 sample=12 samples=1`.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The first and the last seed.
    pub(crate) seeds: RangeInclusive<u64>,
    /// Only this segment size.
    pub(crate) segment: Option<usize>,
    /// Only this way of making log durable.
    pub(crate) durability: Option<Durability>,
    /// Only with, or only without a process that is killed.
    pub(crate) killed: Option<bool>,
    /// The first cut.
    pub(crate) cut: u32,
    /// Each how manieth cut.
    pub(crate) every: usize,
    /// The first sample at each cut; the seed's number when there is none, so that few samples differ by seed.
    pub(crate) first_sample: Option<u64>,
    /// Samples at each cut.
    pub(crate) samples: u64,
}

impl Scope {
    /// Every cut of one seed, with one sample.
    pub(crate) const ALL: Self = Self {
        seeds: 1..=1,
        segment: None,
        durability: None,
        killed: None,
        cut: 0,
        every: 1,
        first_sample: None,
        samples: 1,
    };

    /// What the environment asks for, if it does.
    pub(crate) fn asked() -> Option<Self> {
        let asked = std::env::var("BRUNT_CRASH_LOG").ok()?;
        let mut scope = Self::ALL;
        for word in asked.split_whitespace() {
            scope
                .read(word)
                .unwrap_or_else(|| panic!("BRUNT_CRASH_LOG: {word}: not understood"));
        }
        Some(scope)
    }

    fn read(&mut self, word: &str) -> Option<()> {
        let (key, value) = word.split_once('=')?;
        match key {
            "seeds" => {
                let (first, last) = value.split_once('-')?;
                self.seeds = first.parse().ok()?..=last.parse().ok()?;
            }
            "segment" => self.segment = Some(value.parse().ok()?),
            "durability" => {
                let known = DURABILITIES.iter().find(|(name, _)| *name == value);
                self.durability = Some(known?.1);
            }
            "killed" => self.killed = Some(value == "1"),
            "cut" => self.cut = value.parse().ok()?,
            "every" => self.every = value.parse().ok()?,
            "sample" => self.first_sample = Some(value.parse().ok()?),
            "samples" => self.samples = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    /// Searches everything in it.
    ///
    /// # Errors
    /// The first violation.
    pub(crate) fn search(&self) -> Result<(), Violation> {
        for seed in self.seeds.clone() {
            for segment in SEGMENTS {
                for (_, durability) in DURABILITIES {
                    for killed in [false, true] {
                        let plan = Plan {
                            killed,
                            ..Plan::new(seed, segment, durability)
                        };
                        if self.covers(plan) {
                            search(plan, self)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn covers(&self, plan: Plan) -> bool {
        self.segment.is_none_or(|only| only == plan.segment)
            && self.durability.is_none_or(|only| only == plan.durability)
            && self.killed.is_none_or(|only| only == plan.killed)
    }
}

/// A crash after which something is wrong.
#[derive(Debug)]
pub(crate) struct Violation {
    /// What is wrong.
    pub(crate) what: String,
    plan: Plan,
    cut: Step,
    sample: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            plan,
            cut,
            sample,
        } = self;
        let durability = DURABILITIES
            .iter()
            .find(|(_, known)| *known == plan.durability);
        let (durability, _) = durability.expect("all are listed");
        let (seed, segment, killed) = (plan.seed, plan.segment, u8::from(plan.killed));
        writeln!(f, "{what} ({:?})", Sample::nth(*sample))?;
        write!(
            f,
            "repeat: BRUNT_CRASH_LOG=\"seeds={seed}-{seed} segment={segment} durability={durability} killed={killed} \
             cut={} every=1000000000 sample={sample}\" cargo test -p brunt-ese --test crash_log every_crash",
            cut.0
        )
    }
}

/// Runs `plan`, cuts it where `scope` says, and recovers.
///
/// # Errors
/// The first violation.
pub(crate) fn search(plan: Plan, scope: &Scope) -> Result<(), Violation> {
    let frames = Frames::in_memory();
    let story = plan.run(&frames);
    let mut images = CrashImages::new(&story.journal);
    let cuts = images.cuts();
    let first = scope.first_sample.unwrap_or(plan.seed);
    // The directories and the databases stand before recording begins, so every cut is fair.
    let later = cuts.into_iter().filter(|cut| cut.0 >= scope.cut);
    for cut in later.step_by(scope.every) {
        let marks = |what| images.marks(cut).filter(move |mark| mark.what == what);
        let durable = marks("durable").map(|mark| mark.number).max().unwrap_or(0);
        let last = story.histories.len() - 1;
        let history = &story.histories[marks("took over").count().min(last)];
        for sample in first..first + scope.samples {
            let image = images.image(cut, Sample::nth(sample));
            let recovered = catch_unwind(AssertUnwindSafe(|| recover(image, plan, &frames)));
            let judged = recovered
                .unwrap_or_else(|_| Err("recovery panicked".to_owned()))
                .and_then(|state| judge(&state, history, durable));
            judged.map_err(|what| Violation {
                what,
                plan,
                cut,
                sample,
            })?;
        }
    }
    Ok(())
}

/// Whether a state that was recovered is one that ever was, and no older than what was reported durable.
fn judge(state: &State, history: &[State], durable: u64) -> Result<(), String> {
    match history.iter().rposition(|known| known == state) {
        None => Err("not a state that ever was".to_owned()),
        Some(found) if (found as u64) < durable => {
            Err(format!("lost a durable change ({found} < {durable})"))
        }
        Some(_) => Ok(()),
    }
}
