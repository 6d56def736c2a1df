//! Exim: the relay that needs no root.
//!
//! It runs in the foreground as our child and looks through its queue every second. Its user is
//! compiled in, and its daemon runs as nobody else: root becomes that user, anybody else enters a
//! user namespace in which they have its number. With a configuration of ours (`-C`) it gives up the
//! rights of its set-uid bit.

mod config;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::accounts::Accounts;
use crate::certificate::Certificate;
use crate::error::ServerError;
use crate::files;
use crate::group::Group;
use crate::programs::{Installed, command, run};
use crate::queue::Queue;
use crate::ready::{self, Greeting};
use crate::user::{User, is_root};

pub(crate) const NAME: &str = "Exim";
/// Its user in Debian's packages, and in others.
const USERS: [&str; 2] = ["Debian-exim", "exim"];
/// Sessions that hand it mail at a time (`smtp_accept_max`); each message is delivered by a process of
/// its own.
pub(crate) const DELIVERIES_AT_ONCE: u32 = 400;
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// The user of Exim on this system.
///
/// # Errors
/// [`ServerError::NoUser`] where it is not installed.
pub(crate) fn user() -> Result<User, ServerError> {
    User::named(USERS[0]).or_else(|error| User::named(USERS[1]).map_err(|_| error))
}

/// Whether this caller can become the user of Exim.
///
/// # Errors
/// Where there is no such user, or the system refuses user namespaces.
pub(crate) fn may_run() -> Result<(), ServerError> {
    let user = user()?;
    match is_root() || user.is_caller() {
        true => Ok(()),
        false => run(in_namespace(&user).arg("/bin/true"), ANSWERS_WITHIN).map(|_| ()),
    }
}

/// A command that runs the following one as `user`, whose number it has in a namespace.
fn in_namespace(user: &User) -> Command {
    let mut command = command(Path::new("/usr/bin/unshare"));
    command.arg("--user");
    command.args([format!("--map-user={}", user.uid), format!("--map-group={}", user.gid)]);
    command.arg("--");
    command
}

/// What Exim is to be.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) home: PathBuf,
    pub(crate) certificate: Certificate,
    pub(crate) user: User,
    /// Where it listens: SMTP, SMTP over TLS.
    pub(crate) smtp: u16,
    pub(crate) smtps: u16,
    /// Where it delivers.
    pub(crate) lmtp: u16,
}

impl Setup {
    /// Makes the folders, and the table of the addresses that exist.
    pub(crate) fn make(&self, accounts: &Accounts) -> Result<(), ServerError> {
        let owner = self.owner();
        files::folder(&self.home, 0o755, &owner)?;
        for name in ["spool", "log"] {
            files::folder(&self.home.join(name), 0o750, &owner)?;
        }
        self.certificate.copy(&self.own_certificate(), &owner)?;
        let names: String = accounts.iter().map(|account| format!("{}\n", account.name)).collect();
        files::write(&self.home.join("addresses"), 0o644, &owner, &names)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.home.join("log/mainlog")
    }

    /// Starts it, and waits until it greets at every port.
    pub(crate) fn start(&self, installed: &Installed) -> Result<Group, ServerError> {
        let text = config::text(self, installed);
        files::write(&self.configuration(), 0o644, &self.owner(), &text)?;
        let mut exim = self.tool(installed);
        let complaints = self.home.join("log/stderr");
        exim.args(["-bdf", "-q1s"]).stdout(Stdio::null()).stderr(files::log(&complaints)?);
        let mut group = Group::start(NAME, &mut exim)?;
        ready::wait(
            NAME,
            &mut group,
            &self.greetings(),
            &[self.home.join("log/paniclog"), complaints],
        )?;
        Ok(group)
    }

    pub(crate) fn greetings(&self) -> Vec<Greeting> {
        vec![
            Greeting { port: self.smtp, begins: "220 " },
            Greeting { port: self.smtps, begins: "" },
        ]
    }

    /// What it still holds, also while it does not run.
    pub(crate) fn queue(&self, installed: &Installed) -> Result<Queue, ServerError> {
        let lines = run(self.tool(installed).arg("-bp"), ANSWERS_WITHIN)?;
        Ok(Queue::of_exim(&lines))
    }

    /// The certificate of the store, where its user can read it.
    fn own_certificate(&self) -> Certificate {
        Certificate::in_folder(&self.home)
    }

    fn configuration(&self) -> PathBuf {
        self.home.join("exim.conf")
    }

    /// Exim, run as its own user.
    fn tool(&self, installed: &Installed) -> Command {
        let mut command = command(&installed.program);
        let (uid, gid) = (self.user.uid, self.user.gid);
        if is_root() {
            command.gid(gid).uid(uid);
        } else if !self.user.is_caller() {
            let environment: Vec<_> = command.get_envs().map(owned).collect();
            command = in_namespace(&self.user);
            command.envs(environment).arg(&installed.program);
        }
        command.arg("-C").arg(self.configuration());
        command
    }

    /// Who owns its files: its user, or the one with that number in a namespace.
    fn owner(&self) -> User {
        if is_root() { self.user.clone() } else { User::caller() }
    }
}

fn owned((name, value): (&OsStr, Option<&OsStr>)) -> (OsString, OsString) {
    (name.to_owned(), value.unwrap_or_default().to_owned())
}
