//! The four questions about reliability that a submission to ESRP answers (EqualLogic PS5000XV,
//! 2008), answered by rules.

use brunt_report::result::{Outcome, Rule, TestKind};
use brunt_report::{Column, Row, Table};

use super::{called, heading, is_model, text, verdict_of};
use crate::block::Block;
use crate::paper::Subject;

/// The rules of a question.
const SYSTEM_LOG: &[&str] = &["system-log"];
const CHECKSUMS: &[&str] = &["pages-verified", "logs-verified", "records-verified"];
const ERRORS: &[&str] = &["io-errors", "hung-io"];
const BACKUPS: &[&str] = &["databases-backed-up", "databases-restored"];
const COPIES: &[&str] = &["copies-verified", "replicas-recovered"];

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let questions = [
        ("Does the system event log have errors of the tested devices?", SYSTEM_LOG),
        ("Did verification of databases and logs find errors?", CHECKSUMS),
        ("Did I/O of the tests fail or hang?", ERRORS),
        ("Did backups have errors?", BACKUPS),
        ("Did verification of remote copies find errors?", COPIES),
    ];
    let has_backup = subject.kinds.iter().any(|kind| kind.kind == TestKind::DatabaseBackup);
    let has_copy = rules(subject).any(|rule| COPIES.contains(&rule.id.as_str()));
    let is_asked = |ids: &[&str]| match ids {
        BACKUPS => has_backup,
        COPIES => has_copy,
        _ => true,
    };
    let is_model = is_model(&subject.kinds);
    let answers = questions.into_iter().filter_map(|(question, ids)| {
        let answer = match is_asked(ids) {
            true => answer(subject, ids),
            false => Answer::default(),
        };
        // What a model cannot answer is no question of its paper.
        let is_open = ["", "not measured"].contains(&answer.word);
        (!is_model || !is_open).then(|| row(question, &answer))
    });
    let columns = ["Question", "Answer", "Evidence"].map(Column::words);
    let table = Table::new(columns, answers.collect::<Vec<Row>>()).titled("Reliability").noted(match is_model {
        true => "Answers combine the rules of all simulated tests. A question that a model cannot answer is left out.",
        false => {
            "Answers combine the rules of all tests. Not measured: no test looked at this."
        }
    });
    let stress = match verdict_of(&subject.kinds, TestKind::Stress).as_str() {
        _ if is_model => {
            "A model stores nothing: it cannot show that data stay intact, or what only long load brings to light. That takes a test on \
             hardware."
                .to_owned()
        }
        "not tested" => "A stress test of a day, which would show what only long load brings to light, is not part of this paper.".to_owned(),
        verdict => format!("The stress test ended with this verdict: {verdict}."),
    };
    let mut blocks = vec![heading("Reliability"), text(stress)];
    blocks.extend((!table.is_empty()).then_some(Block::Table(table)));
    blocks
}

fn rules<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = &'s Rule> {
    subject.kinds.iter().flat_map(|kind| &kind.run.result.rules)
}

/// What the rules of a question say.
#[derive(Default)]
struct Answer {
    word: &'static str,
    class: &'static str,
    evidence: Vec<String>,
}

fn row(question: &str, answer: &Answer) -> Row {
    let word = match answer.word {
        "" => "not tested",
        word => word,
    };
    let evidence = answer.evidence.join("; ");
    Row::classed([question.to_owned(), word.to_owned(), evidence], answer.class)
}

fn answer(subject: &Subject<'_>, ids: &[&str]) -> Answer {
    let mut found: Vec<(String, &Rule)> = Vec::new();
    for kind in &subject.kinds {
        let own = kind.run.result.rules.iter();
        let own = own.filter(|rule| ids.contains(&rule.id.as_str()));
        found.extend(own.map(|rule| (called(kind), rule)));
    }
    let is = |outcome: Outcome| found.iter().any(|(_, rule)| rule.outcome == outcome);
    let (word, class) = if is(Outcome::Failed) {
        ("yes", "failed")
    } else if is(Outcome::Advisory) {
        ("look at it", "advisory")
    } else if found.is_empty() || is(Outcome::NotMeasured) {
        ("not measured", "unmeasured")
    } else {
        ("no", "ok")
    };
    let wanted = |rule: &Rule| match word {
        "no" => true,
        "not measured" => rule.outcome == Outcome::NotMeasured,
        _ => matches!(rule.outcome, Outcome::Failed | Outcome::Advisory),
    };
    let mut evidence: Vec<String> = Vec::new();
    for (kind, rule) in found.iter().filter(|(_, rule)| wanted(rule)) {
        let said = match (rule.measured, rule.remark.as_str()) {
            (_, "") => rule.measured_in_words(),
            (None, remark) => remark.to_owned(),
            (Some(_), remark) => format!("{} ({remark})", rule.measured_in_words()),
        };
        evidence.push(format!("{kind}, {}: {said}", rule.heading()));
    }
    if found.is_empty() {
        evidence.push("no test has such a rule".to_owned());
    }
    const SHOWN: usize = 8;
    let more = evidence.len().saturating_sub(SHOWN);
    evidence.truncate(SHOWN);
    if more > 0 {
        evidence.push(format!("and {more} more in the appendix"));
    }
    Answer { word, class, evidence }
}
