//! What a sweep or a search leaves behind: a table on the screen, and a folder.
//!
//! ```text
//! runs/2026-11-21-181503-mail-sweep/
//!   scenario.toml   the scenario, with everything resolved
//!   points.json     every point, version brunt.points/1; fields are only added
//!   points.csv      their figures
//!   report.html     the same as pictures and a table
//! ```

use brunt_lab::{Headline, Judged, Tried};
use brunt_report::result::Verdict;
use brunt_report::{
    Cell, Column, Row, RunFolder, SweepFigures, SweepOutcome, SweepPage, SweepPoint, Table,
    counted, sweep_html,
};
use serde_json::{Value, json};

use super::SimulateError;
use crate::version;
use brunt_scenario::ModelledScenario;

/// One key of a scenario, and what came of its values.
pub(in crate::commands) struct Curve {
    /// The key that was varied.
    pub(super) key: String,
    /// What the axis of the pictures says.
    pub(super) axis: String,
    /// What is found, in words.
    pub(super) sentence: String,
    /// The same for programs.
    pub(super) found: Value,
    /// Names and places on the axis up to which every limit holds.
    pub(super) holds: Vec<(String, f64)>,
    pub(super) points: Vec<CurvePoint>,
}

/// What came of one value.
pub(super) struct CurvePoint {
    /// As it was set.
    pub(super) value: String,
    /// As it is shown.
    pub(super) label: String,
    /// Where it stands on an axis.
    pub(super) at: f64,
    pub(super) tried: Tried,
    /// The same with one path of the link lost.
    pub(super) path_lost: Option<Tried>,
}

impl Curve {
    /// Writes the folder.
    ///
    /// # Errors
    /// [`SimulateError`] when a file cannot be written.
    pub(super) fn keep(
        &self,
        folder: &RunFolder,
        scenario: &ModelledScenario,
    ) -> Result<(), SimulateError> {
        let name = &scenario.scenario.name;
        let limits = &scenario.scenario.limits.latency;
        let text = scenario.to_toml();
        let page = sweep_html(&SweepPage {
            name,
            key: &self.key,
            axis: &self.axis,
            holds: &self.holds,
            sentence: &self.sentence,
            subtitle: format!(
                "{}; {}; {}",
                scenario.scenario.description,
                counted(self.rows().count() as u64, "simulation"),
                counted(scenario.servers.len() as u64, "server"),
            ),
            points: self.points.iter().map(CurvePoint::drawn).collect(),
            read_limit_ms: limits.read_mean.as_millis(),
            log_limit_ms: limits.log_mean.as_millis(),
            command: version::command(),
            scenario: &text,
        });
        folder.write("scenario.toml", text.as_bytes())?;
        folder.write("points.json", self.json(name).as_bytes())?;
        folder.write("points.csv", self.csv().as_bytes())?;
        folder.write("report.html", page.as_bytes())?;
        Ok(())
    }

    /// Everything, for programs.
    pub(super) fn json(&self, scenario: &str) -> String {
        let points: Vec<Value> = self.points.iter().map(CurvePoint::json).collect();
        let value = json!({
            "schema": "brunt.points/1",
            "scenario": scenario,
            "key": self.key,
            "found": self.found,
            "points": points,
        });
        serde_json::to_string_pretty(&value).expect("numbers and texts can be written") + "\n"
    }

    /// The figures, for spreadsheets.
    fn csv(&self) -> String {
        let columns = [
            self.key.as_str(),
            "io_per_s",
            "read_ms",
            "write_ms",
            "log_writes_per_s",
            "log_write_ms",
            "drives_busy",
            "rules",
        ];
        self.with_paths(Table::new(columns.map(Column::words), self.rows())).to_csv()
    }

    /// Everything, for the screen.
    pub(super) fn words(&self) -> String {
        match self.sentence.as_str() {
            "" => self.table(),
            sentence => format!("{sentence}\n\n{}", self.table()),
        }
    }

    fn table(&self) -> String {
        let key = self.key.as_str();
        let figures = [key, "I/O /s", "read ms", "write ms", "log /s", "log ms", "drives busy"];
        let rules = Column::words("rules");
        let columns = figures.into_iter().map(Column::numbers).chain([rules]);
        self.with_paths(Table::new(columns, self.rows())).to_text()
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        self.points.iter().flat_map(|point| {
            let lost = point.path_lost.iter().map(|tried| point.row(tried));
            std::iter::once(point.row(&point.tried)).chain(lost)
        })
    }

    /// Says in `table` which rows have lost a path, if any have.
    fn with_paths(&self, mut table: Table) -> Table {
        if self.points.iter().all(|point| point.path_lost.is_none()) {
            return table;
        }
        let cells = self.points.iter().flat_map(|point| {
            let lost = point.path_lost.iter().map(|_| Cell::from("one lost"));
            std::iter::once(Cell::from("all")).chain(lost)
        });
        table.insert(1, Column::words("paths"), cells);
        table
    }
}

impl CurvePoint {
    fn row(&self, tried: &Tried) -> Row {
        let headline = tried.judged().map(|judged| &judged.headline);
        let figure = |of: fn(&Headline) -> f64| Cell::from(headline.map(of));
        Row::new([
            self.label.as_str().into(),
            figure(|headline| headline.io_per_s),
            figure(|headline| headline.read_ms),
            figure(|headline| headline.write_ms),
            figure(|headline| headline.log.per_s),
            figure(|headline| headline.log.ms),
            headline.map_or(Cell::Nothing, |headline| Cell::Share(headline.utilisation)),
            outcome(tried).into(),
        ])
    }

    fn drawn(&self) -> SweepPoint {
        SweepPoint {
            value: self.label.clone(),
            at: self.at,
            came: came(&self.tried),
            path_lost: self.path_lost.as_ref().map(came),
        }
    }

    fn json(&self) -> Value {
        let mut value = json(&self.tried);
        value["value"] = json!(self.value);
        if let Some(tried) = &self.path_lost {
            value["one_path_lost"] = json(tried);
        }
        value
    }
}

/// What came of a point, for pictures.
fn came(tried: &Tried) -> SweepOutcome {
    SweepOutcome {
        figures: tried.judged().map(|Judged { headline, .. }| SweepFigures {
            io_per_s: headline.io_per_s,
            read_ms: headline.read_ms,
            write_ms: headline.write_ms,
            log_ms: headline.log.ms,
        }),
        words: outcome(tried),
    }
}

/// What came of a point, for programs.
fn json(tried: &Tried) -> Value {
    let mut value = json!({ "passed": tried.passed() });
    match tried {
        Tried::Simulated(judged) => {
            let headline = &judged.headline;
            value["verdict"] = json!(judged.verdict);
            value["sentence"] = json!(judged.sentence);
            value["io_per_s"] = json!(headline.io_per_s);
            value["reads_per_s"] = json!(headline.reads_per_s);
            value["writes_per_s"] = json!(headline.writes_per_s);
            value["read_ms"] = json!(headline.read_ms);
            value["write_ms"] = json!(headline.write_ms);
            value["log_writes_per_s"] = json!(headline.log.per_s);
            value["log_write_ms"] = json!(headline.log.ms);
            value["drives_busy"] = json!(headline.utilisation);
            value["failed"] = json!(judged.failed);
            value["bottlenecks"] = json!(judged.bottlenecks);
        }
        Tried::Refused(refusal) => value["refused"] = json!(refusal.what()),
    }
    value
}

/// Why a point did not pass.
pub(super) fn reason(tried: &Tried) -> String {
    let outcome = outcome(tried);
    match (tried, outcome.strip_prefix("fail: ")) {
        (_, Some(rule)) => rule.to_owned(),
        (Tried::Simulated(_), None) => "there is no verdict".to_owned(),
        (Tried::Refused(refusal), None) => format!("it is refused: {}", refusal.what()),
    }
}

/// Which values of `key` pass, in a sentence; empty without points.
pub(super) fn sentence(key: &str, points: &[CurvePoint]) -> String {
    let passed = |point: &&CurvePoint| point.tried.passed();
    let good: Vec<&CurvePoint> = points.iter().filter(passed).collect();
    let Some(bad) = points.iter().find(|point| !passed(point)) else {
        return match points {
            [] => String::new(),
            [only] => format!("Every limit holds at {key} = {}.", only.label),
            [first, .., last] => {
                let (first, last) = (&first.label, &last.label);
                format!("Every limit holds at every {key}, from {first} to {last}.")
            }
        };
    };
    let outcome = outcome(&bad.tried);
    let why = match (&bad.tried, outcome.strip_prefix("fail: ")) {
        (_, Some(rule)) => format!("at {}, {rule}", bad.label),
        (Tried::Simulated(_), None) => format!("at {}, there is no verdict", bad.label),
        (Tried::Refused(_), None) => format!("{} is refused", bad.label),
    };
    match good.as_slice() {
        [] => format!("Not every limit holds at any {key}: {why}."),
        // The values up to the first that fails.
        [.., last] if points[..good.len()].iter().all(|point| passed(&point)) => {
            format!("Every limit holds up to {key} = {}; {why}.", last.label)
        }
        some => {
            let labels: Vec<&str> = some.iter().map(|point| point.label.as_str()).collect();
            format!("Every limit holds at {key} = {}; {why}.", labels.join(", "))
        }
    }
}

/// What became of it, for the cell of a table: `hold`, the rule that failed first, why it was not
/// carried through, or the refusal.
fn outcome(tried: &Tried) -> String {
    let judged = match tried {
        Tried::Simulated(judged) => judged,
        Tried::Refused(refusal) => return format!("refused: {}", refusal.what()),
    };
    match (judged.verdict, judged.failed.as_slice()) {
        (Verdict::Pass, _) => "hold".to_owned(),
        (Verdict::Fail, [only]) => format!("fail: {}", only.against_limit()),
        (Verdict::Fail, [first, more @ ..]) => {
            format!("fail: {}, and {} more", first.against_limit(), more.len())
        }
        (verdict, _) => format!("{}: {}", verdict.word(), judged.sentence),
    }
}
