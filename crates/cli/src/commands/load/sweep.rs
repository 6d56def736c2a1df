//! `--sweep users=50..2000`: the same users in larger and larger numbers, until they are not served.
//!
//! Each number has servers of its own, which begin empty, and a folder within that of the sweep; the
//! servers go when their mailboxes have been read, unless a promise was broken. The first number that
//! fails is the last one: more users are not served better.
//!
//! ```text
//! runs/2026-11-27-041500-load-sweep/
//!   points.json     every point, version brunt.points/1; fields are only added
//!   points.csv      their figures
//!   report.html     the same as pictures and a table
//!   journal         each point when its run had ended, with events.log and news.jsonl
//!   users-50/       the run: result.json, report.html, ledger.bin
//! ```

use brunt_host::computing::{Computing, head, no_points};
use brunt_host::load::{remove_servers, run as run_load};
use brunt_report::result::{Group, Mail, Outcome, Rule, RunResult, Verdict};
use brunt_report::{
    Cell, Column, Row, RunFolder, SweepOutcome, SweepPage, SweepPicture, SweepPoint, Table,
    counted, sweep_html,
};
use brunt_run::{Silence, Stop};
use brunt_scenario::{MailScenario, Override, Place};
use brunt_units::Span;
use serde_json::{Value, json};

use super::scenario::options;
use super::{LoadArgs, LoadCommandError, foreign, page, recorded};
use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::records::Lines;
use crate::sweep::{Sweep, sentence};
use crate::teller::Teller;
use crate::version;

/// The only key, and how it stands in a scenario.
const KEY: &str = "users";
const KEY_WHOLE: &str = "mail.users";
const NAME: &str = "load-sweep";

/// What came of a number of users.
struct Point {
    label: String,
    at: f64,
    came: Result<Box<RunResult>, String>,
}

/// Tries one number after the other.
///
/// # Errors
/// [`LoadCommandError`] when the flag is wrong, or nothing can be kept.
pub(super) fn run(args: &LoadArgs, text: &str, output: &Output) -> Result<Exit, LoadCommandError> {
    let sweep = Sweep::read(text)?;
    let numbers = numbers(&sweep, text)?;
    // What is wrong with the scenario or the servers is said before anything is made.
    let scenario = scenario(args, &numbers[0])?;
    if scenario.target.is_some() {
        return Err(LoadCommandError::SweptTarget);
    }
    // Flags of other servers are refused.
    foreign::find(args, &scenario)?;
    let (first, left_out) = options(&scenario)?;
    if !first.incidents.is_empty() {
        return Err(LoadCommandError::Disturbed);
    }
    let profile = first.demand.work.as_ref().ok_or(LoadCommandError::NoUsers)?.profile.clone();
    let labels: Vec<&str> = numbers.iter().map(|(label, _)| label.as_str()).collect();
    let opening = page::opening(&scenario.name, &first, left_out.as_deref());
    let opening = format!("{opening}{:14}{} users", "sweep", labels.join(", "));
    if args.output.check {
        output.show(&opening);
        return Ok(Exit::Passed);
    }
    output.talk(&format!("{opening}\n"));
    let stop = Stop::from(Interrupt::listen()?.flag());
    let begun = now();
    let folder = RunFolder::create(&args.output.out, begun, NAME)?;
    let lines = Lines::of(&args.output.printed, output);
    let head = head(Some(&folder), begun, NAME, text.to_owned(), &no_points(&profile.name, KEY));
    let computing = Computing::begin(head, Some(&folder), lines.heard(), Silence)?;
    let tried = points(args, &numbers, (&folder, &stop), &computing, output);
    let points = match tried {
        Ok(points) => points,
        Err(error) => {
            drop(computing);
            folder.discard();
            return Err(error);
        }
    };
    let limit = profile.score_limit;
    let found = Found { profile: &profile.name, points: &points, limit };
    let verdict = match stop.is_asked() {
        true => Verdict::Interrupted,
        false => found.verdict(),
    };
    computing.ended(verdict)?;
    folder.write("points.json", found.json().as_bytes())?;
    folder.write("points.csv", found.table("users").to_csv().as_bytes())?;
    folder.write("report.html", found.page(&sweep.axis()).as_bytes())?;
    lines.tell((verdict.word(), &found.json()), output, || {
        output.talk("");
        let (sentence, table) = (found.sentence(), found.table("users").to_text());
        let report = folder.file("report.html");
        let table = table.trim_end();
        output.show(&format!("{sentence}\n\n{table}\n\n{:14}{}", "report", report.display()));
    });
    Ok(verdict.into())
}

/// The numbers of users with their places on the axis, from the smallest on.
fn numbers(sweep: &Sweep, text: &str) -> Result<Vec<(String, f64)>, LoadCommandError> {
    if ![KEY, KEY_WHOLE].contains(&sweep.key.as_str()) {
        let refusal = Place::flag(&format!("--sweep {text}"));
        let refusal = refusal.refuse(format!("`{}` cannot be varied here", sweep.key));
        return Err(refusal.hint("for example: --sweep users=50..2000/5").into());
    }
    let mut numbers = sweep.values().to_vec();
    numbers.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(numbers)
}

/// The test with this many users. Killed servers would say nothing about waiting.
fn scenario(args: &LoadArgs, (label, _): &(String, f64)) -> Result<MailScenario, LoadCommandError> {
    let users = Override::of_set(&format!("{KEY_WHOLE}={label}"))?;
    let kill = Override::of_set("mail.kill=false")?;
    Ok(args.scenario(&[users, kill])?)
}

fn points(
    args: &LoadArgs,
    numbers: &[(String, f64)],
    (folder, stop): (&RunFolder, &Stop),
    computing: &Computing<Silence>,
    output: &Output,
) -> Result<Vec<Point>, LoadCommandError> {
    let mut points = Vec::new();
    for number in numbers {
        let (label, at) = number;
        let scenario = scenario(args, number)?;
        let (options, _) = options(&scenario)?;
        let own = folder.within(&format!("users-{label}"))?;
        let teller = Teller::of_part(output, format!("{label} users"));
        let came = recorded((&scenario, &options.demand), &own, (None, teller), |listener| {
            run_load(&options, &own, version::origin, listener, stop)
        })?;
        let came = match came {
            Ok(result) => {
                if !has_broken_promise(&result) {
                    remove_servers(own.path())?;
                }
                Ok(Box::new(result))
            }
            // The first one says that servers cannot be tested at all.
            Err(error) if points.is_empty() => return Err(error.into()),
            Err(error) => Err(error.to_string()),
        };
        let point = Point { label: label.clone(), at: *at, came };
        output.talk(&format!("{:14}{}", format!("{label} users"), point.outcome()));
        computing.done(Some(numbers.len() as u64), point.json());
        let is_last = !point.passed() || stop.is_asked();
        points.push(point);
        if is_last {
            break;
        }
    }
    Ok(points)
}

fn has_broken_promise(result: &RunResult) -> bool {
    let broken = |rule: &Rule| rule.outcome == Outcome::Failed && rule.group == Group::Integrity;
    result.rules.iter().any(broken)
}

impl Point {
    fn result(&self) -> Option<&RunResult> {
        self.came.as_deref().ok()
    }

    fn passed(&self) -> bool {
        self.result().is_some_and(|result| result.verdict == Verdict::Pass)
    }

    fn failed(&self) -> Vec<&Rule> {
        let rules = self.result().map_or(&[][..], |result| &result.rules);
        rules.iter().filter(|rule| rule.outcome == Outcome::Failed).collect()
    }

    /// `hold`, or what did not.
    fn outcome(&self) -> String {
        let result = match &self.came {
            Ok(result) => result,
            Err(why) => return format!("refused: {why}"),
        };
        match (result.verdict, self.failed().as_slice()) {
            (Verdict::Pass, _) => "hold".to_owned(),
            (verdict, []) => {
                format!("{}: {}", verdict.word(), result.storage.details.sentence)
            }
            (verdict, [only]) => format!("{}: {}", verdict.word(), only.against_limit()),
            (verdict, [first, more @ ..]) => {
                let first = first.against_limit();
                format!("{}: {first}, and {} more", verdict.word(), more.len())
            }
        }
    }

    /// Why it did not pass, as a clause.
    fn trouble(&self) -> Option<String> {
        let outcome = self.outcome();
        let why = outcome.strip_prefix("fail: ").unwrap_or(&outcome);
        (!self.passed()).then(|| format!("at {}, {why}", self.label))
    }

    /// Score, p95 of the slowest task, tasks waiting, messages submitted and delivered a minute.
    fn figures(&self) -> [Option<f64>; 5] {
        let work = self.result().and_then(|result| result.mail.as_ref()?.work.as_ref());
        let Some(work) = work else { return [None; 5] };
        // A run that ended early may have had no steady part.
        let was_steady = work.score_ms.is_some();
        let slowest = work.tasks.iter().filter_map(|task| Some(task.response.as_ref()?.p95_ms));
        [
            work.score_ms,
            slowest.reduce(f64::max),
            Some(work.waiting_max as f64),
            work.submitted_per_min.filter(|_| was_steady),
            work.delivered_per_min.filter(|_| was_steady),
        ]
    }

    fn json(&self) -> Value {
        let [score, slowest, waiting, submitted, delivered] = self.figures();
        let mut value = json!({
            "value": self.label,
            "passed": self.passed(),
            "score_ms": score,
            "slowest_task_p95_ms": slowest,
            "waiting_max": waiting,
            "submitted_per_min": submitted,
            "delivered_per_min": delivered,
        });
        match &self.came {
            Ok(result) => {
                value["verdict"] = json!(result.verdict);
                value["sentence"] = json!(result.storage.details.sentence);
                value["failed"] = json!(self.failed());
                value["ledger"] = json!(result.mail.as_ref().map(|mail: &Mail| mail.ledger));
            }
            Err(why) => value["refused"] = json!(why),
        }
        value
    }
}

/// All points, and what follows.
struct Found<'a> {
    profile: &'a str,
    points: &'a [Point],
    /// What the profile's score must stay below.
    limit: Option<Span>,
}

impl Found<'_> {
    fn sentence(&self) -> String {
        let points = self.points.iter().map(|point| (point.label.as_str(), point.trouble()));
        sentence(KEY, &points.collect::<Vec<_>>())
    }

    fn verdict(&self) -> Verdict {
        let results = || self.points.iter().filter_map(Point::result);
        match () {
            () if results().any(has_broken_promise) => Verdict::Fail,
            () if results().any(|result| result.verdict.is_answer()) => Verdict::Pass,
            () => Verdict::Inconclusive,
        }
    }

    fn json(&self) -> String {
        let passed = self.points.iter().rfind(|point| point.passed());
        let value = json!({
            "schema": "brunt.points/1",
            "scenario": self.profile,
            "key": KEY,
            "found": json!({ "users": passed.map(|point| &point.label) }),
            "points": self.points.iter().map(Point::json).collect::<Vec<_>>(),
        });
        serde_json::to_string_pretty(&value).expect("numbers and texts can be written") + "\n"
    }

    fn table(&self, key: &str) -> Table {
        let figures =
            [key, "score ms", "slowest p95 ms", "waiting", "submitted /min", "delivered /min"];
        let columns = figures.into_iter().map(Column::numbers).chain([Column::words("rules")]);
        let rows = self.points.iter().map(|point| {
            let figures = point.figures().map(Cell::from);
            let label = std::iter::once(Cell::from(point.label.as_str()));
            Row::new(label.chain(figures).chain([Cell::from(point.outcome())]))
        });
        Table::new(columns, rows)
    }

    fn page(&self, axis: &str) -> String {
        let limit = |what: &str, at: f64, unit: &str| (format!("{what} limit {at} {unit}"), at);
        let score = self.limit.map(|at| limit("score", at.as_millis(), "ms"));
        let picture = |title, unit, curves: &[(&'static str, usize)], limits| SweepPicture {
            title,
            unit,
            curves: curves.to_vec(),
            limits,
        };
        let points = self.points.iter().map(|point| SweepPoint {
            value: point.label.clone(),
            at: point.at,
            came: SweepOutcome { figures: point.figures().to_vec(), words: point.outcome() },
            path_lost: None,
        });
        sweep_html(&SweepPage {
            kind: "mail servers",
            name: self.profile,
            key: KEY,
            axis,
            holds: &[],
            sentence: &self.sentence(),
            subtitle: counted(self.points.len() as u64, "run"),
            figures: &[
                "Score (ms)",
                "Slowest task, p95 (ms)",
                "Most tasks waiting",
                "Submitted a minute",
                "Delivered a minute",
            ],
            points: points.collect(),
            pictures: vec![
                picture(
                    "Response",
                    "milliseconds",
                    &[("score", 0), ("slowest task, p95", 1)],
                    score.into_iter().collect(),
                ),
                picture(
                    "Tasks waiting",
                    "tasks",
                    &[("most at once", 2)],
                    vec![limit("LoadSim's", 100.0, "tasks")],
                ),
                picture("Messages", "a minute", &[("submitted", 3), ("delivered", 4)], Vec::new()),
            ],
            note: "Each number of users has servers of its own, which begin empty. The first that fails ends the sweep.",
            origin: "Every point is a run, whose folder stands beside this page.",
            files: "points.json, points.csv",
            command: version::command(),
            scenario: "",
        })
    }
}
