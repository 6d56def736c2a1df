//! What coordinator, door and agent say to each other.
//!
//! ```text
//!   coordinator -> door    Hello       JSON, so that any version can read who speaks
//!   door -> coordinator    Greeting    JSON
//!   coordinator -> agent   ToAgent     postcard: both sides are the same commit by now
//!   agent -> coordinator   FromAgent
//! ```

use brunt_report::result::Verdict;
use brunt_units::{Span, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checks::Facts;

/// Which brunt speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub version: String,
    /// The commit it was built from, where that is known.
    pub commit: Option<String>,
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.commit {
            Some(commit) => write!(f, "{} ({commit})", self.version),
            None => f.write_str(&self.version),
        }
    }
}

/// The first message to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub program: Program,
    /// The run's id.
    pub run: String,
    /// A number of this coordinator: the same run may be attached by another one.
    pub coordinator: u64,
}

/// The first message of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub program: Program,
    pub admission: Admission,
}

/// What a host does with a run id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// It was not known: an agent begins.
    Begun,
    /// Its agent is alive.
    Attached,
    /// It is over; what it left is served.
    Served,
    /// This host does not take it.
    Refused { why: String },
}

/// What an agent is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// Looks at this host and at what is to be done; changes nothing.
    Check(Box<Task>),
    /// Creates and opens the databases.
    Prepare,
    /// Warms up from this point of the agent's clock on.
    Begin { at: Time },
    /// Collects from this point of the agent's clock on.
    Collect { at: Time },
    /// Another host has ended early: ends the collection, closes and verifies.
    Cut,
    /// Ends in order, with a report.
    Stop,
    /// What time is it there?
    Ping { number: u64 },
    /// Which files does the folder of the run have?
    List,
    /// A piece of the file `file` of that list.
    Read { file: u16, offset: u64 },
    /// Everything is here: the agent may go.
    Dismiss,
}

/// What a host is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What the server is called in results.
    pub server: String,
    /// Its scenario, complete.
    pub scenario: String,
    /// Whether databases that are there may be replaced.
    pub replace: bool,
    /// How long the agent waits when nothing is heard of a coordinator.
    pub wait: Span,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// What it has found on its host.
    Facts(Box<Facts>),
    /// Where it stands; also its beat.
    Status(Box<Status>),
    /// The time there.
    Pong { number: u64, at: Time },
    /// The door has heard nothing from the agent for this long.
    Silent { lasted: Span },
    /// Another coordinator has attached.
    Replaced,
    /// The files of its folder.
    Files(Vec<FileEntry>),
    /// A piece of a file.
    Piece { file: u16, offset: u64, bytes: Vec<u8> },
    /// A file cannot be read.
    Unread { file: u16, why: String },
}

/// A file of a run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    pub name: String,
    pub bytes: u64,
    /// CRC-32 of its bytes.
    pub sum: u32,
}

/// How far a host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// It looks whether it can run.
    #[default]
    Checking,
    /// It can, and has changed nothing.
    Checked,
    /// It creates and opens databases.
    Preparing,
    /// They are open.
    Ready,
    /// Sessions work.
    Warming,
    /// It could collect.
    Warm,
    Collecting,
    /// It closes and verifies databases.
    Closing,
    Ended,
}

/// Where a host stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub phase: Phase,
    /// The instants that it was given, on its clock.
    pub begin: Option<Time>,
    pub collect: Option<Time>,
    /// When it really began to collect.
    pub collected: Option<Time>,
    /// Its longest standstill of [`SILENCE`](crate::SILENCE) or more while sessions worked.
    pub still: Option<Standstill>,
    /// The test's last news, as a line of `news.jsonl`.
    pub news: String,
    /// The host was started since: its clock is another one.
    pub is_of_another_boot: bool,
    pub end: Option<End>,
}

/// When a host did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standstill {
    pub began: Time,
    pub lasted: Span,
}

/// The end of a host's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub how: How,
    /// When, on its clock; `None` when nobody was there.
    pub at: Option<Time>,
    /// Whether it has a folder.
    pub has_folder: bool,
}

/// How a host's run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum How {
    /// It came to a verdict.
    Complete(Verdict),
    /// It was asked to stop.
    Stopped,
    /// It ended its collection early by itself.
    GaveUp { why: String },
    /// It ended its collection because another host did.
    Cut,
    /// The test broke.
    Broke { why: String },
    /// It never came to sessions at work.
    NotBegun { why: String },
    /// An instant came after it had passed.
    Late { by: Span },
    /// Its process was killed.
    Killed { why: String },
    /// The host was started again.
    Restarted,
}

/// `message` as the first content of its direction.
pub(crate) fn to_json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("it has no maps")
}

pub(crate) fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(message).expect("memory takes every write")
}

pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (message, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(message)
}

macro_rules! contents {
    ($($message:ty: $write:ident, $read:expr;)*) => {$(
        impl $message {
            /// The content of its frame.
            pub fn to_content(&self) -> Vec<u8> {
                $write(self)
            }

            /// The message of a frame; `None` when it is none of these.
            pub fn read(content: &[u8]) -> Option<Self> {
                $read(content)
            }
        }
    )*};
}

contents! {
    Hello: to_json, |content| serde_json::from_slice(content).ok();
    Greeting: to_json, |content| serde_json::from_slice(content).ok();
    ToAgent: to_bytes, from_bytes;
    FromAgent: to_bytes, from_bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_said() {
        let said = ToAgent::Collect { at: Time(7) };
        assert_eq!(ToAgent::read(&said.to_content()), Some(said.clone()));
        let with_rest = [said.to_content(), vec![0]].concat();
        assert_eq!(ToAgent::read(&with_rest), None);
        let end = End { how: How::Complete(Verdict::Pass), at: Some(Time(9)), has_folder: true };
        let status = Status { phase: Phase::Ended, end: Some(end), ..Status::default() };
        let said = FromAgent::Status(Box::new(status));
        assert_eq!(FromAgent::read(&said.to_content()), Some(said));
    }

    #[test]
    fn the_first_message_can_be_read_by_people() {
        let program = Program { version: "0.1.0".to_owned(), commit: None };
        let hello = Hello { program, run: "r1".to_owned(), coordinator: 5 };
        let text = String::from_utf8(hello.to_content()).unwrap();
        assert_eq!(
            text,
            "{\"program\":{\"version\":\"0.1.0\",\"commit\":null},\"run\":\"r1\",\"coordinator\":5}"
        );
    }
}
