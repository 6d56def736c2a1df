//! The pages of a console: those of reports, with a bar above them, and a list of runs.

mod bar;
mod list;
mod series;
mod view;

use std::sync::Arc;

use brunt_report::compare::{CompareError, Options, compare as compared};
use brunt_report::{
    Cell, Column, ReadError, Row, Run, Served, Table, escape, served_comparison_html, served_html,
    served_report_html,
};

use brunt_run::HostNews;

use crate::follow::{self, Other, Seen};
use crate::http::Site;
use crate::library::{Book, Known};
use crate::look::{Look, State};

pub(crate) use self::list::list;
pub(crate) use self::series::history;
pub(crate) use self::view::Chosen;

/// What the pages of a console have besides the style of reports.
pub(crate) const STYLE: &str = include_str!("console.css");
/// What keeps a page true while its run goes on. Pages are whole without it.
pub(crate) const SCRIPT: &str = include_str!("console.js");

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("there is no such run")]
    Missing,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The part of the address that chooses what is shown.
    #[error("{0}")]
    Chosen(String),
}

/// The page of a run.
pub(crate) fn run(
    name: &str,
    book: &Book,
    chosen: &Chosen,
    site: &Site,
) -> Result<String, PageError> {
    let look = match &book.known {
        Known::Seen(seen) => match seen.as_ref() {
            Seen::Run(look) => Arc::new(look.clone()),
            Seen::Other(other) => return Ok(other_html(name, other, book, site)),
        },
        Known::Ended(None) => return Ok(ended_html(name, book, site)),
        Known::Ended(Some(_)) | Known::New => Arc::new(follow::ended(name, &book.folder)?),
        Known::Unreadable(why) => {
            let body =
                format!("<h1>{}</h1><p class=\"sentence\">{}</p>", escape(name), escape(why));
            let served = Served { bar: bar::plain(site), ..Served::default() };
            return Ok(served_html(name, &body, &served));
        }
    };
    let view = chosen.view(&book.folder)?;
    let accepted = site.reference.as_deref().filter(|reference| *reference != name);
    let accepted = accepted.and_then(|reference| against(reference, &look, site));
    let served = Served {
        bar: bar::of_run(&look, book, chosen, accepted.as_ref(), site),
        goes_on: goes_on(&look),
        view,
    };
    Ok(served_report_html(&look.run, &served))
}

/// What a run that goes on is doing, in a sentence.
fn goes_on(look: &Look) -> Option<String> {
    let doing = look.progress.as_ref().map(|progress| progress.in_words());
    match look.state {
        State::GoesOn => Some(format!("{}.", doing.unwrap_or_else(|| "begins".to_owned()))),
        State::Silent | State::Ended => None,
    }
}

/// How a run differs from the one that was accepted, in a sentence.
pub(crate) struct Accepted {
    pub(crate) reference: String,
    pub(crate) sentence: String,
    /// Whether there is a page that compares them.
    pub(crate) is_comparable: bool,
}

fn against(reference: &str, look: &Look, site: &Site) -> Option<Accepted> {
    let shelf = site.shelf();
    let book = shelf.runs.get(reference)?;
    let named = |sentence: String, is_comparable| {
        Some(Accepted { reference: reference.to_owned(), sentence, is_comparable })
    };
    if look.state != State::Ended {
        return None;
    }
    let run = match follow::ended(reference, &book.folder) {
        Ok(run) => run.run,
        Err(error) => return named(error.to_string(), false),
    };
    if run.result.times.started > look.run.result.times.started {
        return None;
    }
    let side = |name: &str, run: &Run| vec![(name.to_owned(), run.clone())];
    let (a, b) = (side(reference, &run), side(&look.name, &look.run));
    match compared(&a, &b, &Options::default()) {
        Ok(comparison) => named(comparison.sentence, true),
        Err(error) => named(error.to_string().lines().next().unwrap_or_default().to_owned(), false),
    }
}

/// The page of two runs side by side.
pub(crate) fn compare(
    [(a, first), (b, second)]: [(&String, &Book); 2],
    site: &Site,
) -> Result<String, PageError> {
    let side = |name: &String, book: &Book| {
        Ok::<_, PageError>(vec![(name.clone(), brunt_host::runs::read(&book.folder)?)])
    };
    let (a, b) = (side(a, first)?, side(b, second)?);
    let comparison = compared(&a, &b, &Options::default())?;
    let served = Served { bar: bar::plain(site), ..Served::default() };
    Ok(served_comparison_html(&comparison, [&a, &b], &served))
}

/// The page of a sweep, a search, runs in turns or raw load that is followed.
fn other_html(name: &str, other: &Other, book: &Book, site: &Site) -> String {
    let doing = other.progress.as_ref().map(|progress| progress.in_words());
    let doing = match other.state {
        State::Ended => "It has ended: its report is in its folder.".to_owned(),
        State::Silent => "It has not been heard of for a while.".to_owned(),
        State::GoesOn => format!("{}.", doing.unwrap_or_else(|| "begins".to_owned())),
    };
    let table = match other.hosts.is_empty() {
        true => other.points.as_ref().map(|points| points.table()),
        false => Some(hosts(&other.hosts)),
    };
    let table = table.filter(|table| !table.is_empty()).map(|table| table.to_html());
    let body = format!(
        "<header class=\"open\"><p class=\"program\">brunt</p><h1><span class=\"verdict\">{}</span> {}</h1>\
         <p class=\"sentence\">{}</p></header><section class=\"tables\">{}</section>",
        other.state.word().to_uppercase(),
        escape(name),
        escape(&doing),
        table.unwrap_or_default(),
    );
    let served = Served { bar: bar::of_other(other, book, site), ..Served::default() };
    served_html(name, &body, &served)
}

/// A row for each host of a fleet.
fn hosts(hosts: &[HostNews]) -> Table {
    let words = ["host", "state"].map(Column::words);
    let numbers = ["clock ahead ms", "heard s ago"].map(Column::numbers);
    let row = |host: &HostNews| {
        Row::new([
            Cell::from(host.name.as_str()),
            host.state.as_str().into(),
            host.offset_ms.into(),
            host.heard_s.into(),
        ])
    };
    Table::new(words.into_iter().chain(numbers), hosts.iter().map(row)).titled("Hosts")
}

fn ended_html(name: &str, book: &Book, site: &Site) -> String {
    let report = book.folder.join("report.html");
    let body = format!(
        "<h1>{}</h1><p class=\"sentence\">It has ended. Its report is {}.</p>",
        escape(name),
        escape(&report.display().to_string()),
    );
    let served = Served { bar: bar::plain(site), ..Served::default() };
    served_html(name, &body, &served)
}
