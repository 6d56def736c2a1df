//! The page: a table for each of the servers.

use std::collections::BTreeSet;
use std::fmt::Write;

use brunt_report::grouped;
use brunt_report::result::{Mail, Outcome, Verdict};

use super::Kept;
use super::cells::Cell;

const HEAD: &str = "\
# Which mail servers keep their word

Measured by `cargo xtask mail-results`, which makes this page: each row is a scenario of [`brunt load`](mail.md), run once or
several times. Results are kept in `target/mail-results`; the next call makes the runs that have none. It takes root, Dovecot,
Postfix, and for some rows Cyrus and Exim, which can be unpacked (`BRUNT_UNPACKED_SERVERS`); Exim needs its user `Debian-exim`.

* **Verdict**: how its runs ended, which promises were broken, why a run was refused, and how many are still to be made.
* **Accepted** and what follows are deliveries, summed over the runs that have a result.
* **Lost** are accepted and nowhere; those that cannot be read, or came changed, count with them.
* **Explained** and *doubled* are there more than once, with a fault that explains it and without.
* **Late** are there more than a minute after their acceptance, or still in the queue.
* **Open** had no answer: there, and not there.
* **Anew** are folders that got a greater UIDVALIDITY, which a power cut allows: clients fetch them again.
* **Control**: runs in which the same cut with `mail_fsync = never` lost mail.

*power cut, never synced* has to fail. Where it does not, the rows of power cuts prove nothing.
";

/// The page about `cells`, with what is kept of each.
pub(super) fn page(cells: &[Cell], kept: impl Fn(&Cell) -> Vec<Kept>) -> String {
    let mut text = HEAD.to_owned();
    for of_servers in cells.chunk_by(|one, other| one.servers.key == other.servers.key) {
        let all: Vec<(&Cell, Vec<Kept>)> =
            of_servers.iter().map(|cell| (cell, kept(cell))).collect();
        let _ = write!(text, "\n## {}\n", of_servers[0].servers.title);
        let versions: BTreeSet<String> =
            all.iter().flat_map(|(_, kept)| kept.iter().filter_map(versions)).collect();
        if !versions.is_empty() {
            let versions: Vec<String> = versions.into_iter().collect();
            let _ = write!(text, "\n{}.\n", versions.join("; "));
        }
        text.push_str(
            "\n| fault | verdict | accepted | lost | explained | doubled | late | open | anew | control |\n\
             | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for (cell, kept) in all {
            let _ = writeln!(text, "| {} | {} |", cell.fault.title, row(&kept, cell.fault.times));
        }
    }
    text
}

/// The servers of a run, with their versions.
fn versions(kept: &Kept) -> Option<String> {
    let Kept::Result(result) = kept else {
        return None;
    };
    let servers = result.mail.as_ref()?.servers.iter();
    let named = servers
        .map(|server| format!("{} {}", server.name, server.version.as_deref().unwrap_or_default()));
    Some(named.collect::<Vec<_>>().join(" before "))
}

fn row(kept: &[Kept], times: u32) -> String {
    let mails: Vec<&Mail> = kept.iter().filter_map(mail).collect();
    let verdicts = verdicts(kept, times);
    if mails.is_empty() {
        return format!("{verdicts} | | | | | | | |");
    }
    let sum = |of: fn(&Mail) -> u64| grouped(mails.iter().map(|mail| of(mail)).sum());
    let open =
        [sum(|mail| mail.ledger.unanswered_present), sum(|mail| mail.ledger.unanswered_absent)];
    let controls: Vec<_> = mails.iter().filter_map(|mail| mail.control.as_ref()).collect();
    let control = match controls.len() {
        0 => String::new(),
        all => format!("{} of {all}", controls.iter().filter(|one| one.lost > 0).count()),
    };
    [
        verdicts,
        sum(|mail| mail.ledger.accepted),
        sum(|mail| mail.ledger.lost + mail.ledger.unreadable + mail.ledger.changed),
        sum(|mail| mail.ledger.explained_double),
        sum(|mail| mail.ledger.doubled),
        sum(|mail| mail.ledger.late + mail.ledger.queued),
        open.join(" / "),
        sum(|mail| mail.folders_renewed),
        control,
    ]
    .join(" | ")
}

fn mail(kept: &Kept) -> Option<&Mail> {
    match kept {
        Kept::Result(result) => result.mail.as_ref(),
        Kept::Refused(_) => None,
    }
}

/// `20 pass`, `19 pass, 1 fail`; how many are missing; the reason where there is no result.
fn verdicts(kept: &[Kept], times: u32) -> String {
    let count = |wanted: &str| kept.iter().filter(|one| in_a_word(one) == wanted).count();
    let words = ["pass", "fail", "no answer"].map(|word| (count(word), word));
    let counted = words.iter().filter(|(count, _)| *count > 0);
    let mut said: Vec<String> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    let why = kept.iter().find_map(|one| match one {
        Kept::Refused(why) => Some(why.replace('|', "/")),
        Kept::Result(_) => None,
    });
    said.extend(why.map(|why| format!("refused: {why}")));
    let failed = kept.iter().filter(|one| in_a_word(one) == "fail");
    let broken: BTreeSet<String> = failed.flat_map(broken).collect();
    said.extend(broken);
    let missing = (times as usize).saturating_sub(kept.len());
    match missing {
        0 => {}
        missing if missing == times as usize => said.push("not run".to_owned()),
        missing => said.push(format!("{missing} not run")),
    }
    said.join(", ")
}

/// The rules that a run failed.
fn broken(kept: &Kept) -> Vec<String> {
    match kept {
        Kept::Result(result) => {
            let failed = result.rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
            failed.map(|rule| rule.title.clone()).collect()
        }
        Kept::Refused(_) => Vec::new(),
    }
}

/// What became of a run.
pub(super) fn in_a_word(kept: &Kept) -> &'static str {
    match kept {
        Kept::Result(result) => match result.verdict {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            _ => "no answer",
        },
        Kept::Refused(_) => "no result",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_run_says_so_and_what_was_refused_says_why() {
        let cells = super::super::cells::all();
        let page = page(&cells, |_| Vec::new());
        assert_eq!(page.matches("| not run |").count(), cells.len());
        let refused = [Kept::Refused("exim4 is not installed".to_owned())];
        assert_eq!(row(&refused, 3), "refused: exim4 is not installed, 2 not run | | | | | | | |");
    }
}
