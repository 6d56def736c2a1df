//! The news of several shards, as that of one test.
//!
//! Shards go through the same steps, each at its own pace. Progress is that of the step that the
//! slowest of them is in, as the sum over all that have been there; an event when every shard has
//! come that far.

use std::collections::{BTreeMap, BTreeSet};

use brunt_run::{Live, News};
use brunt_units::{ByteSize, Span};

/// What shards have told so far.
pub(super) struct Steps {
    shards: Vec<Told>,
    /// Events that were told.
    told: BTreeSet<u8>,
}

/// What one shard has told.
#[derive(Default)]
struct Told {
    /// The step it is in; `None` before the first.
    at: Option<u8>,
    /// Its latest news of each step.
    latest: BTreeMap<u8, News>,
    notes: BTreeSet<String>,
}

/// The step of a shard that has ended.
const ENDED: u8 = u8::MAX;

impl Steps {
    pub(super) fn of(shards: usize) -> Self {
        Self { shards: (0..shards).map(|_| Told::default()).collect(), told: BTreeSet::new() }
    }

    /// What is to be told after `shard` told `news`.
    pub(super) fn take(&mut self, shard: usize, news: &News) -> Vec<News> {
        let Some(step) = step(news) else {
            return self.note(shard, news);
        };
        let own = &mut self.shards[shard];
        own.at = Some(step);
        own.latest.insert(step, news.clone());
        let mut all = self.events();
        let slowest = self.shards.iter().position(|one| one.at == self.slowest());
        if news.is_progress() && slowest == Some(shard) {
            all.push(self.joined(step));
        }
        all
    }

    /// What is to be told after `shard` has ended.
    pub(super) fn ended(&mut self, shard: usize) -> Vec<News> {
        self.shards[shard].at = Some(ENDED);
        self.events()
    }

    /// What several shards say in the same words is reported once.
    fn note(&mut self, shard: usize, news: &News) -> Vec<News> {
        let News::Note { text } = news else {
            return vec![news.clone()];
        };
        self.shards[shard].notes.insert(text.clone());
        let others = self.shards.iter().enumerate();
        let mut others = others.filter(|(number, _)| *number != shard);
        match others.any(|(_, one)| one.notes.contains(text)) {
            true => Vec::new(),
            false => vec![news.clone()],
        }
    }

    /// The step of the slowest shard.
    fn slowest(&self) -> Option<u8> {
        self.shards.iter().map(|one| one.at).min()?
    }

    /// Events that every shard has come to, and that were not told.
    fn events(&mut self) -> Vec<News> {
        let Some(slowest) = self.slowest() else {
            return Vec::new();
        };
        let latest = self.shards.iter().flat_map(|one| &one.latest);
        let steps: BTreeSet<u8> = latest
            .filter(|(step, news)| **step <= slowest && !news.is_progress())
            .map(|(step, _)| *step)
            .filter(|step| !self.told.contains(step))
            .collect();
        self.told.extend(&steps);
        steps.into_iter().map(|step| self.joined(step)).collect()
    }

    fn joined(&self, step: u8) -> News {
        let of_step = self.shards.iter().filter_map(|one| one.latest.get(&step));
        let joined = of_step.cloned().reduce(both);
        joined.expect("one of them told it")
    }
}

/// The place of `news` among the steps of a test; `None` if it has none.
fn step(news: &News) -> Option<u8> {
    Some(match news {
        News::Note { .. } => return None,
        // Of other work than a test.
        News::Happened { .. }
        | News::Rehearsing { .. }
        | News::Control { .. }
        | News::Step { .. }
        | News::Simulating { .. }
        | News::Computed { .. }
        | News::Hosts { .. }
        | News::Sending { .. } => return None,
        News::Databases { .. } => 0,
        News::Creating { .. } => 1,
        News::Created { .. } => 2,
        News::Recovering { .. } => 3,
        News::Surveying { .. } => 4,
        News::Waiting { .. } => 5,
        News::Dispatching => 6,
        News::WarmingUp { .. } => 7,
        News::Settling { .. } => 8,
        News::WarmedUp { .. } => 9,
        News::Tuning { .. } | News::Tried(_) | News::Tuned { .. } => 10,
        News::CollectionStarted => 11,
        News::Testing(_)
        | News::BackingUp { .. }
        | News::BackedUp { .. }
        | News::Restoring { .. }
        | News::GeneratingLogs { .. } => 12,
        News::CollectionEnded => 13,
        News::Closing { .. } => 14,
        News::VerifyingRecords { .. } => 15,
        News::VerifyingFiles { .. } => 16,
        News::Verified { .. } => 17,
    })
}

/// News of the same step from two shards, as one.
fn both(one: News, other: News) -> News {
    match (one, other) {
        (
            News::Databases { mut open, mut create },
            News::Databases { open: next_open, create: next_create },
        ) => {
            open.extend(next_open);
            create.extend(next_create);
            News::Databases { open, create }
        }
        (News::Creating { done: a, total: b }, News::Creating { done, total }) => {
            News::Creating { done: sum(a, done), total: sum(b, total) }
        }
        (News::Created { total: a, took: b }, News::Created { total, took }) => {
            News::Created { total: sum(a, total), took: b.max(took) }
        }
        (News::Recovering { done: a, logs: b }, News::Recovering { done, logs }) => {
            News::Recovering { done: a + done, logs: b + logs }
        }
        (News::Surveying { records: a }, News::Surveying { records }) => {
            News::Surveying { records: a + records }
        }
        (News::WarmingUp { filled: a, wanted: b }, News::WarmingUp { filled, wanted }) => {
            News::WarmingUp { filled: sum(a, filled), wanted: sum(b, wanted) }
        }
        (News::Settling { share, .. }, other @ News::Settling { share: less, .. })
            if less < share =>
        {
            other
        }
        (
            News::WarmedUp { filled: a, cache: b, took: c },
            News::WarmedUp { filled, cache, took },
        ) => News::WarmedUp { filled: sum(a, filled), cache: sum(b, cache), took: c.max(took) },
        (News::Testing(one), News::Testing(other)) => News::Testing(beside(one, other)),
        (News::Closing { done: a, total: b }, News::Closing { done, total }) => {
            News::Closing { done: sum(a, done), total: sum(b, total) }
        }
        (News::VerifyingRecords { done: a, total: b }, News::VerifyingRecords { done, total }) => {
            News::VerifyingRecords { done: a + done, total: b + total }
        }
        (News::VerifyingFiles { done: a, total: b }, News::VerifyingFiles { done, total }) => {
            News::VerifyingFiles { done: sum(a, done), total: sum(b, total) }
        }
        (News::Verified { took: a, judged }, News::Verified { took, .. }) => {
            News::Verified { took: a.max(took), judged }
        }
        // The others have no numbers, or say the same.
        (one, _) => one,
    }
}

fn sum(one: ByteSize, other: ByteSize) -> ByteSize {
    ByteSize::bytes(one.get() + other.get())
}

/// Both as one: rates add up, means are weighted by the rates, and of a percentile the higher one
/// is shown.
fn beside(one: Live, other: Live) -> Live {
    let weights = [one.io_per_s_mean, other.io_per_s_mean];
    let mean = |one: Option<Span>, other: Option<Span>| weighted([one, other], weights);
    let mut databases = one.databases;
    databases.extend(other.databases);
    Live {
        elapsed: one.elapsed.max(other.elapsed),
        duration: one.duration,
        io_per_s: one.io_per_s + other.io_per_s,
        io_per_s_mean: one.io_per_s_mean + other.io_per_s_mean,
        io_per_s_min: one.io_per_s_min.zip(other.io_per_s_min).map(|(a, b)| a + b),
        read: mean(one.read, other.read),
        read_p99: one.read_p99.max(other.read_p99),
        write: mean(one.write, other.write),
        log_write: mean(one.log_write, other.log_write),
        stalls: one.stalls + other.stalls,
        over: one.over || other.over,
        so_far: match other.so_far.passes {
            None => other.so_far,
            Some(_) => one.so_far,
        },
        databases,
    }
}

/// The mean of those that have one.
fn weighted(means: [Option<Span>; 2], weights: [f64; 2]) -> Option<Span> {
    let [one, other] = means;
    let (Some(one), Some(other)) = (one, other) else {
        return one.or(other);
    };
    let [weight, more] = weights;
    let share = match weight + more {
        all if all > 0.0 => weight / all,
        _ => 0.5,
    };
    let seconds = one.as_seconds() * share + other.as_seconds() * (1.0 - share);
    Some(Span::from_seconds(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warming(filled: u64) -> News {
        News::WarmingUp { filled: ByteSize::mib(filled), wanted: ByteSize::mib(10) }
    }

    fn created(seconds: u64) -> News {
        News::Created { total: ByteSize::mib(1), took: Span::seconds(seconds) }
    }

    #[test]
    fn an_event_is_told_once_when_all_have_come_to_it() {
        let mut steps = Steps::of(2);
        assert_eq!(steps.take(0, &created(3)), []);
        assert_eq!(steps.take(0, &News::Dispatching), [], "the other one creates");
        let both = News::Created { total: ByteSize::mib(2), took: Span::seconds(5) };
        assert_eq!(steps.take(1, &created(5)), [both]);
        assert_eq!(steps.take(1, &News::Dispatching), [News::Dispatching]);
        assert_eq!(steps.take(0, &News::CollectionEnded), []);
        assert_eq!(steps.ended(1), [News::CollectionEnded]);
    }

    #[test]
    fn progress_is_that_of_the_slowest_and_the_sum_of_all() {
        let mut steps = Steps::of(2);
        let creating = News::Creating { done: ByteSize::mib(1), total: ByteSize::mib(2) };
        assert_eq!(steps.take(0, &warming(4)), []);
        assert_eq!(steps.take(1, &creating), [creating]);
        assert_eq!(steps.take(0, &warming(5)), [], "the other one creates");
        assert_eq!(steps.take(1, &warming(1)), []);
        let sum = News::WarmingUp { filled: ByteSize::mib(7), wanted: ByteSize::mib(20) };
        assert_eq!(steps.take(0, &warming(6)), [sum]);
    }

    #[test]
    fn a_note_of_all_is_told_once_and_that_of_one_as_often_as_it_says_it() {
        let mut steps = Steps::of(2);
        let note = |text: &str| News::Note { text: text.to_owned() };
        assert_eq!(steps.take(0, &note("faults")), [note("faults")]);
        assert_eq!(steps.take(1, &note("faults")), []);
        assert_eq!(steps.take(1, &note("held")), [note("held")]);
        assert_eq!(steps.take(1, &note("held")), [note("held")]);
    }

    #[test]
    fn rates_add_up_and_means_are_weighted() {
        let live = |io_per_s_mean, read| Live {
            io_per_s: io_per_s_mean,
            io_per_s_mean,
            io_per_s_min: Some(50.0),
            read: Some(Span::millis(read)),
            read_p99: Some(Span::millis(read * 3)),
            stalls: 2,
            ..Live::default()
        };
        let joined = beside(live(300.0, 1), live(100.0, 5));
        assert_eq!((joined.io_per_s, joined.io_per_s_min), (400.0, Some(100.0)));
        assert_eq!(joined.read, Some(Span::millis(2)));
        assert_eq!(joined.read_p99, Some(Span::millis(15)));
        assert_eq!(joined.stalls, 4);
        assert_eq!(beside(live(0.0, 1), live(0.0, 3)).read, Some(Span::millis(2)));
    }
}
