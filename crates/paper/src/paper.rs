//! From evidence to a paper: which runs belong together, and what may not be in one paper.

use std::path::Path;

use brunt_report::result::{Colour, TestKind, Tested, Verdict, World};
use brunt_report::{ReadError, Run, Timestamp, TogetherError, each_sample, sum_of, together};
use brunt_scenario::{Document, Organisation, Refusal, Solution};

use crate::audit::{self, Audit, Wrong};
use crate::block::Block;
use crate::claims::{contradicted, design_contradicted};
use crate::content::{self, SignOff};
use crate::evidence::{Attachment, Evidence, MANIFEST, RUNS_MAX, SOLUTION, sha256};
use crate::margin::{self, Margin};

/// A paper, ready to be written.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Vendor and product.
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
    /// What stands at the foot of each page.
    pub(crate) foot: String,
    /// When the last run ended. Predictions, whose time is virtual, have the beginning of Unix
    /// time, which stands for no date.
    pub(crate) date: Timestamp,
    pub(crate) attachments: Vec<Attachment>,
    /// SHA-256 of the manifest.
    pub digest: String,
    /// The verdict in a word or two: `PASS`, `PASS, not a qualification`, `FAIL`.
    pub headline: String,
    /// Its colour.
    pub colour: Colour,
    /// The verdict in a sentence.
    pub sentence: String,
    /// What does not follow from the tables, sums and means.
    pub audit: Audit,
    /// Claims of `[solution]` that the evidence contradicts.
    pub(crate) contradicted: Vec<Wrong>,
    /// Characters that the fonts lack, which are shown by their numbers.
    pub unshown: Vec<char>,
    /// The page that is signed, where it begins with one.
    pub sign_off: Option<SignOff>,
}

/// Why there is no paper.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// There is no run, or there are too many.
    #[error("{0} runs make no paper; it takes 1 to {RUNS_MAX}")]
    Runs(usize),
    /// A run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file is too large to be taken out of a paper again.
    #[error("{0}: has more than {mib} MiB, which no paper carries", mib = ATTACHED_MAX >> 20)]
    TooLarge(String),
    /// A name that is on every page is too long.
    #[error("{0}: has a name of more than {NAME_MAX} bytes, which no page has room for")]
    LongName(String),
    /// A run without an answer.
    #[error(
        "{0}: its verdict is {1}, and a paper is made of tests that passed or failed\n  repeat the test, or leave this run out"
    )]
    NoAnswer(String, Verdict),
    #[error(
        "{0}: did not end: it was killed, its host died, or it still goes on\n  repeat the test, or leave this run out"
    )]
    NotEnded(String),
    /// A kind of test that papers do not have.
    #[error("{0}: is a {1} test, which a paper has no section for")]
    Kind(String, Tested),
    /// A sweep, or a search that cannot be read.
    #[error(
        "{0}: is a sweep, or a search of another version; a paper shows what `brunt simulate --until-fail` found"
    )]
    Search(String),
    /// Two searches.
    #[error("{0} and {1} are searches for the most mailboxes, and a paper shows one")]
    Searches(String, String),
    /// Runs of one kind that are not one test.
    #[error("the {0} runs are not one test: {1}\n  give one run for each server")]
    Together(TestKind, TogetherError),
    /// Runs of different systems.
    #[error("{0} and {1} are of different systems: {2}\n  a paper is about one system")]
    Apart(String, String, String),
    /// The description of the solution is wrong.
    #[error(transparent)]
    Solution(#[from] Refusal),
    /// The solution is not what was tested.
    #[error(
        "{} contradicts the evidence:{}\n  describe what was tested, or leave these keys out", table(.0), claims(.0)
    )]
    Contradicted(Vec<Wrong>),
    /// Two runs describe different solutions.
    #[error(
        "{0} and {1} have different [solution] tables\n  name the one that counts: --solution FILE"
    )]
    Solutions(String, String),
    /// The PDF cannot be written.
    #[error("the paper cannot be written as a PDF: {0}")]
    Pdf(String),
}

/// The table that claims this.
fn table(wrong: &[Wrong]) -> &'static str {
    match wrong.iter().any(|one| one.what.starts_with("[design]")) {
        true => "[design]",
        false => "[solution]",
    }
}

/// A line for each claim.
fn claims(wrong: &[Wrong]) -> String {
    let line = |one: &Wrong| {
        let Wrong { what, stated, follows, .. } = one;
        format!("\n  {what} is {stated}, but the test had {follows}")
    };
    wrong.iter().map(line).collect()
}

/// The runs of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) kind: TestKind,
    /// Whether a group of drives was not whole, and another test of the kind shows it whole.
    pub(crate) is_degraded: bool,
    /// All servers together.
    pub(crate) run: Run,
    /// Each run by itself, with its number.
    pub(crate) each: Vec<(usize, Run)>,
}

/// Everything that a paper is made from, read and checked.
pub(crate) struct Subject<'e> {
    pub(crate) evidence: &'e Evidence,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) solution: Solution,
    /// The organisation that it was sized for, if the scenario of a prediction says so.
    pub(crate) design: Option<Organisation>,
    /// How much more it carries, if that was searched.
    pub(crate) margin: Option<Margin>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) digest: String,
    pub(crate) audit: Audit,
}

/// Larger files are not taken out of a paper again.
pub(crate) const ATTACHED_MAX: usize = 64 << 20;
/// Longer names fill pages.
const NAME_MAX: usize = 1_000;

/// The tables of a scenario that describe modelled storage.
const STORAGE: [&str; 6] = ["array", "link", "replication", "replica", "replicate", "partner"];

impl Paper {
    /// The paper that `evidence` makes.
    ///
    /// # Errors
    /// [`PaperError`] when the runs are no paper, or `[solution]` describes something else.
    pub fn new(evidence: &Evidence) -> Result<Self, PaperError> {
        let paper = Self::of(evidence)?;
        match paper.contradicted.is_empty() {
            true => Ok(paper),
            false => Err(PaperError::Contradicted(paper.contradicted)),
        }
    }

    /// The same, whatever `[solution]` claims: what contradicts the evidence is among what does not
    /// follow.
    pub(crate) fn of(evidence: &Evidence) -> Result<Self, PaperError> {
        if evidence.runs.is_empty() || evidence.runs.len() > RUNS_MAX {
            return Err(PaperError::Runs(evidence.runs.len()));
        }
        for run in &evidence.runs {
            let large = run.files.iter().find(|file| file.bytes.len() > ATTACHED_MAX);
            if let Some(file) = large {
                return Err(PaperError::TooLarge(format!("{}/{}", run.label, file.name)));
            }
        }
        let mut runs = Vec::new();
        let mut margins = Vec::new();
        let mut audit = Audit::default();
        for (number, files) in (1..).zip(&evidence.runs) {
            if margin::is_search(files) {
                margins.push(Margin::read(number, files)?);
                continue;
            }
            let run = files.run()?;
            check(&files.label, &run)?;
            audit::check(number, &run, files, evidence, &mut audit)?;
            runs.push((number, run));
        }
        if runs.is_empty() {
            return Err(PaperError::Runs(0));
        }
        let label = |number: usize| evidence.runs[number - 1].label.clone();
        one_system(&runs, &label)?;
        let margin = margin_of(margins, &runs, &label)?;
        let solution = solution(evidence, &runs, &label)?;
        let kinds = kinds(evidence, runs)?;
        let main = content::main_kind(&kinds);
        let scenario = content::scenario(&kinds);
        let place = (main.each[0].0, main.each.len());
        let mut contradicted = contradicted(place, &solution, &main.run.result, &scenario);
        let design = match content::is_model(&kinds) {
            true => Document::new("scenario.toml", &main.each[0].1.scenario, "/".as_ref())?
                .design(&brunt_sizing::keys())?,
            false => None,
        };
        if let Some(design) = &design {
            contradicted.extend(design_contradicted(place, design, &main.run.result, &scenario));
        }
        audit.wrong.extend(contradicted.iter().cloned());
        let attachments = evidence.attachments();
        let manifest = attachments.iter().find(|file| file.name == MANIFEST);
        let digest = sha256(&manifest.expect("it is always there").bytes);
        let paper = content::paper(Subject {
            evidence,
            kinds,
            solution,
            design,
            margin,
            attachments,
            digest,
            audit,
        });
        Ok(Self { contradicted, ..paper })
    }

    /// The paper as a tagged PDF (PDF/UA-1, PDF/A-3a) with the evidence attached.
    ///
    /// # Errors
    /// [`PaperError::Pdf`] when the writer finds that the file would break one of these standards.
    pub fn to_pdf(&self) -> Result<Vec<u8>, PaperError> {
        crate::pdf::write(self)
    }

    /// The paper as a page for reading. It carries no evidence.
    pub fn to_html(&self) -> String {
        crate::html::write(self)
    }
}

/// Whether a run may be in a paper.
fn check(label: &str, run: &Run) -> Result<(), PaperError> {
    let result = &run.result;
    let databases = result.instances().flat_map(|one| &one.details.databases);
    let mut names = std::iter::once(&result.scenario)
        .chain(result.storage.servers.iter().map(|server| &server.name))
        .chain(result.instances().map(|instance| &instance.name))
        .chain(databases.map(|database| &database.name));
    if names.any(|name| name.len() > NAME_MAX) {
        return Err(PaperError::LongName(label.to_owned()));
    }
    let label = label.to_owned();
    if !result.is_finished() {
        return Err(PaperError::NotEnded(label));
    }
    if !result.verdict.is_answer() {
        return Err(PaperError::NoAnswer(label, result.verdict));
    }
    match result.storage.test {
        Tested::Kind(_) => Ok(()),
        other @ (Tested::Drill | Tested::Mail | Tested::Unknown) => {
            Err(PaperError::Kind(label, other))
        }
    }
}

/// What a scenario says about modelled storage.
fn storage(scenario: &str) -> toml::Table {
    let mut scenario: toml::Table = scenario.parse().unwrap_or_default();
    scenario.retain(|key, _| STORAGE.contains(&key));
    scenario
}

/// The search on the system of `runs`, if there is one.
fn margin_of(
    margins: Vec<Margin>,
    runs: &[(usize, Run)],
    label: &dyn Fn(usize) -> String,
) -> Result<Option<Margin>, PaperError> {
    if let [one, other, ..] = margins.as_slice() {
        return Err(PaperError::Searches(label(one.number), label(other.number)));
    }
    let (number, first) = &runs[0];
    let other = |margin: &&Margin| storage(&margin.scenario) != storage(&first.scenario);
    if let Some(margin) = margins.iter().find(other) {
        let why = "their modelled arrays differ".to_owned();
        return Err(PaperError::Apart(label(*number), label(margin.number), why));
    }
    Ok(margins.into_iter().next())
}

/// Whether all runs are of one system, as far as results tell.
fn one_system(runs: &[(usize, Run)], label: &dyn Fn(usize) -> String) -> Result<(), PaperError> {
    let (first, others) = runs.split_first().expect("there is a run");
    for (number, run) in others {
        if let Some(why) = apart(&first.1, run) {
            return Err(PaperError::Apart(label(first.0), label(*number), why));
        }
    }
    // Backup and recovery may be tested on some of the servers only.
    let servers = |run: &Run| -> Vec<String> {
        let servers = run.result.storage.servers.iter();
        servers.map(|server| server.name.clone()).collect()
    };
    let performance = Tested::Kind(TestKind::Performance);
    let known: Vec<String> = runs
        .iter()
        .filter(|(_, run)| run.result.storage.test == performance)
        .flat_map(|(_, run)| servers(run))
        .collect();
    for (number, run) in runs.iter().filter(|_| !known.is_empty()) {
        let unknown = servers(run).into_iter().find(|name| !known.contains(name));
        if let Some(name) = unknown {
            let measured = runs.iter().find(|(_, run)| run.result.storage.test == performance);
            let measured = measured.map_or(first.0, |(number, _)| *number);
            return Err(PaperError::Apart(
                label(measured),
                label(*number),
                format!("no performance test was run on {name}"),
            ));
        }
    }
    Ok(())
}

/// Why two runs cannot be of one system, as far as their worlds, profiles and models tell.
pub(crate) fn apart(one: &Run, other: &Run) -> Option<String> {
    let world = |run: &Run| match run.result.world {
        World::Real => "real",
        World::Virtual => "modelled",
    };
    let worlds = [one, other].map(world);
    if worlds[0] != worlds[1] {
        return Some(format!("one is on {} storage, the other on {}", worlds[0], worlds[1]));
    }
    let profiles = [one, other].map(|run| run.result.storage.details.setup.profile.as_str());
    if profiles[0] != profiles[1] {
        return Some(format!("one has the profile {}, the other {}", profiles[0], profiles[1]));
    }
    let is_model = one.result.world == World::Virtual;
    let differ = is_model && storage(&one.scenario) != storage(&other.scenario);
    differ.then(|| "their modelled arrays differ".to_owned())
}

/// What is said about the storage: in a file of its own, or in the scenarios.
fn solution(
    evidence: &Evidence,
    runs: &[(usize, Run)],
    label: &dyn Fn(usize) -> String,
) -> Result<Solution, PaperError> {
    let read = |file: &str, text: &str| -> Result<Solution, PaperError> {
        Ok(Document::new(file, text, "/".as_ref())?.solution()?)
    };
    if let Some(text) = &evidence.solution {
        return read(SOLUTION, text);
    }
    let mut found: Option<(usize, Solution)> = None;
    for (number, run) in runs {
        let said = read(&format!("{}/scenario.toml", label(*number)), &run.scenario)?;
        match &found {
            _ if said.is_empty() => {}
            None => found = Some((*number, said)),
            Some((_, known)) if *known == said => {}
            Some((other, _)) => {
                return Err(PaperError::Solutions(label(*other), label(*number)));
            }
        }
    }
    Ok(found.map(|(_, said)| said).unwrap_or_default())
}

fn kinds(evidence: &Evidence, runs: Vec<(usize, Run)>) -> Result<Vec<Kind>, PaperError> {
    let mut kinds = Vec::new();
    for kind in TestKind::ALL {
        let own = runs.iter().filter(|(_, run)| run.result.storage.test == kind.into());
        let all: Vec<(usize, Run)> = own.cloned().collect();
        let (whole, degraded): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, run)| run.result.storage.states.is_empty());
        // Alone, it is the test.
        let is_beside = !whole.is_empty();
        for (each, is_degraded) in [(whole, false), (degraded, is_beside)] {
            kinds.extend(one_kind(evidence, kind, is_degraded, each)?);
        }
    }
    Ok(kinds)
}

/// Several servers of one test; `None` without any.
fn one_kind(
    evidence: &Evidence,
    kind: TestKind,
    is_degraded: bool,
    each: Vec<(usize, Run)>,
) -> Result<Option<Kind>, PaperError> {
    if each.is_empty() {
        return Ok(None);
    }
    let all: Vec<Run> = each.iter().map(|(_, run)| run.clone()).collect();
    let sum = sum_of(&all, |number, hand_out| {
        let files = &evidence.runs[each[number].0 - 1];
        each_sample(Path::new(&files.label), |name| files.open(name), hand_out)
    })?;
    let run = together(all, sum.as_ref()).map_err(|error| PaperError::Together(kind, error))?;
    Ok(Some(Kind { kind, is_degraded, run, each }))
}
