//! A comparison and a history for CI: Markdown for a pull request, JUnit for a list of tests.

use super::{Answer, ComparedFigure, Comparison, History};
use crate::html::{GENERATOR, escape};

/// The first line of each file, by which brunt knows what it may replace.
fn mark() -> String {
    format!("<!-- {GENERATOR} -->\n")
}

impl Comparison {
    /// The verdict, what changed, and the figures.
    pub fn to_markdown(&self) -> String {
        let about = escape(&self.name());
        markdown(
            &format!("B is {}: {about}", self.headline()).replace("B is cannot", "Cannot"),
            &[Some(self.sentence.clone()), self.changed().map(|all| format!("Changed: {all}"))],
            &self.table().to_markdown(),
        )
    }

    /// A test case for the verdict, and one for each figure that decides.
    pub fn to_junit(&self) -> String {
        self.junit("brunt compare", &self.sentence)
    }

    fn junit(&self, suite: &str, sentence: &str) -> String {
        let verdict = match self.verdict {
            Answer::Worse => Case::Failed(sentence),
            _ if self.not_worse => Case::Passed,
            _ => Case::Skipped(sentence),
        };
        let mut cases = vec![verdict.xml(suite, "not worse")];
        for figure in self.deciding() {
            let words = figure.in_words();
            let case = match figure.verdict {
                Answer::Worse => Case::Failed(&words),
                Answer::CannotTell if !figure.no_difference => Case::Skipped(&words),
                _ => Case::Passed,
            };
            cases.push(case.xml(suite, &title(figure)));
        }
        let count = |tag: &str| cases.iter().filter(|case| case.contains(tag)).count();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}<testsuites>\n<testsuite name=\"{suite}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}</testsuite>\n</testsuites>\n",
            mark(),
            cases.len(),
            count("<failure"),
            count("<skipped"),
            cases.concat()
        )
    }
}

impl History {
    /// What became of the newest run, what changed for it, and where the series changes.
    pub fn to_markdown(&self) -> String {
        let changed = self.newest.changed().map(|all| format!("Changed: {all}"));
        let tables = [self.newest_table(), self.table()];
        let tables = tables.iter().filter(|table| !table.is_empty());
        let tables: Vec<String> = tables.map(crate::Table::to_markdown).collect();
        markdown(
            &format!("History: {}", self.newest.headline()),
            &[Some(self.sentence.clone()), changed],
            &tables.join("\n"),
        )
    }

    /// A test case for the newest run, and one for each figure that decides.
    pub fn to_junit(&self) -> String {
        self.newest.junit("brunt compare --history", &self.sentence)
    }
}

fn markdown(title: &str, lines: &[Option<String>], tables: &str) -> String {
    let lines = lines.iter().flatten().map(|line| format!("{}\n\n", escape(line)));
    format!("{}### {title}\n\n{}{tables}", mark(), lines.collect::<String>())
}

fn title(figure: &ComparedFigure) -> String {
    format!("{}, {}", figure.title, figure.unit)
}

/// What JUnit knows of a test.
enum Case<'a> {
    Passed,
    Failed(&'a str),
    Skipped(&'a str),
}

impl Case<'_> {
    fn xml(&self, suite: &str, name: &str) -> String {
        let inside = match self {
            Self::Passed => String::new(),
            Self::Failed(why) => format!("<failure message=\"{}\"/>", escape(why)),
            Self::Skipped(why) => format!("<skipped message=\"{}\"/>", escape(why)),
        };
        format!("<testcase classname=\"{suite}\" name=\"{}\">{inside}</testcase>\n", escape(name))
    }
}
