//! Which program this is: its version, and the commit it was built from (`build.rs`).

use brunt_report::result::Origin;

/// The version, and the commit where it is known: `0.1.0 (1b7112e)`.
pub const LONG: &str = env!("BRUNT_LONG_VERSION");

/// The version alone.
pub const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The commit; `None` when it was built from neither a checkout nor by somebody who said it.
pub fn commit() -> Option<&'static str> {
    Some(env!("BRUNT_COMMIT")).filter(|commit| !commit.is_empty())
}

/// How a result of this program came to be.
pub(crate) fn origin(command: String, seed: u64, run_id: String) -> Origin {
    Origin {
        command,
        version: SHORT.to_owned(),
        commit: commit().map(str::to_owned),
        seed,
        run_id,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_checkout_names_its_commit() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut git = Command::new("git");
        git.current_dir(root)
            .args(["rev-parse", "--show-prefix", "--short", "HEAD"]);
        let answer = git.output().map(|output| output.stdout).unwrap_or_default();
        let answer = String::from_utf8(answer).unwrap();
        // In a tarball git says nothing, or that this is a folder of another repository.
        let own = answer.strip_prefix('\n').map(str::trim_end);
        let given = std::env::var("BRUNT_COMMIT").ok();
        let wanted = given.as_deref().or(own).filter(|commit| !commit.is_empty());
        assert_eq!(commit(), wanted);
        match wanted {
            Some(commit) => assert_eq!(LONG, format!("{SHORT} ({commit})")),
            None => assert_eq!(LONG, SHORT),
        }
    }
}
