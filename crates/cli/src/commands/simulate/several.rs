//! Several simulations instead of one: `--sweep`, `--until-fail`, `--seeds`.
//!
//! `simulate` carries them out at once. `brunt part` and `brunt merge` carry out the same, with
//! another crew ([`crate::commands::batch`]).

use std::path::Path;
use std::sync::Mutex;

use brunt_lab::batch::Work;
use brunt_lab::search::search;
use brunt_lab::{Crew, Engine, LabError, Options, Points, Tried, distance};
use brunt_report::result::Verdict;
use brunt_report::{RunFolder, grouped};
use brunt_run::Stop;
use brunt_scenario::{Document, ModelledScenario, Override, Place, Refusal};

use super::kept::Curve;
use super::planner::RoundTrips;
use super::seeds::Seeds;
use super::{SimulateArgs, SimulateError, until_fail};
use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::sweep::Sweep;
use crate::version;

/// More seeds say nothing more.
const SEEDS_MAX: u64 = 1000;

/// Receives how many points are done, and of how many if that is known.
type Told<'a> = dyn Fn(usize, Option<usize>) + Sync + 'a;

/// What `args` ask for; `None` when they ask for one simulation only.
///
/// # Errors
/// [`Refusal`] when flags contradict each other.
pub(super) fn work(args: &SimulateArgs) -> Result<Option<Work>, Refusal> {
    let asked = [
        ("--sweep", args.sweep.clone().map(Work::Sweep)),
        ("--until-fail", args.until_fail.then_some(Work::UntilFail)),
        ("--seeds", args.seeds.map(Work::Seeds)),
    ];
    let mut asked = asked.into_iter().filter_map(|(flag, work)| Some((flag, work?)));
    match (asked.next(), asked.next()) {
        (Some((first, _)), Some((second, _))) => {
            let what = format!("cannot be combined with {second}");
            Err(Place::flag(first).refuse(what))
        }
        (first, _) => Ok(first.map(|(_, work)| work)),
    }
}

/// Simulates the points of a scenario, and says what came of them.
///
/// # Errors
/// [`SimulateError`] when a point cannot be simulated, or nothing can be kept.
pub(super) fn run(
    several: &Several<'_>,
    args: &SimulateArgs,
    output: &Output,
) -> Result<Exit, SimulateError> {
    let stop = Stop::from(Interrupt::listen()?.flag());
    // Nothing can be kept where no folder can be made.
    let folder = several.folder(&args.shared.output.out)?;
    let came = several.watched(Crew::alone(), &stop, output);
    let told = came.and_then(|came| {
        several.keep(came, folder.as_ref(), args.shared.output.json.is_some(), output)
    });
    let verdict = match (told, folder) {
        (Err(error), Some(folder)) => {
            folder.discard();
            return Err(error);
        }
        (told, _) => told?,
    };
    Ok(match stop.is_asked() {
        true => Exit::Interrupted,
        false => verdict.into(),
    })
}

/// A scenario, and the points of it that are simulated.
pub(in crate::commands) struct Several<'a> {
    document: &'a Document,
    overrides: Vec<Override>,
    options: Options,
    /// Without what its points replace.
    scenario: ModelledScenario,
    what: What,
}

enum What {
    Sweep(Sweep),
    /// Beginning with this number of mailboxes.
    UntilFail(u64),
    Seeds(Vec<Override>),
}

/// What came of all points.
pub(in crate::commands) enum Came {
    Curve(Box<Curve>, Verdict),
    Seeds(Vec<Option<Tried>>),
}

impl<'a> Several<'a> {
    /// The points that `work` asks for.
    ///
    /// # Errors
    /// [`Refusal`] of a scenario, a key or a number that cannot be.
    pub(in crate::commands) fn new(
        work: &Work,
        document: &'a Document,
        overrides: Vec<Override>,
        engine: Engine,
    ) -> Result<Self, Refusal> {
        let scenario = document.modelled_test(&overrides)?;
        let what = match work {
            Work::Sweep(text) => What::Sweep(swept_key(text, document, &overrides)?),
            Work::Seeds(seeds) => What::Seeds(each_seed(*seeds, &scenario)?),
            Work::UntilFail => match &scenario.scenario.mailboxes {
                Some(mailboxes) => What::UntilFail(mailboxes.count),
                None => {
                    let refusal = Place::flag("--until-fail").refuse("needs a table [mailboxes]");
                    return Err(refusal.hint("with `count`, `quota` and `io_per_s`"));
                }
            },
        };
        // What files look like after the test is not asked.
        let options =
            Options { engine, read_files: false, in_one_piece: false, program: version::program() };
        Ok(Self { document, overrides, options, scenario, what })
    }

    /// Reads the files that its points need.
    pub(in crate::commands) fn read_files(&self) {
        if let What::Sweep(sweep) = &self.what {
            for value in sweep.overrides().into_iter().flatten() {
                // A point that is refused is a result.
                let _ = self.document.modelled_test(&[&self.overrides[..], &[value]].concat());
            }
        }
    }

    /// The name of the scenario.
    pub(in crate::commands) fn name(&self) -> &str {
        &self.scenario.scenario.name
    }

    /// A new folder below `parent` for what came of it; `None` where nothing is kept.
    ///
    /// # Errors
    /// [`SimulateError::Folder`] when it cannot be made.
    pub(in crate::commands) fn folder(
        &self,
        parent: &Path,
    ) -> Result<Option<RunFolder>, SimulateError> {
        let what = match self.what {
            What::Sweep(_) => "sweep",
            What::UntilFail(_) => "until-fail",
            What::Seeds(_) => return Ok(None),
        };
        Ok(Some(RunFolder::create(parent, now(), &format!("{}-{what}", self.name()))?))
    }

    /// Has `crew` compute it, and shows how far it is.
    ///
    /// # Errors
    /// [`SimulateError`] when a point cannot be computed.
    pub(in crate::commands) fn watched(
        &self,
        crew: Crew<'_>,
        stop: &Stop,
        output: &Output,
    ) -> Result<Came, SimulateError> {
        let progress = Mutex::new(output.progress("simulate"));
        let told = |done: usize, all: Option<usize>| {
            let mut progress = progress.lock().expect("nobody panicked");
            // A part has only some of them.
            match all.filter(|_| crew.sharing.is_none()) {
                Some(all) => {
                    progress.show(done as f64 / all as f64, || format!("{done} of {all} done"))
                }
                None => progress.show(0.0, || format!("{done} done")),
            }
        };
        let came = self.come(crew, stop, &told);
        progress.into_inner().expect("nobody panicked").vanish();
        came
    }

    /// Has `crew` compute it.
    ///
    /// # Errors
    /// [`SimulateError`] when a point cannot be computed.
    pub(in crate::commands) fn come(
        &self,
        crew: Crew<'_>,
        stop: &Stop,
        told: &Told<'_>,
    ) -> Result<Came, SimulateError> {
        let points = Points {
            document: self.document,
            overrides: &self.overrides,
            options: &self.options,
            path_lost: false,
            crew,
        };
        Ok(match &self.what {
            What::Sweep(sweep) => swept(sweep, &self.scenario, &points, stop, told)?,
            What::UntilFail(first) => self.searched(*first, &points, stop, told)?,
            What::Seeds(values) => {
                let told = |done: usize| told(done, Some(values.len()));
                Came::Seeds(points.simulate(values, stop, &told)?)
            }
        })
    }

    fn searched(
        &self,
        first: u64,
        points: &Points<'_>,
        stop: &Stop,
        told: &Told<'_>,
    ) -> Result<Came, LabError> {
        let found = search(points, first, stop, &|done| told(done, None))?;
        let verdict = found.verdict();
        let servers = self.scenario.servers.len() as u64;
        Ok(Came::Curve(Box::new(until_fail::curve(found, servers)), verdict))
    }

    /// Writes what came of it into `folder` and says it.
    ///
    /// # Errors
    /// [`SimulateError`] when it cannot be written.
    pub(in crate::commands) fn keep(
        &self,
        came: Came,
        folder: Option<&RunFolder>,
        as_json: bool,
        output: &Output,
    ) -> Result<Verdict, SimulateError> {
        let name = self.name();
        let (text, verdict) = match (&came, folder) {
            (Came::Curve(curve, verdict), Some(folder)) => {
                curve.keep(folder, &self.scenario)?;
                let page = folder.file("report.html");
                let words = || format!("{}\n\n{:14}{}", curve.words(), "report", page.display());
                (if as_json { curve.json(name) } else { words() }, *verdict)
            }
            (Came::Curve(curve, verdict), None) => (curve.words(), *verdict),
            (Came::Seeds(tried), _) => {
                let seeds = Seeds::new(tried.iter().flatten().filter_map(Tried::judged));
                (if as_json { seeds.json(name) } else { seeds.words() }, seeds.verdict())
            }
        };
        if let What::Sweep(sweep) = &self.what
            && let Some(all) = sweep.thinned_from
        {
            let (key, taken, all) = (&sweep.key, sweep.texts().count(), grouped(all));
            output.talk(&format!("{key}: {taken} of {all} values; /N after the range takes N"));
        }
        match as_json {
            true => output.data(text.trim_end()),
            false => output.show(text.trim_end()),
        }
        Ok(verdict)
    }
}

/// The sweep `text` of a key that there is.
fn swept_key(text: &str, document: &Document, overrides: &[Override]) -> Result<Sweep, Refusal> {
    let sweep = Sweep::read(text)?;
    let first = sweep.overrides()?.into_iter().take(1);
    let set: Vec<Override> = overrides.iter().cloned().chain(first).collect();
    // Another mistake may be of this value alone.
    match document.modelled_test(&set) {
        Err(refusal) if refusal.is_unknown_key() => Err(refusal),
        _ => Ok(sweep),
    }
}

/// As many seeds, from that of `scenario` on.
fn each_seed(seeds: u64, scenario: &ModelledScenario) -> Result<Vec<Override>, Refusal> {
    if !(2..=SEEDS_MAX).contains(&seeds) {
        let refusal = Place::flag(&format!("--seeds {seeds}"));
        return Err(refusal.refuse(format!("is not between 2 and {SEEDS_MAX}")));
    }
    let first = scenario.scenario.test.seed;
    let all = (0..seeds).map(|more| first.wrapping_add(more));
    all.map(|seed| Override::of_set(&format!("test.seed={seed}"))).collect()
}

fn swept(
    sweep: &Sweep,
    scenario: &ModelledScenario,
    points: &Points<'_>,
    stop: &Stop,
    told: &Told<'_>,
) -> Result<Came, SimulateError> {
    let round_trips = match distance::is_replicated(scenario) {
        true => RoundTrips::of(sweep)?,
        false => None,
    };
    let values = sweep.overrides()?;
    let loses_path = round_trips.is_some() && distance::has_path_to_lose(scenario);
    let all = values.len() * (1 + usize::from(loses_path));
    let tried = points.simulate(&values, stop, &|done| told(done, Some(all)))?;
    let with_path_lost = Points { path_lost: true, ..*points };
    let path_lost = match loses_path {
        true => {
            let told = |done: usize| told(values.len() + done, Some(all));
            Some(with_path_lost.simulate(&values, stop, &told)?)
        }
        false => None,
    };
    let planned = round_trips.map(|all| all.plan(&tried, path_lost.as_deref()));
    let has_curve =
        tried.iter().flatten().filter_map(Tried::judged).any(|judged| judged.verdict.is_answer());
    let verdict = match has_curve {
        true => Verdict::Pass,
        false => Verdict::Inconclusive,
    };
    let curve = Curve::of(sweep, tried, path_lost, planned);
    Ok(Came::Curve(Box::new(curve), verdict))
}
