//! Judgements for people and for programs, and what a rule is, in words.

use brunt_report::{Column, Row, Table, counted};
use serde_json::{Value as Json, json};

use crate::judge::{Judgement, Outcome};
use crate::rules::{Item, RULES, Rule, Severity, Value, all};
use crate::subject::Subject;

/// The version of the JSON.
pub const SCHEMA_VERSION: u32 = 1;
/// More values of one rule than this are counted only.
const SHOWN_MAX: usize = 6;
/// Where the text after a label begins.
const INDENT: usize = 14;

/// How many rules are broken, kept, not judged: the verdict in a line.
pub fn summary(judgements: &[Judgement]) -> String {
    let count = |is: fn(&Outcome) -> bool| judgements.iter().filter(|one| is(&one.outcome)).count();
    let broken = count(|outcome| matches!(outcome, Outcome::Broken(_)));
    let kept = count(|outcome| matches!(outcome, Outcome::Kept(_)));
    let open = count(|outcome| matches!(outcome, Outcome::NotJudged(_)));
    let broken = match broken {
        0 => "nothing to improve".to_owned(),
        some => format!("{} broken", counted(some as u64, "rule")),
    };
    let none = count(|outcome| matches!(outcome, Outcome::DoesNotApply(_)));
    format!("{broken}, {kept} kept, {open} not judged, {none} do not apply")
}

/// Whether a rule is broken.
pub fn has_findings(judgements: &[Judgement]) -> bool {
    judgements.iter().any(|one| matches!(one.outcome, Outcome::Broken(_)))
}

/// What is broken, the worst first.
pub fn findings(judgements: &[Judgement]) -> Vec<String> {
    let mut broken: Vec<(&Rule, &[Item])> = judgements
        .iter()
        .filter_map(|one| match &one.outcome {
            Outcome::Broken(items) => Some((one.rule, items.as_slice())),
            _ => None,
        })
        .collect();
    broken.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity));
    broken.into_iter().map(|(rule, items)| finding(rule, items)).collect()
}

/// Rules that `run` says in words of its own: I/O through the page cache.
const SAID_BY_RUNS: [&str; 2] = ["loop-device", "direct-writes"];

/// What rules of severity *error* find, a line each with the way out behind a colon: such a test
/// does not qualify.
pub fn errors(subject: &Subject<'_>) -> Vec<String> {
    let asked =
        all().filter(|rule| rule.severity == Severity::Error && !SAID_BY_RUNS.contains(&rule.id));
    let said = asked.filter_map(|rule| match rule.judge(subject) {
        Outcome::Broken(items) => Some(error(rule, &items)),
        _ => None,
    });
    said.collect()
}

fn error(rule: &Rule, items: &[Item]) -> String {
    let found = items.iter().take(SHOWN_MAX).map(|item| match &item.value {
        Value::Word(word) => format!("{} is {word}", item.what),
        number @ Value::Number(_) => format!(
            "{} has {}, wanted {}",
            item.what,
            rule.wanted.show(number),
            rule.wanted.of(Some(item))
        ),
    });
    let found = found.collect::<Vec<_>>().join(", ");
    format!("{}, {found}: {}", rule.title, rule.remedy)
}

fn finding(rule: &Rule, items: &[Item]) -> String {
    let severity = rule.severity.to_string();
    let mut lines = vec![format!("{severity:INDENT$}{}   {}", rule.id, rule.title)];
    let mut same: Vec<(String, Vec<&str>)> = Vec::new();
    for item in items {
        let said =
            format!("{}, wanted {}", rule.wanted.show(&item.value), rule.wanted.of(Some(item)));
        match same.iter_mut().find(|(other, _)| *other == said) {
            Some((_, of)) => of.push(&item.what),
            None => same.push((said, vec![&item.what])),
        }
    }
    for (said, of) in &same {
        lines.push(format!("{:INDENT$}{}: {said}", "", names(of)));
    }
    lines.push(format!("{:INDENT$}{}", "", rule.reason));
    lines.push(format!("{:INDENT$}try: {}", "", rule.remedy));
    lines.join("\n")
}

fn names(of: &[&str]) -> String {
    let more = of.len().saturating_sub(SHOWN_MAX);
    let shown = of[..of.len().min(SHOWN_MAX)].join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Rules that are kept, by id.
pub fn kept(judgements: &[Judgement]) -> String {
    let kept = judgements.iter().filter(|one| matches!(one.outcome, Outcome::Kept(_)));
    kept.map(|one| one.rule.id).collect::<Vec<_>>().join(", ")
}

/// Rules that are not judged, and why, those with one reason together.
pub fn not_judged(judgements: &[Judgement]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in judgements {
        let Outcome::NotJudged(why) = &one.outcome else {
            continue;
        };
        match reasons.iter_mut().find(|(other, _)| other == why) {
            Some((_, of)) => of.push(one.rule.id),
            None => reasons.push((why, vec![one.rule.id])),
        }
    }
    reasons.into_iter().map(|(why, of)| format!("{why}: {}", of.join(", "))).collect()
}

pub fn json(name: &str, judgements: &[Judgement]) -> Json {
    let rules = judgements.iter().map(|one| {
        let rule = one.rule;
        let (outcome, items, why) = match &one.outcome {
            Outcome::Kept(items) => ("kept", items.as_slice(), None),
            Outcome::Broken(items) => ("broken", items.as_slice(), None),
            Outcome::NotJudged(why) => ("not judged", &[][..], Some(why)),
            Outcome::DoesNotApply(why) => ("does not apply", &[][..], Some(why)),
        };
        let values = items.iter().map(|item| {
            json!({
                "of": item.what,
                "measured": rule.wanted.show(&item.value),
                "wanted": rule.wanted.of(Some(item)),
            })
        });
        let mut json = json!({
            "id": rule.id,
            "title": rule.title,
            "severity": rule.severity.to_string(),
            "outcome": outcome,
            "values": values.collect::<Json>(),
            "reason": rule.reason,
            "source": rule.source,
            "remedy": rule.remedy,
        });
        if let (Some(why), Some(object)) = (why, json.as_object_mut()) {
            object.insert("why".to_owned(), why.as_str().into());
        }
        json
    });
    json!({
        "schema_version": SCHEMA_VERSION,
        "scenario": name,
        "summary": summary(judgements),
        "rules": rules.collect::<Json>(),
    })
}

/// Every rule by its id, with its group.
pub fn list() -> String {
    let rows = all().map(|rule| {
        Row::new([
            rule.id.to_owned(),
            rule.group.word().to_owned(),
            rule.severity.to_string(),
            rule.title.to_owned(),
        ])
    });
    let columns = ["rule", "group", "severity", "what it looks at"].map(Column::words);
    Table::new(columns, rows).to_text().trim_end().to_owned()
}

/// Everything about one rule, a paragraph for each item.
pub fn explanation(rule: &Rule) -> String {
    let (first, last) = rule.versions;
    let mut text =
        format!("{} ({}), {}\n\nWhy: {}\n", rule.title, rule.id, rule.severity, rule.reason);
    text += &format!("Wanted: {}\n", wanted(rule));
    text += &format!("What to try: {}\n", rule.remedy);
    if !rule.windows.is_empty() {
        text += &format!("On Windows: {}\n", rule.windows);
    }
    if (first, last) != crate::rules::ALL {
        text += &format!("For: {first} to {last}\n");
    }
    text + &format!("Source: {}", rule.source)
}

/// What is wanted where no value has a limit of its own.
fn wanted(rule: &Rule) -> String {
    use crate::rules::Wanted::{AtLeast, AtMost};
    match rule.wanted {
        AtMost(0.0, _) => "at most what version and copies allow, or what was set".to_owned(),
        AtLeast(0.0, _) => "at least what the configuration needs".to_owned(),
        wanted => wanted.of(None),
    }
}

/// The rules as a page of Markdown.
pub fn page() -> String {
    let mut text = String::new();
    for rules in RULES {
        let word = rules[0].group.word();
        let mut title = word.to_owned();
        title[..1].make_ascii_uppercase();
        text += &format!(
            "\n## {title}\n\n| rule | severity | wanted | why | source |\n| --- | --- | --- | --- | --- |\n"
        );
        for rule in rules {
            let windows = match rule.windows {
                "" => String::new(),
                windows => format!(" Windows: {windows}."),
            };
            text += &format!(
                "| `{}`: {} | {} | {} | {} *{}*{windows} | {} |\n",
                rule.id,
                rule.title,
                rule.severity,
                wanted(rule),
                rule.reason,
                rule.remedy,
                rule.source
            );
        }
    }
    text
}

/// How many rules there are of each severity.
pub fn counts() -> [usize; 3] {
    [Severity::Error, Severity::Warning, Severity::Advice]
        .map(|severity| all().filter(|rule| rule.severity == severity).count())
}
