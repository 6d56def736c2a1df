//! What a paper says, in the order of an ESRP submission, with the verdict first.

mod appendices;
mod copying;
mod deployment;
mod design;
mod front;
mod load;
mod model;
mod normalised;
mod reliability;
mod sign_off;

use brunt_report::result::{
    Instance, IoNumbers, RunResult, Server, TestKind, Verdict, Work, World,
};
use brunt_report::{Cell, Timestamp};

use crate::block::Block;
use crate::modelled::Modelled;
use crate::paper::{Kind, Paper, Subject};
use crate::pdf::shows;

pub use sign_off::{SignOff, SignedFigure, SignedTest};

/// The paper about `subject`.
pub(crate) fn paper(subject: Subject<'_>) -> Paper {
    let title = front::title(&subject);
    let sign_off = subject.evidence.sign_off.then(|| SignOff::of(&subject));
    let mut blocks = sign_off.as_ref().map_or(Vec::new(), |page| page.blocks(&subject));
    blocks.extend(front::blocks(&subject));
    blocks.push(Block::NewPage);
    blocks.extend(design::blocks(&subject));
    blocks.push(Block::Contents);
    blocks.extend(front::overview(&subject));
    blocks.extend(deployment::blocks(&subject));
    blocks.extend(reliability::blocks(&subject));
    for kind in &subject.kinds {
        blocks.extend(match kind.kind.work() {
            Work::Load => load::blocks(kind),
            Work::BackUp => copying::backup(kind),
            Work::Replay => copying::recovery(kind),
        });
    }
    blocks.extend(normalised::blocks(&subject));
    blocks.extend(front::closing(&subject));
    blocks.extend(appendices::blocks(&subject));
    let unshown = unshown(&blocks);
    blocks.extend(appendices::unshown(&unshown));
    let date = subject.kinds.iter().filter_map(|kind| kind.run.result.times.ended);
    let date = date.max().filter(|_| !is_model(&subject.kinds));
    Paper {
        foot: format!("{title} \u{b7} evidence {}", &subject.digest[..12]),
        title,
        blocks,
        date: date.unwrap_or_default(),
        headline: front::headline(&subject),
        colour: front::shown(&subject).1,
        sentence: front::sentence(&subject),
        digest: subject.digest,
        attachments: subject.attachments,
        audit: subject.audit,
        contradicted: Vec::new(),
        unshown,
        sign_off,
    }
}

/// Characters that no font has.
fn unshown(blocks: &[Block]) -> Vec<char> {
    let mut all: Vec<char> = blocks
        .iter()
        .flat_map(Block::texts)
        .flat_map(|text| text.chars().filter(|c| !shows(*c)).collect::<Vec<char>>())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn heading(text: &str) -> Block {
    Block::Heading(1, text.to_owned())
}

fn below(text: &str) -> Block {
    Block::Heading(2, text.to_owned())
}

fn text(text: impl Into<String>) -> Block {
    Block::Text(text.into())
}

/// A kind of test in words.
fn in_words(kind: TestKind) -> &'static str {
    match kind {
        TestKind::Performance => "Performance",
        TestKind::Stress => "Stress",
        TestKind::DatabaseBackup => "Backup",
        TestKind::SoftRecovery => "Recovery",
    }
}

/// The tests of a kind in words.
fn called(kind: &Kind) -> String {
    match kind.is_degraded {
        true => format!("Rebuild {}", in_words(kind.kind).to_lowercase()),
        false => in_words(kind.kind).to_owned(),
    }
}

/// What tests of this kind are for.
fn purpose(kind: TestKind) -> &'static str {
    match kind {
        TestKind::Performance => {
            "How much mail load the storage carries within the latency limits."
        }
        TestKind::Stress => {
            "The load of the performance test, kept up for a long time: nothing may fail, and the last third must be as fast as the first."
        }
        TestKind::DatabaseBackup => "How fast whole databases can be read, all at the same time.",
        TestKind::SoftRecovery => "How fast logs are replayed after a crash or a restore.",
    }
}

/// Whether a test of this kind passed, failed, or was not part of the paper.
fn verdict_of(kinds: &[Kind], wanted: TestKind) -> String {
    let kind = kinds.iter().find(|kind| kind.kind == wanted);
    kind.map_or("not tested".to_owned(), |kind| kind.run.result.headline().to_lowercase())
}

/// All databases of a server: reads, writes, and its log writes.
fn io_of(servers: &[&Server]) -> [IoNumbers; 3] {
    Instance::primary_io(servers.iter().flat_map(|server| &server.instances))
}

/// `2026-11-24`.
fn day(time: Timestamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// A length of time: `2 h 00 min`, `59 s`.
fn length(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    match seconds {
        seconds if seconds >= 3_600.0 => {
            let hours = minutes.div_euclid(60.0);
            format!("{hours:.0} h {:02.0} min", minutes - 60.0 * hours)
        }
        seconds if seconds >= 120.0 => format!("{minutes:.0} min"),
        seconds => format!("{seconds:.0} s"),
    }
}

/// Whether the storage is a model, so that everything in the paper is a prediction. Runs of both
/// worlds are no paper.
pub(crate) fn is_model(kinds: &[Kind]) -> bool {
    main_result(kinds).world == World::Virtual
}

/// What was modelled; `None` for real storage.
fn modelled(kinds: &[Kind]) -> Option<Modelled> {
    Modelled::of(&scenario(kinds)).filter(|_| is_model(kinds))
}

/// A number, or nothing.
fn some(number: Option<f64>) -> Cell {
    number.filter(|number| number.is_finite()).into()
}

/// What the scenario of the main test says, as TOML; empty when it is none.
pub(crate) fn scenario(kinds: &[Kind]) -> toml::Table {
    let (_, first) = &main_kind(kinds).each[0];
    first.scenario.parse().unwrap_or_default()
}

/// Whether all passed; whether any failed.
fn all_passed(kinds: &[Kind]) -> bool {
    kinds.iter().all(|kind| kind.run.result.verdict == Verdict::Pass)
}

/// The performance test, or the first kind there is.
pub(crate) fn main_kind(kinds: &[Kind]) -> &Kind {
    let performance = kinds.iter().find(|kind| kind.kind == TestKind::Performance);
    performance.or(kinds.first()).expect("there is a run")
}

fn main_result(kinds: &[Kind]) -> &RunResult {
    &main_kind(kinds).run.result
}
