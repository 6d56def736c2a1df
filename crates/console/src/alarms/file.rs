//! The file of alarms on this machine.
//!
//! Its commands run as the user of the console. So a file that others can write is refused, before a
//! word of it is read.

use std::io;
use std::path::{Path, PathBuf};

use brunt_drill::judge;
use brunt_host::exec;
use brunt_host::own_file::{OwnFile, OwnFileError};
use brunt_qualify::rules::RuleId;
use brunt_scenario::{AlarmPlan, Refusal, read_alarms};

use super::machine::Alarms;

/// Longer than any file of alarms that a person writes.
const LENGTH_MAX: u64 = 1 << 20;

/// Why there are no alarms.
#[derive(Debug, thiserror::Error)]
pub enum AlarmsError {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// It is a folder, a pipe, or too long.
    #[error("{}: is not a text file of up to 1 MiB", .0.display())]
    NotAFile(PathBuf),
    /// Another user could run programs as this one.
    #[error("{}: others can write it, and its commands run as you\n  chmod go-w {}", .0.display(), .0.display())]
    Writable(PathBuf),
    #[error("{}: belongs to another user, and its commands run as you\n  make a copy of your own", .0.display())]
    Foreign(PathBuf),
    /// Everything that is wrong in it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
}

impl Alarms {
    /// Reads the alarms in the file `path`.
    ///
    /// # Errors
    /// [`AlarmsError`] when it cannot be read, others can write it, or something in it is wrong.
    pub fn read(path: &Path) -> Result<Self, AlarmsError> {
        let text = text_of(path)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder = std::path::absolute(parent.join("."));
        let folder = folder.map_err(|error| AlarmsError::File { path: path.to_owned(), error })?;
        let ids = RuleId::ALL.iter().map(|id| id.name().id);
        let rules: Vec<&str> = ids.chain(judge::RULES.iter().map(|rule| rule.id)).collect();
        let plans = read_alarms(&path.to_string_lossy(), &text, &folder, &rules);
        let plans = plans.map_err(AlarmsError::Refused)?;
        let missing: Vec<Refusal> = plans.iter().filter_map(missing).collect();
        match missing.is_empty() {
            true => Ok(Self::of(plans)),
            false => Err(AlarmsError::Refused(missing)),
        }
    }
}

/// The refusal of a command whose program is not there.
fn missing(plan: &AlarmPlan) -> Option<Refusal> {
    let program = plan.run.value.first()?;
    exec::found(program).is_none().then(|| {
        plan.run.place.refuse("there is no such program").hint(format!(
            "a program with a slash is relative to this file; others are looked for in {}",
            exec::PATH
        ))
    })
}

fn text_of(path: &Path) -> Result<String, AlarmsError> {
    let file = OwnFile { refused: 0o022, follows_links: true, most: LENGTH_MAX };
    file.read(path).map_err(|error| {
        let path = path.to_owned();
        match error {
            OwnFileError::Io(error) => AlarmsError::File { path, error },
            OwnFileError::NotAFile | OwnFileError::TooLong => AlarmsError::NotAFile(path),
            OwnFileError::Open => AlarmsError::Writable(path),
            OwnFileError::Foreign => AlarmsError::Foreign(path),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn read(text: &str, mode: u32) -> Result<Alarms, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alarms.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let prefix = format!("{}/", folder.path().display());
        Alarms::read(&path).map_err(|error| error.to_string().replace(&prefix, ""))
    }

    const GOOD: &str = "[[alarm]]\nwhen = \"run ended\"\nrun = [\"true\"]\n";

    #[test]
    fn a_file_that_others_can_write_is_refused() {
        assert!(read(GOOD, 0o644).is_ok());
        assert!(read(GOOD, 0o600).is_ok());
        for mode in [0o664, 0o646, 0o666] {
            let said = read(GOOD, mode).unwrap_err();
            let wanted = "alarms.toml: others can write it, and its commands run as you\n  chmod go-w alarms.toml";
            assert_eq!(said, wanted, "{mode:o}");
        }
    }

    #[test]
    fn folders_long_files_and_programs_that_are_not_there_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Alarms::read(folder.path()), Err(AlarmsError::NotAFile(_))));
        let long = format!("{GOOD}#{}", "x".repeat(1 << 20));
        assert!(read(&long, 0o600).unwrap_err().contains("1 MiB"));
        let said = read(&GOOD.replace("true", "no-such-program"), 0o600).unwrap_err();
        let wanted = "alarms.toml:3: `run = [\"no-such-program\"]`: there is no such program";
        assert!(said.starts_with(wanted), "{said}");
        let said = read(&GOOD.replace("ended", "endd"), 0o600).unwrap_err();
        assert!(said.ends_with("did you mean \"run ended\"?"), "{said}");
    }
}
