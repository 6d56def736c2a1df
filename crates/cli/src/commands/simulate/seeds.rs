//! `--seeds`: means over several seeds, and how well they are known.

use brunt_lab::{Headline, Judged, Tried};
use brunt_report::result::{Interval, Verdict};
use brunt_report::{Column, Row, Table, counted, decimals};
use serde_json::{Map, Value, json};

/// Name and version of the result. Fields are only added.
pub(super) const SCHEMA: &str = "brunt.seeds/1";

struct Figure {
    /// Its name in JSON.
    key: &'static str,
    /// Its name on the screen.
    title: &'static str,
    /// What it is multiplied by on the screen.
    scale: f64,
    of: fn(&Headline) -> f64,
}

const fn figure(key: &'static str, title: &'static str, of: fn(&Headline) -> f64) -> Figure {
    Figure { key, title, scale: 1.0, of }
}

const FIGURES: [Figure; 7] = [
    figure("io_per_s", "database I/O per second", |h| h.io_per_s),
    figure("read_ms", "database read ms", |h| h.read_ms),
    figure("write_ms", "database write ms", |h| h.write_ms),
    figure("log_writes_per_s", "log writes per second", |h| h.log.per_s),
    figure("log_write_ms", "log write ms", |h| h.log.ms),
    figure("log_write_bytes", "bytes in a log write", |h| h.log.bytes),
    Figure {
        scale: 100.0,
        ..figure("drives_busy", "busiest group of drives, %", |h| h.utilisation)
    },
];

/// The results of all seeds.
pub(super) struct Seeds<'a> {
    /// Those that were carried through.
    whole: Vec<&'a Judged>,
    /// The others.
    broken: Vec<&'a Judged>,
}

impl<'a> Seeds<'a> {
    /// Of those that were simulated.
    pub(super) fn of(tried: &'a [Option<Tried>]) -> Self {
        Self::new(tried.iter().flatten().filter_map(Tried::judged))
    }

    fn new(judged: impl Iterator<Item = &'a Judged>) -> Self {
        let (whole, broken) = judged.partition(|judged| judged.verdict.is_answer());
        Self { whole, broken }
    }

    fn passed(&self) -> usize {
        let passed = |judged: &&&Judged| judged.verdict == Verdict::Pass;
        self.whole.iter().filter(passed).count()
    }

    /// The gravest answer; a seed without one leaves the others open, unless one failed.
    pub(super) fn verdict(&self) -> Verdict {
        match (self.passed() == self.whole.len(), self.broken.is_empty()) {
            (false, _) => Verdict::Fail,
            (true, true) => Verdict::Pass,
            (true, false) => Verdict::Inconclusive,
        }
    }

    /// The mean of a figure; `None` if there are fewer than two values.
    fn estimate(&self, figure: &Figure) -> Option<brunt_stats::Interval> {
        let values = self.whole.iter().map(|judged| (figure.of)(&judged.headline));
        // A short run may have no such I/O, and no latency then.
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        brunt_stats::Interval::of(&values).filter(|_| values.len() > 1)
    }

    /// Everything, for the screen.
    pub(super) fn words(&self) -> String {
        let rows = FIGURES.iter().map(|figure| {
            let Some(estimate) = self.estimate(figure) else {
                return Row::new([figure.title, "-", "-", "-"]);
            };
            let scaled = brunt_stats::Interval {
                mean: figure.scale * estimate.mean,
                half: figure.scale * estimate.half,
            };
            Row::new([
                figure.title.to_owned(),
                decimals(scaled.mean),
                Interval::from(scaled).about(scaled.mean),
                format!("{:.2} %", 100.0 * scaled.half / scaled.mean),
            ])
        });
        let numbers = ["mean", "95 %", ""].map(Column::numbers);
        let columns = std::iter::once(Column::words("")).chain(numbers);
        let table = Table::new(columns, rows).to_text();
        let errors = self.broken.first().map(|first| {
            let left_out = counted(self.broken.len() as u64, "run");
            format!("\n{left_out} left out: {}", first.sentence)
        });
        format!(
            "{} seeds, every rule holds with {} of them{}\n\n{table}",
            self.whole.len() + self.broken.len(),
            self.passed(),
            errors.unwrap_or_default()
        )
    }

    /// Everything, for programs.
    pub(super) fn json(&self, scenario: &str) -> String {
        let figures = FIGURES.iter().map(|figure| {
            let estimate = self.estimate(figure).map(
                |estimate| json!({ "mean": estimate.mean, "interval": Interval::from(estimate) }),
            );
            (figure.key.to_owned(), json!(estimate))
        });
        let figures: Map<String, Value> = figures.collect();
        let value = json!({
            "schema": SCHEMA,
            "scenario": scenario,
            "seeds": self.whole.len() + self.broken.len(),
            "passed": self.passed(),
            "left_out": self.broken.len(),
            "figures": figures,
        });
        serde_json::to_string_pretty(&value).expect("numbers and texts can be written") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(verdict: Verdict, read_ms: f64) -> Judged {
        Judged {
            headline: Headline {
                io_per_s: 400.0,
                read_ms,
                write_ms: f64::NAN,
                utilisation: 0.25,
                ..Headline::default()
            },
            verdict,
            sentence: "DB1 has outgrown its reserve.".to_owned(),
            failed: Vec::new(),
            bottlenecks: Vec::new(),
        }
    }

    #[test]
    fn screen_and_json_have_the_same_means() {
        let all =
            [judged(Verdict::Pass, 9.0), judged(Verdict::Fail, 11.0), judged(Verdict::Error, 99.0)];
        let seeds = Seeds::new(all.iter());
        let words = seeds.words();
        assert!(
            words.starts_with("3 seeds, every rule holds with 1 of them\n1 run left out: DB1 has"),
            "{words}"
        );
        let busy = words.lines().last().unwrap();
        assert!(busy.starts_with("busiest group of drives, %") && busy.contains("25"), "{words}");
        assert_eq!(seeds.verdict(), Verdict::Fail);
        let of = |all: &[Judged]| Seeds::new(all.iter()).verdict();
        assert_eq!(of(&all[..1]), Verdict::Pass);
        assert_eq!(of(&all[2..]), Verdict::Inconclusive);
        let json: Value = serde_json::from_str(&seeds.json("mail")).unwrap();
        assert_eq!(json["figures"]["read_ms"]["mean"], 10.0);
        assert_eq!(json["figures"]["read_ms"]["interval"]["confidence"], 0.95);
        assert_eq!(json["figures"]["write_ms"], Value::Null);
        assert_eq!(json["figures"]["drives_busy"]["mean"], 0.25);
        assert_eq!(
            (&json["seeds"], &json["passed"], &json["left_out"]),
            (&json!(3), &json!(1), &json!(1))
        );
    }
}
