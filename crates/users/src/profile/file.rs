//! Reads and checks a profile.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use brunt_units::{ByteSize, Span};
use brunt_workload::profile::Certainty;
use serde::Deserialize;

use super::{ListOfRecipients, MessageClass, Profile, Reaction, Recipients, Row, TaskRate};
use crate::{Client, TaskKind};

/// Why a text is not a profile.
#[derive(Debug, thiserror::Error)]
#[error("{profile}: {what}")]
pub struct ProfileError {
    profile: String,
    what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    about: String,
    #[serde(default)]
    sources: BTreeMap<String, String>,
    day: Stated<String>,
    submitted_per_day: Option<Stated<f64>>,
    delivered_per_day: Option<Stated<f64>>,
    from_elsewhere_per_day: Option<Stated<f64>>,
    score_limit: Option<Stated<String>>,
    mailbox_messages: Option<Stated<u32>>,
    #[serde(default, rename = "task")]
    tasks: Vec<Task>,
    #[serde(default, rename = "reaction")]
    reactions: Vec<Reacts>,
    #[serde(rename = "message")]
    messages: Vec<Class>,
    recipients: To,
    #[serde(rename = "client")]
    clients: Vec<Uses>,
}

/// A figure as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated<T> {
    value: T,
    certainty: Word,
    source: Option<String>,
    #[serde(default)]
    why: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Found,
    Inferred,
    Fitted,
    Published,
    Assumed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    kind: TaskKind,
    per_day: Stated<f64>,
    recipients: Option<Stated<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reacts {
    kind: TaskKind,
    percent: Stated<f64>,
    after: Stated<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    text: String,
    attachment: Option<String>,
    weight: Stated<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct To {
    mean: Stated<f64>,
    lists: Option<Lists>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    percent: Stated<f64>,
    members_min: Stated<u32>,
    members_mean: Stated<f64>,
    members_max: Stated<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Uses {
    kind: Client,
    percent: Stated<f64>,
}

/// The largest number of anything a day.
const PER_DAY_MAX: f64 = 100_000.0;

impl Profile {
    /// Reads the profile called `name`.
    ///
    /// # Errors
    /// [`ProfileError`] names the key.
    pub fn read(name: &str, text: &str) -> Result<Self, ProfileError> {
        let refuse = |what: String| ProfileError { profile: name.to_owned(), what };
        let file: File = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        let mut figures = Figures { sources: &file.sources, rows: Vec::new() };
        let read = figures.profile(name, &file).map_err(refuse)?;
        Ok(Self { rows: figures.rows, ..read })
    }
}

/// Takes the figures one by one, and keeps where each is from.
struct Figures<'f> {
    sources: &'f BTreeMap<String, String>,
    rows: Vec<Row>,
}

impl Figures<'_> {
    fn profile(&mut self, name: &str, file: &File) -> Result<Profile, String> {
        let day = self.parsed::<Span>("day", &file.day)?;
        if day == Span::ZERO {
            return Err("`day` takes no time".to_owned());
        }
        let mut optional = |what, figure: &Option<Stated<f64>>| {
            let figure = figure.as_ref();
            figure.map(|figure| self.number(what, figure, PER_DAY_MAX)).transpose()
        };
        let submitted_per_day = optional("submitted_per_day", &file.submitted_per_day)?;
        let delivered_per_day = optional("delivered_per_day", &file.delivered_per_day)?;
        let elsewhere = optional("from_elsewhere_per_day", &file.from_elsewhere_per_day)?;
        let score_limit = file.score_limit.as_ref();
        let score_limit =
            score_limit.map(|limit| self.parsed::<Span>("score_limit", limit)).transpose()?;
        let mailbox = file.mailbox_messages.as_ref();
        let what = "messages in a mailbox before the day";
        let mailbox = mailbox.map(|mailbox| self.count(what, mailbox, 1, 100_000));
        let profile = Profile {
            mailbox_messages: mailbox.transpose()?,
            name: name.to_owned(),
            title: file.title.clone(),
            about: file.about.clone(),
            day,
            tasks: self.tasks(&file.tasks)?,
            reactions: self.reactions(&file.reactions)?,
            messages: self.messages(&file.messages)?,
            recipients: self.recipients(&file.recipients)?,
            clients: self.clients(&file.clients)?,
            submitted_per_day,
            delivered_per_day,
            from_elsewhere_per_day: elsewhere.unwrap_or(0.0),
            score_limit,
            rows: Vec::new(),
        };
        match profile.submissions_per_day() {
            Some(_) => Ok(profile),
            None => Err("each message leads to at least one more: mail would never end; \
                         lower `percent` of reactions that send, or `recipients.mean`"
                .to_owned()),
        }
    }

    fn tasks(&mut self, tasks: &[Task]) -> Result<Vec<TaskRate>, String> {
        let mut all: Vec<TaskRate> = Vec::new();
        for task in tasks {
            let kind = task.kind;
            let per_day = self.number(&format!("{kind} a day"), &task.per_day, PER_DAY_MAX)?;
            let to = task.recipients.as_ref();
            let to = to.map(|to| self.count(&format!("{kind}: recipients"), to, 1, 1_000));
            let recipients = to.transpose()?;
            if recipients.is_some() && !kind.submits() {
                return Err(format!("{kind} sends no message: leave `recipients` out"));
            }
            let same = |one: &TaskRate| one.kind == kind && one.recipients == recipients;
            if all.iter().any(same) {
                return Err(format!("{kind} stands twice"));
            }
            all.push(TaskRate { kind, per_day, recipients });
        }
        Ok(all)
    }

    fn reactions(&mut self, reactions: &[Reacts]) -> Result<Vec<Reaction>, String> {
        let all = reactions.iter().map(|one| {
            let kind = one.kind;
            Ok(Reaction {
                kind,
                percent: self.number(&format!("{kind}, of messages seen"), &one.percent, 100.0)?,
                after: self.parsed(&format!("{kind}, time until then"), &one.after)?,
            })
        });
        all.collect()
    }

    fn messages(&mut self, classes: &[Class]) -> Result<Vec<MessageClass>, String> {
        let mut all = Vec::new();
        for class in classes {
            let size = |text: &str| text.parse::<ByteSize>().map_err(|error| error.to_string());
            let text = size(&class.text)?;
            let attachment = class.attachment.as_deref().map(size).transpose()?;
            let attachment = attachment.unwrap_or(ByteSize::bytes(0));
            let what = match attachment.get() {
                0 => format!("weight of messages of {text}"),
                _ => format!("weight of messages of {text} and {attachment} attached"),
            };
            let weight = self.number(&what, &class.weight, 1e6)?;
            all.push(MessageClass { text, attachment, weight });
        }
        match all.iter().map(|class| class.weight).sum::<f64>() > 0.0 {
            true => Ok(all),
            false => Err("no message has a weight".to_owned()),
        }
    }

    fn recipients(&mut self, to: &To) -> Result<Recipients, String> {
        let mean = self.number("recipients of a message", &to.mean, 1_000.0)?;
        if mean < 1.0 {
            return Err("`recipients.mean` is below one".to_owned());
        }
        let Some(lists) = &to.lists else {
            return Ok(Recipients { mean, list: None });
        };
        let list = ListOfRecipients {
            percent: self.number("messages to a list, in percent", &lists.percent, 100.0)?,
            members_min: self.count("members of a list, least", &lists.members_min, 1, 1_000)?,
            members_mean: self.number("members of a list, mean", &lists.members_mean, 1_000.0)?,
            members_max: self.count("members of a list, most", &lists.members_max, 1, 1_000)?,
        };
        let (min, max) = (f64::from(list.members_min), f64::from(list.members_max));
        if !(min..=max).contains(&list.members_mean) {
            return Err("`members_mean` is not between `members_min` and `members_max`".to_owned());
        }
        let of_lists = list.percent / 100.0 * list.members_mean;
        if mean < of_lists + 1.0 - list.percent / 100.0 {
            return Err(format!(
                "lists alone make {of_lists:.2} recipients a message, and `recipients.mean` is {mean}"
            ));
        }
        Ok(Recipients { mean, list: Some(list) })
    }

    fn clients(&mut self, clients: &[Uses]) -> Result<Vec<(Client, f64)>, String> {
        let mut all = Vec::new();
        for one in clients {
            let what = format!("users of {}, in percent", one.kind.word());
            all.push((one.kind, self.number(&what, &one.percent, 100.0)?));
        }
        let sum: f64 = all.iter().map(|(_, percent)| percent).sum();
        match (sum - 100.0).abs() < 0.01 {
            true => Ok(all),
            false => Err(format!("the shares of clients make {sum} %, not 100 %")),
        }
    }

    fn number(&mut self, what: &str, figure: &Stated<f64>, most: f64) -> Result<f64, String> {
        if !(0.0..=most).contains(&figure.value) {
            return Err(format!("{what}: {} is not between 0 and {most}", figure.value));
        }
        self.keep(what, figure, &figure.value)?;
        Ok(figure.value)
    }

    fn count(
        &mut self,
        what: &str,
        figure: &Stated<u32>,
        least: u32,
        most: u32,
    ) -> Result<u32, String> {
        if !(least..=most).contains(&figure.value) {
            return Err(format!("{what}: {} is not between {least} and {most}", figure.value));
        }
        self.keep(what, figure, &figure.value)?;
        Ok(figure.value)
    }

    fn parsed<T>(&mut self, what: &str, figure: &Stated<String>) -> Result<T, String>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.keep(what, figure, &figure.value)?;
        figure.value.parse().map_err(|error: T::Err| format!("{what}: {error}"))
    }

    fn keep<T>(
        &mut self,
        what: &str,
        figure: &Stated<T>,
        value: &dyn Display,
    ) -> Result<(), String> {
        let certainty = match figure.certainty {
            Word::Found => Certainty::Found,
            Word::Inferred => Certainty::Inferred,
            Word::Fitted => Certainty::Fitted,
            Word::Published => Certainty::Published,
            Word::Assumed => Certainty::Assumed,
        };
        let source = match &figure.source {
            Some(name) => match self.sources.get(name) {
                Some(source) => source.clone(),
                None => return Err(format!("{what}: [sources] has no \"{name}\"")),
            },
            None if matches!(certainty, Certainty::Found | Certainty::Published) => {
                return Err(format!("{what}: a figure that was found needs its `source`"));
            }
            None => String::new(),
        };
        self.rows.push(Row {
            what: what.to_owned(),
            value: value.to_string(),
            certainty,
            source,
            why: figure.why.clone(),
        });
        Ok(())
    }
}
