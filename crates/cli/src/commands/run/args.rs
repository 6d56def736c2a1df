//! The command line of `run`.

use std::path::{Path, PathBuf};

use brunt_report::Timestamp;
use brunt_scenario::{Override, Place, Refusal, Scenario};
use clap::Args;

use crate::mistakes::Mistakes;
use crate::test_args::TestArgs;

/// Arguments of `run`.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
Examples:
  brunt run                                      a small demo in ./brunt-demo
  brunt run my-storage.toml --check              would it run, how long, and can it qualify?
  brunt run my-storage.toml --duration 2h        the test that counts
  brunt run my-storage.toml --all-kinds          performance, backup and recovery, and a page to sign
  brunt run my-storage.toml --tune               how many sessions does it take?
  brunt run my-storage.toml --set profile.cache_max=64MiB --out /var/tmp/runs
  brunt run my-storage.toml --json | jq .verdict
  brunt run --resume RUN                         carry on a run that was killed

Ctrl-C ends a run in order, with a report; a second Ctrl-C, at least a second later, kills it.")]
pub struct RunArgs {
    /// Scenario file (TOML), or - for stdin [default: a small demo in ./brunt-demo]
    pub scenario: Option<PathBuf>,

    #[command(flatten)]
    pub test: TestArgs,

    /// First find the number of sessions: the fewest that reach the target or, without one, the
    /// most that pass
    #[arg(long)]
    pub tune: bool,

    /// When to start, such as 2026-11-21T22:00:00Z, so that several hosts start together
    #[arg(long, value_name = "TIME")]
    pub start_at: Option<String>,

    /// Run performance, backup and recovery in turn, and write the page to sign (brunt handover)
    #[arg(long, conflicts_with_all = ["tune", "start_at", "resume", "json"])]
    pub all_kinds: bool,

    /// End the test once a rule has failed that time cannot mend
    #[arg(long, conflicts_with = "all_kinds")]
    pub abort_on_fail: bool,

    /// With --all-kinds: a day of stress as well
    #[arg(long, requires = "all_kinds")]
    pub stress: bool,

    /// Carry on an interrupted performance or stress test; the result does not qualify
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scenario", "duration", "seed", "sessions", "tune", "strict_tail", "new", "check", "set"])]
    pub resume: Option<PathBuf>,
}

impl RunArgs {
    /// The scenario that is meant, with the flags applied, ready to be run on this machine.
    ///
    /// # Errors
    /// Everything that is wrong: in the file, in flags, with paths, with room.
    pub(super) fn runnable(&self, working_folder: &Path) -> Result<Scenario, Mistakes> {
        let resumed = self.resume.as_ref().map(|run| run.join("scenario.toml"));
        let path = resumed.as_deref().or(self.scenario.as_deref());
        let tune = Override::of_switch("--tune", self.tune, "test.tune", "true");
        self.test.runnable(path, tune.as_slice(), working_folder)
    }

    /// When sessions are to begin, if that was said; `now` is before it.
    ///
    /// # Errors
    /// [`Refusal`] when it is no time, or has passed.
    pub fn start(&self, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
        let Some(text) = &self.start_at else {
            return Ok(None);
        };
        let place = Place::flag(&format!("--start-at {text}"));
        let start = Timestamp::try_from(text.clone()).map_err(|_| {
            let refusal = place.refuse("not a point in time");
            refusal.hint(format!("in UTC, for example: --start-at {now}"))
        })?;
        match start > now {
            true => Ok(Some(start)),
            false => Err(place.refuse(format!("has passed: it is {now}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_lies_ahead() {
        let now = Timestamp { unix_seconds: 1_800_000_000 };
        let start = |text: &str| {
            let args = RunArgs { start_at: Some(text.to_owned()), ..RunArgs::default() };
            args.start(now).map_err(|refusal| refusal.to_string())
        };
        assert_eq!(RunArgs::default().start(now), Ok(None));
        let ahead = start("2027-01-15T08:00:01Z").unwrap().unwrap();
        assert_eq!(ahead.unix_seconds, 1_800_000_001);
        assert_eq!(
            start("2027-01-15T08:00:00Z").unwrap_err(),
            "`--start-at 2027-01-15T08:00:00Z`: has passed: it is 2027-01-15T08:00:00Z"
        );
        assert!(start("tonight").unwrap_err().contains("not a point in time"));
    }
}
