//! `cargo xtask papers`: every published figure beside its prediction, in `docs/papers.md`.
//!
//! Each test is simulated twice where its paper prints a rate: in a closed loop, with the sessions that are printed and nothing
//! else, and paced at the rate that was published. A closed loop hides errors of the storage, because slower storage gets less
//! to do; a pace does not.

mod markdown;

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::TaskError;
use crate::predictions::{Predictions, Request};
use crate::published::{self, Outline, Published};
use crate::{root, say};

/// What `papers` is told.
#[derive(Args, Clone, Debug)]
pub(crate) struct PapersArgs {
    #[command(flatten)]
    lengths: Lengths,

    /// Tests that are not simulated this time, because they take long
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,

    /// Only these tests; the file is not written then
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// Where to write
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Minutes of virtual time.
///
/// An array goes through what is dirty in its cache once in five or ten minutes, from one end of its volumes to the other: what is
/// measured in less differs by where it was meanwhile. The servers of a group differ in that, so their means need less.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Minutes of virtual time in which array and cache settle
    #[arg(long, default_value_t = 10)]
    pub(crate) settle: u32,

    /// Minutes of virtual time after that which are measured of one server
    #[arg(long, default_value_t = 30)]
    pub(crate) minutes: u32,

    /// Minutes that are measured of several servers together, which takes as many times longer
    #[arg(long, default_value_t = 5)]
    pub(crate) group_minutes: u32,
}

impl Lengths {
    /// What is measured of so many servers.
    fn measured(self, servers: usize) -> u32 {
        match servers {
            0 | 1 => self.minutes,
            _ => self.group_minutes,
        }
    }
}

/// One test and how it is simulated.
pub(crate) struct Test {
    /// Its figures; nothing when they are not for us.
    pub(crate) published: Option<Published>,
    /// In a closed loop.
    pub(crate) closed: Request,
    /// At the published rate, if there is one.
    pub(crate) paced: Option<Request>,
}

/// Simulates and writes.
///
/// # Errors
/// [`TaskError`] when something cannot be read, simulated or written.
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
    let mut predictions = Predictions::default();
    predictions.make(&closed.chain(paced).collect::<Vec<_>>());
    let text = markdown::page(&tests, &predictions, lengths);
    if !args.only.is_empty() && args.out.is_none() {
        say(&text);
        return Ok(());
    }
    let usual = || root().join("docs/papers.md");
    let path = args.out.clone().unwrap_or_else(usual);
    fs::write(&path, text).map_err(|error| TaskError::File { path, error })
}

fn known(published: Published, lengths: Lengths) -> Test {
    let closed = Request {
        checksum: published.whole().checksum_mib_per_s.is_some(),
        ..closed(&published.scenario, published.outline(), lengths)
    };
    let paced = paced(&published, &closed);
    Test {
        published: Some(published),
        closed,
        paced,
    }
}

/// The test as it is written, but for its length.
pub(crate) fn closed(name: &str, outline: Outline, lengths: Lengths) -> Request {
    // A recovery is as long as its logs: a shorter one would not come to it.
    let set = match outline.replays_logs {
        true => Vec::new(),
        false => vec![
            format!("test.min_warmup={}min", lengths.settle),
            format!("test.duration={}min", lengths.measured(outline.servers)),
        ],
    };
    Request {
        scenario: name.to_owned(),
        set,
        checksum: false,
    }
}

/// The same at the rate that was published. A rate is that of each server.
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
