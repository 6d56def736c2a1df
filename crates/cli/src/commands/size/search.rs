//! `--search`: the best designs by price or drives, and whether the best of them holds in a
//! simulation.
//!
//! The cheapest design may fail for what a calculation does not see: latencies, logs beside
//! databases, a cache that fills. Then the next one is tried. What passes is what is sized, and
//! written.

use brunt_host::computing::{Computing, head};
use brunt_lab::{Engine, Headline, Options, predict_to_an_answer};
use brunt_report::result::Verdict;
use brunt_report::{Column, Row, Table, decimals, grouped};
use brunt_run::{Silence, Stop};
use brunt_scenario::{Document, Organisation, Override};
use brunt_sizing::search::{Candidate, Found, search};
use brunt_sizing::size;
use serde_json::{Value, json};

use super::SizeError;
use crate::clock::now;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::records::Lines;
use crate::version;

/// Designs that are shown.
const SHOWN: usize = 8;
/// Designs that are simulated before the search gives up.
const SIMULATED: usize = 4;
/// Long enough for the cache of an array to settle, and for latencies to be known.
const SHORT: [&str; 2] = ["test.duration=30min", "test.min_warmup=10min"];

/// What a search came to.
pub(super) struct Searched {
    found: Found,
    /// What simulations said of the first designs, in order.
    simulated: Vec<Simulated>,
    currency: String,
}

/// What a simulation said.
struct Simulated {
    passed: bool,
    sentence: String,
    read_ms: f64,
    io_per_s: f64,
}

impl Simulated {
    /// Of a design that cannot be written as a scenario; the first line of `why` says what is
    /// wrong.
    fn never(why: &str) -> Self {
        Self {
            passed: false,
            sentence: why.lines().next().unwrap_or_default().to_owned(),
            read_ms: f64::NAN,
            io_per_s: f64::NAN,
        }
    }

    fn json(&self) -> Value {
        json!({
            "passed": self.passed,
            "sentence": self.sentence,
            "read_ms": self.read_ms,
            "io_per_s": self.io_per_s,
        })
    }
}

impl Searched {
    /// Searches, and simulates the best unless `is_quick`.
    ///
    /// # Errors
    /// [`SizeError`] when a design cannot be simulated, or was stopped.
    pub(super) fn new(
        org: &Organisation,
        is_quick: bool,
        lines: &Lines,
        output: &Output,
    ) -> Result<Self, SizeError> {
        let found = search(org);
        let currency = org.search.prices.as_ref().map(|prices| prices.currency.clone());
        let mut searched =
            Self { found, simulated: Vec::new(), currency: currency.unwrap_or_default() };
        let outline = json!({ "tried": searched.found.tried, "candidates": [] });
        let head = head(None, now(), "search", String::new(), &outline);
        let computing = Computing::begin(head, None, lines.heard(), Silence)?;
        if !is_quick {
            searched.simulate(org, &computing, output)?;
        }
        computing.ended(match searched.chosen() {
            Some(_) => Verdict::Pass,
            None => Verdict::Fail,
        })?;
        Ok(searched)
    }

    fn simulate(
        &mut self,
        org: &Organisation,
        computing: &Computing<Silence>,
        output: &Output,
    ) -> Result<(), SizeError> {
        let stop = Stop::from(Interrupt::listen()?.flag());
        let mut progress = output.progress("simulate");
        for candidate in self.found.candidates.iter().take(SIMULATED) {
            progress.show(0.0, || candidate.words());
            let simulated = match simulated(&candidate.applied(org), &stop) {
                Ok(simulated) => simulated,
                Err(why @ (SizeError::Refused(_) | SizeError::Design(_))) => {
                    Simulated::never(&why.to_string())
                }
                Err(error) => return Err(error),
            };
            if stop.is_asked() {
                progress.vanish();
                return Err(SizeError::Stopped);
            }
            let passed = simulated.passed;
            let mut point = simulated.json();
            point["value"] = json!(candidate.words());
            computing.done(None, point);
            self.simulated.push(simulated);
            if passed {
                break;
            }
        }
        progress.vanish();
        Ok(())
    }

    /// The design that was chosen: the first that passed, or the best when nothing was simulated.
    /// `None` when none holds.
    pub(super) fn chosen(&self) -> Option<&Candidate> {
        match self.simulated.iter().position(|one| one.passed) {
            Some(at) => self.found.candidates.get(at),
            None if self.simulated.is_empty() => self.found.candidates.first(),
            None => None,
        }
    }

    /// How many were tried, and the best of them.
    pub(super) fn text(&self) -> String {
        let found = &self.found;
        let mut text = format!(
            "{:14}{} designs; {} kinds of groups keep to every limit; by {}",
            "searched",
            grouped(found.tried),
            grouped(found.candidates.len() as u64),
            match found.candidates.first().is_some_and(|first| first.price.is_some()) {
                true if self.currency.is_empty() => "price".to_owned(),
                true => format!("price ({})", self.currency),
                false => "drives".to_owned(),
            }
        );
        if found.candidates.is_empty() {
            text += &format!(
                "\n{:14}more `servers` or larger drives, or fewer limits in [search] and [org]",
                "try"
            );
            return text;
        }
        let has_price = found.candidates[0].price.is_some();
        let rows = found.candidates.iter().take(SHOWN).enumerate();
        let rows = rows.map(|(at, one)| {
            let group = &one.block.group;
            let mut cells = vec![
                one.block.drive.value.to_owned(),
                format!("{} of {}", group.word(), group.drives),
                one.logs().to_owned(),
                grouped(one.databases),
                grouped(one.drives),
            ];
            cells.extend(one.price.map(price));
            cells.push(format!("{:.0} %", one.io_percent));
            let simulated = self.simulated.get(at);
            cells.push(simulated.map_or("-".to_owned(), |simulated| match simulated.passed {
                true => format!("{} ms", decimals(simulated.read_ms)),
                false => "fails".to_owned(),
            }));
            Row::new(cells)
        });
        let mut columns = Column::of(&["drive", "group", "logs"], &["DBs", "drives"]);
        if has_price {
            columns.push(Column::numbers("price"));
        }
        columns.push(Column::numbers("I/O"));
        columns.push(Column::numbers("reads"));
        text += &format!("\n\n{}", Table::new(columns, rows).to_indented_text().trim_end());
        for (at, failed) in self.simulated.iter().enumerate().filter(|(_, one)| !one.passed) {
            text += &format!(
                "\n{:14}{}: {}",
                "failed",
                self.found.candidates[at].words(),
                failed.sentence
            );
        }
        text
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Value {
        let candidates = self.found.candidates.iter().take(SHOWN).enumerate().map(|(at, one)| {
            let simulated = self.simulated.get(at).map(Simulated::json);
            json!({
                "drive": one.block.drive.value,
                "level": one.block.group.word(),
                "group_drives": one.block.group.drives,
                "databases": one.databases,
                "drives": one.drives,
                "price": one.price,
                "io_percent": one.io_percent,
                "simulated": simulated,
            })
        });
        json!({
            "tried": self.found.tried,
            "held": self.found.candidates.len(),
            "currency": self.currency,
            "candidates": candidates.collect::<Value>(),
        })
    }
}

fn price(price: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and prices are not below zero"
    )]
    grouped(price.round() as u64)
}

/// Half an hour of the design of `org`.
fn simulated(org: &Organisation, stop: &Stop) -> Result<Simulated, SizeError> {
    let text = size(org).scenario("--search")?;
    let document = Document::new("the design", &text, std::path::Path::new("/"))?;
    let short: Result<Vec<Override>, _> = SHORT.iter().map(|set| Override::of_set(set)).collect();
    let scenario = document.modelled_test(&short?)?;
    let options = Options {
        engine: Engine::Twin,
        read_files: false,
        in_one_piece: false,
        program: version::program(),
    };
    let result = predict_to_an_answer(scenario, &options, stop)?;
    let headline = Headline::of(&result);
    Ok(Simulated {
        passed: result.verdict == Verdict::Pass,
        sentence: result.storage.details.sentence,
        read_ms: headline.read_ms,
        io_per_s: headline.io_per_s,
    })
}
