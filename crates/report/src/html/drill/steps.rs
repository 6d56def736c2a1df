//! The steps of failovers as bars: where the time went, on one scale, and where its limit is.

use serde::Serialize;

use super::span;
use crate::result::{Drill, DrillStep, RunResult};

/// The steps of one failover.
#[derive(Serialize)]
pub(super) struct Steps {
    title: String,
    /// What the bars are measured by.
    scale: String,
    /// The limit of the recovery time in words; empty without one.
    limit: String,
    /// Its place on the scale, in percent.
    limit_at: f64,
    steps: Vec<Step>,
    total: Step,
}

#[derive(Serialize)]
struct Step {
    name: String,
    seconds: String,
    /// When it ended, counted from the failure.
    until: String,
    class: &'static str,
    /// In percent of the scale.
    begin: f64,
    width: f64,
    end: f64,
}

/// A bar that is too thin is not seen.
const THIN: f64 = 0.3;

/// The limit of the recovery time that judged `rto_s`, in seconds.
pub(super) fn limit_of(result: &RunResult, rto_s: Option<f64>) -> Option<f64> {
    let rules =
        result.rules.iter().filter(|rule| rule.id == "drill-recovery-time" && rule.unit == "s");
    let mut limits = rules
        .filter(|rule| rto_s.is_none() || rule.measured == rto_s)
        .filter_map(|rule| rule.limit);
    limits.next().filter(|limit| *limit > 0.0)
}

/// A table for each failover.
pub(super) fn all(result: &RunResult, drill: &Drill) -> Vec<Steps> {
    let ends = drill.failovers.iter().flat_map(|one| {
        let limit = limit_of(result, Some(one.rto_s));
        [Some(one.rto_s), limit].into_iter().flatten()
    });
    // Room for the line of the limit.
    let scale = 1.02 * ends.fold(0.0, f64::max).max(1e-3);
    let tables = (1..).zip(&drill.failovers).map(|(number, one)| {
        let title = match drill.failovers.len() {
            1 => one.kind.clone(),
            _ => format!("{number}: {}", one.kind),
        };
        of_one(&title, &one.steps, one.rto_s, limit_of(result, Some(one.rto_s)), scale)
    });
    tables.collect()
}

fn of_one(title: &str, steps: &[DrillStep], rto_s: f64, limit: Option<f64>, scale: f64) -> Steps {
    let share = |seconds: f64| (10_000.0 * seconds / scale).round() / 100.0;
    let step = |name: &str, class, from: f64, seconds: f64| {
        let (begin, width) = (share(from).min(100.0 - THIN), share(seconds).max(THIN));
        Step {
            name: name.to_owned(),
            seconds: span(seconds),
            until: span(from + seconds),
            class,
            begin,
            width,
            end: (100.0 * (begin + width)).round() / 100.0,
        }
    };
    let mut from = 0.0;
    let shown = steps.iter().map(|one| {
        let shown = match one.given {
            true => step(&format!("{} (given)", one.name), "given", from, one.seconds),
            false => step(&one.name, "step", from, one.seconds),
        };
        from += one.seconds;
        shown
    });
    let shown = shown.collect();
    let is_late = limit.is_some_and(|limit| rto_s > limit);
    Steps {
        title: title.to_owned(),
        scale: match limit {
            Some(limit) if is_late => format!("Limit {}: exceeded", span(limit)),
            Some(limit) => format!("Limit {}: held", span(limit)),
            None => "Part of the time".to_owned(),
        },
        limit: limit.map_or(String::new(), span),
        limit_at: limit.map_or(0.0, share),
        steps: shown,
        total: step("Users waited", if is_late { "late" } else { "total" }, 0.0, rto_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_follow_each_other_and_the_limit_is_on_their_scale() {
        let step = |name: &str, seconds| DrillStep {
            name: name.to_owned(),
            seconds,
            given: name == "decision",
        };
        let steps = [step("decision", 30.0), step("rescan", 120.0), step("mount", 0.0)];
        let shown = of_one("failback", &steps, 150.0, Some(100.0), 200.0);
        let bars: Vec<_> = shown.steps.iter().map(|one| (one.begin, one.width)).collect();
        assert_eq!(bars, [(0.0, 15.0), (15.0, 60.0), (75.0, THIN)]);
        assert_eq!((shown.total.width, shown.limit_at, shown.total.class), (75.0, 50.0, "late"));
        assert_eq!(shown.scale, "Limit 100.0 s: exceeded");
        assert_eq!(shown.steps[1].until, "2 min 30 s");
        let named = |at: usize| (shown.steps[at].name.as_str(), shown.steps[at].class);
        assert_eq!(named(0), ("decision (given)", "given"));
        assert_eq!(named(1), ("rescan", "step"));
    }
}
