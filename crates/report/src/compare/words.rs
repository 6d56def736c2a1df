//! A comparison in words: the sentence, and its tables.

use super::changed::in_short;
use super::comparison::{Answer, ComparedFigure, Comparison};
use super::controls::Control;
use crate::result::{Colour, Interval};
use crate::table::{Cell, Column, Row, Table};
use crate::{counted, decimals};

/// Longer than this, a length says only that it is long.
const DAYS_MAX: f64 = 60.0;

impl Answer {
    /// As in JSON and in the middle of a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::CannotTell => "cannot tell",
        }
    }

    pub fn colour(self) -> Colour {
        match self {
            Self::Better => Colour::Green,
            Self::Worse => Colour::Red,
            Self::CannotTell => Colour::Grey,
        }
    }
}

impl ComparedFigure {
    /// The change: `-7.1 %`.
    pub fn change(&self) -> String {
        percent(self.ratio)
    }

    /// The interval of the change: `-9.0 to -5.1 %`.
    pub fn within(&self) -> String {
        self.interval.as_ref().map_or("-".to_owned(), from_to)
    }

    /// The answer, and what would tell: `worse`, `cannot tell: 3 h`, `cannot tell: < 3 %`.
    fn answer(&self, smallest_percent: f64) -> String {
        let word = self.verdict.word();
        match (self.needs_s, self.needs_pairs) {
            (Some(seconds), _) => format!("{word}: {}", length(seconds)),
            (None, Some(pairs)) => format!("{word}: {}", counted(pairs, "pair")),
            (None, None) if self.verdict == Answer::CannotTell && self.no_difference => {
                format!("{word}: < {} %", plain(smallest_percent))
            }
            (None, None) if self.interval.is_none() => format!("{word}: pairs"),
            (None, None) => word.to_owned(),
        }
    }

    /// `read -7.1 % (-9.0 to -5.1 %)`.
    pub(super) fn in_words(&self) -> String {
        format!("{} {} ({})", self.title, self.change(), self.within())
    }
}

/// An interval of ratios in percent: `-9.0 to -5.1 %`.
pub(super) fn from_to(interval: &Interval) -> String {
    let (low, high) = (percent(interval.low), percent(interval.high));
    format!("{} to {high}", low.trim_end_matches(" %"))
}

/// Changes above this are only large.
const PERCENT_MAX: f64 = 999.0;

/// A ratio as a change in percent.
pub(super) fn percent(ratio: f64) -> String {
    if 100.0 * (ratio - 1.0) > PERCENT_MAX {
        return format!("> +{PERCENT_MAX} %");
    }
    let percent = 100.0 * (ratio - 1.0);
    let digits = if percent.abs() < 99.5 { 1 } else { 0 };
    let text = format!("{percent:+.digits$} %");
    // Nothing is not below zero.
    if text == "-0.0 %" { "0.0 %".to_owned() } else { text.replace("+0.0 %", "0.0 %") }
}

/// A length of time, rounded up: `40 s`, `15 min`, `3 h`, `2 days`.
pub(super) fn length(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds <= 120.0 => (seconds, "s"),
        seconds if seconds <= 7_200.0 => (seconds / 60.0, "min"),
        seconds if seconds <= 172_800.0 => (seconds / 3_600.0, "h"),
        seconds => (seconds / 86_400.0, "days"),
    };
    match unit {
        "days" if number > DAYS_MAX => format!("over {DAYS_MAX:.0} days"),
        _ => format!("{:.0} {unit}", number.ceil()),
    }
}

/// Differences that are named where there is room for one line.
const SHOWN: usize = 3;

impl Comparison {
    /// What B is: `worse`; where that may be less than what matters, also by how much: `worse, by
    /// 0.6 to 4.4 %`.
    pub fn headline(&self) -> String {
        let word = self.verdict.word();
        let by = |figure: &ComparedFigure| {
            let interval = figure.interval?;
            let percents = [interval.low, interval.high].map(|ratio| 100.0 * (ratio - 1.0).abs());
            Some([percents[0].min(percents[1]), percents[0].max(percents[1])])
        };
        let figures = self.deciding().filter(|figure| figure.verdict == self.verdict);
        let largest = figures.filter_map(by).max_by(|one, other| one[0].total_cmp(&other[0]));
        match largest {
            Some([least, most])
                if self.verdict != Answer::CannotTell
                    && least < self.smallest_difference_percent =>
            {
                format!("{word}, by {least:.1} to {most:.1} %")
            }
            _ => word.to_owned(),
        }
    }

    /// The same with the answer in capital letters, as verdicts are written: `WORSE, by 0.6 to 4.4
    /// %`.
    pub fn verdict_in_words(&self) -> String {
        let word = self.verdict.word();
        self.headline().replacen(word, &word.to_uppercase(), 1)
    }

    /// What changed from A to B, in a line.
    pub fn changed(&self) -> Option<String> {
        in_short(&self.differences, SHOWN)
    }

    /// What was compared: the scenario, or both, and what changed.
    pub fn name(&self) -> String {
        let side = |runs: &[super::Compared]| {
            let mut names: Vec<String> = runs.iter().map(|run| run.scenario.clone()).collect();
            names.dedup();
            names.join(", ")
        };
        let (a, b) = (side(&self.a), side(&self.b));
        let names = match a == b {
            true => a,
            false => format!("{a} and {b}"),
        };
        match in_short(&self.differences, 1) {
            Some(changed) => format!("{names}: {changed}"),
            None => format!("{names}: same scenario, same machine"),
        }
    }

    /// The verdict with its reason.
    pub(super) fn in_a_sentence(&self) -> String {
        if let Some(moved) = self.moved() {
            return format!(
                "The host behaved differently in A and B, so the storage cannot be compared ({moved})."
            );
        }
        let (better, worse) = (self.of(Answer::Better), self.of(Answer::Worse));
        match (better.as_str(), worse.as_str()) {
            ("", "") => self.without_an_answer(),
            (better, "") => format!("B is better than A: {better}."),
            ("", worse) => format!("B is worse than A: {worse}."),
            (better, worse) => format!("B is better in {better}, and worse in {worse}."),
        }
    }

    /// The controls that moved, in words; `None` when none did.
    pub(super) fn moved(&self) -> Option<String> {
        let moved = self.controls.iter().filter(|control| control.moved);
        let moved: Vec<String> = moved.map(Control::in_words).collect();
        (!moved.is_empty()).then(|| moved.join("; "))
    }

    /// The deciding figures with this answer.
    pub(super) fn of(&self, answer: Answer) -> String {
        let figures = self.deciding().filter(|figure| figure.verdict == answer);
        let words: Vec<String> = figures.map(ComparedFigure::in_words).collect();
        words.join(", ")
    }

    pub(super) fn without_an_answer(&self) -> String {
        let smallest = plain(self.smallest_difference_percent);
        if self.deciding().next().is_none() {
            return "There is no figure that both sides have.".to_owned();
        }
        let is_judged = |figure: &&ComparedFigure| figure.interval.is_some();
        let judged = || self.deciding().filter(is_judged);
        let open: Vec<&ComparedFigure> = judged().filter(|figure| !figure.no_difference).collect();
        if open.is_empty() {
            let what = if judged().count() == self.deciding().count() { "figure" } else { "mean" };
            return format!("No {what} differs by {smallest} % or more.");
        }
        let widest = open
            .iter()
            .filter_map(|figure| Some((figure, figure.finds_percent?)))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        let widest = widest.map_or(String::new(), |(figure, from)| {
            format!(" ({}: from {} %)", figure.title, decimals(from))
        });
        let needs = self.needs_in_words();
        format!("No difference is shown, and one of {smallest} % could be missed{widest}.{needs}")
    }

    /// How long would tell, of those figures that are not too noisy to say so.
    fn needs_in_words(&self) -> String {
        let smallest = plain(self.smallest_difference_percent);
        let means = || self.deciding().filter(|figure| figure.is_mean());
        let seconds = means().filter_map(|figure| figure.needs_s).reduce(f64::max);
        let pairs = means().filter_map(|figure| figure.needs_pairs).max();
        let what = match (seconds, pairs) {
            (Some(seconds), _) => format!("Runs of {}", length(seconds)),
            (None, Some(pairs)) => counted(pairs, "pair"),
            (None, None) => return String::new(),
        };
        format!(" {what} would show {smallest} % in every mean.")
    }

    /// The figures, for 80 columns.
    pub fn table(&self) -> Table {
        self.table_of(["A", "B", "B is"]).titled("Figures")
    }

    /// The figures, with these words for both sides and for what B is.
    pub(super) fn table_of(&self, [a, b, b_is]: [&str; 3]) -> Table {
        let columns = Column::of(&["figure"], &[a, b, "change", "95 %"]).into_iter();
        let columns = columns.chain([Column::words(b_is)]);
        let rows = self.figures.iter().map(|figure| {
            let cells = [
                format!("{}, {}", figure.title, figure.unit),
                decimals(figure.a),
                decimals(figure.b),
                figure.change(),
                figure.within(),
                figure.answer(self.smallest_difference_percent),
            ];
            Row::classed(cells, figure.class())
        });
        let missing = self.missing.iter().map(|figure| {
            let none = || "-".to_owned();
            let [what, a, b] = [&figure.what, &figure.a, &figure.b].map(String::clone);
            Row::classed([what, a, b, none(), none(), "no such I/O".to_owned()], "")
        });
        Table::new(columns, rows.chain(missing))
    }

    /// The figures with everything that is known of them.
    pub(crate) fn details(&self) -> Table {
        let columns = Column::of(
            &["figure", "decides"],
            &["B / A", "Cliff's delta", "can detect from", "block, samples"],
        );
        let rows = self.figures.iter().map(|figure| {
            Row::new([
                format!("{}, {}", figure.title, figure.unit).into(),
                Cell::from(if figure.decides { "yes" } else { "no" }),
                Cell::Fixed(figure.ratio, 4),
                format!(
                    "{:+.2} ({})",
                    figure.cliffs_delta,
                    brunt_stats::effect_in_words(figure.cliffs_delta)
                )
                .into(),
                Cell::from(figure.finds_percent.map(|from| format!("{} %", decimals(from)))),
                figure.block_samples.into(),
            ])
        });
        Table::new(columns, rows).titled("How well they are known")
    }

    pub fn controls_table(&self) -> Table {
        let columns = Column::of(&["control"], &["A", "B"]).into_iter();
        let columns = columns.chain([Column::words("moved")]);
        let rows = self.controls.iter().map(|control| {
            let value = |value: Option<f64>| Cell::from(value.map(decimals));
            Row::classed(
                [
                    control.control.as_str().into(),
                    value(control.a),
                    value(control.b),
                    Cell::from(if control.moved { "yes" } else { "no" }),
                ],
                if control.moved { "failed" } else { "" },
            )
        });
        Table::new(columns, rows)
            .titled("What the storage cannot change")
            .noted("When one of these moved, the machine was not the same, and nothing is said of the storage.")
    }

    /// What changed from A to B.
    pub fn differences_table(&self) -> Table {
        let rows = self.differences.iter();
        let rows = rows.map(|one| Row::new([&one.what, &one.a, &one.b].map(String::as_str)));
        Table::new(["", "A", "B"].map(Column::words), rows).titled("What changed")
    }

    pub(crate) fn runs_table(&self) -> Table {
        let columns = Column::of(&["side", "run", "began", "verdict"], &["measured", "samples"]);
        let sides = [("A", &self.a), ("B", &self.b)].into_iter();
        let rows = sides.flat_map(|(side, runs)| runs.iter().map(move |run| (side, run)));
        let rows = rows.map(|(side, run)| {
            Row::new([
                side.into(),
                run.run.as_str().into(),
                run.started.into(),
                run.verdict.to_string().into(),
                length(run.collection_s.round()).into(),
                Cell::from(run.samples),
            ])
        });
        Table::new(columns, rows).titled("Runs")
    }
}

impl ComparedFigure {
    /// The class of its row.
    fn class(&self) -> &'static str {
        match self.verdict {
            Answer::Better => "better",
            Answer::Worse => "worse",
            Answer::CannotTell => "",
        }
    }
}

/// A number as it was written: `3`, `0.5`.
pub(crate) fn plain(number: f64) -> String {
    let rounded = (number * 1e6).round() / 1e6;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_lengths_are_short() {
        let shown = [1.0, 0.929, 1.031, 0.999_8, 2.5, 30.0].map(percent);
        assert_eq!(shown, ["0.0 %", "-7.1 %", "+3.1 %", "0.0 %", "+150 %", "> +999 %"]);
        let shown = [41.2, 130.0, 7_201.0, 200_000.0, 1e9].map(length);
        assert_eq!(shown, ["42 s", "3 min", "3 h", "3 days", "over 60 days"]);
        assert_eq!([3.0, 0.5].map(plain), ["3", "0.5"]);
    }
}
