//! `cargo xtask papers`: every published figure beside its prediction, in `docs/papers.md`.
//!
//! Each test whose paper prints a rate is simulated twice: in a closed loop, with exactly the
//! printed sessions, and paced at the published rate. A closed loop hides storage errors, because
//! slower storage gets less work; a pace does not. Every other scenario runs as its head says.
//! [`promises`]: what each must come to.

mod markdown;
mod procedures;
mod promises;

use std::fs;
use std::path::PathBuf;

use brunt_report::result::Verdict;
use clap::Args;

use crate::TaskError;
use crate::predictions::{Predictions, Request};
use crate::published::{self, Outline, Published};
use crate::root;
use crate::told::{Told, ToldArgs};

/// Arguments of `papers`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PapersArgs {
    #[command(flatten)]
    lengths: Lengths,

    /// Tests to skip this time because they take long
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,

    /// Simulate only these tests; the file is not written then
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    #[command(flatten)]
    told: ToldArgs,

    /// Output file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Minutes of virtual time.
///
/// An array works through its dirty cache once in five or ten minutes, from one end of its volumes
/// to the other; shorter measurements depend on where it happened to be. From 20 minutes on a
/// prediction stops when it knows its figures to 1 %, and gives their intervals.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Minutes of virtual time for array and cache to settle
    #[arg(long, default_value_t = 10)]
    pub(crate) settle: u32,

    /// Minutes of virtual time measured after that at most, with one server
    #[arg(long, default_value_t = 120)]
    pub(crate) minutes: u32,

    /// Minutes measured at most with several servers, each of which takes as many times longer to
    /// simulate
    #[arg(long, default_value_t = 20)]
    pub(crate) group_minutes: u32,
}

impl Lengths {
    /// The minutes to measure with this many servers.
    fn measured(self, servers: usize) -> u32 {
        match servers {
            0 | 1 => self.minutes,
            _ => self.group_minutes,
        }
    }
}

/// A test and its simulations.
pub(crate) struct Test {
    /// Its figures; `None` when they are not published here.
    pub(crate) published: Option<Published>,
    /// In a closed loop.
    pub(crate) closed: Request,
    /// At the published rate, if any.
    pub(crate) paced: Option<Request>,
}

/// Simulates all tests and writes the page.
///
/// # Errors
/// [`TaskError`] when something cannot be read, simulated or written, and when a scenario does not
/// keep its promise.
pub(crate) fn run(args: &PapersArgs) -> Result<(), TaskError> {
    let all = published::all()?;
    let mut tests: Vec<Test> = Vec::new();
    let predicted = published::only_predicted(&all)?;
    let lengths = args.lengths;
    tests.extend(all.into_iter().map(|one| known(one, lengths)));
    for name in &predicted {
        tests.push(Test {
            published: None,
            closed: closed(name, published::outline(name)?, lengths),
            paced: None,
        });
    }
    tests.retain(|test| args.only.is_empty() || args.only.contains(&test.closed.scenario));
    let wanted = |test: &&Test| !args.skip.contains(&test.closed.scenario);
    let closed = tests.iter().filter(wanted);
    let closed = closed.map(|test| test.closed.clone());
    let paced = tests.iter().filter(wanted);
    let paced = paced.filter_map(|test| test.paced.clone());
    let mut predictions = Predictions::new(Told::new(args.told, "papers")?);
    predictions.make(&closed.chain(paced).collect::<Vec<_>>());
    let judged = promises::judge(&tests, &predictions);
    let procedures = procedures::section()?;
    let text = markdown::page(&tests, &predictions, lengths, &procedures, &judged.section);
    if !args.only.is_empty() && args.out.is_none() {
        predictions.told.say(&text);
    } else {
        let usual = || root().join("docs/papers.md");
        let path = args.out.clone().unwrap_or_else(usual);
        fs::write(&path, text).map_err(|error| TaskError::File { path, error })?;
    }
    predictions.told.end(match judged.broken.is_empty() {
        true => Verdict::Pass,
        false => Verdict::Fail,
    })?;
    match judged.broken.is_empty() {
        true => Ok(()),
        false => Err(TaskError::Promises(judged.broken.join("\n  "))),
    }
}

fn known(published: Published, lengths: Lengths) -> Test {
    let closed = Request {
        checksum: published.whole().checksum_mib_per_s.is_some(),
        ..closed(&published.scenario, published.outline(), lengths)
    };
    let paced = paced(&published, &closed);
    Test { published: Some(published), closed, paced }
}

/// The test as written, except for its length.
pub(crate) fn closed(name: &str, outline: Outline, lengths: Lengths) -> Request {
    // A recovery lasts as long as its logs, and a drill as long as its events: a shorter one would
    // never reach them.
    let set = match outline.replays_logs || outline.is_drill {
        true => Vec::new(),
        false => vec![
            format!("test.min_warmup={}min", lengths.settle),
            format!("test.duration={}min", lengths.measured(outline.servers)),
        ],
    };
    Request { scenario: name.to_owned(), set, checksum: false, is_drill: outline.is_drill }
}

/// The same at the published rate, which is per server.
fn paced(published: &Published, closed: &Request) -> Option<Request> {
    let rate = published.whole().io_per_s?;
    let each = rate / published.outline().servers as f64;
    let mut request = closed.clone();
    request.checksum = false;
    request.set.extend([
        "test.scheduling=none".to_owned(),
        "test.headroom_percent=0".to_owned(),
        format!("test.target_io_per_s={each:.3}"),
    ]);
    Some(request)
}
