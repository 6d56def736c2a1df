//! How well a prediction knows its figures.

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::{Cell, Column, Row, Table, decimals};

/// How well a prediction knows its figures, and whether it stopped because it knew enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Precision {
    /// Whether it stopped before its whole duration was simulated.
    pub stopped_early: bool,
    /// Why it did not; null if it did.
    pub lacked: Option<String>,
    /// What was collected, over all seeds.
    pub collected_s: f64,
    /// What was to be collected at most.
    pub duration_s: f64,
    /// When the collection began, from the beginning of the simulation; no figure drifted after
    /// that.
    pub steady_from_s: f64,
    /// Half-width of the intervals of rates that is wanted, in percent.
    pub wanted_rates_percent: Option<f64>,
    /// Half-width of the intervals of latencies that is wanted, in percent.
    pub wanted_latencies_percent: Option<f64>,
    /// The seeds, each of which simulated an equal part.
    pub seeds: Vec<u64>,
    /// Each figure, over all servers.
    pub figures: Vec<PreciseFigure>,
}

/// A figure and its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreciseFigure {
    /// `database reads`, `log write`.
    pub figure: String,
    /// `/s` for rates, `ms` for mean latencies.
    pub unit: String,
    /// Over all seeds.
    pub predicted: f64,
    /// Where the true value lies.
    pub interval: Interval,
    /// By seed.
    pub of_seeds: Vec<f64>,
}

impl PreciseFigure {
    fn half(&self) -> f64 {
        self.interval.high - self.predicted
    }

    fn half_percent(&self) -> f64 {
        100.0 * self.half() / self.predicted
    }

    /// The difference between two seeds, in percent of the figure.
    fn apart_percent(&self) -> Option<f64> {
        match self.of_seeds[..] {
            [first, second] => Some(100.0 * (second - first).abs() / self.predicted),
            _ => None,
        }
    }
}

impl Precision {
    /// In a line: `stopped after 31 min 00 s of 2 h 00 min: rates ± 0.4 %, latencies ± 2.1 %, no
    /// drift since minute 12`.
    pub fn in_words(&self) -> String {
        let widest = |unit: &str| {
            let own = self.figures.iter().filter(|one| one.unit == unit);
            own.map(PreciseFigure::half_percent).max_by(f64::total_cmp)
        };
        let within = |what: &str, unit: &str| {
            widest(unit).map(|percent| format!("{what} ± {} %", decimals(percent)))
        };
        let known = [within("rates", "/s"), within("latencies", "ms")];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let known = known.join(", ");
        let [collected, duration] = [self.collected_s, self.duration_s].map(Span::from_seconds);
        match &self.lacked {
            None => format!(
                "stopped after {collected} of {duration}: {known}, no drift since minute {:.0}",
                self.steady_from_s / 60.0
            ),
            Some(lacked) => format!("complete, {collected}: {known}; {lacked}"),
        }
    }

    /// Every figure with its interval, and the seeds side by side.
    pub fn table(&self) -> Table {
        let seeds = self.seeds.iter().map(|seed| format!("seed {seed}"));
        let mut columns = vec![Column::words("figure")];
        columns.extend(["predicted", "± (95 %)", "± %"].map(Column::numbers));
        let both = self.seeds.len() == 2;
        if both {
            columns.extend(seeds.map(|seed| Column::numbers(&seed)));
            columns.push(Column::numbers("apart %"));
        }
        let rows = self.figures.iter().map(|one| {
            let mut cells = vec![
                Cell::from(format!("{}, {}", one.figure, one.unit)),
                one.predicted.into(),
                one.half().into(),
                one.half_percent().into(),
            ];
            if both {
                cells.extend(one.of_seeds.iter().map(|value| Cell::from(*value)));
                cells.push(one.apart_percent().into());
            }
            Row::new(cells)
        });
        Table::new(columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precision() -> Precision {
        let figure = |figure: &str, unit: &str, half| PreciseFigure {
            figure: figure.to_owned(),
            unit: unit.to_owned(),
            predicted: 100.0,
            interval: Interval::around(100.0, brunt_stats::Interval { mean: 100.0, half }),
            of_seeds: vec![99.0, 101.0],
        };
        Precision {
            stopped_early: true,
            lacked: None,
            collected_s: 1_860.0,
            duration_s: 7_200.0,
            steady_from_s: 720.0,
            wanted_rates_percent: Some(1.0),
            wanted_latencies_percent: Some(3.0),
            seeds: vec![1, 77],
            figures: vec![
                figure("database reads", "/s", 0.5),
                figure("log writes", "/s", 0.25),
                figure("log write", "ms", 2.0),
            ],
        }
    }

    #[test]
    fn it_says_why_it_stopped_or_did_not() {
        let mut precision = precision();
        assert_eq!(
            precision.in_words(),
            "stopped after 31 min 00 s of 2 h 00 min: rates ± 0.50 %, latencies ± 2.00 %, no drift since minute 12"
        );
        precision.lacked = Some("the latency of a log write is known to 3.4 %".to_owned());
        precision.collected_s = 7_200.0;
        assert_eq!(
            precision.in_words(),
            "complete, 2 h 00 min: rates ± 0.50 %, latencies ± 2.00 %; the latency of a log write is known to 3.4 %"
        );
    }

    #[test]
    fn seeds_stand_side_by_side() {
        let text = precision().table().to_indented_text();
        assert!(text.contains("seed 77"), "{text}");
        let mut alone = precision();
        alone.seeds.truncate(1);
        assert!(!alone.table().to_indented_text().contains("seed"));
    }
}
