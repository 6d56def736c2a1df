//! How often `brunt compare` sees a difference where there is none, and how often one of 3 %:
//! `same_or_not [FROM TO [MINUTES]]`, the seeds, 1 to 200 by default.
//!
//! Simulates `small-system.toml` for 40 minutes, three times for each seed: twice as it is, and
//! once with controllers whose reads take 0.1 ms longer, which is 3 % of a read. Prints a table for
//! docs/compare.md.

use std::cell::RefCell;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use brunt_lab::{Engine, Lab, Options, Program};
use brunt_report::compare::{Answer, Comparison, Options as How, compare};
use brunt_report::parts::Parts;
use brunt_report::recorded::{Recorded, Wanted};
use brunt_report::{Counters, Run};
use brunt_run::{Listener, News, Recorded as Rows, Stop};
use brunt_scenario::{Document, Override};
use brunt_units::Time;

const SYSTEM: &str = include_str!("small-system.toml");
const MINUTES: u64 = 40;
const SLOWER: &str = "array.controller.read=200us";

fn main() -> Result<(), Box<dyn Error>> {
    let mut seeds = std::env::args().skip(1).map(|number| number.parse::<u64>());
    let from = seeds.next().transpose()?.unwrap_or(1);
    let to = seeds.next().transpose()?.unwrap_or(200);
    let minutes = seeds.next().transpose()?.unwrap_or(MINUTES);
    let document = Document::new("small-system.toml", SYSTEM, Path::new("/"))?;
    let (mut same, mut slower) = (Vec::new(), Vec::new());
    for seed in from..=to {
        let a = simulated(&document, minutes, 2 * seed, None)?;
        let b = simulated(&document, minutes, 2 * seed + 1, None)?;
        let c = simulated(&document, minutes, 2 * seed + 1, Some(SLOWER))?;
        same.push(compare(&a, &b, &How::default())?);
        slower.push(compare(&a, &c, &How::default())?);
    }
    let mut out = io::stdout().lock();
    for (title, all) in [("as they are", &same), ("reads 0.1 ms slower", &slower)] {
        table(&mut out, title, all)?;
    }
    Ok(())
}

/// A run with its name.
fn simulated(
    document: &Document,
    minutes: u64,
    seed: u64,
    more: Option<&str>,
) -> Result<[(String, Run); 1], Box<dyn Error>> {
    let seed = format!("test.seed={seed}");
    let duration = format!("test.duration={minutes}min");
    let sets = ["test.precision=none", &duration, &seed].into_iter().chain(more);
    let sets: Result<Vec<_>, _> = sets.map(Override::of_set).collect();
    let scenario = document.modelled_test(&sets?)?;
    let options = Options {
        engine: Engine::Twin,
        read_files: false,
        in_one_piece: true,
        program: Program::default(),
    };
    let table = Rc::new(Table(RefCell::new(Counters::HEAD.to_owned())));
    let listeners = vec![Rc::clone(&table) as Rc<dyn Listener>];
    let result = Lab::build(&scenario, options)?.run(listeners, &Stop::default())?.into_result()?;
    let samples = Recorded::read(table.0.borrow().as_bytes(), Wanted::Samples)?.samples;
    let run = Run {
        result,
        scenario: String::new(),
        events: Vec::new(),
        samples,
        parts: Parts::default(),
    };
    Ok([(seed, run)])
}

/// Keeps counters.csv in memory.
struct Table(RefCell<String>);

impl Listener for Table {
    fn tell(&self, _: Time, _: &News) {}

    fn recorded(&self, rows: &Rows) {
        let mut counters = Counters::new();
        counters.add_sample(&rows.sample);
        self.0.borrow_mut().push_str(&counters.take());
    }
}

fn table(out: &mut impl Write, title: &str, all: &[Comparison]) -> io::Result<()> {
    let count = |answer| all.iter().filter(|one| one.verdict == answer).count();
    let (better, worse) = (count(Answer::Better), count(Answer::Worse));
    let gates = all.iter().filter(|one| one.not_worse).count();
    writeln!(
        out,
        "\n{} pairs {title}: {better} better, {worse} worse, {gates} not worse\n",
        all.len()
    )?;
    writeln!(out, "| figure | B / A | better | worse | can detect from |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for (at, figure) in all[0].figures.iter().enumerate() {
        let own = || all.iter().map(|one| &one.figures[at]);
        let count = |answer| own().filter(|figure| figure.verdict == answer).count();
        let ratio = own().map(|figure| figure.ratio.ln()).sum::<f64>() / all.len() as f64;
        let finds: Vec<f64> = own().filter_map(|figure| figure.finds_percent).collect();
        let finds = match finds.len() {
            0 => "-".to_owned(),
            many => format!("{:.1} %", finds.iter().sum::<f64>() / many as f64),
        };
        writeln!(
            out,
            "| {} | {:.4} | {} | {} | {finds} |",
            figure.id,
            ratio.exp(),
            count(Answer::Better),
            count(Answer::Worse),
        )?;
    }
    Ok(())
}
