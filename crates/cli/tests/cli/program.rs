//! The program and what it says: what all of these tests use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use brunt_report::RunResult;
use serde_json::Value;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program in this folder, without input or colours.
pub(crate) fn brunt(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// What it answers.
pub(crate) fn answer(folder: &Path, arguments: &[&str]) -> Output {
    brunt(folder).args(arguments).output().unwrap()
}

/// Both of its streams.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The types that the schema is made from read it back.
pub(crate) fn keeps_to_the_schema(result: &Value) {
    RunResult::from_json(&result.to_string()).unwrap();
}

/// Makes the scenario of `brunt init` small enough for a test.
pub(crate) const SMALL: [&str; 6] = [
    "--set=profile.cache_min=4MiB",
    "--set=profile.cache_max=16MiB",
    "--set=profile.checkpoint_depth=1MiB",
    "--set=instance.0.database_size=32MiB",
    "--set=instance.1.database_size=32MiB",
    "--sessions=4",
];

/// The newest run folder.
pub(crate) fn run_folder(home: &Path) -> Option<PathBuf> {
    let runs = fs::read_dir(home.join("runs")).ok()?;
    runs.map(|run| run.unwrap().path()).max()
}

/// The folder of `run`, once its `counters.csv` has what is wanted.
pub(crate) fn recorded(run: &mut Child, home: &Path, wanted: impl Fn(&str) -> bool) -> PathBuf {
    loop {
        let ended = run.try_wait().unwrap();
        assert!(ended.is_none(), "it ended by itself: {ended:?}");
        thread::sleep(Duration::from_millis(50));
        let Some(folder) = run_folder(home) else {
            continue;
        };
        if wanted(&fs::read_to_string(folder.join("counters.csv")).unwrap_or_default()) {
            return folder;
        }
    }
}

/// A run that ends with its test.
pub(crate) struct Victim(pub(crate) Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
