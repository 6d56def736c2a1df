//! The last lines of a conversation, for the report of what went wrong.
//!
//! A tape grows with what is said, up to [`TAPE_LINES`] lines of at most 200 characters. Secrets
//! never get here: the machines put a word in their place. Texts of messages are one line with
//! their length.

use std::collections::VecDeque;
use std::fmt;

use brunt_units::Time;

use crate::failure::printable;

/// Lines that a tape keeps.
pub const TAPE_LINES: usize = 64;

/// Who said a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The client, which is this program.
    Client,
    /// The server.
    Server,
    /// Neither: what happened to the connection.
    Event,
}

/// One line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// When, by the clock of the world.
    pub at: Time,
    /// By whom.
    pub by: Speaker,
    /// The line, shortened and printable.
    pub line: Box<str>,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.by {
            Speaker::Client => "C:",
            Speaker::Server => "S:",
            Speaker::Event => "--",
        };
        let seconds = self.at.since(Time::ZERO).as_seconds();
        write!(f, "{seconds:12.6} {mark} {}", self.line)
    }
}

/// The last [`TAPE_LINES`] lines of a session.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    now: Time,
    lines: VecDeque<Said>,
}

impl Tape {
    /// The time of the lines that follow. Machines have no clock of their own.
    pub fn set_time(&mut self, now: Time) {
        self.now = now;
    }

    /// Adds a line.
    pub fn say(&mut self, by: Speaker, line: &[u8]) {
        if self.lines.len() == TAPE_LINES {
            self.lines.pop_front();
        }
        let line = printable(line).into_boxed_str();
        self.lines.push_back(Said { at: self.now, by, line });
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &Said> {
        self.lines.iter()
    }

    /// The lines as text, one each.
    pub fn transcript(&self) -> Vec<String> {
        self.lines.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_keeps_the_last_lines() {
        let mut tape = Tape::default();
        for number in 0..100_u64 {
            tape.set_time(Time(number * 1_000_000));
            tape.say(Speaker::Client, format!("NOOP {number}").as_bytes());
        }
        tape.say(Speaker::Server, b"250 ok");
        assert_eq!(tape.lines().len(), TAPE_LINES);
        let text = tape.transcript();
        assert_eq!(text[0], "    0.037000 C: NOOP 37");
        assert_eq!(text[63], "    0.099000 S: 250 ok");
    }
}
