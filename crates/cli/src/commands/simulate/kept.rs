//! What a sweep or a search leaves behind: a table on the screen, and a folder.
//!
//! ```text
//! runs/2026-11-21-181503-mail-sweep/
//!   scenario.toml   the scenario, with everything resolved
//!   points.json     every point, version brunt.points/1; fields are only added
//!   points.csv      their figures
//!   report.html     the same as pictures and a table
//!   journal         each point when it was computed, with events.log and news.jsonl
//! ```

use brunt_lab::{Headline, Judged, Tried};
use brunt_report::result::{Quantity, Verdict};
use brunt_report::{
    Cell, Column, Row, RunFolder, SweepOutcome, SweepPage, SweepPicture, SweepPoint, Table,
    counted, sweep_html,
};
use serde_json::{Value, json};

use super::SimulateError;
use super::planner::Planned;
use crate::sweep::Sweep;
use crate::version;
use brunt_scenario::{ModelledScenario, Override};

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
    /// What came of the points of `sweep`, of the same with a path lost if that was simulated, and
    /// what follows for the distance of two sites; points that were not carried through are left out.
    pub(super) fn of(
        sweep: &Sweep,
        tried: Vec<Option<Tried>>,
        path_lost: Option<Vec<Option<Tried>>>,
        planned: Option<Planned>,
    ) -> Self {
        let mut path_lost = path_lost.into_iter().flatten();
        let points = sweep.values().iter().zip(tried).filter_map(|((value, at), tried)| {
            let path_lost = path_lost.next().flatten();
            let (label, value) = (value.clone(), value.clone());
            Some(CurvePoint { label, value, at: *at, tried: tried?, path_lost })
        });
        let points: Vec<CurvePoint> = points.collect();
        let mut curve = Self {
            sentence: sentence(&sweep.key, &points),
            key: sweep.key.clone(),
            axis: sweep.axis(),
            found: Value::Null,
            holds: Vec::new(),
            points,
        };
        if let Some(planned) = planned {
            curve.sentence = planned.sentence;
            curve.found = planned.found;
            let holds = planned.holds.into_iter();
            let place = |point: usize| sweep.values()[point].1;
            curve.holds = holds.map(|(name, point)| (name, place(point))).collect();
        }
        curve
    }

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
            kind: "simulated storage",
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
            figures: &["I/Os per second", "Read (ms)", "Write (ms)", "Log write (ms)"],
            points: self.points.iter().map(CurvePoint::drawn).collect(),
            pictures: self.pictures(limits.read_mean.as_millis(), limits.log_mean.as_millis()),
            note: "Figures are means of all databases. Rules judge each database, so one may fail below the line of its limit.",
            origin: "Every figure is a prediction from modelled storage.",
            files: "scenario.toml, points.json, points.csv",
            command: version::command(),
            scenario: &text,
        });
        folder.write("scenario.toml", text.as_bytes())?;
        folder.write("points.json", self.json(name).as_bytes())?;
        folder.write("points.csv", self.csv().as_bytes())?;
        folder.write("report.html", page.as_bytes())?;
        Ok(())
    }

    /// Which figures are drawn: each alone where there are two curves of it.
    fn pictures(&self, read_limit: f64, log_limit: f64) -> Vec<SweepPicture> {
        let picture = |title, unit, curves: &[(&'static str, usize)], limits: &[(&str, f64)]| {
            let limit = |(what, at): &(&str, f64)| {
                (format!("mean {what} limit {} ms", Quantity::new(*at, "")), *at)
            };
            let limits = limits.iter().map(limit).collect();
            SweepPicture { title, unit, curves: curves.to_vec(), limits }
        };
        let (io, read, write, log) =
            (("database I/O", 0), ("database read", 1), ("database write", 2), ("log write", 3));
        let (read_limit, log_limit) = (("read", read_limit), ("log", log_limit));
        let (ms, per_s) = ("milliseconds", "I/Os per second");
        match self.points.iter().any(|point| point.path_lost.is_some()) {
            true => vec![
                picture("Log write latency, mean", ms, &[log], &[log_limit]),
                picture("Database read latency, mean", ms, &[read], &[read_limit]),
                picture("Database write latency, mean", ms, &[write], &[]),
                picture("Throughput", per_s, &[io], &[]),
            ],
            false => vec![
                picture("I/Os per second", per_s, &[io], &[]),
                picture("Latency, mean", ms, &[read, write, log], &[read_limit, log_limit]),
            ],
        }
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
    /// Why it did not pass, as a clause; `None` when it did.
    fn trouble(&self) -> Option<String> {
        if self.tried.passed() {
            return None;
        }
        let outcome = outcome(&self.tried);
        Some(match (&self.tried, outcome.strip_prefix("fail: ")) {
            (_, Some(rule)) => format!("at {}, {rule}", self.label),
            (Tried::Simulated(_), None) => format!("at {}, there is no verdict", self.label),
            (Tried::Refused(_), None) => format!("{} is refused", self.label),
        })
    }

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

/// What came of `value`, as an object of `points.json`.
pub(super) fn told_point(value: &Override, tried: &Tried) -> Value {
    let mut point = json(tried);
    point["value"] = json!(value.value());
    point
}

/// The same with a path lost; what came of the value with all paths is told before.
pub(super) fn told_lost(value: &Override, tried: &Tried) -> Value {
    json!({ "value": value.value(), "one_path_lost": json(tried) })
}

/// What came of a point, for pictures.
fn came(tried: &Tried) -> SweepOutcome {
    SweepOutcome {
        figures: tried.judged().map_or(Vec::new(), |Judged { headline, .. }| {
            vec![
                Some(headline.io_per_s),
                Some(headline.read_ms),
                Some(headline.write_ms),
                Some(headline.log.ms),
            ]
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
fn sentence(key: &str, points: &[CurvePoint]) -> String {
    let points: Vec<(&str, Option<String>)> =
        points.iter().map(|point| (point.label.as_str(), point.trouble())).collect();
    crate::sweep::sentence(key, &points)
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
