//! What of a run its pictures show: everything, a part of the time, or one of its databases, logs
//! or servers.

use crate::Run;
use crate::plot::clock;
use crate::result::{Distribution, Sample};

/// What is drawn: all of a run, unless something is chosen.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// From and until when, in seconds of the collection.
    pub window: Option<(f64, f64)>,
    /// Instead of all together.
    pub part: Option<Part>,
}

/// A database, log or server.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub name: String,
    pub samples: Vec<Sample>,
    pub distributions: Vec<Distribution>,
}

impl View {
    /// Whether it shows everything together.
    pub(super) fn is_of_all(&self) -> bool {
        self.part.is_none()
    }

    pub(super) fn samples(&self, run: &Run) -> Vec<Sample> {
        let all = self.part.as_ref().map_or(&run.samples, |part| &part.samples).iter();
        let is_seen = |sample: &&Sample| match self.window {
            Some((from, until)) => {
                sample.begin_s < until && sample.begin_s + sample.length_s > from
            }
            None => true,
        };
        all.filter(is_seen).copied().collect()
    }

    pub(super) fn distributions<'r>(&'r self, run: &'r Run) -> &'r [Distribution] {
        match &self.part {
            Some(part) => &part.distributions,
            None => &run.result.storage.details.distributions,
        }
    }

    /// Whose worst sample of reads, and of log writes, is marked.
    pub(super) fn whose(&self) -> [String; 2] {
        match &self.part {
            Some(part) => [part.name.clone(), part.name.clone()],
            None => ["all databases together", "all logs together"].map(str::to_owned),
        }
    }

    /// What is shown; `None` when it is everything.
    pub(super) fn note(&self) -> Option<String> {
        let part = self.part.as_ref().map(|part| part.name.clone());
        let time = self.window.map(|(from, until)| {
            format!(
                "{} to {}, with the latency distribution of the whole collection",
                clock(from),
                clock(until)
            )
        });
        let shown: Vec<String> = part.into_iter().chain(time).collect();
        (!shown.is_empty()).then(|| format!("Shown: {}.", shown.join(", ")))
    }
}
