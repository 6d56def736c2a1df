//! `cargo xtask dist`: a release, packed.
//!
//! Builds the program (or takes one that is built already), has it write its manual, reads the
//! texts of the repository, and writes what `brunt_package` makes of them. The time in all archives is `SOURCE_DATE_EPOCH` or
//! that of the commit, so the same checkout and compiler give the same files. Where the musl target
//! of Rust is installed, a second, static program is built for a second tarball.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use brunt_package::release::{COMPLETIONS, LICENCES, TEXTS};
use brunt_package::{Files, GlibcVersion, Manual, Release};
use clap::Args;

use crate::{TaskError, licences, root, say};

/// The version of every crate of the workspace, the program among them.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Arguments of `dist`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DistArgs {
    /// Pack this program instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Folder to write to [default: target/dist]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Makes the release.
///
/// # Errors
/// [`TaskError`] when something cannot be built, read, packed or written.
pub(crate) fn run(args: &DistArgs) -> Result<(), TaskError> {
    let programs = match &args.program {
        Some(program) => vec![program.clone()],
        None => built()?,
    };
    let out = args.out.clone().unwrap_or_else(|| root().join("target/dist"));
    let time = time()?;
    for program in programs {
        is_this_version(&program)?;
        pack(&program, manual(&program, &out)?, time, &out)?;
    }
    Ok(())
}

/// What `program` says of its command line; its man pages stay in `out`.
fn manual(program: &Path, out: &Path) -> Result<Manual, TaskError> {
    let name = absolute(program);
    let folder = out.join("man");
    said(&name, &["man", "--force", &folder.to_string_lossy()])?;
    let mut manual = Manual::default();
    add(&folder, "", &mut manual.pages)?;
    for (shell, file) in COMPLETIONS {
        let text = said(&name, &["completions", shell])?;
        manual.completions.text(file, text + "\n");
    }
    Ok(manual)
}

/// Packs `program` into files of the folder `out`.
fn pack(program: &Path, manual: Manual, time: u64, out: &Path) -> Result<(), TaskError> {
    let refused = |error| TaskError::Release { program: program.to_owned(), error };
    let bytes = read(program)?;
    let mut texts = texts()?;
    texts.text("LICENSES-OF-CRATES", licences::of_crates()?);
    let release = Release::new(VERSION, bytes, manual, texts, time).map_err(refused)?;
    for file in release.pack().map_err(refused)? {
        write_file(&out.join(&file.name), &file.bytes)?;
    }
    say(&match release.needs().glibc {
        Some(needed) => {
            format!("needs glibc {needed} or later; Debian 12 has {}", GlibcVersion::DEBIAN_12)
        }
        None => "needs no glibc".to_owned(),
    });
    Ok(())
}

/// The texts that go with the program.
fn texts() -> Result<Files, TaskError> {
    let mut files = Files::default();
    for (path, name) in LICENCES {
        files.text(name, read(&root().join(path))?);
    }
    for path in TEXTS {
        add(root(), path, &mut files)?;
    }
    Ok(files)
}

/// Adds the file, or everything in the folder, at `path` below `top`.
fn add(top: &Path, path: &str, files: &mut Files) -> Result<(), TaskError> {
    let place = top.join(path);
    if !place.is_dir() {
        files.text(path, read(&place)?);
        return Ok(());
    }
    let refused = |error| TaskError::File { path: place.clone(), error };
    for entry in fs::read_dir(&place).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name();
        let below = Path::new(path).join(name);
        add(top, &below.to_string_lossy(), files)?;
    }
    Ok(())
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, TaskError> {
    fs::read(path).map_err(|error| TaskError::File { path: path.to_owned(), error })
}

/// The programs of this checkout: for this machine's C library, and a static one where that target
/// is installed.
fn built() -> Result<Vec<PathBuf>, TaskError> {
    let mut programs = vec![build(None)?];
    let musl = format!("{}-unknown-linux-musl", env::consts::ARCH);
    let folder = said("rustc", &["--print", "target-libdir", "--target", &musl]);
    match folder.is_ok_and(|folder| Path::new(&folder).exists()) {
        true => programs.push(build(Some(&musl))?),
        false => say(&format!("no static program: the target {musl} is not installed")),
    }
    Ok(programs)
}

fn build(target: Option<&str>) -> Result<PathBuf, TaskError> {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command.args(["build", "--release", "--locked", "--package", "brunt-cli"]);
    command.args(target.iter().flat_map(|target| ["--target", target]));
    let ended = command
        .status()
        .map_err(|error| TaskError::File { path: command.get_program().into(), error })?;
    if !ended.success() {
        return Err(TaskError::Dist("the program cannot be built".to_owned()));
    }
    let folder = env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    Ok(folder.join(target.unwrap_or_default()).join("release/brunt"))
}

/// Refuses a program of another version, which would get the wrong name and manual.
fn is_this_version(program: &Path) -> Result<(), TaskError> {
    let name = absolute(program);
    let version = said(&name, &["--version"])?;
    let wanted = format!("brunt {VERSION}");
    match version.split(" (").next() {
        Some(own) if own == wanted => Ok(()),
        _ => Err(TaskError::Dist(format!("{name}: is `{version}`, not {wanted}"))),
    }
}

/// The path of `program`: a name without a folder would be looked for in PATH.
fn absolute(program: &Path) -> String {
    let program = std::path::absolute(program).unwrap_or(program.to_owned());
    program.to_string_lossy().into_owned()
}

/// Writes a file, and the folder it lies in.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TaskError> {
    let refused = |error| TaskError::File { path: path.to_owned(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(refused)?;
    }
    fs::write(path, bytes).map_err(refused)?;
    say(&path.display().to_string());
    Ok(())
}

/// Seconds since 1970 that stand in every archive.
fn time() -> Result<u64, TaskError> {
    let time = match env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => time,
        Err(_) => {
            let root = root().display().to_string();
            said("git", &["-C", &root, "log", "-1", "--format=%ct"])?
        }
    };
    time.parse().map_err(|_| {
        TaskError::Dist(format!(
            "`{time}` is not a time: SOURCE_DATE_EPOCH is in seconds since 1970"
        ))
    })
}

/// What a program prints, without the last line's end.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Result<String, TaskError> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| TaskError::File { path: program.into(), error })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(TaskError::Dist(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a static program for x86-64, and nothing behind it. Source: ELF gABI, figure
    /// 4-3.
    fn smallest_program() -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.resize(64, 0);
        for (at, value) in [(16, 2), (18, 62), (20, 1), (52, 64)] {
            head[at] = value;
        }
        head
    }

    #[test]
    fn the_same_program_and_time_give_the_same_file() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("program");
        fs::write(&program, smallest_program()).unwrap();
        let made = ["a", "b"].map(|out| {
            let out = home.path().join(out);
            pack(&program, Manual::default(), 1_700_000_000, &out).unwrap();
            let mut files = fs::read_dir(out).unwrap();
            let file = files.next().unwrap().unwrap();
            assert!(files.next().is_none(), "a static program has no package");
            (file.file_name(), fs::read(file.path()).unwrap())
        });
        assert!(made[0] == made[1]);
        let name = format!("brunt-{VERSION}-x86_64-linux-musl.tar.gz");
        assert_eq!(made[0].0, name.as_str());
    }

    #[test]
    fn every_text_of_the_repository_goes_with_the_program() {
        let texts = texts().unwrap();
        let names: Vec<&str> = texts.iter().map(|(name, _)| name).collect();
        for wanted in [
            "CHANGELOG.md",
            "LICENSE-FONTS",
            "LICENSE-MIT",
            "README.md",
            "docs/guide.md",
            "docs/models/README.md",
            "examples/org.toml",
        ] {
            assert!(names.contains(&wanted), "{wanted}");
        }
    }

    #[test]
    fn links_between_texts_lead_somewhere() {
        let texts = texts().unwrap();
        let names: Vec<&str> = texts.iter().map(|(name, _)| name).collect();
        for (name, file) in texts.iter().filter(|(name, _)| name.ends_with(".md")) {
            let folder = Path::new(name).parent().unwrap();
            let text = String::from_utf8_lossy(&file.bytes);
            for link in text.split("](").skip(1) {
                let to = link.split([')', '#']).next().unwrap();
                if to.is_empty() || to.contains("://") {
                    continue;
                }
                let to = folder.join(to);
                let mut path = PathBuf::new();
                for part in to.components() {
                    match part {
                        std::path::Component::ParentDir => drop(path.pop()),
                        part => path.push(part),
                    }
                }
                let is_there = |other: &&str| Path::new(other).starts_with(&path);
                assert!(names.iter().any(is_there), "{name}: {}", to.display());
            }
        }
    }

    #[test]
    fn another_program_is_refused() {
        let refused = is_this_version(Path::new("/bin/true")).unwrap_err().to_string();
        assert!(refused.contains("/bin/true"), "{refused}");
    }
}
