//! What a test does to servers: kill, freeze, cut the power, take the room of a disk or of mailboxes.

use brunt_mail::incident::{Part, Service};
use rustix::process::Signal;

use crate::error::ServerError;
use crate::system::{MailSystem, Relay, Store};
use crate::volume::Volume;

/// The program of a service; nothing where the server has none of its own for it.
fn program(service: Service, store: Store, relay: Option<Relay>) -> Option<&'static str> {
    match (service, store, relay) {
        (Service::Lmtp, Store::Dovecot { .. }, _) => Some("lmtp"),
        (Service::Lmtp, Store::Cyrus, _) => Some("lmtpd"),
        (Service::Imap, Store::Dovecot { .. }, _) => Some("imap"),
        (Service::Imap, Store::Cyrus, _) => Some("imapd"),
        (Service::Auth, Store::Dovecot { .. }, _) => Some("auth"),
        (Service::Master(Part::Store), Store::Dovecot { .. }, _) => Some("dovecot"),
        (Service::Master(Part::Store), Store::Cyrus, _)
        | (Service::Master(Part::Relay), _, Some(Relay::Postfix)) => Some("master"),
        (Service::Queue, _, Some(Relay::Postfix)) => Some("qmgr"),
        _ => None,
    }
}

/// What a power cut did to the file systems, apart from mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whether a file that was not synced is lost on each of them. If not, the cut proves nothing.
    pub lost_unsynced: bool,
}

impl MailSystem {
    /// Kills every process of `part` (SIGKILL), and waits until they are gone.
    ///
    /// # Errors
    /// [`ServerError::NotRunning`], [`ServerError::Undead`].
    pub fn kill(&mut self, part: Part) -> Result<(), ServerError> {
        self.running(part)?.kill()
    }

    /// Kills the processes of one service; their server starts new ones. Returns how many.
    ///
    /// Dovecot puts off a service whose processes die again and again, for 2, 4, 8 seconds.
    ///
    /// # Errors
    /// [`ServerError::NoService`] when there is none at the moment.
    pub fn kill_service(&mut self, service: Service) -> Result<usize, ServerError> {
        self.signal_service(service, Signal::KILL)
    }

    /// Stops the processes of one service where they are (SIGSTOP).
    ///
    /// # Errors
    /// As [`Self::kill_service`].
    pub fn freeze_service(&mut self, service: Service) -> Result<(), ServerError> {
        self.signal_service(service, Signal::STOP).map(drop)
    }

    fn signal_service(&mut self, service: Service, signal: Signal) -> Result<usize, ServerError> {
        let (store, relay) = (self.plan().store, self.plan().relay);
        let group = self.running(service.part())?;
        match program(service, store, relay) {
            Some(program) => group.signal_service(program, signal),
            None => Err(ServerError::NoService { server: group.server(), service: service.name() }),
        }
    }

    /// Stops every process of `part` where it is (SIGSTOP).
    ///
    /// # Errors
    /// [`ServerError::NotRunning`].
    pub fn freeze(&mut self, part: Part) -> Result<(), ServerError> {
        self.running(part)?.signal(Signal::STOP);
        Ok(())
    }

    /// Lets `part` go on (SIGCONT).
    ///
    /// # Errors
    /// [`ServerError::NotRunning`].
    pub fn thaw(&mut self, part: Part) -> Result<(), ServerError> {
        self.running(part)?.signal(Signal::CONT);
        Ok(())
    }

    /// Stops `part` in an orderly way; [`Self::start_part`] starts it again.
    ///
    /// # Errors
    /// [`ServerError::NotRunning`], [`ServerError::Undead`].
    pub fn stop_part(&mut self, part: Part) -> Result<(), ServerError> {
        self.running(part)?.stop()
    }

    /// Waits until `part` greets at every port again, after one of its services was killed.
    ///
    /// # Errors
    /// [`ServerError::NotStarted`].
    pub fn greets(&mut self, part: Part) -> Result<(), ServerError> {
        match part {
            Part::Store => self.store.greets(),
            Part::Relay => self.relay.as_mut().ok_or(ServerError::NoQueue)?.greets(),
        }
    }

    /// Cuts the power of the file systems of `parts`, kills their servers, and mounts again what is
    /// left. The servers wait to be started.
    ///
    /// # Errors
    /// [`ServerError::NoVolume`] when a part has no file system of its own; when the system does not
    /// unmount or mount it.
    pub fn cut_power(&mut self, parts: &[Part]) -> Result<Cut, ServerError> {
        for part in parts {
            self.volume(*part)?.write_unsynced()?;
        }
        for part in parts {
            self.volume(*part)?.cut()?;
        }
        for part in parts {
            self.running(*part)?.kill()?;
            // What else of it has files open there.
            self.drop_running(*part);
        }
        let mut cut = Cut { lost_unsynced: true };
        for part in parts {
            cut.lost_unsynced &= self.volume(*part)?.power_on()?;
        }
        Ok(cut)
    }

    /// Leaves no room on the file system of `part`.
    ///
    /// # Errors
    /// [`ServerError::NoVolume`] when it has none of its own.
    pub fn fill(&self, part: Part) -> Result<(), ServerError> {
        self.volume(part)?.fill()
    }

    /// Gives the room back that [`Self::fill`] took.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub fn free(&self, part: Part) -> Result<(), ServerError> {
        self.volume(part)?.free()
    }

    /// Leaves no room in any mailbox: what is delivered from now on is refused for the moment (4xx).
    ///
    /// # Errors
    /// [`ServerError::NoLimits`] when mailboxes have none ([`Self::give_limits`]).
    pub fn fill_mailboxes(&self) -> Result<(), ServerError> {
        self.store.limit(&self.accounts, true)
    }

    /// Gives the room back that [`Self::fill_mailboxes`] took.
    ///
    /// # Errors
    /// As [`Self::fill_mailboxes`].
    pub fn free_mailboxes(&self) -> Result<(), ServerError> {
        self.store.limit(&self.accounts, false)
    }

    fn volume(&self, part: Part) -> Result<&Volume, ServerError> {
        let found = self.volumes.iter().find(|(of, _)| *of == part);
        found.map(|(_, volume)| volume).ok_or(ServerError::NoVolume)
    }
}
