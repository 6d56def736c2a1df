//! The flags that testing commands share, and the scenario of a test on this machine.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use brunt_host::consent::Consent;
use brunt_host::preflight::refusals;
use brunt_report::compare::Options;

use brunt_scenario::{Checked, DEMO, Document, Override, Place, Refusal, Scenario, Subject};

use crate::commands::report::{ReportError, write};
use crate::mistakes::Mistakes;
use crate::set::SetKeys;
use crate::source::Source;

/// Flags of every command that tests, predicts or rehearses.
#[derive(Args, Clone, Debug, Default)]
pub struct SharedArgs {
    /// How long to measure, such as 90s or 2h
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,

    /// Random seed; equal seeds repeat a run
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<String>,

    /// Sessions in the pool
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub sessions: Option<String>,

    /// Override a value of the scenario, such as test.sessions=8; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = SetKeys, hide_possible_values = true)]
    pub set: Vec<String>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Flags of every command that works for a while: where it keeps what it does, and what it prints.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Where to create the run's folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,

    /// Only check: print every mistake, or what would be done
    #[arg(long, conflicts_with = "json")]
    pub check: bool,

    #[command(flatten)]
    pub printed: Printed,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

/// What goes to stdout.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Printed {
    /// Print the result as JSON on stdout; =records: every record while it works, the result last
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "result",
        hide_possible_values = true
    )]
    pub json: Option<Json>,
}

/// What is printed as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Json {
    /// The result, in one object
    Result,
    /// Each record of the journal in a line of its own, the last with the result
    Records,
}

impl SharedArgs {
    /// What they replace in the table `table` of a scenario, and what `switch` does: `--set` first,
    /// so that flags of their own win.
    ///
    /// # Errors
    /// A `--set` without a key or a value.
    pub fn overrides(
        &self,
        table: &str,
        switch: Option<Override>,
    ) -> Result<Vec<Override>, Refusal> {
        let [duration, seed, sessions] =
            ["duration", "seed", "sessions"].map(|key| format!("{table}.{key}"));
        let own = [
            ("--duration", duration.as_str(), &self.duration),
            ("--seed", &seed, &self.seed),
            ("--sessions", &sessions, &self.sessions),
        ];
        let mut all = Override::all(&self.set, &own)?;
        all.extend(switch);
        Ok(all)
    }
}

/// Flags of tests on this machine.
#[derive(Args, Clone, Debug, Default)]
pub struct TestArgs {
    #[command(flatten)]
    pub shared: SharedArgs,

    /// Let the tail rules (I/O p99.9, operation p99) fail the test; by default they only advise
    #[arg(long)]
    pub strict_tail: bool,

    /// Do not start a test that will not qualify, and exit with 1 after a pass that does not
    #[arg(long)]
    pub require_qualified: bool,

    /// Create the databases again, replacing those of an earlier run
    #[arg(long)]
    pub new: bool,
}

/// What makes a difference between runs, and what follows from it.
#[derive(Args, Clone, Debug, Default)]
pub struct DifferenceArgs {
    /// The smallest difference that matters
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = share)]
    pub smallest: f64,

    /// Compare different work all the same; the differences are listed
    #[arg(long)]
    pub allow_differences: bool,

    /// Exit with 0 when B, or the newest run of a history, is not worse, 1 when it is, and 2 when
    /// nobody can tell
    #[arg(long)]
    pub gate: bool,

    /// File to write the comparison to as Markdown, for a pull request; replaces only one of brunt
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// File to write it to as JUnit XML, for a CI server; replaces only one of brunt
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

impl DifferenceArgs {
    pub fn options(&self) -> Options {
        Options { smallest: self.smallest, allow_differences: self.allow_differences }
    }

    /// Writes the files that were asked for.
    ///
    /// # Errors
    /// [`ReportError`] when something else stands there, or it cannot be written.
    pub(crate) fn export(
        &self,
        markdown: impl FnOnce() -> String,
        junit: impl FnOnce() -> String,
    ) -> Result<(), ReportError> {
        if let Some(path) = &self.markdown {
            write(path, &markdown(), "--markdown")?;
        }
        if let Some(path) = &self.junit {
            write(path, &junit(), "--junit")?;
        }
        Ok(())
    }
}

/// A whole number from text.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "is not a whole number, such as 100".to_owned())
}

/// A whole number from text, but 0.
pub(crate) fn one_or_more(text: &str) -> Result<u64, String> {
    whole(text).and_then(|number| match number {
        0 => Err("is not 1 or more".to_owned()),
        number => Ok(number),
    })
}

/// A share from text: `3%`, `3 %`, `0.5`.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().map_err(|_| "is not a percentage, such as 3%".to_owned())?;
    match (0.01..=100.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err("is not between 0.01 and 100 %".to_owned()),
    }
}

impl TestArgs {
    /// The scenario at `path`, or the demo, with the flags applied.
    ///
    /// # Errors
    /// [`Refusal`] when the file cannot be read, or for the first thing that is wrong in it or in a
    /// flag.
    pub fn scenario(
        &self,
        path: Option<&Path>,
        working_folder: &Path,
    ) -> Result<Scenario, Refusal> {
        let overrides = self.overrides()?;
        document(path, working_folder)?.test(&overrides)
    }

    /// The same, with what `more` flags replace, ready to be run on this machine.
    ///
    /// # Errors
    /// Everything that is wrong: in the file, in flags, with paths, with room.
    pub fn runnable(
        &self,
        path: Option<&Path>,
        more: &[Override],
        working_folder: &Path,
    ) -> Result<Scenario, Mistakes> {
        let overrides = [&self.overrides()?, more].concat();
        let mut checked = document(path, working_folder)?.check_test(&overrides);
        let Checked { mistakes, value: scenario } = &mut checked;
        if mistakes.is_empty() {
            mistakes.extend(scenario.fit_capacity().err());
        }
        mistakes.extend(refusals(scenario, mistakes.is_empty()));
        mistakes.sort_by(|one, other| one.place().order().cmp(&other.place().order()));
        Mistakes::none_or(checked)
    }

    /// What the flags allow a test to destroy.
    pub fn consent(&self) -> Consent {
        Consent { replace: self.new }
    }

    fn overrides(&self) -> Result<Vec<Override>, Refusal> {
        let strict =
            Override::of_switch("--strict-tail", self.strict_tail, "test.strict_tail", "true");
        self.shared.overrides("test", strict)
    }
}

/// The document at `path`, which describes a test on this machine.
fn document(path: Option<&Path>, working_folder: &Path) -> Result<Document, Refusal> {
    let Some(path) = path else {
        return Document::new("demo.toml (built in)", DEMO, working_folder);
    };
    let write = format!("to have one written: brunt init {}", path.display());
    let source = Source::of(path, &[&write, "without a file, it is the demo in ./brunt-demo"])?;
    let document = source.document()?;
    if document.subject() == Subject::RealDrill {
        let refusal = Place::file(&source.name).refuse("describes a drill");
        return Err(refusal.hint(format!("that is for: brunt drill {}", path.display())));
    }
    if document.subject() == Subject::Organisation {
        let refusal = Place::file(&source.name).refuse("describes an organisation to be sized");
        return Err(refusal.hint(format!("that is for: brunt size {}", path.display())));
    }
    if document.subject() == Subject::Fleet {
        let refusal = Place::file(&source.name).refuse("describes a test on several hosts");
        return Err(refusal.hint(format!("that is for: brunt fleet run {}", path.display())));
    }
    if document.subject() == Subject::Mail {
        let refusal = Place::file(&source.name).refuse("describes a test of mail servers");
        return Err(refusal.hint(format!("that is for: brunt load {}", path.display())));
    }
    if document.subject() != Subject::Test {
        let refusal = Place::file(&source.name).refuse("describes modelled storage");
        return Err(refusal.hint(format!("that is for: brunt simulate {}", path.display())));
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_units::Span;
    use std::fs;

    fn refusal(path: &Path) -> String {
        TestArgs::default().scenario(Some(path), Path::new("/")).unwrap_err().to_string()
    }

    #[test]
    fn flags_of_their_own_win() {
        let shared = SharedArgs {
            set: vec!["test.duration=5s".to_owned(), "test.seed=3".to_owned()],
            duration: Some("7s".to_owned()),
            ..SharedArgs::default()
        };
        let args = TestArgs { shared, strict_tail: true, ..TestArgs::default() };
        let scenario = args.scenario(None, Path::new("/somewhere")).unwrap();
        assert!(scenario.limits.strict_tail);
        assert_eq!(scenario.name, "demo");
        assert_eq!((scenario.test.duration, scenario.test.seed), (Span::seconds(7), 3));
        assert!(scenario.instances[0].log.starts_with("/somewhere/brunt-demo"));
    }

    #[test]
    fn a_share_is_a_percentage() {
        let shares = ["3%", "0.5 %", "10"].map(|text| share(text).unwrap());
        assert_eq!(shares, [0.03, 0.005, 0.1]);
        assert!(share("0%").is_err() && share("x").is_err() && share("nan").is_err());
    }

    #[test]
    fn paths_are_relative_to_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.toml");
        fs::write(&path, DEMO).unwrap();
        let args = TestArgs::default();
        let scenario = args.scenario(Some(&path), Path::new("/elsewhere")).unwrap();
        assert!(scenario.instances[0].log.starts_with(folder.path()));
    }

    #[test]
    fn a_folder_is_no_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let said = refusal(folder.path());
        assert!(said.contains("is a folder, not a scenario"), "{said}");
        fs::write(folder.path().join("scenario.toml"), DEMO).unwrap();
        let said = refusal(folder.path());
        assert!(said.contains("the scenario in it is "), "{said}");
    }

    #[test]
    fn an_organisation_is_sized() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("org.toml");
        fs::write(&path, "[org]\nservers = 2\n").unwrap();
        let said = refusal(&path);
        assert!(said.contains("that is for: brunt size "), "{said}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let said = refusal(Path::new("no-such.toml"));
        assert_eq!(
            said,
            "no-such.toml: there is no such file\n  to have one written: brunt init no-such.toml\n  without a file, it is the demo in ./brunt-demo"
        );
    }
}
