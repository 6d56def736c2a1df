//! Which program this is: its version, the commit it was built from (`build.rs`), and the command
//! line it was called with.

use std::env;
use std::path::{Path, PathBuf};

use brunt_host::shell::quoted;
use brunt_lab::Program;
use brunt_report::result::Origin;

/// The version, and the commit where it is known: `0.1.0 (1b7112e)`.
pub const LONG: &str = env!("BRUNT_LONG_VERSION");

/// The version alone.
pub const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The commit; `None` when it was built without a checkout and without `BRUNT_COMMIT`.
pub fn commit() -> Option<&'static str> {
    Some(env!("BRUNT_COMMIT")).filter(|commit| !commit.is_empty())
}

/// This program, as predictions name it.
pub(crate) fn program() -> Program {
    Program { version: SHORT.to_owned(), commit: commit().map(str::to_owned), command: command() }
}

/// The command line, so that a shell repeats it; of the program's path only the name.
pub(crate) fn command() -> String {
    let mut words = env::args_os();
    let program = words.next().map(PathBuf::from).unwrap_or_default();
    let name = program.file_name().unwrap_or(Path::new("brunt").as_os_str());
    let words = std::iter::once(name.to_owned()).chain(words);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// How a result of this program came to be.
pub(crate) fn origin(seed: u64, run_id: String) -> Origin {
    let Program { version, commit, command } = program();
    Origin { command, version, commit, seed, run_id }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What git says of the workspace; nothing where it fails.
    fn git(arguments: &[&str]) -> Option<String> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let output = Command::new("git").current_dir(root).args(arguments).output();
        let output = output.ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    }

    #[test]
    fn a_checkout_names_one_of_its_commits() {
        // A tarball has no repository, or lies in a folder of another one.
        let is_own = git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix == "\n");
        match commit() {
            Some(commit) if is_own && std::env::var_os("BRUNT_COMMIT").is_none() => {
                let known = git(&["rev-parse", "--verify", &format!("{commit}^{{commit}}")]);
                assert!(known.is_some(), "{commit}");
            }
            Some(commit) => assert!(!commit.is_empty()),
            None => assert!(!is_own),
        }
        let long = commit().map(|commit| format!("{SHORT} ({commit})"));
        assert_eq!(LONG, long.as_deref().unwrap_or(SHORT));
    }
}
