//! The page that is signed: a verdict for each kind of test, figures beside their limits, the
//! storage, lines for those who sign, and what all this does not show. That list may be long, so it
//! stands last and may go on overleaf.

use brunt_report::result::{Colour, Group, Outcome, RuleGroup, TestKind, Verdict, World};
use brunt_report::{Cell, Column, Row, Table, counted};
use serde::{Serialize, Serializer};

use super::{all_passed, day, front, in_words, is_model, length, main_result, text};
use crate::block::Block;
use crate::paper::Subject;

/// Name and version of [`SignOff`] as JSON.
const SCHEMA: &str = "brunt.handover/1";

/// What is handed over. A kind of test that is missing has no run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignOff {
    pub schema: &'static str,
    /// The solution, or the scenario.
    pub system: String,
    /// The verdict on all tests together: `PASS`, `INCONCLUSIVE`.
    pub verdict: String,
    pub sentence: String,
    pub tests: Vec<SignedTest>,
    /// What was tested, by names.
    pub storage: Vec<(String, String)>,
    /// What the tests do not show.
    pub not_shown: Vec<String>,
    /// SHA-256 of the evidence.
    pub evidence: String,
    #[serde(skip)]
    pub colour: Colour,
}

/// A kind of test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignedTest {
    #[serde(serialize_with = "as_word")]
    pub kind: TestKind,
    /// The numbers of its runs among the evidence.
    pub runs: Vec<usize>,
    /// `PASS`, `PASS, not a qualification`, `FAIL`, `missing`.
    pub verdict: String,
    pub qualifies: bool,
    /// The day on which it began; none of a prediction.
    pub date: Option<String>,
    /// Length of the collection, of a test under load.
    pub measured_s: Option<f64>,
    pub figures: Vec<SignedFigure>,
    /// How the other groups of rules came out.
    pub others: Vec<String>,
    #[serde(skip)]
    pub colour: Colour,
}

/// As in scenarios: `database-backup`.
fn as_word<S: Serializer>(kind: &TestKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.word())
}

/// A figure and its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignedFigure {
    /// The rule: `database read, average`.
    pub rule: String,
    pub limit: String,
    pub measured: String,
    pub outcome: Outcome,
}

/// Kinds without which nothing is signed; a day of stress is asked for where it was run.
const NEEDED: [TestKind; 3] =
    [TestKind::Performance, TestKind::DatabaseBackup, TestKind::SoftRecovery];

impl SignOff {
    pub(crate) fn of(subject: &Subject<'_>) -> Self {
        let (verdict, colour) = shown(subject);
        Self {
            schema: SCHEMA,
            system: front::title(subject),
            verdict,
            colour,
            sentence: sentence(subject),
            tests: TestKind::ALL.into_iter().map(|kind| test(subject, kind)).collect(),
            storage: storage(subject),
            not_shown: not_shown(subject),
            evidence: subject.digest.clone(),
        }
    }

    /// The page.
    pub(super) fn blocks(&self, subject: &Subject<'_>) -> Vec<Block> {
        let mut blocks = vec![
            Block::Title(format!("Sign-off: {}", self.system)),
            Block::Subtitle(front::subtitle(subject)),
            Block::Verdict(front::tone(self.colour), self.verdict.clone(), self.sentence.clone()),
            Block::Table(self.tests_table(is_model(&subject.kinds))),
            Block::Table(self.figures_table()),
        ];
        let storage = self.storage.iter();
        let storage = storage.map(|(name, said)| (name.as_str(), said.clone())).collect();
        blocks.push(Block::Table(Table::pairs("Storage", storage)));
        blocks.push(Block::Table(signatures()));
        blocks.push(text("What these tests do not show:"));
        blocks.push(Block::List(self.not_shown.clone()));
        blocks.push(Block::NewPage);
        blocks
    }

    fn tests_table(&self, is_model: bool) -> Table {
        let rows = self.tests.iter().map(|test| {
            let class = match test.colour {
                Colour::Green | Colour::Amber => "ok",
                Colour::Red => "failed",
                Colour::Grey => "",
            };
            let measured = match (test.runs.is_empty(), test.measured_s) {
                (true, _) => "-".to_owned(),
                (false, Some(seconds)) => length(seconds),
                (false, None) => "until done".to_owned(),
            };
            let mut cells = vec![Cell::from(in_words(test.kind))];
            let date = test.date.clone().unwrap_or_else(|| "-".to_owned());
            cells.push(test.verdict.clone().into());
            cells.extend((!is_model).then(|| date.into()));
            cells.push(measured.into());
            cells.push(test.others.join("; ").into());
            Row::classed(cells, class)
        });
        let mut columns = ["Test", "Verdict"].map(Column::words).to_vec();
        columns.extend((!is_model).then(|| Column::words("Date")));
        columns.push(Column::words(if is_model { "Virtual time" } else { "Measured for" }));
        columns.push(Column::words("Other rules"));
        Table::new(columns, rows).titled("Tests")
    }

    fn figures_table(&self) -> Table {
        let rows = self.tests.iter().flat_map(|test| {
            test.figures.iter().map(|figure| {
                let class = if figure.outcome == Outcome::Ok { "ok" } else { "failed" };
                let words = [&figure.rule, &figure.limit, &figure.measured];
                let mut cells = vec![Cell::from(in_words(test.kind))];
                cells.extend(words.map(|words| Cell::from(words.as_str())));
                cells.push(figure.outcome.to_string().into());
                Row::classed(cells, class)
            })
        });
        let columns = [
            Column::words("Test"),
            Column::words("Figure"),
            Column::numbers("Limit"),
            Column::numbers("Measured"),
            Column::words("Outcome"),
        ];
        Table::new(columns, rows).titled("Figures beside their limits")
    }
}

/// Those of `kinds` that were not tested.
fn absent<const N: usize>(subject: &Subject<'_>, kinds: [TestKind; N]) -> Vec<TestKind> {
    let is_absent = |kind: &TestKind| subject.kinds.iter().all(|own| own.kind != *kind);
    kinds.into_iter().filter(is_absent).collect()
}

/// Too little was tested to sign, unless something failed.
fn shown(subject: &Subject<'_>) -> (String, Colour) {
    match absent(subject, NEEDED).is_empty() || !all_passed(&subject.kinds) {
        true => front::shown(subject),
        false => Verdict::Inconclusive.shown(is_model(&subject.kinds), false),
    }
}

fn sentence(subject: &Subject<'_>) -> String {
    let missing = absent(subject, NEEDED).into_iter();
    let missing: Vec<String> = missing.map(|kind| in_words(kind).to_lowercase()).collect();
    let sentence = front::sentence(subject);
    match missing.is_empty() {
        true => sentence,
        false => format!("Not tested: {}. {sentence}", missing.join(", ")),
    }
}

fn test(subject: &Subject<'_>, word: TestKind) -> SignedTest {
    let nothing = SignedTest {
        kind: word,
        runs: Vec::new(),
        verdict: "missing".to_owned(),
        qualifies: false,
        date: None,
        measured_s: None,
        figures: Vec::new(),
        others: Vec::new(),
        colour: Colour::Grey,
    };
    let Some(kind) = subject.kinds.iter().find(|kind| kind.kind == word) else { return nothing };
    let result = &kind.run.result;
    let groups = RuleGroup::all(&result.rules);
    let (limits, others): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|group| group.group == Group::Limits);
    let judged = limits.iter().flat_map(|group| &group.rules).filter(|rule| rule.limit.is_some());
    // The load of a stress test is that of the performance test, so its means are enough.
    let judged = judged.filter(|rule| {
        let is_mean = rule.id.ends_with("-average") || rule.outcome != Outcome::Ok;
        word != TestKind::Stress || is_mean
    });
    SignedTest {
        runs: kind.each.iter().map(|(number, _)| *number).collect(),
        verdict: result.headline(),
        qualifies: result.qualifies,
        date: (result.world == World::Real).then(|| day(result.times.started)),
        measured_s: Some(result.times.collection_s).filter(|_| word.has_limits()),
        figures: judged
            .map(|rule| SignedFigure {
                rule: rule.heading(),
                limit: rule.limit_in_words(),
                measured: rule.measured_in_words(),
                outcome: rule.outcome,
            })
            .collect(),
        others: others.iter().map(RuleGroup::summary).collect(),
        colour: result.colour(),
        ..nothing
    }
}

/// Servers, volumes and databases of the tests.
fn storage(subject: &Subject<'_>) -> Vec<(String, String)> {
    let result = main_result(&subject.kinds);
    let mut rows = Vec::new();
    for server in &result.storage.servers {
        let machine = &server.details.machine;
        if result.world == World::Real {
            let system = format!("{}, Linux {}", machine.operating_system, machine.kernel);
            rows.push((format!("Server {}", server.name), system));
        }
        for volume in &server.details.backend.volumes {
            let model = volume.stack.iter().find_map(|device| device.model.clone());
            let device = match model {
                Some(model) => format!("{} ({model})", volume.device),
                None => volume.device.clone(),
            };
            let what = format!("{} on {device}", volume.file_system);
            rows.push((volume.mount.clone(), what));
        }
    }
    rows.dedup();
    // A page has room for some.
    const ROWS_MAX: usize = 8;
    if rows.len() > ROWS_MAX {
        let more = rows.len() - ROWS_MAX;
        rows.truncate(ROWS_MAX);
        rows.push(("More".to_owned(), counted(more as u64, "volume")));
    }
    let storage = &result.storage;
    if let Some(bytes) = storage.database_bytes_initial {
        let files = counted(storage.database_files, "database");
        let bytes = brunt_units::ByteSize::bytes(bytes);
        rows.push(("Databases".to_owned(), format!("{files} of {bytes} together")));
    }
    rows
}

fn not_shown(subject: &Subject<'_>) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(absent(subject, TestKind::ALL).into_iter().map(|kind| {
        match kind {
            TestKind::Performance => {
                "whether the storage holds the load: there is no performance test"
            }
            TestKind::Stress => "what a day of load does: there is no stress test",
            TestKind::DatabaseBackup => {
                "how fast databases are read for a backup: there is no backup test"
            }
            TestKind::SoftRecovery => {
                "how fast a crash is recovered from: there is no recovery test"
            }
        }
        .to_owned()
    }));
    all.extend(front::reasons(subject));
    all.push("a failed drive, path, controller or site: for that, brunt drill".to_owned());
    all.push("processors, memory, directory and network of the mail servers".to_owned());
    all
}

fn signatures() -> Table {
    const LINE: &str = "______________________________";
    let rows = ["Tested by", "Accepted by"]
        .map(|who| Row::new([Cell::from(who), LINE.into(), LINE.into(), "______________".into()]));
    let columns = ["", "Name", "Signature", "Date"].map(Column::words);
    Table::new(columns, rows).titled("Signatures")
}
