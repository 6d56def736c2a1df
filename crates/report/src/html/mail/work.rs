//! The table of what users did.

use crate::result::{Mail, MailLatency, MailWork};
use crate::table::{Cell, Column, Row, Table};
use crate::{decimals, grouped};

/// Each task against its plan; empty when mail was only sent.
pub(super) fn tasks(mail: &Mail) -> Table {
    let Some(work) = &mail.work else {
        return Table::new(Column::of(&["Task"], &[]), []);
    };
    let response = [
        "Planned",
        "Done",
        "Given up",
        "Response p50 (ms)",
        "p95 (ms)",
        "p99 (ms)",
        "Longest (ms)",
        "Server alone, p95 (ms)",
    ];
    let stress = ["Begun", "Done", "Given up", "p50 (ms)", "p95 (ms)", "p99 (ms)", "Longest (ms)"];
    let columns: &[&str] = if work.is_stress { &stress } else { &response };
    let rows = work.tasks.iter().map(|task| {
        let shown = if work.is_stress { &task.service } else { &task.response };
        let of = |pick: fn(&MailLatency) -> f64| shown.as_ref().map(pick);
        let times = [
            of(|one| one.p50_ms),
            of(|one| one.p95_ms),
            of(|one| one.p99_ms),
            of(|one| one.max_ms),
        ];
        let alone = (!work.is_stress).then(|| task.service.as_ref().map(|one| one.p95_ms));
        let counts = [task.planned, task.done, task.failed].map(Cell::from);
        let class = if task.failed > 0 { "failed" } else { "" };
        let cells = [Cell::from(task.task.as_str())].into_iter().chain(counts);
        Row::classed(cells.chain(times.into_iter().chain(alone).map(Cell::from)), class)
    });
    let title = match work.is_stress {
        true => "What users did without a break, and how long servers took",
        false => "What users did, and how long they waited",
    };
    Table::new(Column::of(&["Task"], columns), rows).titled(title).noted(&note(work))
}

fn note(work: &MailWork) -> String {
    let steady = decimals(work.steady_s);
    let mut note = match work.is_stress {
        true => format!(
            "Profile {}, in stress mode: each user began the next task when the last one was done, drawn as often as the profile \
             has it; {} tasks a second in the {steady} s in the middle. This closed loop shows what servers can do. It says nothing \
             of how long users wait, as it sends less while servers stand still.",
            work.profile,
            work.done_per_s().map_or("-".to_owned(), decimals),
        ),
        false => format!(
            "Profile {}, a day of {} s; figures are of the {steady} s in the middle. A response counts from when a task was due, also \
             while servers stood still; the last column counts from when it was begun. At most {} tasks waited at once.",
            work.profile,
            decimals(work.day_s),
            work.waiting_max
        ),
    };
    if work.filled > 0 {
        note += &format!(
            " Before the day {} messages were put into the mailboxes, in {} s, which are in no figure.",
            grouped(work.filled),
            decimals(work.filled_s)
        );
    }
    if let Some(late) = &work.schedule_error {
        let [p50, p99] = [late.p50_ms, late.p99_ms].map(decimals);
        note += &format!(
            " brunt itself looked at the schedule {p50} ms late (p50) and {p99} ms (p99)."
        );
    }
    if let Some(slowest) = &work.slowest {
        let p95 = decimals(slowest.p95_ms);
        note += &format!(
            " Slowest, p95 {p95} ms: {}. {}.",
            slowest.task,
            crate::capitalised(&slowest.because)
        );
    }
    if !work.not_offered.is_empty() {
        note += &format!(
            " Left out, as the server does not offer it: {}.",
            work.not_offered.join(", ")
        );
    }
    let delayed = work.delayed_acks();
    for one in &delayed {
        note += &format!(" {}.", crate::capitalised(&one.in_words()));
    }
    if delayed.iter().any(|one| one.is_timer() == Some(true)) {
        note += " There the server sends an answer in two parts, and its second part waits until the first is acknowledged.";
    }
    note
}
