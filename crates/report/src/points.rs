//! What a sweep, a search or runs in turns had computed when they were killed, by their journal.
//!
//! The journal begins with the result before anything was computed, `points.json` without points,
//! and tells each point as an object of that file. So what was computed is the same as JSON, as a
//! table and as a page; what is found in it is said only by a sweep that ended.

use brunt_run::{Folded, News};
use serde_json::{Value, json};

use crate::html::{SweepOutcome, SweepPage, SweepPoint, sweep_html};
use crate::result::{Rule, Verdict};
use crate::table::{Cell, Column, Row, Table};
use crate::{NewsLine, counted};

/// What a point has if a path of its link was lost besides.
const PATH_LOST: &str = "one_path_lost";

/// The points of work that did not end.
#[derive(Clone, Debug)]
pub struct Points {
    outline: Value,
    /// In the order in which they ended.
    points: Vec<Value>,
    /// Of how many simulations, where that is known.
    of: Option<u64>,
    simulated: u64,
    scenario: String,
    cut: Option<String>,
}

impl Points {
    /// What `folded` has of points; `None` for a journal of other work.
    pub fn of(folded: &Folded) -> Option<Self> {
        let head = folded.heads.first()?;
        let outline: Value = serde_json::from_str(&head.outline).ok()?;
        outline["points"].as_array()?;
        let mut all = Self {
            outline,
            points: Vec::new(),
            of: None,
            simulated: 0,
            scenario: head.scenario.clone(),
            cut: folded.cut.map(|cut| cut.to_string()),
        };
        for line in folded.news.iter().filter_map(|line| NewsLine::from_json(line)) {
            if let News::Computed { all: of, point: Some(point), .. } = line.news {
                all.of = of;
                all.simulated += 1;
                all.add(point);
            }
        }
        Some(all)
    }

    /// What came of a value with a path lost belongs to what came of it with all.
    fn add(&mut self, point: Value) {
        let same = self.points.iter_mut().find(|one| one["value"] == point["value"]);
        match (same, &point[PATH_LOST]) {
            (Some(same), lost @ Value::Object(_)) => same[PATH_LOST] = lost.clone(),
            _ => self.points.push(point),
        }
    }

    /// As `points.json`, with the verdict.
    pub fn to_json(&self) -> String {
        let mut value = self.outline.clone();
        value["verdict"] = json!(Verdict::Interrupted);
        value["of"] = json!(self.of);
        value["points"] = json!(self.points);
        serde_json::to_string_pretty(&value).expect("numbers and texts can be written")
    }

    /// How far it came.
    pub fn sentence(&self) -> String {
        let done = match self.of {
            _ if self.simulated == 0 => "nothing was computed".to_owned(),
            Some(of) => format!("{} of {of} were computed", self.simulated),
            None => format!("{} computed so far", counted(self.simulated, "point")),
        };
        let cut = self.cut.as_ref().map_or(String::new(), |cut| format!("; {cut}"));
        format!("It did not end: {done}{cut}.")
    }

    /// A row for each point: its figures, and what came of its rules.
    pub fn table(&self) -> Table {
        let figures = self.figures();
        let columns = [self.key()].into_iter().chain(figures.iter().map(String::as_str));
        let columns = columns.map(Column::numbers).chain([Column::words("rules")]);
        let rows = self.points.iter().map(|point| {
            let cells = figures.iter().map(|figure| Cell::from(point[figure].as_f64()));
            let cells = [Cell::from(value_of(point))].into_iter().chain(cells);
            Row::new(cells.chain([Cell::from(outcome(point))]))
        });
        Table::new(columns, rows)
    }

    /// The page, which says that it was made by `command`.
    pub fn page(&self, command: String) -> String {
        let figures = self.figures();
        let names: Vec<&str> = figures.iter().map(String::as_str).collect();
        let points = self.points.iter().enumerate().map(|(number, point)| SweepPoint {
            value: value_of(point).to_owned(),
            at: number as f64,
            came: came(point, &figures),
            path_lost: point.get(PATH_LOST).map(|lost| came(lost, &figures)),
        });
        sweep_html(&SweepPage {
            kind: "work that did not end",
            name: self.name(),
            key: self.key(),
            axis: self.key(),
            sentence: &self.sentence(),
            subtitle: counted(self.simulated, "point"),
            figures: &names,
            points: points.collect(),
            note: "What follows from all points together is not known.",
            origin: "Points are those of the journal.",
            files: "journal, news.jsonl",
            command,
            scenario: &self.scenario,
            ..SweepPage::default()
        })
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        self.outline["scenario"].as_str().unwrap_or_default()
    }

    fn key(&self) -> &str {
        self.outline["key"].as_str().unwrap_or("point")
    }

    /// Names of all numbers that points have, in their order.
    fn figures(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, value) in self.points.iter().filter_map(Value::as_object).flatten() {
            if value.is_number() && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

fn came(point: &Value, figures: &[String]) -> SweepOutcome {
    let figures = figures.iter().map(|figure| point[figure].as_f64());
    SweepOutcome { figures: figures.collect(), words: outcome(point) }
}

/// The value that a point is of.
pub fn value_of(point: &Value) -> &str {
    point["value"].as_str().unwrap_or_default()
}

/// `hold`, or why not.
pub fn outcome(point: &Value) -> String {
    if let Some(why) = point["refused"].as_str() {
        return format!("refused: {why}");
    }
    if point["passed"] == json!(true) {
        return "hold".to_owned();
    }
    let Some(verdict) = point["verdict"].as_str() else {
        return point
            .get(PATH_LOST)
            .map_or_else(String::new, |lost| format!("with a path lost: {}", outcome(lost)));
    };
    let failed: Vec<Rule> = serde_json::from_value(point["failed"].clone()).unwrap_or_default();
    let why = match failed.first() {
        Some(first) => first.against_limit(),
        None => point["sentence"].as_str().unwrap_or_default().to_owned(),
    };
    match why.is_empty() {
        true => verdict.to_owned(),
        false => format!("{verdict}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use brunt_run::Head;

    use super::*;
    use crate::Timestamp;

    fn folded(points: &[(Option<u64>, Value)]) -> Folded {
        let outline = json!({ "schema": "brunt.points/1", "key": "link.rtt", "points": [] });
        let head = Head { outline: outline.to_string(), ..Head::default() };
        let news = points.iter().enumerate().map(|(at, (all, point))| {
            let news =
                News::Computed { done: at as u64 + 1, all: *all, point: Some(point.clone()) };
            NewsLine { at: Timestamp::default(), news }.to_json()
        });
        Folded { heads: vec![head], news: news.collect(), ..Folded::default() }
    }

    #[test]
    fn what_was_computed_is_there_and_what_was_lost_beside_it() {
        let lost = json!({ "passed": false, "verdict": "error", "sentence": "no path" });
        let points = Points::of(&folded(&[
            (Some(4), json!({ "value": "0ms", "passed": true, "read_ms": 9.25 })),
            (Some(4), json!({ "value": "1ms", "refused": "no room", "passed": false })),
            (Some(4), json!({ "value": "0ms", "one_path_lost": lost })),
        ]));
        let points = points.unwrap();
        let json: Value = serde_json::from_str(&points.to_json()).unwrap();
        assert_eq!((&json["verdict"], &json["of"]), (&json!("interrupted"), &json!(4)));
        assert_eq!(json["points"].as_array().unwrap().len(), 2);
        assert_eq!(json["points"][0]["one_path_lost"], lost);
        assert_eq!(points.sentence(), "It did not end: 3 of 4 were computed.");
        let text = points.table().to_text();
        assert!(text.contains("9.25") && text.contains("refused: no room"), "{text}");
        assert_eq!(outcome(&lost), "error: no path");
        assert!(points.page("brunt".to_owned()).contains("no room"));
    }

    #[test]
    fn a_journal_of_other_work_has_none() {
        let head = Head { outline: "{}".to_owned(), ..Head::default() };
        assert!(Points::of(&Folded { heads: vec![head], ..Folded::default() }).is_none());
        assert!(Points::of(&Folded::default()).is_none());
        assert!(Points::of(&folded(&[])).is_some());
    }
}
