//! The programs of servers: where they are, which version, and commands that end in time.

use std::fmt;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::exim;
use crate::files;

/// Where programs are looked for: those of servers are not on every user's path.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Names a folder into which packages of servers were unpacked and not installed (`dpkg -x`).
const UNPACKED: &str = "BRUNT_UNPACKED_SERVERS";
/// The variable that says where their libraries are.
pub(crate) const LIBRARIES: &str = "LD_LIBRARY_PATH";
/// Where libraries lie below it.
const LIBRARIES_IN: [&str; 4] =
    ["usr/lib/cyrus", "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib"];
/// How long a command may take that prints a version.
const SAYS_WITHIN: Duration = Duration::from_secs(20);
/// Bytes that are kept of what a command says: the queue of a million messages has more, and
/// nobody reads it to the end.
const WORDS_MAX: usize = 256 << 20;
const LOOK: Duration = Duration::from_millis(2);

/// A version: what decides how a configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second one.
    pub minor: u32,
    /// The third one, or zero.
    pub patch: u32,
}

impl Version {
    /// The first word of `said` as a version: `2.3.19.1 (9b53102964)`, `2.4.1-4 (7d8c0e5759)`.
    fn parse(said: &str) -> Option<Self> {
        let word = said.split_whitespace().next()?;
        let mut numbers = word.split(|char: char| !char.is_ascii_digit()).map(str::parse);
        Some(Self {
            major: numbers.next()?.ok()?,
            minor: numbers.next()?.ok()?,
            patch: numbers.next().and_then(Result::ok).unwrap_or(0),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A server's program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The program.
    pub program: PathBuf,
    /// Its version.
    pub version: Version,
}

impl Installed {
    /// Dovecot on this machine.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`], or [`ServerError::Version`] for one that is not 2.3 or 2.4.
    pub fn dovecot() -> Result<Self, ServerError> {
        let lmtp = ["/usr/lib/dovecot/lmtp", "/usr/libexec/dovecot/lmtp"];
        let found = found("dovecot").filter(|_| lmtp.iter().any(|at| Path::new(at).exists()));
        let missing = ServerError::NotInstalled {
            program: "dovecot with IMAP and LMTP",
            package: "dovecot-imapd dovecot-lmtpd",
        };
        let program = found.ok_or(missing)?;
        let said = run(Command::new(&program).arg("--version"), SAYS_WITHIN)?;
        match Version::parse(&said) {
            Some(version) if (2, 3) <= (version.major, version.minor) => {
                Ok(Self { program, version })
            }
            _ => Err(ServerError::Version { program: "dovecot", said: files::last_lines(&said) }),
        }
    }

    /// Exim on this machine.
    ///
    /// # Errors
    /// As [`Self::dovecot`].
    pub fn exim() -> Result<Self, ServerError> {
        let missing = ServerError::NotInstalled { program: "exim4", package: "exim4" };
        let program = found("exim4").or_else(|| found("exim")).ok_or(missing)?;
        // Without an own configuration it does not even say its version.
        let said = run(command(&program).args(["-C", "/dev/null", "-bV"]), SAYS_WITHIN)?;
        // Exim version 4.96 #2 built 14-Jun-2024 09:01:27
        let version = said.lines().find_map(|line| line.strip_prefix("Exim version "));
        match Version::parse(version.unwrap_or_default()) {
            Some(version) if (4, 94) <= (version.major, version.minor) => {
                exim::may_run()?;
                Ok(Self { program, version })
            }
            _ => Err(ServerError::Version { program: "exim4", said: files::last_lines(&said) }),
        }
    }

    /// Cyrus IMAP on this machine.
    ///
    /// # Errors
    /// As [`Self::dovecot`].
    pub fn cyrus() -> Result<Self, ServerError> {
        let places = ["usr/lib/cyrus/bin", "usr/lib/cyrus-imapd", "usr/libexec/cyrus-imapd"];
        let masters = roots().flat_map(|root| places.map(|place| root.join(place).join("master")));
        let missing = ServerError::NotInstalled { program: "cyrus master", package: "cyrus-imapd" };
        let program = masters.into_iter().find(|path| is_program(path)).ok_or(missing)?;
        let said = run(command(&program).arg("-V"), SAYS_WITHIN)?;
        // cyrus-imapd 3.6.1-Debian-3.6.1-4+deb12u3
        match Version::parse(said.strip_prefix("cyrus-imapd ").unwrap_or_default()) {
            Some(version) if version.major >= 3 => Ok(Self { program, version }),
            _ => Err(ServerError::Version { program: "cyrus", said: files::last_lines(&said) }),
        }
    }

    /// Postfix on this machine.
    ///
    /// # Errors
    /// As [`Self::dovecot`].
    pub fn postfix() -> Result<Self, ServerError> {
        let missing = ServerError::NotInstalled { program: "postfix", package: "postfix" };
        let program = found("postfix").ok_or(missing)?;
        let postconf = program.with_file_name("postconf");
        let said = run(Command::new(postconf).args(["-d", "-h", "mail_version"]), SAYS_WITHIN)?;
        // Its own log file (`maillog_file`) came with 3.4.
        match Version::parse(&said) {
            Some(version) if (3, 4) <= (version.major, version.minor) => {
                Ok(Self { program, version })
            }
            _ => Err(ServerError::Version { program: "postfix", said: files::last_lines(&said) }),
        }
    }
}

/// The file that `program` is.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let folders = roots().flat_map(|root| {
        PATH.split(':').map(move |folder| root.join(folder.trim_start_matches('/')))
    });
    folders.map(|folder| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let status = path.metadata();
    status.is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
}

/// Where programs lie: on the system, and where they were unpacked.
fn roots() -> impl Iterator<Item = PathBuf> {
    let unpacked = std::env::var_os(UNPACKED).map(PathBuf::from);
    std::iter::once(PathBuf::from("/")).chain(unpacked)
}

/// A command without our environment.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
    if let Some(root) = std::env::var_os(UNPACKED).map(PathBuf::from)
        && program.starts_with(&root)
    {
        let folders = LIBRARIES_IN.map(|folder| root.join(folder).display().to_string());
        command.env(LIBRARIES, folders.join(":"));
    }
    command
}

/// What `command` prints, once it has ended well. Daemons that it leaves behind are not waited for.
///
/// # Errors
/// [`ServerError::Command`] when it cannot be run, fails, or takes longer than `patience`.
pub(crate) fn run(command: &mut Command, patience: Duration) -> Result<String, ServerError> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    let name = name.to_string_lossy().into_owned();
    let failed = |why: String| ServerError::Command { command: name.clone(), why };
    let system = |error: io::Error| failed(error.to_string());
    let (mut said, stdout) = io::pipe().map_err(system)?;
    let (mut complaints, stderr) = io::pipe().map_err(system)?;
    for pipe in [&said, &complaints] {
        rustix::io::ioctl_fionbio(pipe, true).map_err(|error| system(error.into()))?;
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().map_err(system)?;
    // Our ends of its pipes go with these.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let until = Instant::now() + patience;
    let [mut words, mut errors] = [Vec::new(), Vec::new()];
    loop {
        let ended = child.try_wait().map_err(system)?;
        hear(&mut said, &mut words);
        hear(&mut complaints, &mut errors);
        let why = |how: String, words: &[u8]| {
            let words = files::last_lines(&String::from_utf8_lossy(words));
            if words.is_empty() { how } else { format!("{how}: {words}") }
        };
        match ended {
            Some(status) if status.success() => {
                return Ok(String::from_utf8_lossy(&words).into_owned());
            }
            Some(status) => {
                let words = if errors.is_empty() { &words } else { &errors };
                return Err(failed(why(status.to_string(), words)));
            }
            None if Instant::now() >= until => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(why(
                    format!("no end within {} s", patience.as_secs()),
                    &errors,
                )));
            }
            None => thread::sleep(LOOK),
        }
    }
}

/// Hears what a pipe has, without waiting.
fn hear(pipe: &mut PipeReader, words: &mut Vec<u8>) {
    let mut piece = [0; 16 << 10];
    loop {
        match pipe.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                let room = WORDS_MAX.saturating_sub(words.len());
                words.extend_from_slice(&piece[..length.min(room)]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_servers_say_them() {
        let version = |major, minor, patch| Some(Version { major, minor, patch });
        assert_eq!(Version::parse("2.3.19.1 (9b53102964)\n"), version(2, 3, 19));
        assert_eq!(Version::parse("2.4.1-4 (7d8c0e5759)"), version(2, 4, 1));
        assert_eq!(Version::parse("3.7"), version(3, 7, 0));
        assert_eq!(Version::parse("3.10-20240504"), version(3, 10, 20_240_504));
        assert_eq!(Version::parse("none"), None);
        assert_eq!(Version::parse(""), None);
    }

    fn shell(script: &str, patience: Duration) -> Result<String, ServerError> {
        run(command(Path::new("/bin/sh")).args(["-c", script]), patience)
    }

    #[test]
    fn a_command_is_heard_to_its_end_and_not_longer() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo one; sleep 60 & exit 0", long).unwrap(), "one\n");
        let many = shell("head -c 3000000 /dev/zero", long).unwrap();
        assert_eq!(many.len(), 3_000_000);
        let failed = shell("echo out; echo two >&2; exit 3", long).unwrap_err().to_string();
        assert_eq!(failed, "sh: exit status: 3: two");
        let late = shell("echo busy >&2; exec sleep 60", Duration::from_millis(200)).unwrap_err();
        assert!(late.to_string().starts_with("sh: no end within 0 s"), "{late}");
    }
}
