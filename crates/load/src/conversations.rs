//! What was said around messages that were not simply accepted, and at the end of each session.

use std::collections::{BTreeMap, VecDeque};

/// Conversations with trouble that are kept; later ones are counted.
const TROUBLED_MAX: usize = 256;
/// Messages whose conversation is taken to be still on a tape of 64 lines.
const RECENT: usize = 8;

/// The last lines of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Which session.
    pub session: String,
    /// The messages that it was about, the last one at the end.
    pub messages: Vec<u32>,
    /// At most 64 lines, without passwords and texts of messages.
    pub lines: Vec<String>,
}

/// Conversations of a run.
#[derive(Clone, Debug, Default)]
pub struct Conversations {
    troubled: VecDeque<Conversation>,
    passed_over: u64,
    last: BTreeMap<String, Conversation>,
}

impl Conversations {
    /// Keeps the conversation around a message that was not accepted, or around another trouble.
    pub(crate) fn trouble(&mut self, conversation: Conversation) {
        if self.troubled.len() < TROUBLED_MAX {
            self.troubled.push_back(conversation);
        } else {
            self.passed_over += 1;
        }
    }

    /// Keeps the end of a session, in place of the end before.
    pub(crate) fn end(&mut self, conversation: Conversation) {
        self.last.insert(conversation.session.clone(), conversation);
    }

    /// The conversation about a message, if it was kept.
    pub fn about(&self, message: u32) -> Option<&Conversation> {
        let all = self.troubled.iter().chain(self.last.values());
        all.into_iter().find(|conversation| conversation.messages.contains(&message))
    }

    /// Those with trouble, the first ones of a run.
    pub fn troubled(&self) -> impl Iterator<Item = &Conversation> {
        self.troubled.iter()
    }

    /// How many more had trouble and were not kept.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }
}

/// The messages that a session's tape is about.
#[derive(Debug, Default)]
pub(crate) struct Recent(VecDeque<u32>);

impl Recent {
    pub(crate) fn push(&mut self, message: u32) {
        if self.0.len() == RECENT {
            self.0.pop_front();
        }
        self.0.push_back(message);
    }

    pub(crate) fn messages(&self) -> Vec<u32> {
        self.0.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_troubles_and_the_last_words_are_kept() {
        let mut kept = Conversations::default();
        let mut recent = Recent::default();
        for number in 0..300_u32 {
            recent.push(number);
            let session = format!("sender-{}", number % 3);
            let line = vec![format!("about {number}")];
            kept.trouble(Conversation {
                session: session.clone(),
                messages: vec![number],
                lines: line.clone(),
            });
            kept.end(Conversation { session, messages: recent.messages(), lines: line });
        }
        assert_eq!((kept.troubled().count(), kept.passed_over()), (256, 44));
        assert_eq!(kept.about(7).expect("kept").lines, ["about 7"]);
        assert_eq!(kept.about(298).expect("the last words").session, "sender-1");
        assert_eq!(kept.about(270), None);
    }
}
