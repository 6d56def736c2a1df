//! Postfix: the relay, which accepts mail by SMTP, keeps it in a queue, and delivers it by LMTP.
//!
//! It needs root. `postfix start` leaves a daemon that has made a session of its own; the file
//! `queue/pid/master.pid` says which. (`start-fg` keeps a shell in front of it, whose end the daemon
//! does not notice.)

mod config;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::accounts::Accounts;
use crate::certificate::Certificate;
use crate::error::ServerError;
use crate::files;
use crate::group::Group;
use crate::guard::Guard;
use crate::processes::{Listener, listener};
use crate::programs::{Installed, command, run};
use crate::queue::Queue;
use crate::ready::{self, Greeting};
use crate::user::{User, is_root};

pub(crate) const NAME: &str = "Postfix";
/// The user of its daemons, who exists where Postfix is installed.
pub(crate) const OWNER: &str = "postfix";
/// Messages that it delivers at a time (`lmtp_destination_concurrency_limit`).
pub(crate) const DELIVERIES_AT_ONCE: u32 = 20;
const STARTS_WITHIN: Duration = Duration::from_secs(60);
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// What Postfix is to be.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) home: PathBuf,
    pub(crate) certificate: Certificate,
    /// Where it listens: SMTP, SMTP over TLS.
    pub(crate) smtp: u16,
    pub(crate) smtps: u16,
    /// Where it delivers.
    pub(crate) lmtp: u16,
}

impl Setup {
    /// Makes the folders, and the table of the addresses that exist.
    pub(crate) fn make(&self, accounts: &Accounts) -> Result<(), ServerError> {
        if !is_root() {
            return Err(ServerError::NeedsRoot(NAME));
        }
        let root = User::caller();
        files::folder(&self.home, 0o755, &root)?;
        for name in ["etc", "queue", "log"] {
            files::folder(&self.home.join(name), 0o755, &root)?;
        }
        let owner = User::named(OWNER)?;
        files::folder(&self.home.join("data"), 0o700, &owner)?;
        // Some of its tools have something to say when they have become that user already, and end
        // where they cannot.
        files::write(&self.log(), 0o644, &owner, "")?;
        let addresses = accounts.iter().map(|account| format!("{} ok\n", account.address()));
        let table = self.home.join("etc/addresses");
        files::write(&table, 0o644, &root, &addresses.collect::<String>())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.home.join("log/postfix.log")
    }

    /// Starts it, and waits until it greets at every port.
    pub(crate) fn start(&self, installed: &Installed) -> Result<Group, ServerError> {
        let root = User::caller();
        let etc = self.home.join("etc");
        files::write(&etc.join("main.cf"), 0o644, &root, &config::main(self, installed))?;
        files::write(&etc.join("master.cf"), 0o644, &root, &config::master(self))?;
        for port in [self.smtp, self.smtps] {
            if listener(port, &[]) != Listener::None {
                let why = format!("another process listens at port {port}, and it would share it");
                return Err(ServerError::NotStarted { server: NAME, why });
            }
        }
        let queue = self.home.join("queue");
        let file = queue.join("pid/master.pid");
        // Until its group has a guard of its own.
        let guard = Guard::await_daemon(&file, &queue).map_err(files::at(&queue))?;
        let started = run(self.tool(installed, "postfix").arg("start"), STARTS_WITHIN);
        started.map_err(|error| {
            let words = files::last_words(&self.log());
            ServerError::NotStarted { server: NAME, why: format!("{error}; {words}") }
        })?;
        let pid = fs::read_to_string(&file).map_err(files::at(&file))?;
        let pid = pid.trim().parse().map_err(|_| ServerError::NotStarted {
            server: NAME,
            why: format!("{} has no number", file.display()),
        })?;
        let mut group = Group::adopt(NAME, pid)?;
        drop(guard);
        ready::wait(NAME, &mut group, &self.greetings(), &[self.log()])?;
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
        let lines = run(self.tool(installed, "postqueue").arg("-j"), ANSWERS_WITHIN)?;
        Ok(Queue::of_postfix(&lines))
    }

    /// Tries everything that was put off again, now.
    pub(crate) fn flush(&self, installed: &Installed) -> Result<(), ServerError> {
        run(self.tool(installed, "postqueue").arg("-f"), ANSWERS_WITHIN).map(|_| ())
    }

    fn tool(&self, installed: &Installed, name: &str) -> Command {
        let mut command = command(&installed.program.with_file_name(name));
        command.arg("-c").arg(self.home.join("etc"));
        command
    }
}
