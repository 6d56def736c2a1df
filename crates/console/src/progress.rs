//! What a run is doing, from its newest news: the phase, how much of it is done, and how long it
//! may still take.

use brunt_report::grouped;
use brunt_run::News;
use brunt_units::{ByteSize, Span};

/// The phase that a run is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// As it stands on the screen of the run: `warm up`, `test`.
    pub phase: &'static str,
    /// From 0 to 1, where it is known.
    pub share: Option<f64>,
    /// Until the phase ends, where it has a length.
    pub left: Option<Span>,
    /// More about it, in words; often empty.
    pub detail: String,
}

impl Progress {
    fn of_phase(phase: &'static str) -> Self {
        Self { phase, share: None, left: None, detail: String::new() }
    }

    fn of_share(phase: &'static str, share: f64) -> Self {
        let share = share.is_finite().then(|| share.clamp(0.0, 1.0));
        Self { share, ..Self::of_phase(phase) }
    }

    fn of_bytes(phase: &'static str, done: ByteSize, total: ByteSize) -> Self {
        let share = ratio(done.get(), total.get());
        Self { share, detail: format!("{done} of {total}"), ..Self::of_phase(phase) }
    }

    fn of_count(phase: &'static str, done: u64, total: u64, what: &str) -> Self {
        let detail = format!("{} of {} {what}", grouped(done), grouped(total));
        Self { share: ratio(done, total), detail, ..Self::of_phase(phase) }
    }

    /// What `news` says of it; `None` when it says nothing about phases.
    pub fn of(news: &News) -> Option<Self> {
        Some(match news {
            News::Creating { done, total } => Self::of_bytes("create", *done, *total),
            News::Surveying { records } => {
                let detail = format!("{} records", grouped(*records));
                Self { detail, ..Self::of_phase("survey") }
            }
            News::Waiting { left } => Self { left: Some(*left), ..Self::of_phase("wait") },
            News::WarmingUp { filled, wanted } => Self::of_bytes("warm up", *filled, *wanted),
            News::Settling { share, what, at_most } => {
                Self { left: *at_most, detail: what.clone(), ..Self::of_share("warm up", *share) }
            }
            News::Tuning { trial, sessions } => {
                let detail = format!("trial {trial}, {sessions} sessions");
                Self { detail, ..Self::of_phase("tune") }
            }
            News::BackingUp { done, total } => Self::of_bytes("back up", *done, *total),
            News::Restoring { done, total } => Self::of_bytes("restore", *done, *total),
            News::GeneratingLogs { done, wanted } => {
                Self::of_count("logs", (*done).into(), (*wanted).into(), "log files")
            }
            News::Recovering { done, logs } => {
                Self::of_count("recover", (*done).into(), (*logs).into(), "log files")
            }
            News::CollectionStarted => Self::of_phase("test"),
            News::Testing(live) => Self {
                share: ratio(live.elapsed.0, live.duration.0),
                left: Some(Span(live.duration.0.saturating_sub(live.elapsed.0))),
                ..Self::of_phase("test")
            },
            News::Closing { done, total } => Self::of_bytes("close", *done, *total),
            News::VerifyingFiles { done, total } => Self::of_bytes("verify", *done, *total),
            News::VerifyingRecords { done, total } => {
                Self::of_count("verify", *done, *total, "records")
            }
            News::Rehearsing { at_s, share } => {
                let detail = Span::from_seconds(*at_s).to_string();
                Self { detail, ..Self::of_share("drill", *share) }
            }
            News::Control { name } => Self { detail: name.clone(), ..Self::of_phase("control") },
            News::Step { when, name } => {
                Self { detail: format!("{when}: {name}"), ..Self::of_phase("step") }
            }
            News::Simulating { at_s, end_s } => Self::of_share("simulate", at_s / end_s),
            News::Computed { done, all: Some(all), .. } => {
                Self::of_count("compute", *done, *all, "points")
            }
            News::Computed { done, all: None, .. } => {
                let detail = format!("{} points", grouped(*done));
                Self { detail, ..Self::of_phase("search") }
            }
            News::Hosts { hosts } => {
                let hosts = brunt_report::counted(hosts.len() as u64, "host");
                Self { detail: hosts, ..Self::of_phase("fleet") }
            }
            News::Sending { share, accepted, filling } => {
                let phase = if *filling { "fill" } else { "send" };
                let detail = format!("{} deliveries accepted", grouped(*accepted));
                Self { detail, ..Self::of_share(phase, *share) }
            }
            News::Note { .. }
            | News::Databases { .. }
            | News::Created { .. }
            | News::Dispatching
            | News::WarmedUp { .. }
            | News::Tried(_)
            | News::Tuned { .. }
            | News::BackedUp { .. }
            | News::CollectionEnded
            | News::Verified { .. }
            | News::Happened { .. } => return None,
        })
    }

    /// In words: `test, 41 %, 35 s left`.
    pub fn in_words(&self) -> String {
        let share = self.share.map(|share| format!("{:.0} %", (100.0 * share).floor()));
        let left = self.left.map(|left| format!("{left} left"));
        let detail = (!self.detail.is_empty()).then(|| self.detail.clone());
        let parts = [Some(self.phase.to_owned()), share, detail, left];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn ratio(done: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| (done as f64 / total as f64).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use brunt_run::Live;

    use super::*;

    #[test]
    fn a_phase_is_said_with_what_is_left_of_it() {
        let (elapsed, duration) = (Span::seconds(41), Span::seconds(60));
        let test = Progress::of(&News::Testing(Live { elapsed, duration, ..Live::default() }));
        assert_eq!(test.unwrap().in_words(), "test, 68 %, 19.0 s left");
        let (done, total) = (ByteSize::mib(3), ByteSize::mib(0));
        let nothing = Progress::of(&News::Creating { done, total }).unwrap();
        assert_eq!((nothing.share, nothing.in_words().as_str()), (None, "create, 3 MiB of 0 B"));
        assert_eq!(Progress::of(&News::Dispatching), None);
    }

    #[test]
    fn a_share_from_anywhere_is_a_share() {
        for (at_s, end_s) in [(1.0, 0.0), (f64::NAN, 1.0), (-1.0, 2.0), (9.0, 2.0)] {
            let share = Progress::of(&News::Simulating { at_s, end_s }).unwrap().share;
            assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}
