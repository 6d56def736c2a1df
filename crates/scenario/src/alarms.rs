//! The file of alarms: not a part of a scenario, but written and refused in its language.
//!
//! ```toml
//! [[alarm]]
//! when = "rule failing"               what is looked for, in the words of `WHEN`
//! rule = "database-read-average"      only this rule; without it, every rule
//! for = "3 samples"                   not before it was seen at so many samples in a row
//! run = ["/usr/local/bin/tell-me"]    a program and its arguments, without a shell
//! timeout = "30s"
//! ```
//!
//! It is the user's own: who may write a scenario must not thereby run programs on the machine that
//! watches.

use std::path::Path;

use brunt_units::Span;

use super::mistakes::Sink;
use super::pair_steps::{in_folder, read_run};
use super::place::{Cause, Placed, Refusal};
use super::section::{self, Section};
use super::tree::{self, Node};

const KEYS: [&str; 6] = ["when", "rule", "for", "within", "run", "timeout"];
/// How long a command may take, unless the file says so.
const TIMEOUT: Span = Span::seconds(30);
/// A longer one holds up the alarms after it.
const TIMEOUT_MAX: Span = Span::seconds(600);
/// More samples in a row than this are longer than any test.
const SAMPLES_MAX: u64 = 100_000;
/// Rules of mail servers and of mail users begin so; which there are depends on the test.
const OTHER_RULES: [&str; 2] = ["mail-", "users-"];

/// What an alarm looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmWhen {
    RuleFailed,
    RuleFailing,
    RunEnded,
    RunSilent,
    RunInvalid,
    ChangeFound,
    LogFullWithin,
}

static WHEN: [(&str, AlarmWhen); 7] = [
    ("rule failed", AlarmWhen::RuleFailed),
    ("rule failing", AlarmWhen::RuleFailing),
    ("run ended", AlarmWhen::RunEnded),
    ("run silent", AlarmWhen::RunSilent),
    ("run invalid", AlarmWhen::RunInvalid),
    ("change found", AlarmWhen::ChangeFound),
    ("log full within", AlarmWhen::LogFullWithin),
];

impl AlarmWhen {
    pub fn word(self) -> &'static str {
        let own = WHEN.iter().find(|(_, when)| *when == self);
        own.expect("every condition has its words").0
    }

    fn is_of_rules(self) -> bool {
        matches!(self, Self::RuleFailed | Self::RuleFailing)
    }

    /// Whether new samples can come while it holds, and be counted.
    fn has_samples(self) -> bool {
        !matches!(self, Self::RunEnded | Self::RunSilent | Self::ChangeFound)
    }
}

/// One `[[alarm]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmPlan {
    pub when: AlarmWhen,
    /// The id of the only rule that it is about.
    pub rule: Option<String>,
    /// At how many samples in a row it must have been seen; at least 1.
    pub samples: u64,
    /// How soon a log is full; of [`AlarmWhen::LogFullWithin`] only.
    pub within: Option<Span>,
    /// The program and its arguments.
    pub run: Placed<Vec<String>>,
    pub timeout: Span,
}

/// The alarms in `text` of `file`, which lies in `folder`; `rules` are the ids of rules that are
/// known.
///
/// # Errors
/// Everything that is wrong, in the order of its lines.
pub fn read_alarms(
    file: &str,
    text: &str,
    folder: &Path,
    rules: &[&str],
) -> Result<Vec<AlarmPlan>, Vec<Refusal>> {
    let mut root = tree::parse(file, text).map_err(|refusal| vec![refusal])?;
    let sink = Sink::of(&mut root);
    let mut top = Section::new(root, "a file of alarms", &["alarm"]);
    if !top.has("alarm") {
        top.refuse(top.lacks("alarm", "[[alarm]]"));
    }
    let nodes = top.tables("alarm");
    let alarms = nodes.into_iter().map(|node| read(node, folder, rules)).collect();
    let mut mistakes = sink.take();
    mistakes.sort_by(|one, other| one.place().order().cmp(&other.place().order()));
    match mistakes.is_empty() {
        true => Ok(alarms),
        false => Err(mistakes),
    }
}

fn read(node: Node, folder: &Path, rules: &[&str]) -> AlarmPlan {
    let mut own = Section::new(node, "[[alarm]]", &KEYS);
    let when = own.need("when", "when = \"rule failed\"", |node| section::choice(node, &WHEN));
    let when_is_known = when.place.is_written();
    let when = when.value;
    let rule = own.read("rule", |node| read_rule(node, rules));
    if let Some(rule) = rule.as_ref().filter(|_| when_is_known && !when.is_of_rules()) {
        own.refuse(only_of(rule, "rule", "\"rule failed\" and \"rule failing\"", when));
    }
    let samples = own.read("for", read_samples);
    if let Some(samples) = samples.as_ref().filter(|_| when_is_known && !when.has_samples()) {
        let refusal = samples
            .place
            .refuse(format!("`for` counts samples, and none come while \"{}\" holds", when.word()));
        own.refuse(refusal.because(Cause::Value).hint("leave it out"));
    }
    let within = own.read("within", section::some_time);
    match &within {
        Some(within) if when_is_known && when != AlarmWhen::LogFullWithin => {
            own.refuse(only_of(within, "within", "\"log full within\"", when));
        }
        None if when == AlarmWhen::LogFullWithin && !own.was_refused("within") => {
            own.refuse(own.lacks("within", "within = \"2h\""));
        }
        _ => {}
    }
    let mut run = own.need("run", "run = [\"/usr/local/bin/tell-me\"]", read_run);
    in_folder(&mut run.value, folder);
    let timeout = own.read("timeout", read_timeout).map_or(TIMEOUT, |timeout| timeout.value);
    AlarmPlan {
        when,
        rule: rule.map(|rule| rule.value),
        samples: samples.map_or(1, |samples| samples.value),
        within: within.map(|within| within.value),
        run,
        timeout,
    }
}

/// The refusal of `key`, which says nothing about `when`.
fn only_of<T>(value: &Placed<T>, key: &str, of: &str, when: AlarmWhen) -> Refusal {
    let what = format!("`{key}` is for {of}, and this is \"{}\"", when.word());
    value.place.refuse(what).because(Cause::Value).hint("leave it out")
}

fn read_rule(node: &Node, rules: &[&str]) -> Result<String, Refusal> {
    let id = section::text(node)?;
    if rules.contains(&id.as_str()) || OTHER_RULES.iter().any(|begin| id.starts_with(begin)) {
        return Ok(id);
    }
    let refusal = node.place.refuse("there is no such rule");
    Err(refusal.hint(match super::nearest(&id, rules) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => "docs/rules.md lists them: for example \"database-read-average\"".to_owned(),
    }))
}

fn read_samples(node: &Node) -> Result<u64, Refusal> {
    const EXAMPLE: &str = "for example \"3 samples\"";
    let written = section::text(node).map_err(|refusal| refusal.hint(EXAMPLE))?;
    let refuse = |what: &str| Err(node.place.refuse(what).hint(EXAMPLE));
    let number = written.trim().strip_suffix("samples");
    let number = number.or_else(|| written.trim().strip_suffix("sample")).map(str::trim);
    match number.map(str::parse::<u64>) {
        Some(Ok(number @ 1..=SAMPLES_MAX)) => Ok(number),
        Some(Ok(0)) => refuse("is not above zero"),
        Some(Ok(_)) => refuse("is longer than any test"),
        Some(Err(_)) | None => refuse("is not a number of samples"),
    }
}

fn read_timeout(node: &Node) -> Result<Span, Refusal> {
    match section::some_time(node)? {
        timeout if timeout <= TIMEOUT_MAX => Ok(timeout),
        _ => {
            let refusal = node.place.refuse("is longer than 10 min, and other alarms would wait");
            Err(refusal.hint("for example \"30s\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 2] = ["database-read-average", "io-errors"];

    fn read(text: &str) -> Result<Vec<AlarmPlan>, Vec<String>> {
        let read = read_alarms("alarms.toml", text, Path::new("/etc/brunt"), &RULES);
        read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn alarms_are_read_with_their_defaults() {
        let text = "[[alarm]]\nwhen = \"rule failed\"\nrule = \"io-errors\"\nfor = \"3 samples\"\n\
                    run = [\"/bin/tell\", \"--urgent\"]\ntimeout = \"5s\"\n\
                    [[alarm]]\nwhen = \"log full within\"\nwithin = \"2h\"\nrun = [\"./tell\"]\n";
        let alarms = read(text).unwrap();
        let [first, second] = &alarms[..] else { panic!("{alarms:?}") };
        assert_eq!(first.when, AlarmWhen::RuleFailed);
        assert_eq!(first.rule.as_deref(), Some("io-errors"));
        assert_eq!((first.samples, first.timeout), (3, Span::seconds(5)));
        assert_eq!(first.run.value, ["/bin/tell", "--urgent"]);
        assert_eq!((second.samples, second.timeout), (1, TIMEOUT));
        assert_eq!(second.within, Some(Span::seconds(7_200)));
        assert_eq!(second.run.value, ["/etc/brunt/tell"]);
    }

    /// Each of these is one mistake: its line, what was expected, and a way out.
    #[test]
    fn every_mistake_is_named_with_a_way_out() {
        let ok = "when = \"rule failing\"\nrun = [\"/bin/tell\"]\n";
        let cases = [
            (
                "when = \"rule faild\"\nrun = [\"a\"]",
                "2: `when = \"rule faild\"`: unknown value\n  did you mean \"rule failed\"?",
            ),
            (
                "run = [\"a\"]",
                "1: `[[alarm]]`: lacks `when`\n  for example: when = \"rule failed\"",
            ),
            (
                "when = \"run ended\"",
                "1: `[[alarm]]`: lacks `run`\n  for example: run = [\"/usr/local/bin/tell-me\"]",
            ),
            (
                &format!("{ok}rul = \"io-errors\""),
                "4: `rul = \"io-errors\"`: unknown key `rul` in [[alarm]]\n  did you mean `rule`?",
            ),
            (
                &format!("{ok}rule = \"io-error\""),
                "4: `rule = \"io-error\"`: there is no such rule\n  did you mean \"io-errors\"?",
            ),
            (
                &format!("{ok}rule = \"x\""),
                "4: `rule = \"x\"`: there is no such rule\n  docs/rules.md lists them: for example \"database-read-average\"",
            ),
            (
                &format!("{ok}for = 3"),
                "4: `for = 3`: is a number, not a text\n  for example \"3 samples\"",
            ),
            (
                &format!("{ok}for = \"3 min\""),
                "4: `for = \"3 min\"`: is not a number of samples\n  for example \"3 samples\"",
            ),
            (
                &format!("{ok}for = \"0 samples\""),
                "4: `for = \"0 samples\"`: is not above zero\n  for example \"3 samples\"",
            ),
            (
                &format!("{ok}within = \"2h\""),
                "4: `within = \"2h\"`: `within` is for \"log full within\", and this is \"rule failing\"\n  leave it out",
            ),
            (
                &format!("{ok}timeout = \"1h\""),
                "4: `timeout = \"1h\"`: is longer than 10 min, and other alarms would wait\n  for example \"30s\"",
            ),
            (
                "when = \"log full within\"\nrun = [\"a\"]",
                "1: `[[alarm]]`: lacks `within`\n  for example: within = \"2h\"",
            ),
            (
                "when = \"run silent\"\nrun = [\"a\"]\nfor = \"2 samples\"",
                "4: `for = \"2 samples\"`: `for` counts samples, and none come while \"run silent\" holds\n  leave it out",
            ),
            (
                "when = \"run ended\"\nrun = [\"a\"]\nrule = \"io-errors\"",
                "4: `rule = \"io-errors\"`: `rule` is for \"rule failed\" and \"rule failing\", and this is \"run ended\"\n  leave it out",
            ),
            (
                "when = \"run ended\"\nrun = \"a b\"",
                "3: `run = \"a b\"`: is not a list of texts\n  a program and its arguments, without a shell: for example [\"./pair.sh\", \"mount\"]",
            ),
        ];
        for (text, wanted) in cases {
            let said = read(&format!("[[alarm]]\n{text}\n")).unwrap_err();
            assert_eq!(said, [format!("alarms.toml:{wanted}")], "{text}");
        }
        let said = read(&format!("[alarm]\n{ok}")).unwrap_err();
        assert!(said[0].ends_with("write [[alarm]] with two brackets"), "{said:?}");
        assert!(read("").unwrap_err()[0].contains("lacks `alarm`"));
        let all = read("[[alarm]]\nwhen = 1\n[[alarm]]\nrun = []\n").unwrap_err();
        assert_eq!(all.len(), 4, "{all:?}");
    }

    #[test]
    fn rules_of_mail_are_taken_as_they_are() {
        let text =
            "[[alarm]]\nwhen = \"rule failed\"\nrule = \"mail-lost\"\nrun = [\"/bin/tell\"]\n";
        assert_eq!(read(text).unwrap()[0].rule.as_deref(), Some("mail-lost"));
    }
}
