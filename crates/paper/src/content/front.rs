//! The first page, the overview, and what closes a paper.

use brunt_report::result::{Colour, RunResult, TestKind, Verdict};
use brunt_report::{Cell, Column, Row, Table, counted, decimals, grouped};
use brunt_units::ByteSize;

use super::{all_passed, called, day, design, heading, io_of, is_model, length, main_result, text};
use crate::block::{Block, Figure, Tone};
use crate::paper::Subject;

/// Vendor and product, or the name of the scenario.
pub(super) fn title(subject: &Subject<'_>) -> String {
    let said = ["vendor", "product"].map(|key| subject.solution.text(key));
    let said: Vec<&str> = said.into_iter().flatten().collect();
    match (said.is_empty(), &subject.design) {
        (false, _) => said.join(" "),
        (true, Some(org)) => format!("{}: storage for {}", org.name, design::mailboxes(org)),
        (true, None) => main_result(&subject.kinds).scenario.clone(),
    }
}

fn version(result: &RunResult) -> String {
    let profile = &result.storage.details.setup.profile;
    match profile.strip_prefix("exchange-") {
        Some(year) => format!("Exchange {year}"),
        None => profile.clone(),
    }
}

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let mut blocks = vec![
        Block::Title(title(subject)),
        Block::Subtitle(subtitle(subject)),
        Block::Verdict(tone(shown(subject).1), headline(subject), sentence(subject)),
    ];
    if !subject.audit.wrong.is_empty() {
        let count = subject.audit.wrong.len() as u64;
        blocks.push(text(format!(
            "{} of this paper do not follow from what was recorded; the appendix \u{201c}Sums and means\u{201d} lists them.",
            counted(count, "figure")
        )));
    }
    blocks.push(Block::Figures(figures(subject)));
    blocks.push(Block::Table(tests(subject)));
    let reasons = reasons(subject);
    if !reasons.is_empty() {
        blocks.push(text("Why this is not a qualification:"));
        blocks.push(Block::List(reasons));
    }
    blocks.push(Block::Table(about(subject)));
    blocks
}

/// What was tested, in a line.
pub(super) fn subtitle(subject: &Subject<'_>) -> String {
    if let Some(org) = &subject.design {
        return design::subtitle(org, subject);
    }
    let result = main_result(&subject.kinds);
    let setup = &result.storage.details.setup;
    let servers = counted(result.storage.servers.len() as u64, "server");
    let mailboxes = setup.mailboxes.map(|count| counted(count, "mailbox"));
    let what: Vec<String> =
        [mailboxes, Some(servers), Some(version(result))].into_iter().flatten().collect();
    let test = match is_model(&subject.kinds) {
        true => "Prediction by a model of storage",
        false => "Storage test",
    };
    format!("{test} for {}", what.join(", "))
}

pub(super) fn tone(colour: Colour) -> Tone {
    match colour {
        Colour::Green => Tone::Good,
        Colour::Red => Tone::Bad,
        Colour::Amber => Tone::Doubt,
        Colour::Grey => Tone::Open,
    }
}

fn qualifies(subject: &Subject<'_>) -> bool {
    subject.kinds.iter().all(|kind| kind.run.result.qualifies)
}

pub(super) fn headline(subject: &Subject<'_>) -> String {
    shown(subject).0
}

/// The verdict on all tests together, as everywhere.
pub(super) fn shown(subject: &Subject<'_>) -> (String, Colour) {
    let is_predicted = is_model(&subject.kinds);
    let verdict = match all_passed(&subject.kinds) {
        true => Verdict::Pass,
        false => Verdict::Fail,
    };
    verdict.shown(is_predicted, qualifies(subject))
}

pub(super) fn sentence(subject: &Subject<'_>) -> String {
    let failed = subject.kinds.iter().filter(|kind| !all_passed(std::slice::from_ref(*kind)));
    let failed: Vec<&str> =
        failed.map(|kind| kind.run.result.storage.details.sentence.as_str()).collect();
    match failed.is_empty() {
        true => main_result(&subject.kinds).storage.details.sentence.clone(),
        false => failed.join(" "),
    }
}

/// Every reason once, with the tests that have it unless all do.
pub(super) fn reasons(subject: &Subject<'_>) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for kind in &subject.kinds {
        for reason in &kind.run.result.reasons {
            match all.iter_mut().find(|(known, _)| known == reason) {
                Some((_, kinds)) => kinds.push(kind.kind.word()),
                None => all.push((reason.clone(), vec![kind.kind.word()])),
            }
        }
    }
    let all = all.into_iter();
    all.map(|(reason, kinds)| match kinds.len() == subject.kinds.len() {
        true => reason,
        false => format!("{}: {reason}", kinds.join(", ")),
    })
    .collect()
}

fn figures(subject: &Subject<'_>) -> Vec<Figure> {
    let figure = |number: String, unit: &str, label: &str| Figure {
        number,
        unit: unit.to_owned(),
        label: label.to_owned(),
    };
    let mut figures: Vec<Figure> = subject.design.iter().flat_map(design::figures).collect();
    for kind in subject.kinds.iter().filter(|kind| !kind.is_degraded) {
        let result = &kind.run.result;
        let servers: Vec<_> = result.storage.servers.iter().collect();
        match kind.kind {
            TestKind::Performance => {
                let [reads, _, logs] = io_of(&servers);
                let millis = |number: Option<f64>| number.map_or("-".to_owned(), decimals);
                figures.extend(
                    result
                        .storage
                        .achieved_iops
                        .map(|rate| figure(decimals(rate), "/s", "transactional I/Os")),
                );
                figures.push(figure(millis(reads.latency_ms_mean), "ms", "database read, mean"));
                figures.push(figure(millis(logs.latency_ms_mean), "ms", "log write, mean"));
            }
            TestKind::DatabaseBackup => {
                let rate = servers.iter().flat_map(|server| &server.backup);
                let rate: f64 = rate.map(|backup| backup.rate.0).sum();
                figures.push(figure(decimals(rate), "MiB/s", "read for backups"));
            }
            TestKind::SoftRecovery => {
                let all = servers.iter().flat_map(|server| &server.recovery);
                let (mut logs, mut seconds) = (0, 0.0);
                for recovery in all {
                    logs += recovery.logs;
                    seconds += recovery.seconds;
                }
                if logs > 0 {
                    let each = seconds / crate::numbers::float(logs);
                    figures.push(figure(decimals(each), "s", "to replay a log, mean"));
                }
            }
            // Its load is that of the performance test.
            TestKind::Stress => {}
        }
    }
    figures
}

/// Each kind of test with its verdict. Virtual time has no date.
fn tests(subject: &Subject<'_>) -> Table {
    let is_model = is_model(&subject.kinds);
    let rows = subject.kinds.iter().map(|kind| {
        let result = &kind.run.result;
        let measured = match result.times.collection_s {
            seconds if seconds > 0.0 && kind.kind.has_limits() => length(seconds),
            _ => "until done".to_owned(),
        };
        let class = match result.verdict {
            Verdict::Pass => "ok",
            _ => "failed",
        };
        let mut cells = vec![Cell::from(called(kind))];
        cells.extend((!is_model).then(|| day(result.times.started).into()));
        cells.extend([
            measured.into(),
            (result.storage.servers.len() as u64).into(),
            result.headline().into(),
        ]);
        Row::classed(cells, class)
    });
    let mut columns = vec![Column::words("Test")];
    columns.extend((!is_model).then(|| Column::words("Date")));
    columns.extend([
        Column::words(match is_model {
            true => "Virtual time",
            false => "Measured for",
        }),
        Column::numbers("Servers"),
        Column::words("Verdict"),
    ]);
    Table::new(columns, rows).titled(match is_model {
        true => "Simulated tests",
        false => "Tests",
    })
}

/// Who tested with what.
fn about(subject: &Subject<'_>) -> Table {
    let result = main_result(&subject.kinds);
    let solution = &subject.solution;
    let bytes = result.storage.database_bytes_initial.map(ByteSize::bytes);
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut add = |name, said: Option<String>| rows.extend(said.map(|said| (name, said)));
    let by = match is_model(&subject.kinds) {
        true => "Simulated by",
        false => "Tested by",
    };
    add(by, solution.text("tested_by").map(str::to_owned));
    add("Contact", solution.text("contact").map(str::to_owned));
    let dates = subject.kinds.iter().map(|kind| kind.run.result.times.started);
    let ends = subject.kinds.iter().filter_map(|kind| kind.run.result.times.ended);
    if is_model(&subject.kinds) {
        let what = "a model of storage, in virtual time; no hardware was tested";
        add("Simulated", Some(what.to_owned()));
    } else if let (Some(first), Some(last)) = (dates.min(), ends.max()) {
        let days = [day(first), day(last)];
        add(
            "Tested",
            Some(match days[0] == days[1] {
                true => days[0].clone(),
                false => format!("{} to {}", days[0], days[1]),
            }),
        );
    }
    add(
        "Databases",
        bytes
            .map(|bytes| format!("{} of {bytes} together", grouped(result.storage.database_files))),
    );
    let with = match is_model(&subject.kinds) {
        true => "Simulated with",
        false => "Tested with",
    };
    add(with, Some(format!("brunt {}", result.origin.version)));
    add("Written by", Some(format!("brunt {}", subject.evidence.program)));
    add("Evidence", Some(format!("SHA-256 {}", subject.digest)));
    Table::pairs("About this paper", rows)
}

/// Overview, disclaimer, features.
pub(super) fn overview(subject: &Subject<'_>) -> Vec<Block> {
    let solution = &subject.solution;
    let mut blocks = vec![heading("Overview")];
    blocks.extend(solution.text("overview").map(text));
    let is_model = is_model(&subject.kinds);
    blocks.push(text(match is_model {
        true => {
            "This paper predicts how a storage solution for mail servers would perform under the load of their database engine, and how \
             fast it would be backed up and recovered. Its storage is a model: every figure is a prediction in virtual time, no hardware \
             was tested, and nothing was stored."
        }
        false => {
            "This paper shows how a storage solution for mail servers performed under the load of their database engine, whether data \
             stayed intact, and how fast it was backed up and recovered."
        }
    }));
    blocks.push(text(
        "It has the content and the order of a submission to Microsoft's Exchange Solution Reviewed Program (ESRP) \u{2013} Storage; it \
         was not submitted to that program or reviewed by Microsoft.",
    ));
    blocks.push(super::below("What this paper is not"));
    let first = match is_model {
        true => [
            "It is not a test. A model cannot show that data stay intact, that a system logs no errors, or that a product keeps its data sheet.",
            "It does not replace a test before deployment: how far predictions were from published tests is on the first page.",
        ],
        false => [
            "It is not a comparison of solutions: each was tested with its own number of mailboxes and its own target.",
            "It does not replace a test before deployment: what was tested may differ from what is bought.",
        ],
    };
    let last = "It leaves out what else mail servers need: processors, memory, directory and network, and the design of replication and recovery.";
    let all = first.into_iter().chain([last]);
    blocks.push(Block::List(all.map(str::to_owned).collect()));
    let features = solution.list("features");
    if !features.is_empty() {
        blocks.push(super::below("Features"));
        blocks.push(Block::List(features.to_vec()));
    }
    blocks.push(super::below("How to check this paper"));
    blocks.push(text(
        "All run folders are attached to the PDF. The command \u{201c}brunt verify PAPER.pdf\u{201d} takes them out, makes the \
         paper again and compares the two: each number that does not follow from the evidence is named. This proves that the numbers \
         follow from the evidence. It does not prove who made it: for that, sign the file with a detached signature.",
    ));
    blocks
}

/// Best practices, conclusion, contact.
pub(super) fn closing(subject: &Subject<'_>) -> Vec<Block> {
    let solution = &subject.solution;
    let mut blocks = Vec::new();
    let practices = solution.list("best_practices");
    if !practices.is_empty() {
        blocks.push(heading("Best practices"));
        blocks.push(Block::List(practices.to_vec()));
    }
    blocks.push(heading("Conclusion"));
    blocks.extend(solution.text("conclusion").map(text));
    let worth = match (is_model(&subject.kinds), all_passed(&subject.kinds)) {
        (true, true) => {
            "The model predicts that this design carries this load; no hardware was tested."
        }
        (true, false) => {
            "The model predicts that this design does not carry this load; no hardware was tested."
        }
        (false, _) => {
            "The tests themselves say no more than that this configuration was tested with this load on these days."
        }
    };
    blocks.push(text(format!("{}: {} {worth}", headline(subject), sentence(subject))));
    if let Some(contact) = solution.text("contact") {
        blocks.push(text(format!("Contact: {contact}")));
    }
    blocks
}
