//! Several simulations instead of one: `--sweep`, `--until-fail`, `--seeds`.
//!
//! `simulate` carries them out at once. `brunt part` and `brunt merge` carry out the same, with
//! another crew ([`crate::commands::batch`]).

use std::path::Path;

use brunt_host::computing::{self, Computing, no_points};
use brunt_lab::batch::Work;
use brunt_lab::search::{MAILBOXES, search};
use brunt_lab::{Crew, Engine, LabError, Options, Points, Tried, distance};
use brunt_report::result::Verdict;
use brunt_report::{FolderError, RunFolder, Timestamp, grouped};
use brunt_run::{Head, Stop};
use brunt_scenario::{Document, ModelledScenario, Override, Place, Refusal};
use serde_json::{Value, json};

use super::kept::{Curve, told_lost, told_point};
use super::planner::RoundTrips;
use super::seeds::{self, Seeds};
use super::{SimulateArgs, SimulateError, until_fail};
use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::records::Lines;
use crate::sweep::Sweep;
use crate::teller::Teller;
use crate::version;

/// More seeds say nothing more.
const SEEDS_MAX: u64 = 1000;

/// Receives each point, and of how many it is if that is known.
type Told<'a> = dyn Fn(Option<usize>, Value) + Sync + 'a;

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
    let begun = now();
    let folder = several.folder(begun, &args.shared.output.out)?;
    let lines = Lines::of(&args.shared.output.printed, output);
    let came = several.computed(begun, (folder.as_ref(), &lines), &stop, output);
    Ok(several.concluded(came, &stop, folder, lines, output)?.into())
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
    /// [`FolderError`] when it cannot be made.
    pub(in crate::commands) fn folder(
        &self,
        begun: Timestamp,
        parent: &Path,
    ) -> Result<Option<RunFolder>, FolderError> {
        let what = match self.what {
            What::Sweep(_) => "sweep",
            What::UntilFail(_) => "until-fail",
            What::Seeds(_) => return Ok(None),
        };
        RunFolder::create(parent, begun, &format!("{}-{what}", self.name())).map(Some)
    }

    /// What is known before anything is computed.
    fn head(&self, folder: Option<&RunFolder>, begun: Timestamp) -> Head {
        let name = self.name();
        let outline = match &self.what {
            What::Sweep(sweep) => no_points(name, &sweep.key),
            What::UntilFail(_) => no_points(name, MAILBOXES),
            What::Seeds(values) => json!({
                "schema": seeds::SCHEMA,
                "scenario": name,
                "seeds": values.len(),
            }),
        };
        computing::head(folder, begun, name, self.scenario.to_toml(), &outline)
    }

    /// Computes it alone, and keeps each point in the journal of `folder`.
    fn computed(
        &self,
        begun: Timestamp,
        (folder, lines): (Option<&RunFolder>, &Lines),
        stop: &Stop,
        output: &Output,
    ) -> Result<Came, SimulateError> {
        let (head, teller) = (self.head(folder, begun), Teller::of_part(output, "simulate"));
        let computing = Computing::begin(head, folder, lines.heard(), teller)?;
        if let Some(folder) = folder {
            folder.write("scenario.toml", self.scenario.to_toml().as_bytes())?;
        }
        let told = |all: Option<usize>, point| computing.done(all.map(|all| all as u64), point);
        let came = self.come(Crew::alone(), stop, &told);
        computing.shown(Teller::clear);
        let came = came?;
        computing.ended(came.verdict(stop))?;
        Ok(came)
    }

    /// Computes what is the part of `crew`, and shows how far it is.
    ///
    /// # Errors
    /// [`SimulateError`] when a point cannot be computed.
    pub(in crate::commands) fn part(
        &self,
        crew: Crew<'_>,
        stop: &Stop,
        output: &Output,
    ) -> Result<(), SimulateError> {
        let (head, teller) = (self.head(None, now()), Teller::of_part(output, "simulate"));
        let computing = Computing::begin(head, None, None, teller)?;
        // A part has only some of all points.
        let came = self.come(crew, stop, &|_, point| computing.done(None, point));
        computing.shown(Teller::clear);
        came.map(drop)
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
                let all = Some(values.len());
                let told = |value: &Override, tried: &Tried| told(all, told_point(value, tried));
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
        let told = |value: &Override, tried: &Tried| told(None, told_point(value, tried));
        let found = search(points, first, stop, &told)?;
        let verdict = found.verdict();
        let servers = self.scenario.servers.len() as u64;
        Ok(Came::Curve(Box::new(until_fail::curve(found, servers)), verdict))
    }

    /// Writes what came of it into `folder` and says it. If nothing came, nothing is left.
    ///
    /// # Errors
    /// [`SimulateError`] when nothing came, or it cannot be written.
    pub(in crate::commands) fn concluded(
        &self,
        came: Result<Came, SimulateError>,
        stop: &Stop,
        folder: Option<RunFolder>,
        lines: Lines,
        output: &Output,
    ) -> Result<Verdict, SimulateError> {
        let kept = came.and_then(|came| self.kept(&came, came.verdict(stop), folder.as_ref()));
        let Kept { verdict, json, words } = match (kept, folder) {
            (Err(error), Some(folder)) => {
                folder.discard();
                return Err(error);
            }
            (kept, _) => kept?,
        };
        if let What::Sweep(sweep) = &self.what
            && let Some(all) = sweep.thinned_from
        {
            let (key, taken, all) = (&sweep.key, sweep.texts().count(), grouped(all));
            output.talk(&format!("{key}: {taken} of {all} values; /N after the range takes N"));
        }
        lines.tell((verdict.word(), &json), output, || output.show(words.trim_end()));
        Ok(verdict)
    }

    fn kept(
        &self,
        came: &Came,
        verdict: Verdict,
        folder: Option<&RunFolder>,
    ) -> Result<Kept, SimulateError> {
        let name = self.name();
        Ok(match came {
            Came::Curve(curve, _) => {
                let report = match folder {
                    Some(folder) => {
                        curve.keep(folder, &self.scenario)?;
                        format!("\n\n{:14}{}", "report", folder.file("report.html").display())
                    }
                    None => String::new(),
                };
                Kept { verdict, json: curve.json(name), words: curve.words() + &report }
            }
            Came::Seeds(tried) => {
                let seeds = Seeds::of(tried);
                Kept { verdict, json: seeds.json(name), words: seeds.words() }
            }
        })
    }
}

/// What is said of it, to people and to programs.
struct Kept {
    verdict: Verdict,
    json: String,
    words: String,
}

impl Came {
    fn verdict(&self, stop: &Stop) -> Verdict {
        match self {
            _ if stop.is_asked() => Verdict::Interrupted,
            Self::Curve(_, verdict) => *verdict,
            Self::Seeds(tried) => Seeds::of(tried).verdict(),
        }
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
    let told_one = |value: &Override, tried: &Tried| told(Some(all), told_point(value, tried));
    let tried = points.simulate(&values, stop, &told_one)?;
    let with_path_lost = Points { path_lost: true, ..*points };
    let path_lost = match loses_path {
        true => {
            let told_one =
                |value: &Override, tried: &Tried| told(Some(all), told_lost(value, tried));
            Some(with_path_lost.simulate(&values, stop, &told_one)?)
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
