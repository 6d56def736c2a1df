//! The page itself.

use std::fmt::Write;

use brunt_report::{Cell, Column, Table, decimals, table};

use super::{Lengths, Test};
use crate::TaskError;
use crate::figures::{FIGURES, Figures};
use crate::prediction::Prediction;
use crate::predictions::{Predictions, Request};
use crate::published::{Counters, Published, Row};

const HEAD: &str = "\
# Published tests and brunt's predictions

How close do predictions come? Each published test below is a scenario in `scenarios/papers`, with the inputs that its paper prints
and a reason for every input that it does not. `cargo xtask papers` generates this page.

* The tests of the first group may be used for fitting (`cargo xtask calibrate`); the performance tests of three systems were. Figures of the
  EVA5000 were chosen by hand on its two latency tests, so that their rows agree proves nothing.
* The tests of the second group are predicted only. Their published results are not in this repository; with the papers at hand you
  can compare.

How to read the tables:

* **Closed loop**: the sessions that the paper prints and nothing else, held back as named. Slower storage gets less work, which
  hides errors of the storage.
* **Paced**: the published rate of I/Os per second. Errors of the storage show in the latencies.
* **Error** is prediction over publication, minus one. Errors below the goals in the next table are **bold**.
* **±** is half of the 95 % interval of a prediction: what chance explains. Where it is missing, the simulation was too short.
* **Busy** is the mean utilisation of the busiest group of drives. Near saturation, 1 % of rate is 3 % of latency.
* Neighbouring servers of one published group differ by 3 % in I/O and by 4 % in reads: no comparison is better than that.

| figure | goal |
| --- | --- |
| rate of I/O | 5 % |
| reads and writes per second | 8 % |
| read latency | 10 % |
| database write latency | 15 % |
| log writes per second | 12 % |
| log write latency | 15 % or 0.3 ms |
| size of a log write | 10 % |
| checksum and recovery | 15 % |
";

/// The whole page; `procedures` and `promises` are sections of it.
pub(super) fn page(
    tests: &[Test],
    predictions: &Predictions,
    lengths: Lengths,
    procedures: &str,
    promises: &str,
) -> String {
    let mut text = HEAD.to_owned();
    writeln!(
        text,
        "\nPredictions measure at most {} minutes of virtual time ({} for several servers together) after {} minutes in which array and cache settle; \
        recoveries and drills run to their end.\n{procedures}{promises}\n## Tests available for fitting",
        lengths.minutes, lengths.group_minutes, lengths.settle
    )
    .expect("a string takes all");
    for test in tests {
        if let Some(published) = &test.published {
            text.push_str(&known(published, test, predictions));
        }
    }
    let mut others = tests.iter().filter(|test| test.published.is_none()).peekable();
    if others.peek().is_some() {
        text.push_str("\n## Tests predicted only\n\n");
        for test in others {
            text.push_str(&predicted(test, predictions));
        }
    }
    text
}

fn known(published: &Published, test: &Test, predictions: &Predictions) -> String {
    let source = &published.source;
    let mut text = format!(
        "\n### {}\n\n{}, {}, {}: {}.\n\n",
        published.scenario, source.title, source.publisher, source.date, source.section
    );
    let closed = match predictions.get(&test.closed) {
        Some(Ok(closed)) => closed,
        Some(Err(error)) => return text + &not_made(error),
        None => return text + &skipped(&test.closed),
    };
    let paced = test.paced.as_ref();
    let paced = paced.and_then(|paced| predictions.get(paced)?.ok());
    text.push_str(&figures(published, closed, paced));
    text.push_str(&format!("\n```console\n{}\n", command(&test.closed)));
    if let Some(paced) = &test.paced {
        text.push_str(&format!("{}\n", command(paced)));
    }
    text.push_str("```\n");
    if published.counters == Counters::Volumes && published.whole().log_writes_per_s.is_some() {
        text.push_str("\nLog writes are those of the volume's counters and include formatting.\n");
    }
    if let Some(remark) = &published.remark {
        text.push_str(&format!("\n{}\n", remark.trim()));
    }
    let has_figures = |row: &Row| row.figures != Figures::default();
    if published.rows.iter().skip(1).any(has_figures) {
        text.push_str(&parts(published, closed));
    }
    text
}

/// Every figure of the whole test.
fn figures(published: &Published, closed: &Prediction, paced: Option<&Prediction>) -> String {
    let row = &published.rows[0];
    let in_loop = closed.of(published, row);
    let at_rate = paced.map(|paced| paced.of(published, row));
    let rows = FIGURES.iter().filter_map(|figure| {
        let value = (figure.of)(&row.figures)?;
        let cells = |simulated: Option<(&Prediction, &Figures)>| {
            let predicted = simulated.map(|(_, figures)| figures);
            let value = predicted.and_then(figure.of);
            // Formatting, which volumes count as log writes, has no interval.
            let has_one = published.counters == Counters::Engine || figure.interval != "log writes";
            let half = simulated.filter(|_| has_one);
            let half = half.and_then(|(prediction, _)| prediction.half(figure));
            let error = predicted.and_then(|predicted| figure.error(&row.figures, predicted));
            let badness = predicted.and_then(|predicted| figure.badness(&row.figures, predicted));
            [with_interval(value, half), share(error, badness).into()]
        };
        let own = [Cell::from(figure.name), written(Some(value))];
        let cells = own
            .into_iter()
            .chain(cells(Some((closed, &in_loop))))
            .chain(cells(paced.zip(at_rate.as_ref())));
        Some(table::Row::new(cells))
    });
    let busy = |prediction: Option<&Prediction>| {
        let busy = prediction.and_then(Prediction::utilisation);
        busy.map_or(Cell::Nothing, Cell::Share)
    };
    let last = table::Row::new([
        "busy".into(),
        "".into(),
        busy(Some(closed)),
        "".into(),
        busy(paced),
        "".into(),
    ]);
    let in_loop = format!("closed loop ({})", closed.scheduling());
    let numbers = ["published", &in_loop, "error", "paced", "error"].map(Column::numbers);
    let columns = std::iter::once(Column::words("figure")).chain(numbers);
    Table::new(columns, rows.chain([last])).to_markdown()
}

/// A figure beneath others of its column that measure something else.
fn written(figure: Option<f64>) -> Cell {
    figure.map(decimals).into()
}

/// A predicted figure with half of its interval, as far as it is known: `1,446 ± 12`.
fn with_interval(figure: Option<f64>, half: Option<f64>) -> Cell {
    match figure.zip(half) {
        Some((figure, half)) => format!("{} ± {}", decimals(figure), decimals(half)).into(),
        None => written(figure),
    }
}

/// An error; a good one is highlighted.
fn share(error: Option<f64>, badness: Option<f64>) -> String {
    let Some(error) = error.filter(|error| error.is_finite()) else {
        return "-".to_owned();
    };
    let text = format!("{:+.1} %", error * 100.0);
    match badness {
        Some(badness) if badness <= 1.0 => format!("**{text}**"),
        _ => text,
    }
}

/// Figures of servers, instances and volumes, in a closed loop: published value and error.
fn parts(published: &Published, closed: &Prediction) -> String {
    let printed = |row: &Row, at: usize| (FIGURES[at].of)(&row.figures);
    let shown: Vec<usize> = (0..FIGURES.len())
        .filter(|at| published.rows[1..].iter().any(|row| printed(row, *at).is_some()))
        .collect();
    let names = shown.iter().map(|at| Column::numbers(FIGURES[*at].name));
    let rows = published.rows[1..].iter().map(|row| {
        let predicted = closed.of(published, row);
        let cells = shown.iter().map(|at| {
            let figure = &FIGURES[*at];
            let Some(value) = printed(row, *at) else {
                return String::new();
            };
            let error = figure.error(&row.figures, &predicted);
            let badness = figure.badness(&row.figures, &predicted);
            format!("{}, {}", decimals(value), share(error, badness))
        });
        table::Row::new(std::iter::once(row.name.clone()).chain(cells))
    });
    let table = Table::new(std::iter::once(Column::words("part")).chain(names), rows);
    format!(
        "\nParts, in the closed loop: the published figure and the error.\n\n{}",
        table.to_markdown()
    )
}

/// A test without published results here.
fn predicted(test: &Test, predictions: &Predictions) -> String {
    let prediction = match predictions.get(&test.closed) {
        Some(Ok(prediction)) => prediction,
        Some(Err(error)) => {
            return format!("### {}\n\n{}\n", test.closed.scenario, not_made(error));
        }
        None => {
            let skipped = skipped(&test.closed);
            return format!("### {}\n\n{skipped}\n", test.closed.scenario);
        }
    };
    let figures = prediction.whole();
    let known = FIGURES.iter().filter_map(|figure| {
        let value = (figure.of)(&figures).filter(|value| *value > 0.0)?;
        Some((figure.name, written(Some(value))))
    });
    let backup = prediction.backup().map(|rate| written(Some(rate)));
    let busy = prediction.utilisation().map(Cell::Share);
    let drill = prediction.result.drill.as_ref();
    let rto = drill.and_then(|drill| drill.rto_s);
    let merge = drill.and_then(|drill| drill.replication.merge_s);
    let others = [
        ("backup, MiB per second", backup),
        ("from the failure to the first operation served, s", rto.map(Cell::from)),
        ("merge of the write history logs, s", merge.map(Cell::from)),
        ("busy", busy),
    ];
    let others = others.into_iter().filter_map(|(name, cell)| Some((name, cell?)));
    let rows = known.chain(others);
    let table = Table::new(
        [
            Column::words("figure"),
            Column::numbers(format!("prediction ({})", prediction.scheduling())),
        ],
        rows.map(|(name, cell)| table::Row::new([name.into(), cell])),
    );
    format!(
        "### {}\n\n```console\n{}\n```\n\n{}\n",
        test.closed.scenario,
        command(&test.closed),
        table.to_markdown()
    )
}

/// Why there is no prediction.
fn not_made(error: &TaskError) -> String {
    let why = error.to_string();
    let first = why.lines().next().unwrap_or_default();
    format!("No prediction: {first}.\n")
}

/// The text for a test that was skipped in this edition.
fn skipped(request: &Request) -> String {
    format!(
        "Not simulated for this edition of the page: it takes much longer than the others.\n\n```console\n{}\n```\n",
        command(request)
    )
}

/// The command that repeats a prediction.
fn command(request: &Request) -> String {
    let (name, set) = (&request.scenario, &request.set);
    let set: Vec<String> = set.iter().map(|set| format!(" --set '{set}'")).collect();
    let what = match request.is_drill {
        true => "drill",
        false => "simulate",
    };
    format!("cargo run --release -- {what} scenarios/papers/{name}.toml{}", set.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_errors_stand_out_and_missing_ones_are_dashes() {
        assert_eq!(share(Some(0.031), Some(0.6)), "**+3.1 %**");
        assert_eq!(share(Some(-0.25), Some(2.0)), "-25.0 %");
        assert_eq!(share(None, None), "-");
        assert_eq!(share(Some(f64::NAN), Some(100.0)), "-");
    }

    #[test]
    fn intervals_stand_beside_figures_that_have_one() {
        let row = table::Row::new([
            with_interval(Some(1446.0), Some(12.3)),
            with_interval(Some(1446.0), None),
        ]);
        let columns = ["closed loop", "paced"].map(Column::numbers);
        let table = Table::new(columns, [row]).to_markdown();
        assert!(table.contains("| 1,446 ± 12.3 | 1,446 |"), "{table}");
    }

    #[test]
    fn a_command_repeats_it() {
        let request = Request {
            scenario: "x".to_owned(),
            set: vec!["test.duration=10min".to_owned()],
            checksum: false,
            is_drill: false,
        };
        assert_eq!(
            command(&request),
            "cargo run --release -- simulate scenarios/papers/x.toml --set 'test.duration=10min'"
        );
    }
}
