//! Cyrus IMAP: another store. IMAP, IMAPS and LMTP.
//!
//! It runs in the foreground as our child, asks us whether passwords are right (`passwords`), and
//! has mailboxes only for users whom an administrator has given one (`mailboxes`).

mod config;
mod mailboxes;
mod passwords;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::accounts::{Account, Accounts};
use crate::certificate::Certificate;
use crate::error::ServerError;
use crate::files;
use crate::group::Group;
use crate::programs::{Installed, command};
use crate::ready::{self, Greeting};
use crate::user::User;
use passwords::Passwords;

pub(crate) const NAME: &str = "Cyrus";
/// The folders that it does not make by itself.
const FOLDERS: [&str; 16] = [
    "conf",
    "conf/proc",
    "conf/ptclient",
    "conf/db",
    "conf/user",
    "conf/quota",
    "conf/log",
    "conf/msg",
    "conf/sieve",
    "conf/backup",
    "conf/socket",
    "conf/lock",
    "spool",
    "log",
    "sock",
    "rpm",
];
/// The name of the file that says that the mailboxes were made.
const MADE: &str = "mailboxes-made";

/// What Cyrus is to be.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) home: PathBuf,
    pub(crate) user: User,
    pub(crate) lmtp: u16,
    pub(crate) imap: u16,
    pub(crate) imaps: u16,
}

/// Cyrus while it runs.
pub(crate) struct Running {
    pub(crate) group: Group,
    _passwords: Passwords,
}

impl Setup {
    /// Makes the folders, the accounts and the certificate.
    pub(crate) fn make(&self, accounts: &Accounts) -> Result<(), ServerError> {
        files::folder(&self.home, 0o755, &self.user)?;
        for name in FOLDERS {
            files::folder(&self.home.join(name), 0o755, &self.user)?;
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
        self.home.join("log/stderr")
    }

    /// Starts it, waits until it greets at every port, and makes the mailboxes the first time.
    pub(crate) fn start(
        &self,
        installed: &Installed,
        accounts: &Accounts,
    ) -> Result<Running, ServerError> {
        let programs = installed.program.parent().unwrap_or(Path::new("/usr/lib/cyrus/bin"));
        let [imapd, cyrus] = ["imapd.conf", "cyrus.conf"].map(|name| self.home.join(name));
        files::write(&imapd, 0o644, &self.user, &config::imapd(self))?;
        files::write(&cyrus, 0o644, &self.user, &config::cyrus(self, programs))?;
        let admin = Accounts::administrator()?;
        let passwords = Passwords::serve(&self.home.join("sock/mux"), accounts, &admin)?;
        let mut master = command(&installed.program);
        master.arg("-C").arg(&imapd).arg("-M").arg(&cyrus);
        master.arg("-p").arg(self.home.join("master.pid")).arg("-D");
        master.stdout(Stdio::null()).stderr(files::log(&self.log())?);
        if !self.user.is_caller() {
            master.gid(self.user.gid).uid(self.user.uid);
        }
        let mut group = Group::start(NAME, &mut master)?;
        ready::wait(NAME, &mut group, &self.greetings(), &[self.log()])?;
        let made = self.home.join(MADE);
        if !made.exists() {
            mailboxes::make(self.imap, &admin, accounts)?;
            files::write(&made, 0o644, &User::caller(), "")?;
        }
        Ok(Running { group, _passwords: passwords })
    }

    pub(crate) fn greetings(&self) -> Vec<Greeting> {
        let greeting = |port, begins| Greeting { port, begins };
        vec![greeting(self.lmtp, "220 "), greeting(self.imap, "* OK"), greeting(self.imaps, "")]
    }
}

/// Who may make mailboxes.
pub(crate) type Administrator = Account;
