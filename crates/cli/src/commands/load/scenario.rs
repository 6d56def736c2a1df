//! From the command line and a scenario to what a test of mail servers is to do.
//!
//! A flag replaces the key of its name in `[mail]`, so one reader says what is wrong with either.

use std::path::{self, Path};
use std::rc::Rc;

use brunt_host::load::{
    Asked, Demand, Format, LoadError, LoadOptions, MailFsync, Work, choose, kill_each, power_cut,
};
use brunt_scenario::{
    Document, MailScenario, MailServer, MailStore, MailSync, MailTest, MailUntil, Override, Placed,
    Subject,
};
use brunt_units::Span;
use brunt_users::{Day, Dispatch, Profile, Until};
use clap::ValueEnum;

use super::profiles;
use super::{LoadArgs, LoadCommandError};
use crate::mistakes::Mistakes;
use crate::source::Source;

/// What a test without a scenario is called, and its folder after it.
const NAME: &str = "load";
/// Users log on within this time.
const RAMP_MAX: Span = Span::seconds(60);
/// Users of a test that says nothing about them.
const USERS: u32 = 50;

impl LoadArgs {
    /// The test that the scenario and the flags describe, and `more` that is set.
    ///
    /// # Errors
    /// Everything that is wrong with either.
    pub(super) fn scenario(&self, more: &[Override]) -> Result<MailScenario, Mistakes> {
        let mut overrides = self.overrides()?;
        overrides.extend(more.iter().cloned());
        let document = match &self.scenario {
            None => {
                let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
                Document::new(NAME, "[mail]\n", &folder)?
            }
            Some(path) => Source::of(path, &["without a file: 50 users, a minute"])?.document()?,
        };
        match document.subject() {
            Subject::Mail => Mistakes::none_or(document.check_mail(&overrides)),
            // Says what it describes instead.
            _ => Ok(document.mail(&overrides)?),
        }
    }

    fn overrides(&self) -> Result<Vec<Override>, Mistakes> {
        let word = |value: Option<&dyn Named>| value.map(Named::named);
        let profile = self.profile.as_deref().map(profile_from_here);
        let flags = [
            ("--users", "mail.users", &self.users),
            ("--deliveries", "mail.deliveries", &self.deliveries),
            ("--profile", "mail.profile", &profile),
            ("--day", "mail.day", &self.day),
            ("--duration", "mail.duration", &self.duration),
            ("--until", "mail.until", &word(self.until.as_ref().map(|own| own as _))),
            ("--limit", "mail.limit", &self.limit),
            ("--seed", "mail.seed", &self.seed),
            ("--server", "mail.server", &word(self.server.as_ref().map(|own| own as _))),
            ("--store", "mail.store", &word(self.store.as_ref().map(|own| own as _))),
            (
                "--mail-fsync",
                "mail.mail_fsync",
                &word(self.mail_fsync.as_ref().map(|own| own as _)),
            ),
        ];
        let mut all = Override::all(&self.set, &flags)?;
        all.extend(Override::of_switch("--fill", self.fill, "mail.fill", "true"));
        all.extend(Override::of_switch("--stress", self.stress, "mail.stress", "true"));
        all.extend(Override::of_switch("--no-kill", self.no_kill, "mail.kill", "false"));
        let cut = Override::of_switch("--power-cut", self.power_cut, "mail.power_cut", "true");
        all.extend(cut);
        Ok(all)
    }
}

/// A file on the command line lies where the command is given.
fn profile_from_here(name: &str) -> String {
    let is_file = Profile::built_in(name).is_none() && Path::new(name).exists();
    match path::absolute(name) {
        Ok(path) if is_file => path.to_string_lossy().into_owned(),
        _ => name.to_owned(),
    }
}

/// A value of a flag that is one of several words.
trait Named {
    fn named(&self) -> String;
}

impl<T: ValueEnum> Named for T {
    fn named(&self) -> String {
        self.to_possible_value().expect("every value has a word").get_name().to_owned()
    }
}

/// What a test of servers that are started for it is to do, and what is left out of it and why.
///
/// # Errors
/// [`LoadCommandError`] when there is no such profile, or a server cannot be started.
pub(super) fn options(
    scenario: &MailScenario,
) -> Result<(LoadOptions, Option<String>), LoadCommandError> {
    let mail = &scenario.mail;
    let users = mail.users.unwrap_or(USERS);
    let (plan, left_out) =
        choose(asked(mail), format(mail), fsync(mail), users).map_err(LoadError::from)?;
    let incidents = match (scenario.cuts_power(), scenario.kills()) {
        (true, _) => power_cut(),
        (false, true) => kill_each(&plan),
        (false, false) => scenario.events.clone(),
    };
    Ok((LoadOptions { plan, incidents, demand: demand(mail)? }, left_out))
}

/// What is asked of servers.
///
/// # Errors
/// [`LoadCommandError`] when there is no such profile.
pub(super) fn demand(mail: &MailTest) -> Result<Demand, LoadCommandError> {
    Ok(Demand {
        run: Demand::number(),
        deliveries: mail.deliveries.unwrap_or_default(),
        work: work(mail)?,
        seed: mail.seed,
        limit: mail.limit,
    })
}

/// What users do, if they do more than to wait for mail.
fn work(mail: &MailTest) -> Result<Option<Work>, LoadCommandError> {
    let (Some(profile), Some(length)) = (&mail.profile, mail.day) else {
        return Ok(None);
    };
    let run = mail.duration.unwrap_or(length);
    let ramp = Span(run.0.div_euclid(8)).min(RAMP_MAX);
    let (profile, day) = (profiles::read(profile)?, Day { length, ramp, run });
    let dispatch = if mail.stress { Dispatch::AtOnce } else { Dispatch::WhenDue };
    let until = mail.until.as_ref().map(|until| match until.value {
        MailUntil::TasksWaiting => Until::TasksWaiting,
        MailUntil::Refused => Until::RefusedForGood,
    });
    let fill = match (mail.fill, profile.mailbox_messages) {
        (false, _) => 0,
        (true, Some(messages)) => messages,
        (true, None) => return Err(LoadCommandError::NoMailbox(profile.name)),
    };
    Ok(Some(Work { profile: Rc::new(profile), day, dispatch, until, fill }))
}

fn value<T: Copy>(placed: Option<&Placed<T>>) -> Option<T> {
    placed.map(|placed| placed.value)
}

fn asked(mail: &MailTest) -> Asked {
    match value(mail.server.as_ref()) {
        None => Asked::Whatever,
        Some(MailServer::Dovecot) => Asked::Dovecot,
        Some(MailServer::Postfix) => Asked::Postfix,
        Some(MailServer::Exim) => Asked::Exim,
        Some(MailServer::Cyrus) => Asked::Cyrus,
    }
}

fn format(mail: &MailTest) -> Format {
    match value(mail.store.as_ref()).unwrap_or_default() {
        MailStore::Sdbox => Format::Sdbox,
        MailStore::Maildir => Format::Maildir,
        MailStore::Mdbox => Format::Mdbox,
    }
}

fn fsync(mail: &MailTest) -> MailFsync {
    match value(mail.mail_fsync.as_ref()).unwrap_or_default() {
        MailSync::Optimized => MailFsync::Optimized,
        MailSync::Always => MailFsync::Always,
        MailSync::Never => MailFsync::Never,
    }
}
