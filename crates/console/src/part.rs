//! One database or log of a run over time, from the journal.

use std::collections::BTreeSet;
use std::path::Path;

use brunt_report::result::{Distribution, Sample};
use brunt_report::{Part, ReadError, RunResult, journal_in, streams};
use brunt_run::{Stream, each_sample};
use brunt_stats::Latencies;
use brunt_units::Time;

/// Names that a page offers.
const NAMES_MAX: usize = 500;
/// The kinds of I/O of a file that pictures show, and what they are called there.
const KINDS: [(&str, &str); 3] =
    [("read", "database read"), ("write", "database write"), ("log-write", "log write")];

/// The databases and logs among `streams`.
pub(crate) fn names<'s>(streams: impl Iterator<Item = (&'s String, &'s Stream)>) -> Vec<String> {
    let names = streams.filter_map(|(stream, found)| {
        let (name, kind) = stream.rsplit_once('.')?;
        let is_shown = KINDS.iter().any(|(shown, _)| *shown == kind) && found.count > 0;
        is_shown.then(|| name.to_owned())
    });
    let names: BTreeSet<String> = names.collect();
    names.into_iter().take(NAMES_MAX).collect()
}

/// The databases and logs of `result`.
pub(crate) fn of_result(result: &RunResult) -> Vec<String> {
    let servers = result.storage.servers.iter();
    let instances = servers.flat_map(|server| &server.instances);
    let names = instances.flat_map(|instance| {
        let databases =
            instance.details.databases.iter().map(|database| streams::tag(&database.name));
        std::iter::once(streams::tag(&instance.name)).chain(databases)
    });
    let names: BTreeSet<String> = names.collect();
    names.into_iter().take(NAMES_MAX).collect()
}

/// What the journal in `folder` has of `name`; `None` when that is nothing.
///
/// # Errors
/// [`ReadError`] when the journal cannot be read.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Option<Part>, ReadError> {
    let Some(mut journal) = journal_in(folder)? else { return Ok(None) };
    let streams = KINDS.map(|(kind, called)| (streams::of(name, kind), called));
    let mut latencies = streams.each_ref().map(|_| Latencies::new());
    let (mut begin, mut samples): (Option<Time>, Vec<Sample>) = (None, Vec::new());
    let read = each_sample(&mut journal, |sample| {
        if !sample.has_load() {
            return;
        }
        let begin = *begin.get_or_insert(sample.begin);
        samples.push(Sample::of_part(sample, begin, name));
        for histogram in &sample.histograms {
            for ((stream, _), all) in streams.iter().zip(&mut latencies) {
                if *stream == histogram.stream {
                    all.merge(&histogram.latencies);
                }
            }
        }
    });
    read.map_err(brunt_host::runs::refused(folder))?;
    let distributions = streams.iter().zip(&latencies).filter(|(_, all)| all.count() > 0);
    let distributions: Vec<Distribution> =
        distributions.map(|((_, called), all)| Distribution::new(called, all)).collect();
    let is_there = !distributions.is_empty();
    Ok(is_there.then(|| Part { name: name.to_owned(), samples, distributions }))
}
