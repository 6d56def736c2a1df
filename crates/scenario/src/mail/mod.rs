//! A test of mail servers: what is sent or what users do, and the servers.
//!
//! ```toml
//! [mail]                              what `brunt load` does; each key has a flag, which wins
//! profile = "mmb3"
//! users = 50
//! server = "dovecot"                  servers that are started for the test
//!
//! [[event]]                           what is done to them ([`events`])
//! what = "kill"
//! service = "lmtp"
//!
//! [target]                            or servers of the user's own ([`target`])
//! send = "mail.example.org:587"
//! ```
//!
//! Whether servers of the user's own may be tested at all is for the command line to say.

mod events;
mod target;

use std::path::Path;

use brunt_mail::Incident;
use brunt_units::Span;

use super::base::Origin;
use super::format::quoted;
use super::keys::{At, Maybe, Page, SEED, SOME_TIME, SWITCH, TEXT, Whole, Word, keys, time};
use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::top::Top;
use super::tree::Node;
use target::TARGET;

pub use target::{Address, Mechanism, Speaks, Target, Tls};

/// Tables for documents.
pub(super) static TABLES: [&dyn Page; 2] = [&MAIL, &TARGET];

keys! {
    /// What `[mail]` says: a field for each key of [`MAIL`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct MailTest; MAIL = "[mail]";
    /// Users, each with a mailbox; of servers of your own the first accounts of the list.
    users: Option<u32> = None, Maybe(Whole(1..=9_999)), "50, or all accounts of `[target]`";
    /// What users do: the name of a profile, or a TOML file beside the scenario.
    profile: Option<String> = None, Maybe(TEXT), "mail is only sent";
    /// Deliveries without a profile, at least: a message to three recipients is three.
    deliveries: Option<u64> = None, Maybe(Whole(1..=100_000_000)), "5000", |mail| mail.deliveries = mail.profile.is_none().then_some(5_000);
    /// How long a user's day of the profile takes, ten seconds at least.
    day: Option<Span> = None, Maybe(time(read_day, "time")), "`\"2min\"`", |mail| mail.day = mail.profile.is_some().then_some(DAY);
    /// How long users of a profile work.
    duration: Option<Span> = None, Maybe(time(read_day, "time")), "a day", |mail| mail.duration = mail.day;
    /// Whether mailboxes are filled before the day, as the profile says.
    fill: bool = false, SWITCH, "`false`: they begin empty";
    /// Whether each user begins the next task when the last one is done, however many that makes.
    stress: bool = false, SWITCH, "`false`";
    /// The rule whose failure ends the run; no other can fail for good before the end.
    until: Option<Placed<MailUntil>> = None, Maybe(At(Word(&UNTIL))), "the run takes its time";
    /// Longest time from the acceptance of a message until it is there; later is a failure.
    limit: Option<Span> = None, Maybe(SOME_TIME), "none is judged";
    /// The seed of messages and schedules; equal seeds send equal messages.
    seed: u64 = 1, SEED, "1";
    /// Servers that are started for the test.
    server: Option<Placed<MailServer>> = None, Maybe(At(Word(&SERVERS))), "Postfix (root) or Exim before Dovecot, or Dovecot alone";
    /// How Dovecot stores mail.
    store: Option<Placed<MailStore>> = None, Maybe(At(Word(&STORES))), "`\"sdbox\"`";
    /// When Dovecot forces mail to the disk; `"never"` loses mail with the power.
    mail_fsync: Option<Placed<MailSync>> = None, Maybe(At(Word(&SYNCS))), "`\"optimized\"`";
    /// Whether each server that was started for the test is killed once.
    kill: Option<Placed<bool>> = None, Maybe(At(SWITCH)), "`true`, and `false` with `[target]`, `power_cut` or `[[event]]`";
    /// Whether their power is cut once, all at the same time. Needs root.
    power_cut: Option<Placed<bool>> = None, Maybe(At(SWITCH)), "`false`";
}

static SERVERS: [(&str, MailServer); 4] = [
    ("dovecot", MailServer::Dovecot),
    ("postfix", MailServer::Postfix),
    ("exim", MailServer::Exim),
    ("cyrus", MailServer::Cyrus),
];
static STORES: [(&str, MailStore); 3] =
    [("sdbox", MailStore::Sdbox), ("maildir", MailStore::Maildir), ("mdbox", MailStore::Mdbox)];
static SYNCS: [(&str, MailSync); 3] =
    [("optimized", MailSync::Optimized), ("always", MailSync::Always), ("never", MailSync::Never)];
static UNTIL: [(&str, MailUntil); 2] =
    [("users-tasks-waiting", MailUntil::TasksWaiting), ("mail-refused", MailUntil::Refused)];
const DAY: Span = Span::seconds(120);
/// The shortest day: a second has no room for one.
const DAY_MIN: Span = Span::seconds(10);
const DAY_MAX: Span = Span::seconds(30 * 86_400);

/// Servers that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailServer {
    /// Dovecot alone: mail is sent to it by LMTP.
    Dovecot,
    /// Postfix before Dovecot.
    Postfix,
    /// Exim before Dovecot.
    Exim,
    /// Cyrus IMAP alone: mail is sent to it by LMTP.
    Cyrus,
}

/// Formats of Dovecot's store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MailStore {
    /// A file for each message, and Dovecot's own indexes.
    #[default]
    Sdbox,
    /// A file for each message, as qmail has it.
    Maildir,
    /// Many messages in a file.
    Mdbox,
}

/// When Dovecot syncs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MailSync {
    /// Where a loss would be noticed.
    #[default]
    Optimized,
    /// After every write.
    Always,
    /// Never.
    Never,
}

/// Rules that can fail for good while users work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailUntil {
    /// More tasks wait at once than LoadSim allows.
    TasksWaiting,
    /// A server refuses a message for good, for an account that exists.
    Refused,
}

/// A test of mail servers, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct MailScenario {
    /// What it is called.
    pub name: String,
    /// What it is about.
    pub description: String,
    origin: Origin,
    /// What is sent, or what users do; servers that are started for the test.
    pub mail: MailTest,
    /// Servers of the user's own.
    pub target: Option<Target>,
    /// What is done to servers that were started for the test, one after the other.
    pub events: Vec<Incident>,
}

impl MailScenario {
    /// Reads its sections. Relative paths are relative to `folder`.
    pub(super) fn read(top: Top, folder: &Path) -> Self {
        let Top { name, description, origin, mut sections } = top;
        let mut mail = MailTest::default();
        let section = MAIL.read(sections.table("mail"), &mut mail);
        let target = sections.take("target").map(|node| Target::read(node, folder));
        let events = events::read(&mut sections, target.is_some());
        mail.check(&section, target.is_some());
        mail.check_disturbance(&section, !events.is_empty());
        if let Some(profile) = &mut mail.profile
            && (profile.contains('/') || profile.ends_with(".toml"))
        {
            let path = section::joined(folder, Path::new(&*profile));
            *profile = path.to_string_lossy().into_owned();
        }
        let read = Self { name, description, origin, mail, target, events };
        read.check_waiting(&section);
        read
    }

    /// Refuses to wait for a rule that is not judged.
    fn check_waiting(&self, section: &Section) {
        let is_disturbed = self.kills() || self.cuts_power() || !self.events.is_empty();
        if self.mail.awaits_tasks() && !self.mail.stress && is_disturbed {
            let what = "is not judged where servers are killed";
            let hint = "kill = false (--no-kill), without a power cut and [[event]]";
            section.refuse(section.place_of("until").refuse(what).hint(hint));
        }
    }

    /// Whether each server is killed once.
    pub fn kills(&self) -> bool {
        let has_other = self.target.is_some() || self.cuts_power() || !self.events.is_empty();
        self.mail.kill.as_ref().map_or(!has_other, |kill| kill.value)
    }

    /// Whether the power of all servers is cut once.
    pub fn cuts_power(&self) -> bool {
        self.mail.power_cut.as_ref().is_some_and(|cut| cut.value)
    }

    /// The test, resolved. Reading it gives this test again.
    pub fn to_toml(&self) -> String {
        let mut text = self.origin.head();
        let out = &mut text;
        *out += &format!("name = {}\n", quoted(&self.name));
        *out += &format!("description = {}\n", quoted(&self.description));
        MAIL.write(&self.mail, out);
        self.target.iter().for_each(|target| target.write(out));
        events::write(&self.events, out);
        text
    }
}

impl MailTest {
    fn awaits_tasks(&self) -> bool {
        self.until.as_ref().is_some_and(|until| until.value == MailUntil::TasksWaiting)
    }

    /// Refuses keys that contradict others.
    fn check(&self, section: &Section, has_target: bool) {
        let refuse = |key: &str, what: &str, hint: &str| {
            section.refuse(section.place_of(key).refuse(what).hint(hint));
        };
        if self.profile.is_some() && section.written("deliveries") {
            let hint = "keep `profile` or `deliveries`";
            refuse("deliveries", "users send what their profile says", hint);
        }
        let asked = [
            ("day", section.written("day")),
            ("duration", section.written("duration")),
            ("fill", self.fill),
            ("stress", self.stress),
            ("until", self.until.is_some()),
        ];
        for (key, is_asked) in asked {
            if self.profile.is_none() && is_asked {
                refuse(key, "is for users with a profile", "for example: profile = \"mmb3\"");
            }
        }
        if self.awaits_tasks() && self.stress {
            refuse("until", "is about tasks that wait, and under stress none does", "leave it out");
        }
        if self.server.as_ref().is_some_and(|server| server.value == MailServer::Cyrus) {
            for key in ["store", "mail_fsync"] {
                if section.written(key) {
                    refuse(key, "is for Dovecot", "leave it out, or server = \"dovecot\"");
                }
            }
        }
        if has_target {
            for key in ["server", "store", "mail_fsync"] {
                if section.written(key) {
                    let hint = "leave it out, or leave [target] out";
                    refuse(key, "is for servers that brunt starts, and [target] has others", hint);
                }
            }
            for (key, value) in [("kill", &self.kill), ("power_cut", &self.power_cut)] {
                if let Some(value) = value.as_ref().filter(|value| value.value) {
                    let what = "brunt kills only servers that it has started";
                    let hint = format!("{key} = false, or leave [target] out");
                    section.refuse(value.place.refuse(what).hint(hint));
                }
            }
        }
    }

    /// Refuses two ways to say what is done to servers.
    fn check_disturbance(&self, section: &Section, has_events: bool) {
        let is_set = |value: &Option<Placed<bool>>| value.as_ref().is_some_and(|one| one.value);
        let ways = [("kill", &self.kill), ("power_cut", &self.power_cut)];
        let mut ways = ways.into_iter().filter(|(_, value)| is_set(value));
        let place = |key: &str| section.place_of(key);
        if let Some((key, _)) = ways.next().filter(|_| has_events) {
            let refusal = place(key).refuse("is beside [[event]], which says what happens");
            section.refuse(refusal.hint(format!("leave {key} out, or the events")));
        } else if let Some((key, _)) = ways.next() {
            let refusal = place(key).refuse("is beside `kill`: a power cut kills, too");
            section.refuse(refusal.hint("keep one of them, or write [[event]]"));
        }
    }
}

fn read_day(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        day if (DAY_MIN..=DAY_MAX).contains(&day) => Ok(day),
        _ => {
            let refusal = node.place.refuse(format!("is not between {DAY_MIN} and 30 days"));
            Err(refusal.hint("for example \"2min\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Override, Subject};

    fn read_with(text: &str, sets: &[&str]) -> Result<MailScenario, String> {
        let document = Document::new("t.toml", text, Path::new("/srv")).unwrap();
        assert_eq!(document.subject(), Subject::Mail);
        let sets: Vec<Override> = sets.iter().map(|set| Override::of_set(set).unwrap()).collect();
        document.mail(&sets).map_err(|refusal| refusal.to_string())
    }

    fn read(text: &str) -> Result<MailScenario, String> {
        read_with(text, &[])
    }

    const TARGET: &str = "[target]\nsend = \"mx.example.org:587\"\nread = \"[::1]:993\"\naccounts = \"accounts.txt\"\n";

    #[test]
    fn a_test_is_read_and_written_again() {
        let test = read("[mail]\n").unwrap();
        assert_eq!((test.name.as_str(), test.mail.deliveries), ("t", Some(5_000)));
        assert!(test.kills());
        assert_eq!(read(&test.to_toml()).unwrap(), test);
        let all = "[mail]\nusers = 7\nprofile = \"own.toml\"\nday = \"30s\"\nduration = \"1min\"\nlimit = \"5s\"\n\
                   until = \"mail-refused\"\nstress = true\nfill = true\nseed = 9\nserver = \"exim\"\nstore = \"mdbox\"\nmail_fsync = \"never\"\nkill = false\n";
        let test = read(all).unwrap();
        assert_eq!(test.mail.profile.as_deref(), Some("/srv/own.toml"));
        assert_eq!((test.mail.deliveries, test.kills()), (None, false));
        assert_eq!(read(&test.to_toml()).unwrap(), test);
        let users = read("[mail]\nprofile = \"mmb3\"\nday = \"30s\"\n").unwrap().mail;
        assert_eq!((users.profile.as_deref(), users.duration), (Some("mmb3"), users.day));
    }

    #[test]
    fn servers_of_the_user_are_read_and_written_again() {
        let test = read(TARGET).unwrap();
        let target = test.target.as_ref().unwrap();
        assert!(!test.kills());
        assert_eq!((target.send.value.host(), target.send.value.port()), ("mx.example.org", 587));
        assert_eq!((target.read.value.host(), target.read.value.port()), ("::1", 993));
        assert_eq!((target.send_tls, target.read_tls), (Tls::StartTls, Tls::Implicit));
        assert_eq!(target.accounts.value, Path::new("/srv/accounts.txt"));
        assert_eq!(read(&test.to_toml()).unwrap(), test);
        let more = "protocol = \"lmtp\"\nread_tls = \"none\"\nauth = \"scram-sha-256\"\nname = \"mx\"\n\
                    password_file = \"secret\"\nca = \"ca.pem\"\nqueue_command = [\"./queue\", \"-x\"]\ndeadline = \"9s\"\n";
        let test = read(&format!("{TARGET}{more}")).unwrap();
        let target = test.target.as_ref().unwrap();
        assert_eq!((target.protocol, target.send_tls), (Speaks::Lmtp, Tls::None));
        let command = target.queue_command.as_ref().unwrap();
        assert_eq!(command.value, ["/srv/queue", "-x"]);
        assert_eq!(read(&test.to_toml()).unwrap(), test);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_way_out() {
        let refused = |text: &str, said: &str| {
            let whole = read(text).unwrap_err();
            assert!(whole.contains(said) && whole.contains("\n  "), "{whole}");
        };
        refused("[mail]\nday = \"2min\"\n", "is for users with a profile");
        refused("[mail]\nprofile = \"mmb3\"\nday = \"2s\"\n", "is not between 10.0 s and 30 days");
        refused("[mail]\nprofile = \"mmb3\"\ndeliveries = 3\n", "what their profile says");
        refused("[mail]\nserver = \"cyrus\"\nstore = \"mdbox\"\n", "is for Dovecot");
        refused("[mail]\nstress = true\n", "is for users with a profile");
        let until = "[mail]\nprofile = \"mmb3\"\nuntil = \"users-tasks-waiting\"\n";
        refused(until, "is not judged where servers are killed");
        refused(&format!("{until}stress = true\n"), "under stress none does");
        assert!(read(&format!("{until}kill = false\n")).is_ok());
        let cut = format!("{until}kill = false\npower_cut = true\n");
        refused(&cut, "is not judged where servers are killed");
        refused("[mail]\nuser = 4\n", "did you mean `users`?");
        refused(&format!("[mail]\nserver = \"exim\"\n{TARGET}"), "[target] has others");
        refused(&format!("[mail]\nkill = true\n{TARGET}"), "kills only servers that it has");
        refused("[target]\nread = \"a:1\"\naccounts = \"a\"\n", "lacks `send`");
        for (from, to, said) in [
            ("org:587", "org", "is no host with a port"),
            ("[::1]:993", "::1:993", "is no host with a port"),
            ("org:587", "org:0", "is no host with a port"),
            ("mx.example", "mx example", "is no host with a port"),
        ] {
            refused(&TARGET.replace(from, to), said);
        }
        refused(&format!("{TARGET}ca = \"a\"\ncertificate = \"b\"\n"), "the only one to trust");
        refused(&format!("{TARGET}queue_command = []\n"), "names no program");
        refused(&format!("{TARGET}insecure = true\n"), "unknown key");
        refused(&format!("{TARGET}allow = \"mx\"\n"), "unknown key");
    }

    #[test]
    fn a_flag_replaces_what_says_the_same_in_another_way() {
        let test = read_with("[mail]\nprofile = \"mmb3\"\n", &["mail.deliveries=7"]).unwrap();
        assert_eq!((test.mail.profile, test.mail.deliveries), (None, Some(7)));
        let test = read_with("[mail]\ndeliveries = 7\n", &["mail.profile=mmb3"]).unwrap();
        assert_eq!((test.mail.profile.as_deref(), test.mail.deliveries), (Some("mmb3"), None));
    }
}
