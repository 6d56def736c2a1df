//! The samples of several hosts as those of one.

use std::path::Path;

use brunt_run::{Sample, Sum};
use brunt_units::{Span, Time};

use crate::{ReadError, Run, Timestamp, each_sample, folder_of, open_in, result};

/// The sum of the samples of all `runs`, from the beginning of the earliest collection; `None` for
/// a single run, or without samples. `each` hands out those of the run with a number.
///
/// # Errors
/// The first of `each`.
pub fn sum_of<E>(
    runs: &[Run],
    mut each: impl FnMut(usize, &mut dyn FnMut(&Sample)) -> Result<(), E>,
) -> Result<Option<Sum>, E> {
    let begin = |run: &Run| run.result.times.collection_started;
    let lengths = runs.iter().filter_map(|run| Some(run.samples.first()?.length_s));
    let longest = Span::from_seconds(lengths.fold(0.0, f64::max));
    let (Some(earliest), true) = (runs.iter().filter_map(begin).min(), longest > Span::ZERO) else {
        return Ok(None);
    };
    if runs.len() < 2 {
        return Ok(None);
    }
    let mut sum = Sum::every(longest);
    for (number, run) in runs.iter().enumerate() {
        let late = span_after(begin(run).unwrap_or(earliest), earliest);
        let mut first = None;
        each(number, &mut |sample| {
            let first: Time = *first.get_or_insert(sample.begin);
            let after = Span(late.0.saturating_add(sample.begin.since(first).0));
            sum.add(number, after, sample);
        })?;
    }
    Ok(Some(sum))
}

/// The same for runs in `folders`, or beside the given `result.json`.
///
/// # Errors
/// [`ReadError`] when a file cannot be read.
pub fn sum_in(runs: &[Run], folders: &[impl AsRef<Path>]) -> Result<Option<Sum>, ReadError> {
    sum_of(runs, |number, each| {
        let folder = folder_of(folders[number].as_ref());
        each_sample(folder, |name| open_in(folder, name), each)
    })
}

pub(super) fn samples(sum: &Sum) -> Vec<result::Sample> {
    sum.samples().map(|sample| result::Sample::of(&sample, Time::ZERO)).collect()
}

fn span_after(later: Timestamp, earlier: Timestamp) -> Span {
    Span::seconds(later.unix_seconds.saturating_sub(earlier.unix_seconds))
}
