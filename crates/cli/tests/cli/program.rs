//! The program and what it says: what all of these tests use.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

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

/// A run that ends with its test.
pub(crate) struct Victim(pub(crate) Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
