//! The table of what users did.

use crate::decimals;
use crate::result::{Mail, MailWork};
use crate::table::{Cell, Column, Row, Table};

/// Each task against its plan; empty when mail was only sent.
pub(super) fn tasks(mail: &Mail) -> Table {
    let columns = Column::of(
        &["Task"],
        &[
            "Planned",
            "Done",
            "Given up",
            "Response p50 (ms)",
            "p95 (ms)",
            "p99 (ms)",
            "Longest (ms)",
            "Server alone, p95 (ms)",
        ],
    );
    let Some(work) = &mail.work else {
        return Table::new(columns, []);
    };
    let rows = work.tasks.iter().map(|task| {
        let response = task.response.as_ref();
        let times = [
            response.map(|one| one.p50_ms),
            response.map(|one| one.p95_ms),
            response.map(|one| one.p99_ms),
            response.map(|one| one.max_ms),
            task.service.as_ref().map(|one| one.p95_ms),
        ];
        let counts = [task.planned, task.done, task.failed].map(Cell::from);
        let class = if task.failed > 0 { "failed" } else { "" };
        let cells = [Cell::from(task.task.as_str())].into_iter().chain(counts);
        Row::classed(cells.chain(times.map(Cell::from)), class)
    });
    Table::new(columns, rows).titled("What users did, and how long they waited").noted(&note(work))
}

fn note(work: &MailWork) -> String {
    let mut note = format!(
        "Profile {}, a day of {} s; figures are of the {} s in the middle. A response counts from when a task was due, also \
         while servers stood still; the last column counts from when it was begun. At most {} tasks waited at once.",
        work.profile,
        decimals(work.day_s),
        decimals(work.steady_s),
        work.waiting_max
    );
    if !work.not_offered.is_empty() {
        note += &format!(
            " Left out, as the server does not offer it: {}.",
            work.not_offered.join(", ")
        );
    }
    for (what, share) in work.delayed_acks() {
        note += &format!(
            " {what}: {:.0} % of the times lie between 38 and 50 ms, which is the timer of delayed acknowledgements (40 ms on \
             Linux) and not the server's work: the server sends an answer in two parts and waits in between.",
            100.0 * share
        );
    }
    note
}
