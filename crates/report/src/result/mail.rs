//! A test of mail servers: who sent what, what was promised, and what became of it.

use serde::{Deserialize, Serialize};

use super::{
    Backend, Details, Limits, Machine, MailUsage, MailWork, Origin, Rule, RunResult, SCHEMA,
    Server, ServerDetails, Setup, Storage, Tested, Times, Verdict, World,
};

/// The results of a test of mail servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mail {
    /// Mailboxes that took part.
    pub users: u64,
    /// The servers, in the order in which mail passes them.
    pub servers: Vec<MailServer>,
    /// How mail was sent: `smtp`, `lmtp`.
    pub submission: String,
    /// Messages that were begun.
    pub messages: u64,
    /// Deliveries of them: a message to three recipients is three.
    pub deliveries: u64,
    /// How long mail was sent.
    pub sending_s: f64,
    /// Messages that were sent to their end, for each minute of that.
    pub submitted_per_min: Option<f64>,
    /// Deliveries that were accepted, for each minute of that.
    pub accepted_per_min: Option<f64>,
    /// From the beginning of a message to its last answer; null when nothing was answered.
    pub acceptance: Option<MailLatency>,
    /// From the acceptance until a user sees the message; null when it was not measured.
    pub visible: Option<MailLatency>,
    /// From the acceptance until a user is told of the message; null when it was not measured.
    pub told: Option<MailLatency>,
    /// What users did; null when mail was only sent.
    pub work: Option<MailWork>,
    /// What servers, storage and brunt used; null when it was not looked at.
    #[serde(default)]
    pub usage: Option<MailUsage>,
    /// Deliveries by what became of them.
    pub ledger: MailLedger,
    /// Deliveries that are not as promised: of each outcome the first ones.
    pub findings: Vec<MailFinding>,
    /// What was done to the servers.
    pub faults: Vec<MailFault>,
    /// Whether power cuts lost a file that was not synced; null when there was no cut. One that
    /// did not proves nothing.
    #[serde(default)]
    pub cut_loses_unsynced: Option<bool>,
    /// Folders that began anew after a power cut, with a greater UIDVALIDITY: clients fetch them again.
    #[serde(default)]
    pub folders_renewed: u64,
    /// The same cut with servers that do not sync; null when there was none.
    #[serde(default)]
    pub control: Option<MailControl>,
    /// What the relay still held before the audit; null when it was not known.
    pub queue: Option<MailQueue>,
    /// Mailboxes that could not be read to their end.
    pub unread: Vec<String>,
    /// Errors of connections and sessions, by kind.
    pub errors: Vec<MailErrors>,
}

/// A mail server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailServer {
    /// Its name: `Postfix`, `Dovecot`; the host of one that is not brunt's.
    pub name: String,
    /// Its version; null when it does not say.
    pub version: Option<String>,
    /// `relay`, `store`.
    pub role: String,
    /// What it was told about keeping mail: `sdbox, mail_fsync = optimized`; empty when it was told
    /// nothing.
    pub settings: String,
}

/// How long something took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailLatency {
    /// How often it was measured.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_ms: f64,
    /// 95 of a hundred took no longer.
    pub p95_ms: f64,
    /// 99 of a hundred took no longer.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// Deliveries by what became of them; docs/mail.md says what each means, and what to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailLedger {
    /// Deliveries that a server accepted with 250.
    pub accepted: u64,
    /// Accepted, and there: once, equal, in its place, in time.
    pub found: u64,
    /// Refused for now, and not there.
    pub refused: u64,
    /// Cut before the final dot, and not there.
    pub not_sent: u64,
    /// Without an answer, and not there.
    pub unanswered_absent: u64,
    /// Without an answer, and there.
    pub unanswered_present: u64,
    /// There more than once, and a fault explains it.
    pub explained_double: u64,
    /// The most second copies that the faults explain.
    pub explained_max: u64,
    /// Accepted, and gone because it was removed as asked.
    #[serde(default)]
    pub removed: u64,
    /// Accepted, and nowhere.
    pub lost: u64,
    /// With a user who was not addressed.
    pub misdelivered: u64,
    /// There, and different from what was sent.
    pub changed: u64,
    /// There more than once without a fault that explains it.
    pub doubled: u64,
    /// Accepted, and then reported to its sender as failed.
    pub bounced: u64,
    /// Not found in a mailbox with messages that cannot be read.
    pub unreadable: u64,
    /// There although it was refused.
    pub refused_but_delivered: u64,
    /// There although the server never had its end.
    pub not_sent_but_delivered: u64,
    /// There although it was never sent.
    pub never_sent_but_delivered: u64,
    /// There although the server said that it was removed.
    #[serde(default)]
    pub resurrected: u64,
    /// There, without a change of flags that the server confirmed.
    #[serde(default)]
    pub forgotten_flag: u64,
    /// Refused for good, for an account that exists.
    pub refused_for_good: u64,
    /// In another folder of the recipient.
    pub misplaced: u64,
    /// There, after the time limit.
    pub late: u64,
    /// Accepted and not there, and the queue may still hold it.
    pub queued: u64,
    /// Accepted, and its mailbox could not be read.
    pub unchecked: u64,
}

/// Whether an outcome is what was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailStanding {
    /// As promised.
    Kept,
    /// Not as promised.
    Broken,
    /// It cannot be told.
    Unknown,
}

impl MailLedger {
    /// Every outcome: its name, its deliveries, whether it is as promised, and what it means.
    pub fn outcomes(&self) -> [(&'static str, u64, MailStanding, &'static str); 23] {
        use MailStanding::{Broken, Kept, Unknown};
        [
            ("found", self.found, Kept, "there once, as it was sent"),
            ("refused", self.refused, Kept, "not accepted, and not there: the sender keeps it"),
            (
                "not sent",
                self.not_sent,
                Kept,
                "the connection broke before its end; it is not there",
            ),
            (
                "unanswered, absent",
                self.unanswered_absent,
                Kept,
                "no answer came, and it is not there: the sender tries again",
            ),
            (
                "unanswered, present",
                self.unanswered_present,
                Kept,
                "no answer came, and it is there: a second attempt makes a double",
            ),
            (
                "explained double",
                self.explained_double,
                Kept,
                "there more than once because of a fault, as RFC 1047 allows",
            ),
            ("removed", self.removed, Kept, "removed as asked, and gone"),
            ("lost", self.lost, Broken, "accepted, and nowhere"),
            ("misdelivered", self.misdelivered, Broken, "with a user who was not addressed"),
            ("changed", self.changed, Broken, "not the bytes that were sent"),
            ("doubled", self.doubled, Broken, "there more than once, and no fault explains it"),
            ("bounced", self.bounced, Broken, "accepted, then returned to its sender"),
            ("unreadable", self.unreadable, Broken, "the server lists it and cannot show it"),
            (
                "refused but delivered",
                self.refused_but_delivered,
                Broken,
                "there although it was refused: the sender sends it again",
            ),
            (
                "not sent but delivered",
                self.not_sent_but_delivered,
                Broken,
                "there although its end was never sent",
            ),
            (
                "never sent but delivered",
                self.never_sent_but_delivered,
                Broken,
                "there although it was never sent",
            ),
            (
                "resurrected",
                self.resurrected,
                Broken,
                "there although the server said that it was removed",
            ),
            (
                "forgotten flag",
                self.forgotten_flag,
                Broken,
                "without a change of flags that the server confirmed",
            ),
            (
                "refused for good",
                self.refused_for_good,
                Broken,
                "refused with 5xx, for an account that exists",
            ),
            ("misplaced", self.misplaced, Broken, "in another folder of its recipient"),
            ("late", self.late, Broken, "there, but after the time limit"),
            ("queued", self.queued, Unknown, "not there, and the relay may still hold it"),
            ("unchecked", self.unchecked, Unknown, "its mailbox could not be read"),
        ]
    }
}

/// A delivery that is not as promised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailFinding {
    /// The number of the message, as in its `X-Brunt` header.
    pub message: u64,
    /// The recipient, or who has a copy that was not meant for them.
    pub user: String,
    /// What became of it, as in `ledger`.
    pub outcome: String,
    /// What more is known: the first byte that differs, how many copies; often empty.
    pub detail: String,
    /// The section of the standard that says what should have been; empty where none does.
    pub section: String,
}

/// Something that was done to the servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailFault {
    /// What: `Dovecot killed`.
    pub what: String,
    /// When it began, since the first message.
    pub from_s: f64,
    /// When the server was ready again; null when it never was.
    pub until_s: Option<f64>,
}

/// A test that has to fail, or the one that it belongs to proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailControl {
    /// What was different: `mail_fsync = never`.
    pub settings: String,
    /// Deliveries that it accepted.
    pub accepted: u64,
    /// Those of them that it lost.
    pub lost: u64,
}

/// What a relay still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailQueue {
    /// Messages.
    pub messages: u64,
    /// Deliveries that are still to be made.
    pub deliveries: u64,
}

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailErrors {
    /// What went wrong.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// The first one in words.
    pub first: String,
}

/// What a result of mail servers has besides the mail.
#[derive(Clone, Debug)]
pub struct MailRun {
    /// The name of the test.
    pub name: String,
    /// The verdict in one plain sentence.
    pub sentence: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What is to be said about it.
    pub reasons: Vec<String>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// When its parts began and ended.
    pub times: Times,
    /// How it was made.
    pub origin: Origin,
    /// Where.
    pub machine: Machine,
    /// How connections were made: `io_uring`.
    pub backend: String,
}

impl RunResult {
    /// The result of a test of mail servers: nothing in it qualifies storage.
    pub fn of_mail(run: MailRun, mail: Mail) -> Self {
        let sessions = u32::try_from(mail.users).unwrap_or(u32::MAX);
        let backend = Backend {
            name: run.backend,
            remark: String::new(),
            direct: false,
            volumes: Vec::new(),
        };
        let details =
            ServerDetails { machine: run.machine.clone(), backend, durability: Vec::new() };
        let server = Server {
            name: run.machine.name,
            instances: Vec::new(),
            phases: Vec::new(),
            host: Vec::new(),
            checksum: Vec::new(),
            backup: Vec::new(),
            restore: None,
            recovery: Vec::new(),
            copies: Vec::new(),
            details,
        };
        let storage = Storage {
            test: Tested::Mail,
            achieved_iops: None,
            target_iops: None,
            bottlenecks: Vec::new(),
            database_bytes_initial: None,
            database_bytes_final: None,
            database_files: 0,
            integrity: None,
            content: Vec::new(),
            faults: Vec::new(),
            states: Vec::new(),
            precision: None,
            servers: vec![server],
            details: Details {
                sentence: run.sentence,
                setup: setup(sessions),
                tuning: None,
                distributions: Vec::new(),
                found: Vec::new(),
                model: None,
            },
        };
        Self {
            schema: SCHEMA.to_owned(),
            scenario: run.name,
            world: World::Real,
            verdict: run.verdict,
            qualifies: false,
            reasons: run.reasons,
            rules: run.rules,
            times: run.times,
            origin: run.origin,
            storage,
            drill: None,
            mail: Some(mail),
            fleet: None,
        }
    }
}

/// A test of mail has no databases, so their parameters are all nothing.
fn setup(sessions: u32) -> Setup {
    Setup {
        description: String::new(),
        profile: String::new(),
        sessions,
        session_scope: String::new(),
        sessions_each: 0,
        capacity_percent: None,
        throughput_percent: None,
        pace_iops: None,
        mailboxes: Some(sessions.into()),
        page_bytes: 0,
        log_file_bytes: 0,
        log_buffer_bytes: 0,
        cache_bytes_min: 0,
        cache_bytes_max: 0,
        checkpoint_depth_bytes: 0,
        insert_percent: 0,
        delete_percent: 0,
        replace_percent: 0,
        read_percent: 0,
        lazy_commit_percent: 0,
        shards: 1,
        background_maintenance: false,
        copies: 1,
        circular_logging: false,
        limits: Limits {
            database_read_ms_mean: 0.0,
            database_read_ms_max: 0.0,
            log_write_ms_mean: 0.0,
            log_write_ms_max: 0.0,
        },
    }
}
