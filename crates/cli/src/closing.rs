//! The last screen of a run: what an engineer pastes into a ticket.
//!
//! Verdict and number first, then on failure what failed and where, then every rule, then where the
//! report is and how to do it again. The rules fill a screen, so the verdict stands below them once
//! more.

use std::path::Path;

use brunt_report::result::{
    Outcome, Rule, RuleGroup, RunResult, TestKind, Verdict, WRONG_DATA, World, gravest_first,
};
use brunt_report::{Column, Row, Table, counted, decimals, grouped, one_line};

use crate::output::{Output, Tone};
use crate::wrap::cells;

/// Before each line of a table.
const INDENT: usize = 2;

/// The closing text of `result`, whose files are in `folder`.
pub fn closing(result: &RunResult, folder: &Path, output: &Output) -> String {
    let text = summary(result, &folder.join("report.html"), output);
    let scenario = folder.join("scenario.toml");
    let again = format!("{:14}brunt run {}", "again", scenario.display());
    let resume = resume(result, folder);
    format!("{text}\n{again}{resume}{}", verdict_again(result, output))
}

/// How to carry on the run in `folder`; nothing if that cannot be done.
pub fn resume(result: &RunResult, folder: &Path) -> String {
    let kind = result.storage.test.kind();
    let can_be = result.verdict == Verdict::Interrupted
        && result.world == World::Real
        && result.times.collection_s > 0.0
        && kind.is_some_and(TestKind::has_limits);
    match can_be {
        true => format!("\n{:14}brunt run --resume {}", "carry on", folder.display()),
        false => String::new(),
    }
}

/// The verdict for the end of a text that began with it; nothing when the text is short.
pub fn verdict_again(result: &RunResult, output: &Output) -> String {
    match result.rules.is_empty() {
        true => String::new(),
        false => format!("\n\n{}", verdict_line(result, output)),
    }
}

/// Verdict and rules of `result`, and where its `report` is.
pub fn summary(result: &RunResult, report: &Path, output: &Output) -> String {
    let mut text = String::new();
    text.push_str(&verdict_line(result, output));
    // Of a test that was stopped nothing is judged, whatever its rules say until then.
    let is_judged = matches!(result.verdict, Verdict::Fail | Verdict::Invalid);
    if result.verdict == Verdict::Pass {
        let reasons = result.reasons.iter();
        reasons.for_each(|reason| text.push_str(&format!("\n{:14}{}", "", one_line(reason))));
    }
    let failed = gravest_first(&result.rules).into_iter();
    let failed = failed.filter(|rule| is_judged && rule.outcome == Outcome::Failed);
    failed.for_each(|rule| text.push_str(&failure(rule)));
    for why in &result.storage.bottlenecks {
        text.push_str(&format!("\n{:14}{}", "", one_line(&why.heading())));
    }
    for line in &result.storage.details.found {
        text.push_str(&format!("\n{:14}{}", "", one_line(line)));
    }
    if !result.storage.faults.is_empty() {
        text.push_str(&format!("\n{}", faults(result, output)));
    }
    if let Some(copies) = copies(result) {
        text.push_str(&format!("\n{:14}{}", "copies", one_line(&copies)));
    }
    let rules = rules(&result.rules, output, output.width());
    text.push_str(&format!("\n\n{rules}"));
    if !rules.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{:14}{}", "report", report.display()));
    text
}

/// How far passive copies were behind, and how many equal their actives; `None` without copies.
fn copies(result: &RunResult) -> Option<String> {
    let servers = result.storage.servers.iter();
    let copies: Vec<_> = servers.flat_map(|server| &server.copies).collect();
    let fine = copies.iter().filter(|copy| copy.is_wrong == Some(false));
    let longest = |which: usize, lagged: bool| {
        let of = copies.iter().filter(|copy| (copy.lag_s > 0.0) == lagged);
        of.filter_map(|copy| copy.longest()[which]).max()
    };
    let queue = |what: &str, logs: Option<u32>| {
        logs.map(|logs| format!("{what} at most {}", counted(logs.into(), "log")))
    };
    let of = match copies.len() {
        0 => return None,
        1 => "its active".to_owned(),
        _ => "their actives".to_owned(),
    };
    let stored = longest(0, false).max(longest(0, true));
    let (fine, all) = (fine.count(), copies.len());
    let outcome = match copies.iter().all(|copy| copy.is_wrong.is_none()) {
        true => format!("{all}, not compared with {of}"),
        false => format!("{fine} of {all} as {of}"),
    };
    let words = [
        Some(outcome),
        queue("copy queue", stored),
        queue("replay queue", longest(1, false)),
        queue("replay queue of lagged copies", longest(1, true)),
    ];
    Some(words.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// What was put in the way on purpose, and what became of it.
fn faults(result: &RunResult, output: &Output) -> String {
    let faults = result.storage.faults.iter().map(|fault| {
        let struck = match fault.struck {
            None => "not known how often".to_owned(),
            Some(0) => "did not strike".to_owned(),
            Some(1) => "struck once".to_owned(),
            Some(struck) => format!("struck {} times", grouped(struck)),
        };
        let fault = format!("{} ({}) {struck}", fault.fault, fault.file);
        one_line(&fault).into_owned()
    });
    let faults: Vec<String> = faults.collect();
    let word = output.paint(Tone::Doubt, &format!("{:14}", "on purpose"));
    format!("{word}{}", faults.join("; "))
}

pub(crate) fn verdict_line(result: &RunResult, output: &Output) -> String {
    let word = result.headline();
    let tone = Tone::from(result.colour());
    // Padded before it is coloured, or the codes would count as letters.
    let word = output.paint(tone, &format!("{word:12}"));
    let target = match result.storage.target_iops {
        Some(target) if result.storage.servers.len() > 1 => {
            format!("target {} together", decimals(target))
        }
        Some(target) => format!("target {}", decimals(target)),
        None => "no target set".to_owned(),
    };
    // Of a test that was not carried through, the reason matters more than the rate until then; and
    // a backup has no rate.
    let carried = result.verdict.is_answer();
    let kind = result.storage.test.kind();
    let carried = carried && kind.is_some_and(TestKind::has_limits);
    // What the storage did to the data matters more than how fast it was.
    let sentence = &result.storage.details.sentence;
    if let Some((wrong, _)) = sentence.split_once(": ")
        && wrong.starts_with(WRONG_DATA)
    {
        return format!("{word}  {}", one_line(wrong));
    }
    match result.storage.achieved_iops.filter(|_| carried) {
        Some(rate) => {
            format!("{word}  {} transactional I/Os per second   {target}", decimals(rate))
        }
        None => format!("{word}  {}", one_line(sentence)),
    }
}

pub(crate) fn failure(rule: &Rule) -> String {
    let remark = match rule.remark.as_str() {
        "" => String::new(),
        remark => format!("; {remark}"),
    };
    let line = format!("{}{remark}", rule.against_limit());
    format!("\n{:14}{}", "", one_line(&line))
}

/// A row for each rule, and its remark behind it; one line for a group that is folded. Where
/// `width` is too narrow for that, the remark stands below if the rule failed or doubts something,
/// and is left to the report otherwise.
pub(crate) fn rules(rules: &[Rule], output: &Output, width: Option<usize>) -> String {
    if rules.is_empty() {
        // Of several servers only the rules that failed are listed.
        return String::new();
    }
    let groups = RuleGroup::all(rules);
    let (folded, open): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.is_folded());
    let shown: Vec<&Rule> = open.iter().flat_map(|group| &group.rules).copied().collect();
    let fits = |line: &String| width.is_none_or(|width| INDENT + cells(line) <= width);
    let mut lines = table(&shown, true, output);
    if !lines.iter().all(fits) {
        // Of all columns this one is missed least: it follows from the two before it.
        lines = table(&shown, false, output);
    }
    let mut text = format!("  {}\n", lines[0]);
    for (line, rule) in lines[1..].iter().zip(shown) {
        let remark = one_line(&rule.remark);
        let whole = format!("  {line}   {remark}");
        let fits = width.is_none_or(|width| cells(&whole) <= width);
        let matters = matches!(rule.outcome, Outcome::Failed | Outcome::Advisory);
        text.push_str(&match (remark.is_empty(), fits, matters) {
            (false, true, _) => format!("{whole}\n"),
            (false, false, true) => format!("  {line}\n      {remark}\n"),
            _ => format!("  {line}\n"),
        });
    }
    for group in folded {
        text.push_str(&format!("  {}\n", group.summary()));
    }
    text
}

/// The lines of a table of `rules`, with or without the share of its limit that each has used.
fn table(rules: &[&Rule], with_used: bool, output: &Output) -> Vec<String> {
    let used = with_used.then_some("used");
    let figures: Vec<&str> = ["limit", "measured"].into_iter().chain(used).collect();
    let columns = Column::of(&["rule"], &figures);
    let columns = columns.into_iter().chain([Column::words("outcome")]);
    let row = |rule: &&Rule| {
        let figures = [rule.limit_in_words(), rule.measured_in_words()];
        let used = with_used.then(|| rule.used_in_words());
        let outcome = output.paint(tone(rule.outcome), &rule.outcome.to_string());
        let figures = figures.into_iter().chain(used);
        Row::new([rule.heading()].into_iter().chain(figures).chain([outcome]))
    };
    Table::new(columns, rules.iter().map(row)).text_lines()
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Ok => Tone::Good,
        Outcome::Failed => Tone::Bad,
        Outcome::NotMeasured | Outcome::NotJudged | Outcome::Advisory => Tone::Doubt,
    }
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{Group, PassiveCopy};

    use super::*;

    const RESULT: &str = include_str!("../../report/tests/report/result_v2.json");

    #[test]
    fn copies_have_a_line_of_their_own() {
        let mut result = RunResult::from_json(RESULT).unwrap();
        assert_eq!(copies(&result), None);
        let copy = |lag_s, stored, replayed, is_wrong| PassiveCopy {
            lag_s,
            copy_queue_logs: vec![0, stored],
            replay_queue_logs: vec![replayed, 0],
            is_wrong,
            ..PassiveCopy::default()
        };
        let server = &mut result.storage.servers[0];
        server.copies = vec![copy(0.0, 1, 2, Some(false))];
        let line = "1 of 1 as its active; copy queue at most 1 log; replay queue at most 2 logs";
        assert_eq!(copies(&result).unwrap(), line);
        let more = [copy(60.0, 3, 40, Some(true)), copy(0.0, 0, 5, None)];
        result.storage.servers[0].copies.extend(more);
        assert_eq!(
            copies(&result).unwrap(),
            "1 of 3 as their actives; copy queue at most 3 logs; replay queue at most 5 logs; \
             replay queue of lagged copies at most 40 logs"
        );
    }

    #[test]
    fn a_failure_says_which_rule_and_where() {
        let result = RunResult::from_json(RESULT).unwrap();
        let text = closing(&result, Path::new("runs/x"), &Output::plain());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "FAIL          212 transactional I/Os per second   target 240");
        assert_eq!(
            lines[1],
            "              database read, average: 24.4 ms (limit 20 ms); DB2; over the limit from minute 10 on"
        );
        assert_eq!(
            lines[3],
            "  rule                                           limit  measured   used  outcome"
        );
        assert_eq!(
            lines[4],
            "  database read, average                         20 ms   24.4 ms  122 %  failed   DB2; over the limit from minute 10 on"
        );
        assert!(text.ends_with(
            "\n\nreport        runs/x/report.html\nagain         brunt run runs/x/scenario.toml\n\n\
             FAIL          212 transactional I/Os per second   target 240"
        ));
    }

    #[test]
    fn wrong_data_stands_above_the_rate() {
        let mut result = RunResult::from_json(RESULT).unwrap();
        let mut pages = result.rules[0].clone();
        (pages.group, pages.title) = (Group::Integrity, "pages verified".to_owned());
        result.rules.push(pages);
        result.storage.details.sentence = format!("{WRONG_DATA} (6 files): pages verified 3 bad.");
        let text = closing(&result, Path::new("runs/x"), &Output::plain());
        let lines: Vec<_> = text.lines().collect();
        let head = "FAIL          The storage returned wrong data (6 files)";
        assert_eq!((lines[0], *lines.last().unwrap()), (head, head));
        assert!(lines[1].contains("pages verified: "), "{text}");
        assert!(lines[2].contains("database read, average: "), "{text}");
    }

    #[test]
    fn a_narrow_terminal_shows_only_remarks_that_fit_or_matter() {
        let mut all = RunResult::from_json(RESULT).unwrap().rules;
        all.truncate(2);
        all[1].remark = "of a database with\na long name".to_owned();
        let rows = |width| {
            let text = rules(&all, &Output::plain(), width);
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let table = table(&all.iter().collect::<Vec<_>>(), true, &Output::plain());
        let whole = INDENT + table.iter().map(|line| cells(line)).max().unwrap();
        let [wide, narrow] = [rows(None), rows(Some(whole))];
        assert_eq!((wide.len(), narrow.len()), (3, 4));
        assert_eq!(narrow[2], "      DB2; over the limit from minute 10 on");
        assert_eq!(wide[1], format!("{}   {}", narrow[1], narrow[2].trim()));
        assert_eq!(wide[2], format!("{}   of a database with\\na long name", narrow[3]));
        assert_eq!(rows(Some(200)), wide);
        let narrower = rows(Some(whole - 1));
        assert!(!narrower[0].contains("used") && narrower[0].ends_with("outcome"));
        assert!(narrower.iter().all(|line| cells(line) < whole));
    }

    #[test]
    fn without_a_rate_the_sentence_stands_there() {
        let mut result = RunResult::from_json(RESULT).unwrap();
        result.verdict = Verdict::Interrupted;
        result.storage.achieved_iops = None;
        result.storage.details.sentence =
            "The run was stopped while databases were made.".to_owned();
        result.rules.clear();
        let text = closing(&result, Path::new("runs/x"), &Output::plain());
        assert!(text.starts_with("INTERRUPTED   The run was stopped while databases were made.\n"));
    }
}
