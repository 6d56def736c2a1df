//! What a drill and the processes of its sites say to each other, line by line.
//!
//! ```text
//!   stdin of a site    {"promote":{"epoch":2}}              one command at a time, in JSON
//!   its stdout         {"promoted":{"struck":false}}        an answer to each
//!                      {"sample":{...}}                     unasked: load, state of the mirror
//!                      ? 0 0 replace 1234 7 hard            the journal of commits (see [`super::lines`])
//!                      ! 0 0 replace 1234 7 hard
//! ```
//!
//! A line that has not ended when its process is killed was never said. One that is longer than
//! [`COMMAND_MAX`] or [`ANSWER_MAX`] ends the conversation. On another host the first command and its
//! answer say who speaks: [`Speaker`]. Other ways to carry lines add no messages.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use brunt_mirror::Breakage;
use brunt_qualify::truth::witness::Change;
use brunt_report::result::DrillSample;
use serde::{Deserialize, Serialize};

use super::lines;
use crate::Key;

/// The version of these messages.
pub const PROTOCOL: u32 = 1;

/// Bytes of a command with its end.
pub const COMMAND_MAX: usize = 1 << 20;

/// Bytes of what a site says in a line: the longest answer is of some hundred records.
pub const ANSWER_MAX: usize = 4 << 20;

/// The program at an end of the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// 0 is one that did not say.
    #[serde(default)]
    pub protocol: u32,
    pub version: String,
    /// The commit that it was built from, where that is known.
    #[serde(default)]
    pub commit: Option<String>,
}

impl Speaker {
    /// This program, built from `commit`.
    pub fn own(commit: Option<&str>) -> Self {
        let (version, commit) = (super::site::VERSION.to_owned(), commit.map(str::to_owned));
        Self { protocol: PROTOCOL, version, commit }
    }

    /// Whether both are the same program, as far as they say.
    pub fn is(&self, other: &Self) -> bool {
        let commits = self.commit.as_ref().zip(other.commit.as_ref());
        let same_commit = commits.is_none_or(|(one, other)| one == other);
        (self.protocol, &self.version) == (other.protocol, &other.version) && same_commit
    }
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)?;
        if let Some(commit) = &self.commit {
            write!(f, " ({commit})")?;
        }
        match self.protocol == PROTOCOL {
            true => Ok(()),
            false => write!(f, ", protocol {}", self.protocol),
        }
    }
}

/// What a site is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Takes `folder` for itself, on another host than the drill's, and empties it at the end.
    /// Comes before all others.
    Take {
        folder: PathBuf,
        replace: bool,
        #[serde(default)]
        drill: Speaker,
    },
    /// Works below `folder` from now on, on what `scenario` describes. Comes first, or after
    /// `take`.
    Begin {
        scenario: String,
        folder: PathBuf,
        /// Bytes in a log segment: those of the site with the larger sectors.
        log_segment: usize,
    },
    /// Receives the changes of the other site.
    Receive,
    /// Sends all changes to the receiver there.
    Mirror { to: SocketAddr, token: [u8; 16], epoch: u64 },
    /// Creates the databases.
    Create,
    /// Receives closed logs of the other site from now on, instead of every change.
    Copy,
    /// Ships closed logs there, one address for each log stream, instead of every change.
    Ship { to: Vec<SocketAddr>, token: [u8; 16] },
    /// Lets sessions work.
    Work,
    /// Lets them rest.
    Rest,
    /// Breaks the receiver on purpose.
    Break { how: How },
    /// Fences the other site.
    Promote { epoch: u64 },
    /// Replays the logs that were shipped, and ends as a copy.
    Activate,
    /// Opens the databases, recovering them.
    Open,
    /// Serves a read of this record of the first database.
    First { record: u64 },
    /// Reads records.
    Look { keys: Vec<Key> },
    /// Closes the databases.
    Close,
    /// Reads every page.
    Verify,
}

/// What a site says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Done,
    /// Has its folder, for log segments of this size; and which brunt it is.
    Taken {
        log_segment: usize,
        #[serde(flatten)]
        site: Speaker,
    },
    /// It could not be done.
    Failed {
        why: String,
    },
    /// Listens there, for who shows this token.
    Listening {
        at: SocketAddr,
        token: [u8; 16],
    },
    /// Receives logs at these addresses, one for each log stream.
    Copying {
        at: Vec<SocketAddr>,
        token: [u8; 16],
    },
    /// The newest log of each stream that it has.
    Activated {
        stored: Vec<u32>,
    },
    /// Databases with their numbers of records, in the order of the scenario.
    Created {
        records: Vec<u64>,
    },
    /// Whether the broken receiver has broken anything.
    Promoted {
        struck: bool,
    },
    /// What recovery took, and the log files that it read.
    Opened {
        replay_s: f64,
        logs: u32,
    },
    /// The version of each record.
    Found {
        versions: Vec<(Key, Option<u32>)>,
    },
    /// Pages read, and bad ones.
    Verified {
        pages: u64,
        bad: u64,
    },
    /// Unasked: the site is at work, if there is nothing else to say.
    Alive,
    /// Unasked: the load since the last one.
    Sample {
        load: DrillSample,
    },
    /// Unasked: where each log ends, in bytes from the beginning of its first file.
    Logs {
        ends: Vec<u64>,
    },
    /// Unasked: the other site does not have everything any more.
    Broken {
        why: String,
    },
    /// Unasked: the other site has been promoted, and this one ends.
    Fenced {
        epoch: u64,
    },
}

/// How a receiver is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Drop,
    Swap,
    Stale,
    Tail,
}

impl From<How> for Breakage {
    fn from(how: How) -> Self {
        match how {
            How::Drop => Self::DropOne,
            How::Swap => Self::SwapTwo,
            How::Stale => Self::Stale,
            How::Tail => Self::LoseTail,
        }
    }
}

/// A line of a site.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteMessage {
    /// A commit is asked for.
    Asked(Change),
    /// A commit is acknowledged.
    Acknowledged(Change),
    /// An answer to a command.
    Answer(Answer),
    /// Something unasked.
    News(Answer),
}

impl SiteMessage {
    /// The meaning of `line`, which has ended; `None` when it has none.
    pub fn parse(line: &str) -> Option<Self> {
        if let Some((mark, change)) = lines::parse(line) {
            return Some(match mark {
                lines::ASKED => Self::Asked(change),
                _ => Self::Acknowledged(change),
            });
        }
        let answer = serde_json::from_str(line).ok()?;
        Some(match answer {
            Answer::Alive
            | Answer::Sample { .. }
            | Answer::Logs { .. }
            | Answer::Broken { .. }
            | Answer::Fenced { .. } => Self::News(answer),
            answer => Self::Answer(answer),
        })
    }
}

/// `what` as a line.
pub fn line(what: &impl Serialize) -> String {
    let mut line = serde_json::to_string(what).expect("it has no maps with odd keys");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_program_is_understood() {
        let own = Speaker::own(Some("1b7112e"));
        assert!(own.is(&own) && own.is(&Speaker { commit: None, ..own.clone() }));
        for other in [
            Speaker { protocol: 2, ..own.clone() },
            Speaker { version: "9.0.0".to_owned(), ..own.clone() },
            Speaker { commit: Some("ffffff0".to_owned()), ..own.clone() },
            Speaker::default(),
        ] {
            assert!(!own.is(&other), "{other}");
        }
    }

    #[test]
    fn lines_are_read_as_they_were_said() {
        let look = Command::Look { keys: vec![(1, 0, 77)] };
        assert_eq!(line(&look), "{\"look\":{\"keys\":[[1,0,77]]}}\n");
        assert_eq!(serde_json::from_str::<Command>(&line(&look)).ok(), Some(look));
        let found = Answer::Found { versions: vec![((1, 0, 77), None), ((1, 0, 78), Some(3))] };
        let said = SiteMessage::parse(line(&found).trim_end());
        assert_eq!(said, Some(SiteMessage::Answer(found)));
        let fenced = SiteMessage::parse("{\"fenced\":{\"epoch\":2}}");
        assert_eq!(fenced, Some(SiteMessage::News(Answer::Fenced { epoch: 2 })));
        let taken = "{\"taken\":{\"log_segment\":512,\"version\":\"0.1.0\"}}";
        let Some(SiteMessage::Answer(Answer::Taken { site, .. })) = SiteMessage::parse(taken)
        else {
            panic!("an older program is understood so far");
        };
        assert_eq!(site.to_string(), "0.1.0, protocol 0");
        let Some(SiteMessage::Acknowledged(change)) = SiteMessage::parse("! 0 1 delete 12 7 hard")
        else {
            panic!("it is a line of the journal");
        };
        assert_eq!((change.database, change.number), (1, 12));
        for nonsense in
            ["", "?", "! 0 0 replace 1234 7", "{\"fenced\":", "\"what\"", "? 0 0 read 1 1 hard"]
        {
            assert_eq!(SiteMessage::parse(nonsense), None, "{nonsense}");
        }
    }
}
