//! From what an audit found to rules, a verdict and words.
//!
//! | verdict | when |
//! | --- | --- |
//! | pass | every delivery that was accepted is there as promised, and all mailboxes were read |
//! | fail | a promise is broken; what could not be looked at changes nothing about it |
//! | inconclusive | nothing is broken as far as one could look, and one could not look at everything |

use brunt_mail::audit::{Counts, Detail, Finding, Standing};
use brunt_mail::{Audited, Flags, FolderBreach, Mailing, Outcome, Routing, Verdict as Answer};
use brunt_report::result::{Group, MailFinding, MailLedger, Rule, RuleName, Verdict};
use brunt_report::{counted, grouped};

/// Findings that are kept in a result.
const FINDINGS_MAX: usize = 1_000;
/// Findings that a rule names.
const NAMED_MAX: usize = 3;
/// Bytes of each side of a difference that are shown.
const SHOWN_MAX: usize = 8;

/// A rule and the outcomes that break it.
const RULES: [(&str, &str, &[Outcome]); 12] = [
    ("mail-lost", "mail lost", &[Outcome::Lost]),
    ("mail-changed", "mail changed", &[Outcome::Changed]),
    ("mail-doubled", "mail doubled without a reason", &[Outcome::Doubled]),
    ("mail-misdelivered", "mail with the wrong user", &[Outcome::Misdelivered]),
    ("mail-misplaced", "mail in another folder", &[Outcome::Misplaced]),
    ("mail-late", "mail late", &[Outcome::Late]),
    ("mail-bounced", "mail accepted and returned", &[Outcome::Bounced]),
    ("mail-unreadable", "mail listed and unreadable", &[Outcome::Unreadable]),
    ("mail-resurrected", "mail removed, and back", &[Outcome::Resurrected]),
    ("mail-flags", "changes of flags forgotten", &[Outcome::ForgottenFlag]),
    ("mail-refused", "known users refused for good", &[Outcome::RefusedForGood]),
    (
        "mail-phantom",
        "mail that was not accepted, and is there",
        &[
            Outcome::RefusedButDelivered,
            Outcome::NotSentButDelivered,
            Outcome::NeverSentButDelivered,
        ],
    ),
];

/// Deliveries by outcome, as in a result.
pub(super) fn ledger(audited: &Audited) -> MailLedger {
    let of = |outcome| audited.counts.of(outcome);
    MailLedger {
        accepted: audited.accepted,
        found: of(Outcome::Found),
        refused: of(Outcome::Refused),
        not_sent: of(Outcome::NotSent),
        unanswered_absent: of(Outcome::UnansweredAbsent),
        unanswered_present: of(Outcome::UnansweredPresent),
        explained_double: of(Outcome::ExplainedDouble),
        explained_max: audited.explained_max,
        removed: of(Outcome::Removed),
        lost: of(Outcome::Lost),
        misdelivered: of(Outcome::Misdelivered),
        changed: of(Outcome::Changed),
        doubled: of(Outcome::Doubled),
        bounced: of(Outcome::Bounced),
        unreadable: of(Outcome::Unreadable),
        refused_but_delivered: of(Outcome::RefusedButDelivered),
        not_sent_but_delivered: of(Outcome::NotSentButDelivered),
        never_sent_but_delivered: of(Outcome::NeverSentButDelivered),
        resurrected: of(Outcome::Resurrected),
        forgotten_flag: of(Outcome::ForgottenFlag),
        refused_for_good: of(Outcome::RefusedForGood),
        misplaced: of(Outcome::Misplaced),
        late: of(Outcome::Late),
        queued: of(Outcome::Queued),
        unchecked: of(Outcome::Unchecked),
    }
}

/// All deliveries that were begun, and copies that should not be there.
pub(super) fn all(audited: &Audited) -> u64 {
    audited.counts.iter().map(|(_, count)| count).sum()
}

/// What is not as promised, in words.
pub(super) fn findings(audited: &Audited, mailing: &Mailing) -> Vec<MailFinding> {
    let words = |finding: &Finding| MailFinding {
        message: finding.number.into(),
        user: user(mailing, finding.account),
        outcome: finding.outcome.name().to_owned(),
        detail: match finding.detail {
            Detail::Account(account) => whose(finding, account, mailing),
            _ => detail(&finding.detail, mailing),
        },
        section: finding.outcome.section().unwrap_or_default().to_owned(),
    };
    audited.findings.iter().take(FINDINGS_MAX).map(words).collect()
}

/// Who has a copy that was meant for this account, or for whom the copy of this account was meant.
fn whose(finding: &Finding, other: u32, mailing: &Mailing) -> String {
    // By turn only the ledger knows recipients, and it names whom mail was meant for.
    let is_addressed = mailing.options().routing == Routing::ByTurn
        || mailing.route(finding.number).to.contains(&finding.account);
    let other = user(mailing, other);
    if is_addressed { format!("is with {other}") } else { format!("meant for {other}") }
}

/// The part of an address before the `@`, which is how brunt names a mailbox.
pub(super) fn user(mailing: &Mailing, account: u32) -> String {
    let address = mailing.address(account).unwrap_or_default();
    address.split('@').next().unwrap_or_default().to_owned()
}

fn detail(detail: &Detail, mailing: &Mailing) -> String {
    match detail {
        Detail::None => String::new(),
        Detail::Difference(difference) => {
            let [sent, there] = [&difference.expected, &difference.found].map(|bytes| shown(bytes));
            format!("byte {}: {there} instead of {sent}", grouped(difference.offset))
        }
        Detail::Copies(count) => match count {
            1 => "1 copy".to_owned(),
            count => format!("{count} copies"),
        },
        Detail::Arrivals(arrivals) => {
            let written = arrivals.iter().map(|second| brunt_mail::date::written(*second));
            let clock = |date: String| date.split(' ').nth(4).unwrap_or_default().to_owned();
            let times: Vec<_> = written.map(clock).collect();
            format!("{} copies, received at {} UTC", times.len(), times.join(", "))
        }
        Detail::Folder(folder) => format!("folder {folder}"),
        Detail::Flags(flags) => format!("shows {}", flags_in_words(*flags)),
        Detail::Code(code) => format!("reply {code}"),
        Detail::Account(account) => user(mailing, *account),
    }
}

fn flags_in_words(flags: Flags) -> String {
    let named = [
        (Flags::SEEN, "\\Seen"),
        (Flags::ANSWERED, "\\Answered"),
        (Flags::FLAGGED, "\\Flagged"),
        (Flags::DELETED, "\\Deleted"),
        (Flags::DRAFT, "\\Draft"),
    ];
    let names = named.into_iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| name);
    match names.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => "no flags".to_owned(),
        names => names,
    }
}

fn shown(bytes: &[u8]) -> String {
    match bytes {
        [] => "the end".to_owned(),
        bytes => {
            let shown = &bytes[..bytes.len().min(SHOWN_MAX)];
            format!("\"{}\"", shown.escape_ascii())
        }
    }
}

/// The rules, with the first messages that break each.
pub(super) fn rules(audited: &Audited, mailing: &Mailing) -> Vec<Rule> {
    let broken = RULES.iter().map(|(id, title, outcomes)| {
        let name = RuleName { id, group: Group::Integrity, title };
        let count: u64 = outcomes.iter().map(|outcome| audited.counts.of(*outcome)).sum();
        let found = audited.findings.iter().filter(|one| outcomes.contains(&one.outcome));
        none(name, count).with_remark(named(found, count, mailing))
    });
    let folders = RuleName {
        id: "mail-folders",
        group: Group::Integrity,
        title: "UIDs, UIDVALIDITY or MODSEQ that went back",
    };
    let folders = none(folders, length(&audited.folders)).with_remark(breaches(audited, mailing));
    let fair = |id, title| RuleName { id, group: Group::FairTest, title };
    let queued = audited.counts.of(Outcome::Queued);
    let unchecked = audited.counts.of(Outcome::Unchecked);
    let open = [
        Rule::at_least(
            fair("mail-accepted", "deliveries accepted"),
            "",
            1.0,
            Some(number(audited.accepted)),
        ),
        none(fair("mail-queued", "mail still queued"), queued),
        none(fair("mail-unchecked", "mail in mailboxes that were not read"), unchecked),
        none(fair("mail-unread", "mailboxes not read to their end"), length(&audited.unread))
            .with_remark(unread(audited, mailing)),
        none(fair("mail-unshown", "messages listed and not shown"), audited.unreadable),
    ];
    broken.chain([folders]).chain(open).collect()
}

/// `u0003, folder 0: UIDVALIDITY 7 became 8`, of the first ones.
fn breaches(audited: &Audited, mailing: &Mailing) -> String {
    let words = audited.folders.iter().take(NAMED_MAX).map(|(place, breach)| {
        let what = match breach {
            FolderBreach::Validity(from, to) => format!("UIDVALIDITY {from} became {to}"),
            FolderBreach::Next(from, to) => format!("UIDNEXT {from} became {to}"),
            FolderBreach::Modseq(from, to) => format!("HIGHESTMODSEQ {from} became {to}"),
            FolderBreach::Uid(uid) => format!("UID {uid} is another message than promised"),
            FolderBreach::Disagree(uid) => format!("sessions disagree on UID {uid}"),
        };
        format!("{}, folder {}: {what}", user(mailing, place.account), place.folder)
    });
    words.collect::<Vec<_>>().join("; ")
}

fn length<T>(all: &[T]) -> u64 {
    u64::try_from(all.len()).unwrap_or(u64::MAX)
}

/// A rule that nothing of the kind was seen.
fn none(name: RuleName, count: u64) -> Rule {
    Rule::at_most(name, "", 0.0, Some(number(count)))
}

#[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}

/// `message 71 to u0003, message 90 to u0001 and 5 more`.
fn named<'f>(findings: impl Iterator<Item = &'f Finding>, count: u64, mailing: &Mailing) -> String {
    let named: Vec<String> = findings
        .take(NAMED_MAX)
        .map(|one| format!("message {} to {}", one.number, user(mailing, one.account)))
        .collect();
    let more = count.saturating_sub(number_of(&named));
    match more {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), grouped(more)),
    }
}

fn unread(audited: &Audited, mailing: &Mailing) -> String {
    let named: Vec<String> =
        audited.unread.iter().take(NAMED_MAX).map(|account| user(mailing, *account)).collect();
    let all = length(&audited.unread);
    match all.saturating_sub(number_of(&named)) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), grouped(more)),
    }
}

fn number_of(named: &[String]) -> u64 {
    length(named)
}

/// The verdict that follows from the audit alone.
pub(super) fn verdict(audited: &Audited) -> Verdict {
    match audited.verdict() {
        Answer::Pass => Verdict::Pass,
        Answer::Fail => Verdict::Fail,
        Answer::CannotTell => Verdict::Inconclusive,
    }
}

/// What came of it, in one sentence.
pub(super) fn sentence(audited: &Audited, verdict: Verdict) -> String {
    let accepted = deliveries(audited.accepted);
    match verdict {
        _ if audited.accepted == 0 && verdict != Verdict::Fail => {
            "Nothing was accepted, so there is nothing to look for.".to_owned()
        }
        Verdict::Interrupted if audited.verdict() == Answer::Pass => format!(
            "Stopped before everything was sent; each of the {accepted} that were accepted until then is there."
        ),
        Verdict::Pass => {
            let doubles = match audited.counts.of(Outcome::ExplainedDouble) {
                0 => "once and as it was sent".to_owned(),
                count => format!(
                    "as it was sent: {} once, {} more than once, which the faults explain",
                    grouped(audited.accepted.saturating_sub(count)),
                    grouped(count)
                ),
            };
            format!("Each of the {accepted} that were accepted is there {doubles}.")
        }
        Verdict::Fail if audited.counts.standing(Standing::Broken) == 0 => format!(
            "Each delivery is as promised, but {}: a client that keeps mail shows the wrong message, or fetches all of it again.",
            match audited.folders.len() {
                1 => "a promise about UIDs was broken".to_owned(),
                count => format!("{count} promises about UIDs were broken"),
            }
        ),
        Verdict::Fail => format!(
            "The servers did not keep their word on {}: {}. {} were accepted.",
            deliveries(audited.counts.standing(Standing::Broken)),
            listed(&audited.counts, Standing::Broken),
            accepted
        ),
        _ => {
            let open = listed(&audited.counts, Standing::Unknown);
            let open = match open.as_str() {
                "" if audited.unread.is_empty() => {
                    format!("{} could not be shown", counted(audited.unreadable, "message"))
                }
                "" => "a mailbox could not be read".to_owned(),
                open => open.to_owned(),
            };
            format!("Nothing that could be looked at is wrong, but not everything could: {open}.")
        }
    }
}

/// `1 delivery`, `5,001 deliveries`.
pub(super) fn deliveries(count: u64) -> String {
    match count {
        1 => "1 delivery".to_owned(),
        count => format!("{} deliveries", grouped(count)),
    }
}

fn listed(counts: &Counts, standing: Standing) -> String {
    let with = counts.iter().filter(|(outcome, _)| outcome.standing() == standing);
    let words = with.map(|(outcome, count)| format!("{} {}", grouped(count), outcome.name()));
    words.collect::<Vec<_>>().join(", ")
}

/// Messages that are none of this run, in words; nothing if there are none.
pub(super) fn others(audited: &Audited) -> Option<String> {
    let all = audited.other_runs + audited.aliens;
    (all > 0).then(|| format!("{} in the mailboxes are not of this run", counted(all, "message")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outcomes have a field, a row with the same words, and a rule if they break a promise.
    #[test]
    fn no_outcome_is_forgotten() {
        let rows = MailLedger::default().outcomes().map(|row| row.0);
        let names = Outcome::ALL.map(Outcome::name);
        assert_eq!([&rows[..], &names[..]].map(|all| all.len()), [names.len(); 2]);
        for outcome in Outcome::ALL {
            let name = outcome.name();
            assert!(rows.contains(&name), "{name}");
            let has_rule = RULES.iter().any(|(.., outcomes)| outcomes.contains(&outcome));
            assert_eq!(has_rule, outcome.standing() == Standing::Broken, "{name}");
            let field = name.replace(", ", "_").replace(' ', "_");
            let ledger = serde_json::to_value(MailLedger::default()).unwrap();
            assert!(ledger.get(&field).is_some(), "{field}");
        }
    }

    #[test]
    fn a_folder_that_went_back_fails_and_is_named() {
        let accounts = vec!["u0000@test.invalid".to_owned(), "u0001@test.invalid".to_owned()];
        let mailing = Mailing::new(brunt_mail::MailingOptions::new(1, 1, 0, accounts)).unwrap();
        let place = brunt_mail::Place { account: 1, folder: 0 };
        let audited = Audited {
            accepted: 3,
            folders: vec![(place, FolderBreach::Validity(7, 8))],
            ..Audited::default()
        };
        assert_eq!(verdict(&audited), Verdict::Fail);
        let rules = rules(&audited, &mailing);
        let rule = rules.iter().find(|rule| rule.id == "mail-folders").unwrap();
        assert_eq!(rule.remark, "u0001, folder 0: UIDVALIDITY 7 became 8");
        let said = sentence(&audited, Verdict::Fail);
        assert!(
            said.starts_with("Each delivery is as promised, but a promise about UIDs"),
            "{said}"
        );
    }
}
