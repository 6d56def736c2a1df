//! The measured time by how the groups were: whole, rebuilding, degraded.
//!
//! Intervals have the length that the scenario gives them, and a rebuild begins and ends somewhere
//! within; here, what hosts got while it lasted stands by itself.

use brunt_array::Standing;
use brunt_array::load::{Outcome, Phase, Side};
use brunt_report::{Cell, Column, Row, Table, decimals};
use brunt_stats::Percentile;
use brunt_units::Span;

use super::words::{millis, per_second};

/// A row for each phase; no rows when there was only one.
pub(super) fn table(outcome: &Outcome) -> Table {
    let times = ["from", "until"].map(Column::numbers);
    let figures = ["reads/s", "read ms", "p99 ms", "writes/s", "write ms", "p99 ms", "errors"];
    let groups = std::iter::once(Column::words("groups"));
    let columns = times.into_iter().chain(groups);
    let rows = match &outcome.phases[..] {
        // A single phase is the whole run, which is shown already.
        [] | [_] => &[],
        several => several,
    };
    Table::new(columns.chain(figures.map(Column::numbers)), rows.iter().map(row))
}

fn row(phase: &Phase) -> Row {
    let length = phase.until - phase.since;
    let rate = |side: &Side| Cell::Number(per_second(side.latencies.count(), length));
    let mean = |side: &Side| millis(side.latencies.mean());
    let high = |side: &Side| millis(side.latencies.percentile(Percentile::P99));
    Row::new([
        Cell::from(Span(phase.since.0).to_string()),
        Span(phase.until.0).to_string().into(),
        phase.standing.word().into(),
        rate(&phase.reads),
        mean(&phase.reads),
        high(&phase.reads),
        rate(&phase.writes),
        mean(&phase.writes),
        high(&phase.writes),
        (phase.reads.errors + phase.writes.errors).into(),
    ])
}

/// How long reads took in each state that there was, in a sentence; nothing when there was only
/// one.
pub(super) fn sentence(outcome: &Outcome) -> Option<String> {
    let mut parts = Vec::new();
    for standing in Standing::ALL {
        let mut reads = Side::default();
        for phase in outcome.phases.iter().filter(|phase| phase.standing == standing) {
            reads.merge(&phase.reads);
        }
        if let Some(mean) = reads.latencies.mean() {
            let while_so = match standing {
                Standing::Whole => "on whole groups".to_owned(),
                Standing::Lost => "after data was lost".to_owned(),
                other => format!("while {}", other.word()),
            };
            parts.push(format!("{} ms {while_so}", decimals(mean.as_millis())));
        }
    }
    let last = parts.pop()?;
    match parts.is_empty() {
        true => None,
        false => Some(format!("Reads took {} and {last}.", parts.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use brunt_array::load::simulate;

    use super::*;
    use brunt_scenario::{ArrayScenario, Document};

    /// The example, cut short: the whole drive is rebuilt from 10 s on within a minute, and comes
    /// back at 80 s.
    fn rebuilding() -> ArrayScenario {
        let mut text =
            include_str!("../../../../examples/arrays/raid10-rebuilding.toml").to_owned();
        for (from, to) in [
            ("duration = \"80min\"", "duration = \"2min\""),
            ("warm_up = \"1min\"", "warm_up = \"1s\""),
            ("interval = \"5min\"", "interval = \"30s\""),
            ("at = \"2min\"", "at = \"10s\""),
            ("at = \"50min\"", "at = \"80s\""),
            ("drive_size = \"28 GB\"", "drive_size = \"1 GB\""),
        ] {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        Document::new("a.toml", &text, std::path::Path::new("/")).unwrap().load(&[]).unwrap()
    }

    #[test]
    fn phases_cover_the_measured_time_and_every_answer_once() {
        let scenario = rebuilding();
        let outcome = simulate(&scenario.simulation, |_| true).unwrap();
        let standings: Vec<Standing> = outcome.phases.iter().map(|one| one.standing).collect();
        let expected =
            [Standing::Whole, Standing::Rebuilding, Standing::Whole, Standing::CopyingBack];
        assert_eq!(standings, expected);
        let first = &outcome.phases[0];
        assert_eq!((first.since, Span(first.until.0)), (outcome.since, Span::seconds(10)));
        for two in outcome.phases.windows(2) {
            assert_eq!(two[0].until, two[1].since);
        }
        assert_eq!(outcome.phases[3].until, outcome.until);
        let mut reads = Side::default();
        for phase in &outcome.phases {
            reads.merge(&phase.reads);
        }
        assert_eq!(reads.parts_ns, outcome.reads.parts_ns);
        assert_eq!(reads.latencies.count(), outcome.reads.latencies.count());
        let sentence = sentence(&outcome).unwrap();
        assert!(sentence.contains(" on whole groups, "), "{sentence}");
        assert!(sentence.ends_with(" while rebuilding."), "{sentence}");
        let left: Vec<String> = outcome.unfinished.iter().map(ToString::to_string).collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].contains("copying to drive 2 goes on, "), "{left:?}");
        assert!(left[0].contains(" % done; at this pace "), "{left:?}");
    }
}
