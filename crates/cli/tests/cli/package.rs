//! The Debian package: dpkg installs it in a clean root, and the program that it brings runs the
//! demo.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use brunt_cli::args::Arguments;
use brunt_cli::manual::{completions, pages};
use brunt_package::release::{COMPLETIONS, LICENCES};
use brunt_package::{Files, Manual, Release};
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use tempfile::TempDir;

use super::program::said;

/// The demo with less to do: small databases, and a second of load.
const DEMO: [&str; 8] = [
    "run",
    "--duration=1s",
    "--set=test.min_warmup=0s",
    "--set=profile.cache_min=1MiB",
    "--set=profile.cache_max=4MiB",
    "--set=instance.0.database_size=8MiB",
    "--set=instance.1.database_size=8MiB",
    "--out=runs",
];

fn run(program: impl AsRef<Path>, folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program.as_ref());
    command.args(words).current_dir(folder).env("NO_COLOR", "1");
    command.output().unwrap()
}

/// Counts the test as skipped unless dpkg is there and may set owners.
fn can_install(test: &str) -> bool {
    let has_dpkg = Command::new("dpkg").arg("--version").output().is_ok();
    let is_root = || {
        let user = Command::new("id").arg("-u").output();
        user.is_ok_and(|user| user.stdout == b"0\n")
    };
    let why = match (has_dpkg, has_dpkg && is_root()) {
        (_, true) => return true,
        (false, _) => "there is no dpkg",
        (true, false) => "dpkg installs as root only",
    };
    if let Some(file) = std::env::var_os("BRUNT_SKIPPED") {
        let mut file = OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "{test}: {why}").unwrap();
    }
    false
}

/// A release of the program under test. Its line tables, which a release does not have, are taken
/// out where `strip` is there: they are two thirds of it, and packing them takes time.
fn release(home: &Path) -> Release {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read(root.join(path)).unwrap();
    let mut texts = Files::default();
    for (path, name) in LICENCES {
        texts.text(name, read(path));
    }
    texts.text("README.md", read("README.md"));
    let program = home.join("stripped");
    fs::copy(env!("CARGO_BIN_EXE_brunt"), &program).unwrap();
    let _ = Command::new("strip").arg("--strip-debug").arg(&program).output();
    let program = fs::read(program).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    Release::new(version, program, manual(), texts, 1_700_000_000).unwrap()
}

/// What `brunt man` and `brunt completions` say.
fn manual() -> Manual {
    let (command, mut manual) = (Arguments::command(), Manual::default());
    for (name, page) in pages(&command) {
        manual.pages.text(name, page);
    }
    for (shell, name) in COMPLETIONS {
        let shell = Shell::from_str(shell, false).unwrap();
        manual.completions.text(name, completions(&command, shell));
    }
    manual
}

/// A root in which nothing is installed but what every Debian has, in the versions of this machine.
fn clean_root() -> TempDir {
    let root = TempDir::new().unwrap();
    let known = root.path().join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(known.join(folder)).unwrap();
    }
    let format = "Package: ${Package}\nStatus: install ok installed\nArchitecture: ${Architecture}\n\
                  Maintainer: nobody\nVersion: ${Version}\nDescription: none\n\n";
    let status = Command::new("dpkg-query")
        .args(["--show", &format!("--showformat={format}"), "libc6", "libgcc-s1"])
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", said(&status));
    fs::write(known.join("status"), status.stdout).unwrap();
    for name in ["libc6", "libgcc-s1"] {
        fs::write(known.join(format!("info/{name}.list")), "").unwrap();
    }
    root
}

#[test]
fn a_package_is_installed_in_a_clean_root_and_runs_the_demo() {
    if !can_install("a_package_is_installed_in_a_clean_root_and_runs_the_demo") {
        return;
    }
    let home = TempDir::new().unwrap();
    let package = release(home.path()).package().unwrap();
    fs::write(home.path().join(&package.name), &package.bytes).unwrap();
    let root = clean_root();
    let place = format!("--root={}", root.path().display());
    let installed = run("dpkg", home.path(), &[&place, "--install", &package.name]);
    assert!(installed.status.success(), "{}", said(&installed));
    assert_eq!(String::from_utf8_lossy(&installed.stderr), "", "dpkg warns of nothing");
    // Nothing differs from what the package says of itself.
    let verified = run("dpkg", home.path(), &[&place, "--verify", "brunt"]);
    assert_eq!((verified.status.success(), said(&verified)), (true, String::new()));
    for path in [
        "share/doc/brunt/copyright",
        "share/doc/brunt/LICENSE-FONTS",
        "share/man/man1/brunt-simulate.1.gz",
        "share/bash-completion/completions/brunt",
        "share/zsh/vendor-completions/_brunt",
        "share/fish/vendor_completions.d/brunt.fish",
    ] {
        assert!(root.path().join("usr").join(path).is_file(), "{path}");
    }
    let program = root.path().join("usr/bin/brunt");
    let demo = run(&program, home.path(), &DEMO);
    let text = said(&demo);
    // The verdict depends on the machine.
    assert!(matches!(demo.status.code(), Some(0..=2)), "{text}");
    assert!(!text.contains("error:"), "{text}");
    assert_eq!(fs::read_dir(home.path().join("runs")).unwrap().count(), 1, "{text}");

    let removed = run("dpkg", home.path(), &[&place, "--purge", "brunt"]);
    assert!(removed.status.success(), "{}", said(&removed));
    assert!(!program.exists());
}

#[test]
fn the_tarball_has_one_folder_with_the_same_program() {
    let home = TempDir::new().unwrap();
    let tarball = release(home.path()).tarball().unwrap();
    fs::write(home.path().join(&tarball.name), &tarball.bytes).unwrap();
    let unpacked = run("tar", home.path(), &["-xzf", &tarball.name]);
    assert!(unpacked.status.success(), "{}", said(&unpacked));
    let folder = tarball.name.strip_suffix(".tar.gz").unwrap();
    let folder = home.path().join(folder);
    let version = run(folder.join("brunt"), home.path(), &["--version"]);
    let own = run(env!("CARGO_BIN_EXE_brunt"), home.path(), &["--version"]);
    assert_eq!(said(&version), said(&own));
    for path in ["man/man1/brunt.1", "completions/_brunt", "LICENSE-MIT"] {
        assert!(folder.join(path).is_file(), "{path}");
    }
    let bash =
        run("bash", home.path(), &["-n", &folder.join("completions/brunt.bash").to_string_lossy()]);
    assert!(bash.status.success(), "{}", said(&bash));
}
