//! Dovecot: the store. IMAP, IMAPS, LMTP, and submission where there is a relay behind it.
//!
//! It runs in the foreground as our child. Everything it writes lies below its folder:
//!
//! ```text
//!   dovecot/ dovecot.conf  passwd  cert.pem  key.pem     read
//!            limits                                      how much each mailbox may hold, where that changes
//!            run/ state/ log/                            sockets, state, log
//!            mail/u0000/ ..                              the mailboxes
//! ```

mod config;

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::accounts::{Account, Accounts};
use crate::certificate::Certificate;
use crate::error::ServerError;
use crate::files;
use crate::group::Group;
use crate::programs::{Installed, command};
use crate::ready::{self, Greeting};
use crate::user::User;

pub(crate) const NAME: &str = "Dovecot";
const SECOND: Duration = Duration::from_secs(1);
/// Dovecot's clock is that of its last event.
const SOON: Duration = Duration::from_millis(20);

/// How Dovecot stores mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A file for each message, Dovecot's own indexes.
    #[default]
    Sdbox,
    /// A file for each message, the format of qmail.
    Maildir,
    /// Many messages in a file.
    Mdbox,
}

impl Format {
    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sdbox => "sdbox",
            Self::Maildir => "maildir",
            Self::Mdbox => "mdbox",
        }
    }

    /// The folder in the home of a user.
    fn folder(self) -> &'static str {
        match self {
            Self::Sdbox => "sdbox",
            Self::Maildir => "Maildir",
            Self::Mdbox => "mdbox",
        }
    }
}

/// When Dovecot forces mail to the disk before it answers 250.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailFsync {
    /// Where a loss would be noticed: what Dovecot does by itself.
    #[default]
    Optimized,
    /// After every write.
    Always,
    /// Never: mail that was accepted is lost with the power. For controls, which must fail.
    Never,
}

impl MailFsync {
    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimized => "optimized",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// What Dovecot is to be.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) home: PathBuf,
    pub(crate) format: Format,
    pub(crate) fsync: MailFsync,
    pub(crate) user: User,
    pub(crate) ports: Ports,
    /// Whether mailboxes have limits, which can be lowered while it runs.
    pub(crate) has_limits: bool,
}

/// Where it listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) lmtp: u16,
    pub(crate) imap: u16,
    pub(crate) imaps: u16,
    /// Submission, and the port of the relay to which it hands mail on.
    pub(crate) submission: Option<(u16, u16)>,
}

impl Setup {
    /// Makes the folders, the accounts and the certificate.
    pub(crate) fn make(&self, accounts: &Accounts) -> Result<(), ServerError> {
        let home = &self.home;
        files::folder(home, 0o755, &self.user)?;
        for (name, mode) in [("run", 0o755), ("state", 0o700), ("log", 0o755), ("mail", 0o700)] {
            files::folder(&home.join(name), mode, &self.user)?;
        }
        accounts.keep(&self.accounts(), &self.user)?;
        self.certificate().make(&self.user)
    }

    pub(crate) fn accounts(&self) -> PathBuf {
        self.home.join("passwd")
    }

    pub(crate) fn certificate(&self) -> Certificate {
        Certificate::in_folder(&self.home)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.home.join("log/dovecot.log")
    }

    /// The file of the limits, which is read again when it changes.
    fn limits(&self) -> PathBuf {
        self.home.join("limits")
    }

    /// Leaves mailboxes of `accounts` no room, or any; returns when Dovecot knows it.
    ///
    /// It looks at the file once in each second of the clock, and reads it again when the second of
    /// its last change is another one.
    pub(crate) fn limit(
        &self,
        accounts: &Accounts,
        are_full: bool,
        installed: &Installed,
    ) -> Result<(), ServerError> {
        let path = self.limits();
        let before = fs::metadata(&path).and_then(|file| file.modified()).ok();
        self.write_limits(accounts, are_full, installed)?;
        let another = before.map_or(UNIX_EPOCH, |before| before + SECOND).max(SystemTime::now());
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_modified(another)).map_err(files::at(&path))?;
        let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let next = SECOND.saturating_sub(Duration::from_nanos(passed.subsec_nanos().into()));
        thread::sleep(next + SOON);
        Ok(())
    }

    fn write_limits(
        &self,
        accounts: &Accounts,
        are_full: bool,
        installed: &Installed,
    ) -> Result<(), ServerError> {
        let field = if are_full { config::full(installed.version) } else { "" };
        let line = |account: &Account| format!("{}:::::::{field}\n", account.name);
        let text: String = accounts.iter().map(line).collect();
        files::write(&self.limits(), 0o600, &self.user, &text)
    }

    /// Starts it, and waits until it greets at every port.
    pub(crate) fn start(
        &self,
        installed: &Installed,
        accounts: &Accounts,
    ) -> Result<Group, ServerError> {
        if self.has_limits {
            self.write_limits(accounts, false, installed)?;
        }
        let configuration = self.home.join("dovecot.conf");
        files::write(&configuration, 0o644, &self.user, &config::text(self, installed.version))?;
        // What a killed one has left: its number may be another's by now.
        let _ = fs::remove_file(self.home.join("run/master.pid"));
        let complaints = self.home.join("log/stderr");
        let mut dovecot = command(&installed.program);
        dovecot.arg("-F").arg("-c").arg(&configuration);
        dovecot.stdout(Stdio::null()).stderr(files::log(&complaints)?);
        if !self.user.is_caller() {
            dovecot.gid(self.user.gid).uid(self.user.uid);
        }
        let mut group = Group::start(NAME, &mut dovecot)?;
        ready::wait(NAME, &mut group, &self.greetings(), &[self.log(), complaints])?;
        Ok(group)
    }

    pub(crate) fn greetings(&self) -> Vec<Greeting> {
        let ports = &self.ports;
        let greeting = |port, begins| Greeting { port, begins };
        let mut greetings = vec![
            greeting(ports.lmtp, "220 "),
            greeting(ports.imap, "* OK"),
            greeting(ports.imaps, ""),
        ];
        greetings.extend(ports.submission.map(|(port, _)| greeting(port, "220 ")));
        greetings
    }
}

/// The folder of the mailboxes of `account` in a store of `format` that lies in `home`.
pub(crate) fn mailboxes(home: &Path, format: Format, account: &str) -> PathBuf {
    home.join("mail").join(account).join(format.folder())
}
