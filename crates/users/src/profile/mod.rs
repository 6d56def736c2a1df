//! Profiles: what users of one kind do, with a source for every figure.
//!
//! A profile is a TOML file. Each figure is a table of its value, how certain it is, and where it is
//! from:
//!
//! ```toml
//! [[task]]
//! kind = "send"
//! per_day = { value = 14.18, certainty = "found", source = "compaq" }
//! ```
//!
//! `certainty` is *found* in the source, *inferred* by arithmetic from what it states, *fitted* so
//! that published totals come out, or *assumed* for lack of a source; `source` names an entry of
//! `[sources]`, and `why` says more. The built-in ones lie in `crates/users/profiles`.

mod built_in;
mod file;
mod recipients;
#[cfg(test)]
mod tests;

use brunt_units::{ByteSize, Span};
use brunt_workload::profile::Certainty;
use brunt_world::random::Stream;

use crate::{Client, TaskKind};
pub use file::ProfileError;

/// What users of one kind do.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub name: String,
    pub title: String,
    /// What it stands for, and what it leaves out.
    pub about: String,
    /// The day that the numbers are of.
    pub day: Span,
    pub tasks: Vec<TaskRate>,
    /// What users do with mail that they have seen.
    pub reactions: Vec<Reaction>,
    pub messages: Vec<MessageClass>,
    pub recipients: Recipients,
    /// Clients with their shares in percent.
    pub clients: Vec<(Client, f64)>,
    /// Published messages that a user submits a day.
    pub submitted_per_day: Option<f64>,
    /// Published messages that arrive for a user a day.
    pub delivered_per_day: Option<f64>,
    /// Deliveries a day to each user that come from elsewhere.
    pub from_elsewhere_per_day: f64,
    /// Messages in a mailbox before the day begins, where that is known.
    pub mailbox_messages: Option<u32>,
    /// What the score must stay below.
    pub score_limit: Option<Span>,
    rows: Vec<Row>,
}

/// How often a user does something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskRate {
    pub kind: TaskKind,
    /// A number that is not whole is a mean.
    pub per_day: f64,
    /// Recipients of its messages, where they are not those of the profile.
    pub recipients: Option<u32>,
}

/// What a user does with mail that it has seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reaction {
    pub kind: TaskKind,
    /// Of the messages seen.
    pub percent: f64,
    /// The mean time until then, on the profile's day.
    pub after: Span,
}

/// One size of message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageClass {
    pub text: ByteSize,
    pub attachment: ByteSize,
    /// How often, among all classes.
    pub weight: f64,
}

/// Who mail goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipients {
    /// Recipients of a message, with the members of lists.
    pub mean: f64,
    pub list: Option<ListOfRecipients>,
}

/// Distribution lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListOfRecipients {
    /// Messages with one of them, in percent.
    pub percent: f64,
    pub members_min: u32,
    pub members_mean: f64,
    pub members_max: u32,
}

/// A figure as it is explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub what: String,
    pub value: String,
    pub certainty: Certainty,
    /// Where it is from; empty for an assumption.
    pub source: String,
    /// Why, or how it follows.
    pub why: String,
}

impl Profile {
    /// The built-in profile called `name`.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = built_in::ALL.into_iter().find(|(own, _)| *own == name)?;
        Some(Self::read(name, text).expect("a test reads all of them"))
    }

    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        built_in::ALL.into_iter().map(|(name, _)| name)
    }

    /// Every figure, with its source.
    pub fn explained(&self) -> &[Row] {
        &self.rows
    }

    /// Messages that a user submits a day, if each is delivered to as many as the profile says and
    /// every reaction follows: with *s* tasks that submit, *r* reactions that do for each message
    /// seen, *m* recipients and *e* messages from elsewhere, S = s + r (m S + e).
    ///
    /// `None` when each message leads to one more or to several: then mail never ends.
    pub fn submissions_per_day(&self) -> Option<f64> {
        let own = self.tasks.iter().filter(|task| task.kind.submits());
        let own: f64 = own.map(|task| task.per_day).sum();
        let answers = self.reactions.iter().filter(|reaction| reaction.kind.submits());
        let answers: f64 = answers.map(|reaction| reaction.percent / 100.0).sum();
        let more = 1.0 - answers * self.recipients.mean;
        (more > 0.0).then(|| (own + answers * self.from_elsewhere_per_day) / more)
    }

    /// Messages that arrive for a user a day.
    pub fn deliveries_per_day(&self) -> Option<f64> {
        let submitted = self.submissions_per_day()?;
        Some(submitted * self.recipients.mean + self.from_elsewhere_per_day)
    }

    /// A task, drawn as often as the profile has it. A user without tasks looks for mail.
    pub fn draw(&self, draw: &mut Stream) -> TaskRate {
        let mut place = draw.unit() * self.tasks_per_day();
        let drawn = self.tasks.iter().find(|task| {
            place -= task.per_day;
            place < 0.0
        });
        let looks = TaskRate { kind: TaskKind::CheckInbox, per_day: 0.0, recipients: None };
        drawn.copied().unwrap_or(looks)
    }

    /// Bytes of a message on average, without its headers.
    pub fn message_bytes(&self) -> f64 {
        let weight: f64 = self.messages.iter().map(|class| class.weight).sum();
        let classes = self.messages.iter();
        let sizes =
            classes.map(|class| class.weight * (class.text.get() + class.attachment.get()) as f64);
        sizes.sum::<f64>() / weight
    }

    /// Tasks of a user a day, without reactions.
    pub fn tasks_per_day(&self) -> f64 {
        self.tasks.iter().map(|task| task.per_day).sum()
    }
}
