//! The page of a sweep: one key is varied and the results are drawn.
//!
//! Where every point was also simulated with a path of the link lost, each curve is drawn twice.

use serde::Serialize;

use super::page::rendered;
use crate::pictures::Pictures;
use crate::plot::{Axis, Curve, Drawn, Limit, Look, Plot};
use crate::table::{Cell, Column, Row, Table};

const TEMPLATE: &str = include_str!("sweep.html");

/// The result for one value of the key.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// The value as it was set.
    pub value: String,
    /// The value as a number: its place on the axis.
    pub at: f64,
    pub came: SweepOutcome,
    /// What came of it with a path of the link lost, where that was simulated.
    pub path_lost: Option<SweepOutcome>,
}

/// What came of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOutcome {
    /// What was measured, in the order of the page; nothing when the value was refused.
    pub figures: Vec<Option<f64>>,
    /// `hold`, or why not.
    pub words: String,
}

/// Figures against the values of the key.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPicture {
    pub title: &'static str,
    pub unit: &'static str,
    /// Names of curves, and the places of their figures.
    pub curves: Vec<(&'static str, usize)>,
    /// Names of limits, and where they are.
    pub limits: Vec<(String, f64)>,
}

/// The content of the page.
#[derive(Clone, Debug, Default)]
pub struct SweepPage<'a> {
    /// What the page is about, in a few words.
    pub kind: &'a str,
    /// The scenario's name.
    pub name: &'a str,
    /// The key that was varied.
    pub key: &'a str,
    /// The key with the unit of its places.
    pub axis: &'a str,
    /// Names and places up to which every limit holds.
    pub holds: &'a [(String, f64)],
    /// What was found, in lines.
    pub sentence: &'a str,
    /// What was done for each value.
    pub subtitle: String,
    /// Titles of the figures.
    pub figures: &'a [&'a str],
    /// The values of the key.
    pub points: Vec<SweepPoint>,
    pub pictures: Vec<SweepPicture>,
    /// What is to be said of the figures.
    pub note: &'a str,
    /// What is to be said of where they come from.
    pub origin: &'a str,
    /// The files beside the page.
    pub files: &'a str,
    /// The command that repeats it.
    pub command: String,
    /// The scenario as written; empty where there is none.
    pub scenario: &'a str,
}

#[derive(Serialize)]
struct Shown<'a> {
    kind: &'a str,
    name: &'a str,
    key: &'a str,
    sentence: Vec<&'a str>,
    subtitle: &'a str,
    pictures: Pictures,
    table: Table,
    note: &'a str,
    origin: &'a str,
    files: &'a str,
    command: &'a str,
    scenario: &'a str,
}

/// The page as a self-contained file.
pub fn sweep_html(page: &SweepPage<'_>) -> String {
    let plots = page.pictures.iter().map(|picture| plot(page, picture)).collect();
    let shown = Shown {
        kind: page.kind,
        name: page.name,
        key: page.key,
        sentence: page.sentence.lines().map(str::trim).collect(),
        subtitle: &page.subtitle,
        pictures: Pictures::new(plots, String::new()),
        table: table(page).titled("Results"),
        note: page.note,
        origin: page.origin,
        files: page.files,
        command: &page.command,
        scenario: page.scenario,
    };
    let title = format!("{}: {} (brunt)", page.name, page.key);
    rendered(TEMPLATE, &title, &title, &shown)
}

/// Which outcome of a point a curve is of.
type Which = fn(&SweepPoint) -> Option<&SweepOutcome>;

const ALL_PATHS: Which = |point| Some(&point.came);
const PATH_LOST: Which = |point| point.path_lost.as_ref();

fn has_path_lost(page: &SweepPage<'_>) -> bool {
    page.points.iter().any(|point| point.path_lost.is_some())
}

fn curve(page: &SweepPage<'_>, name: &'static str, which: Which, figure: usize) -> Curve {
    let points = page.points.iter().filter_map(|point| {
        let figure = which(point)?.figures.get(figure).copied()??;
        Some((point.at, figure))
    });
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    Curve { name: name.into(), points, drawn: Drawn::Line }
}

fn curves(page: &SweepPage<'_>, picture: &SweepPicture) -> Vec<Curve> {
    match picture.curves.as_slice() {
        [(_, figure)] if has_path_lost(page) => vec![
            curve(page, "all paths", ALL_PATHS, *figure),
            curve(page, "one path lost", PATH_LOST, *figure),
        ],
        [(name, figure)] if picture.limits.is_empty() => {
            vec![Curve { drawn: Drawn::Area, ..curve(page, name, ALL_PATHS, *figure) }]
        }
        all => all.iter().map(|(name, figure)| curve(page, name, ALL_PATHS, *figure)).collect(),
    }
}

fn plot(page: &SweepPage<'_>, picture: &SweepPicture) -> Plot {
    let curves = curves(page, picture);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let top = points().map(|(_, y)| *y).chain(picture.limits.iter().map(|(_, at)| *at));
    let top = top.fold(0.0, f64::max);
    let x = Axis::at(points().map(|(x, _)| *x), page.axis);
    let y = Axis::from_zero(top, picture.unit);
    let limits = picture.limits.iter().map(|(name, at)| Limit::level(name.clone(), *at));
    let holds = page.holds.iter().map(|(name, at)| Limit {
        name: name.clone(),
        at: *at,
        upright: true,
        look: Look::Limit,
    });
    Plot {
        limits: limits.chain(holds).collect(),
        is_dotted: true,
        ..Plot::new(picture.title, x, y, curves)
    }
}

fn table(page: &SweepPage<'_>) -> Table {
    let titles = std::iter::once(&page.key).chain(page.figures);
    let columns = titles.map(|title| Column::numbers(*title)).chain([Column::words("Rules")]);
    let columns: Vec<Column> = columns.collect();
    let rows = page.points.iter().flat_map(|point| {
        let lost = point.path_lost.iter().map(|lost| row(page, point, lost));
        std::iter::once(row(page, point, &point.came)).chain(lost)
    });
    let mut table = Table::new(columns, rows);
    if has_path_lost(page) {
        let paths = page.points.iter().flat_map(|point| {
            let lost = point.path_lost.iter().map(|_| Cell::from("one lost"));
            std::iter::once(Cell::from("all")).chain(lost)
        });
        table.insert(1, Column::words("Paths"), paths);
    }
    table
}

fn row(page: &SweepPage<'_>, point: &SweepPoint, came: &SweepOutcome) -> Row {
    let figures =
        (0..page.figures.len()).map(|at| Cell::from(came.figures.get(at).copied().flatten()));
    let value = std::iter::once(Cell::from(point.value.as_str()));
    Row::new(value.chain(figures).chain([Cell::from(came.words.as_str())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(at: f64, slower: f64) -> SweepOutcome {
        SweepOutcome {
            figures: match at < 3.0 {
                true => vec![Some(100.0 * at), Some(at), Some(1.0), Some(0.5 + slower)],
                false => Vec::new(),
            },
            words: "no <room>".to_owned(),
        }
    }

    fn picture(title: &'static str, curves: &[usize], limits: &[(&str, f64)]) -> SweepPicture {
        SweepPicture {
            title,
            unit: "milliseconds",
            curves: curves.iter().map(|at| (["io", "read", "write", "log"][*at], *at)).collect(),
            limits: limits.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect(),
        }
    }

    fn page(
        points: Vec<SweepPoint>,
        pictures: Vec<SweepPicture>,
        holds: &[(String, f64)],
    ) -> String {
        sweep_html(&SweepPage {
            name: "a & b",
            key: "test.sessions",
            axis: "test.sessions",
            sentence: "2 pass\n  1 ms",
            figures: &["I/O", "Read (ms)", "Write (ms)", "Log (ms)"],
            points,
            pictures,
            holds,
            command: "brunt simulate <a>".to_owned(),
            scenario: "name = \"<b>\"",
            ..SweepPage::default()
        })
    }

    #[test]
    fn a_page_has_both_pictures_and_a_row_for_each_point() {
        let point = |at: f64| SweepPoint {
            value: format!("<{at}>"),
            at,
            came: came(at, 0.0),
            path_lost: None,
        };
        let (read, log) = (("read limit 20 ms", 20.0), ("log limit 10 ms", 10.0));
        let pictures =
            vec![picture("I/O", &[0], &[]), picture("Latency, mean", &[1, 2, 3], &[read, log])];
        let page = page([1.0, 2.0, 3.0].map(point).to_vec(), pictures, &[]);
        assert_eq!(page.matches("role=\"img\"").count(), 2);
        assert_eq!(page.matches("<line class=\"limit\"").count(), 2);
        assert_eq!(page.matches("<tr>").count(), 4);
        for part in [
            "<figcaption>Latency, mean</figcaption>",
            "<p class=\"sentence\">1\u{a0}ms</p>",
            "<td class=\"n\">-</td><td>no &lt;room&gt;</td>",
            "read limit 20 ms",
            "log limit 10 ms",
            "a &amp; b",
            "&lt;2&gt;",
            "brunt simulate &lt;a&gt;",
            "name = &quot;&lt;b&gt;&quot;",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn with_a_path_lost_each_figure_has_a_picture_with_both_curves() {
        let point = |at: f64| SweepPoint {
            value: format!("{at}ms"),
            at,
            came: came(at, 0.0),
            path_lost: Some(came(at, 2.0)),
        };
        let holds = [("limits hold to 1 ms".to_owned(), 1.0)];
        let pictures = vec![
            picture("Log", &[3], &[("log limit 10 ms", 10.0)]),
            picture("Read", &[1], &[("read limit 20 ms", 20.0)]),
            picture("Write", &[2], &[]),
            picture("I/O", &[0], &[]),
        ];
        let page = page([1.0, 2.0].map(point).to_vec(), pictures, &holds);
        assert_eq!(page.matches("role=\"img\"").count(), 4);
        // One limit each of log and reads, and in every picture how far they hold.
        assert_eq!(page.matches("<line class=\"limit\"").count(), 6);
        assert_eq!(page.matches(">one path lost</li>").count(), 4);
        assert_eq!(page.matches("<td>one lost</td>").count(), 2);
        assert_eq!(page.matches("limits hold to 1 ms</text>").count(), 4);
    }
}
