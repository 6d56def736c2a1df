//! Which commit is built: `BRUNT_COMMIT` of the environment, for packagers, or that of the
//! checkout. A tarball has none.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=BRUNT_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let commit = match env::var("BRUNT_COMMIT") {
        Ok(commit) => commit,
        Err(_) => checked_out().unwrap_or_default(),
    };
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let long = match commit.as_str() {
        "" => version,
        commit => format!("{version} ({commit})"),
    };
    println!("cargo::rustc-env=BRUNT_COMMIT={commit}");
    println!("cargo::rustc-env=BRUNT_LONG_VERSION={long}");
}

/// The commit of the workspace's own repository; not of one that it was merely unpacked in.
fn checked_out() -> Option<String> {
    // Asked at run time: checkouts that share a target folder share this script.
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // The branch may be packed, and then has no file of its own until it moves; but every move is
    // logged.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short", "HEAD"])
}

/// What git answers; nothing when it fails or is not there.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    let answer = answer.trim().to_owned();
    (output.status.success() && !answer.is_empty()).then_some(answer)
}
