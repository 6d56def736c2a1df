//! The scenario and the flags that every testing command takes.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use brunt_host::consent::Consent;
use brunt_host::preflight::refusals;
use brunt_report::Timestamp;

use brunt_scenario::{DEMO, Document, Override, Place, Refusal, Scenario, Subject};

use crate::mistakes::Mistakes;
use crate::source::Source;

/// Arguments of a command that runs a test.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
Examples:
  brunt run                                      a small demo in ./brunt-demo
  brunt run my-storage.toml --check              would it run, how long, and can it qualify?
  brunt run my-storage.toml --duration 2h        the test that counts
  brunt run my-storage.toml --tune               how many sessions does it take?
  brunt run my-storage.toml --set profile.cache_max=64MiB --out /var/tmp/runs
  brunt run my-storage.toml --json | jq .verdict
  brunt run --ab now.toml new.toml               is the second better? In turns, on this storage
  brunt run --resume runs/2026-11-21-181503-mail    carry on a run that was killed

Ctrl-C ends a run in order, with a report; a second Ctrl-C, at least a second later, kills it.")]
pub struct TestArgs {
    /// Scenario file (TOML), or - for stdin [default: a small demo in ./brunt-demo]
    pub scenario: Option<PathBuf>,

    /// Where to create the run's folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,

    /// How long to measure, such as 90s or 2h
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,

    /// Random seed; equal seeds repeat a run
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<String>,

    /// Sessions in the pool
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub sessions: Option<String>,

    /// First find the number of sessions: the fewest that reach the target or, without one, the
    /// most that pass
    #[arg(long)]
    pub tune: bool,

    /// When to start, such as 2026-11-21T22:00:00Z, so that several hosts start together
    #[arg(long, value_name = "TIME")]
    pub start_at: Option<String>,

    /// Let the tail rules (I/O p99.9, operation p99) fail the test; by default they only advise
    #[arg(long)]
    pub strict_tail: bool,

    /// Do not start a test that will not qualify, and exit with 1 after a pass that does not
    #[arg(long)]
    pub require_qualified: bool,

    /// Create the databases again, replacing those of an earlier run
    #[arg(long)]
    pub new: bool,

    /// Only check: print every mistake, or what the run would do and whether it can qualify
    #[arg(long, conflicts_with = "json")]
    pub check: bool,

    /// Carry on an interrupted performance or stress test; the result does not qualify
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scenario", "duration", "seed", "sessions", "tune", "strict_tail", "new", "check", "set"])]
    pub resume: Option<PathBuf>,

    /// Two scenarios on the same storage, in turns, and whether B is better
    #[command(flatten)]
    pub ab: Option<AbArgs>,

    /// Override a value of the scenario, such as profile.cache_max=64MiB; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of a test of two scenarios in turns.
#[derive(Args, Clone, Debug)]
pub struct AbArgs {
    /// Test two scenarios in turns (A B B A) on the same storage, and say whether B is better
    #[arg(long, num_args = 2, value_names = ["A", "B"], required = false, conflicts_with_all = ["scenario", "resume", "start_at", "tune"])]
    pub ab: Vec<PathBuf>,

    /// With --ab: how often A B B A; six pairs by default
    #[arg(long, value_name = "N", requires = "ab", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,

    /// With --ab: the smallest difference that matters
    #[arg(long, value_name = "PERCENT", requires = "ab", default_value = "3%", value_parser = share)]
    pub smallest: f64,

    /// With --ab: test scenarios that ask for different work all the same
    #[arg(long, requires = "ab")]
    pub allow_differences: bool,

    /// With --ab: exit with 0 when B is not worse, 1 when it is, and 2 when nobody can tell
    #[arg(long, requires = "ab")]
    pub gate: bool,
}

/// A share from text: `3%`, `3 %`, `0.5`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().map_err(|_| "is not a percentage, such as 3%".to_owned())?;
    match (0.01..=100.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err("is not between 0.01 and 100 %".to_owned()),
    }
}

impl TestArgs {
    /// The scenario that is meant, with the flags applied: `--set` first, so that the flags of
    /// their own win.
    ///
    /// # Errors
    /// [`Refusal`] when the file cannot be read, or for the first thing that is wrong in it or in a
    /// flag.
    pub fn scenario(&self, working_folder: &Path) -> Result<Scenario, Refusal> {
        let overrides = self.overrides()?;
        self.document(working_folder)?.test(&overrides)
    }

    /// The same, ready to be run on this machine.
    ///
    /// # Errors
    /// Everything that is wrong: in the file, in flags, with paths, with room.
    pub fn runnable(&self, working_folder: &Path) -> Result<Scenario, Mistakes> {
        let overrides = self.overrides()?;
        let checked = self.document(working_folder)?.check_test(&overrides);
        let mut mistakes = checked.mistakes;
        let mut scenario = checked.value;
        if let Some(scenario) = &mut scenario {
            if mistakes.is_empty() {
                mistakes.extend(scenario.fit_capacity().err());
            }
            mistakes.extend(refusals(scenario, mistakes.is_empty()));
        }
        Mistakes::none_or(&mistakes, scenario)
    }

    fn document(&self, working_folder: &Path) -> Result<Document, Refusal> {
        let resumed = self.resume.as_ref().map(|run| run.join("scenario.toml"));
        let Some(path) = resumed.as_ref().or(self.scenario.as_ref()) else {
            return Document::new("demo.toml (built in)", DEMO, working_folder);
        };
        let source = Source::read(path, working_folder).map_err(|error| unread(path, &error))?;
        let document = source.document()?;
        if document.subject() == Subject::RealDrill {
            let refusal = Place::file(&source.name).refuse("describes a drill");
            return Err(refusal.hint(format!("that is for: brunt drill {}", path.display())));
        }
        if document.subject() == Subject::Organisation {
            let refusal = Place::file(&source.name).refuse("describes an organisation to be sized");
            return Err(refusal.hint(format!("that is for: brunt size {}", path.display())));
        }
        if document.subject() != Subject::Test {
            let refusal = Place::file(&source.name).refuse("describes modelled storage");
            return Err(refusal.hint(format!("that is for: brunt simulate {}", path.display())));
        }
        Ok(document)
    }

    /// What the flags allow a test to destroy.
    pub fn consent(&self) -> Consent {
        Consent { replace: self.new }
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

    fn overrides(&self) -> Result<Vec<Override>, Refusal> {
        let flags = [
            ("--duration", "test.duration", &self.duration),
            ("--seed", "test.seed", &self.seed),
            ("--sessions", "test.sessions", &self.sessions),
        ];
        let mut overrides = Override::all(&self.set, &flags)?;
        if self.tune {
            overrides.push(Override::of_flag("--tune", "test.tune", "true"));
        }
        if self.strict_tail {
            overrides.push(Override::of_flag("--strict-tail", "test.strict_tail", "true"));
        }
        Ok(overrides)
    }
}

/// Why there is no scenario at `path`, and what to do about it.
fn unread(path: &Path, error: &io::Error) -> Refusal {
    let place = Place::file(&Source::name(path));
    let inside = path.join("scenario.toml");
    match error.kind() {
        io::ErrorKind::NotFound => place
            .refuse("there is no such file")
            .hint(format!("to have one written: brunt init {}", path.display()))
            .hint("without a file, it is the demo in ./brunt-demo"),
        io::ErrorKind::IsADirectory if inside.is_file() => place
            .refuse("is a folder")
            .hint(format!("for the scenario in it: brunt run {}", inside.display())),
        io::ErrorKind::IsADirectory => place
            .refuse("is a folder, not a scenario")
            .hint("to have a scenario written: brunt init mail.toml"),
        _ => place.refuse(format!("cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_units::Span;
    use std::fs;

    #[test]
    fn flags_of_their_own_win() {
        let args = TestArgs {
            set: vec!["test.duration=5s".to_owned(), "test.seed=3".to_owned()],
            duration: Some("7s".to_owned()),
            strict_tail: true,
            ..TestArgs::default()
        };
        let scenario = args.scenario(Path::new("/somewhere")).unwrap();
        assert!(scenario.limits.strict_tail);
        assert_eq!(scenario.name, "demo");
        assert_eq!((scenario.test.duration, scenario.test.seed), (Span::seconds(7), 3));
        assert!(scenario.instances[0].log.value.starts_with("/somewhere/brunt-demo"));
    }

    #[test]
    fn a_share_is_a_percentage() {
        let shares = ["3%", "0.5 %", "10"].map(|text| share(text).unwrap());
        assert_eq!(shares, [0.03, 0.005, 0.1]);
        assert!(share("0%").is_err() && share("x").is_err() && share("nan").is_err());
    }

    #[test]
    fn a_start_lies_ahead() {
        let now = Timestamp { unix_seconds: 1_800_000_000 };
        let start = |text: &str| {
            let args = TestArgs { start_at: Some(text.to_owned()), ..TestArgs::default() };
            args.start(now).map_err(|refusal| refusal.to_string())
        };
        assert_eq!(TestArgs::default().start(now), Ok(None));
        let ahead = start("2027-01-15T08:00:01Z").unwrap().unwrap();
        assert_eq!(ahead.unix_seconds, 1_800_000_001);
        assert_eq!(
            start("2027-01-15T08:00:00Z").unwrap_err(),
            "`--start-at 2027-01-15T08:00:00Z`: has passed: it is 2027-01-15T08:00:00Z"
        );
        assert!(start("tonight").unwrap_err().contains("not a point in time"));
    }

    #[test]
    fn paths_are_relative_to_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.toml");
        fs::write(&path, DEMO).unwrap();
        let args = TestArgs { scenario: Some(path), ..TestArgs::default() };
        let scenario = args.scenario(Path::new("/elsewhere")).unwrap();
        assert!(scenario.instances[0].log.value.starts_with(folder.path()));
    }

    #[test]
    fn a_folder_is_no_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let args = TestArgs { scenario: Some(folder.path().to_owned()), ..TestArgs::default() };
        let said = args.scenario(Path::new("/")).unwrap_err().to_string();
        assert!(said.contains("is a folder, not a scenario"), "{said}");
        fs::write(folder.path().join("scenario.toml"), DEMO).unwrap();
        let said = args.scenario(Path::new("/")).unwrap_err().to_string();
        assert!(said.contains("for the scenario in it: brunt run "), "{said}");
    }

    #[test]
    fn an_organisation_is_sized() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("org.toml");
        fs::write(&path, "[org]\nservers = 2\n").unwrap();
        let args = TestArgs { scenario: Some(path), ..TestArgs::default() };
        let said = args.scenario(Path::new("/")).unwrap_err().to_string();
        assert!(said.contains("that is for: brunt size "), "{said}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let args = TestArgs { scenario: Some("no-such.toml".into()), ..TestArgs::default() };
        let said = args.scenario(Path::new("/")).unwrap_err().to_string();
        assert_eq!(
            said,
            "no-such.toml: there is no such file\n  to have one written: brunt init no-such.toml\n  without a file, it is the demo in ./brunt-demo"
        );
    }
}
