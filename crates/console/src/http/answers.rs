//! An answer for each path.

use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use brunt_report::{STYLE, report_html};
use serde::Deserialize;

use super::{Site, stream};
use crate::follow::Seen;
use crate::library::{Book, Known};
use crate::metrics;
use crate::pages::{self, Chosen, PageError};

const NOT_FOUND: &str = "There is no such run here. It may have been removed.\n";

pub(super) async fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "There is no such page.\n").into_response()
}

/// Browsers ask for one by themselves.
pub(super) async fn no_icon() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// What a request hears that is not answered.
pub(super) fn refusal(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => {
            "Open the address that `brunt console` printed: it has the token.\n"
        }
        StatusCode::MISDIRECTED_REQUEST => "This is not the name that `brunt console` printed.\n",
        StatusCode::METHOD_NOT_ALLOWED => "A console only shows: GET is all there is.\n",
        _ => "",
    }
}

/// Makes a page on another thread.
async fn made<T: IntoResponse + Send + 'static>(
    make: impl FnOnce() -> Result<T, PageError> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(make).await {
        Ok(Ok(page)) => page.into_response(),
        Ok(Err(PageError::Missing)) => (StatusCode::NOT_FOUND, NOT_FOUND).into_response(),
        Ok(Err(error)) => (StatusCode::UNPROCESSABLE_ENTITY, format!("{error}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

pub(super) async fn list(State(site): State<Site>) -> Response {
    made(move || Ok(Html(pages::list(&site.shelf(), site.program)))).await
}

fn book(site: &Site, name: &str) -> Result<Book, PageError> {
    site.shelf().runs.get(name).cloned().ok_or(PageError::Missing)
}

pub(super) async fn run(
    State(site): State<Site>,
    Path(name): Path<String>,
    Query(chosen): Query<Chosen>,
) -> Response {
    made(move || {
        let book = book(&site, &name)?;
        pages::run(&name, &book, &chosen, &site).map(Html)
    })
    .await
}

/// The report, byte for byte as `brunt report` writes it.
pub(super) async fn saved(State(site): State<Site>, Path(name): Path<String>) -> Response {
    made(move || {
        let book = book(&site, &name)?;
        let html = report_html(&brunt_host::runs::read(&book.folder)?);
        let headers = [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CONTENT_DISPOSITION, "attachment; filename=\"report.html\""),
        ];
        Ok((headers, html))
    })
    .await
}

/// What the page of a reader shows.
#[derive(Default, Deserialize)]
pub(super) struct Since {
    sample: Option<u64>,
    version: Option<String>,
}

pub(super) async fn run_events(
    State(site): State<Site>,
    Path(name): Path<String>,
    Query(since): Query<Since>,
    headers: HeaderMap,
) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    // Who comes back has an older page than its number says.
    let last = last.or(since.sample);
    stream::events(site.shelf, Some(name), last, since.version).into_response()
}

pub(super) async fn list_events(State(site): State<Site>, Query(since): Query<Since>) -> Response {
    stream::events(site.shelf, None, None, since.version).into_response()
}

/// Two runs that were picked.
#[derive(Deserialize)]
pub(super) struct Pair {
    a: String,
    b: String,
}

pub(super) async fn compare(State(site): State<Site>, Query(pair): Query<Pair>) -> Response {
    made(move || {
        let (a, b) = (book(&site, &pair.a)?, book(&site, &pair.b)?);
        pages::compare([(&pair.a, &a), (&pair.b, &b)], &site).map(Html)
    })
    .await
}

pub(super) async fn history(State(site): State<Site>, Path(name): Path<String>) -> Response {
    made(move || {
        book(&site, &name)?;
        pages::history(&name, &site).map(Html)
    })
    .await
}

pub(super) async fn metrics(State(site): State<Site>) -> Response {
    made(move || {
        let shelf = site.shelf();
        let looks = shelf.runs.values().filter_map(|book| match &book.known {
            Known::Seen(seen) => match seen.as_ref() {
                Seen::Run(look) => Some(look),
                Seen::Other(_) => None,
            },
            _ => None,
        });
        Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(looks)))
    })
    .await
}

pub(super) async fn style() -> Response {
    let css = format!("{STYLE}\n{}", pages::STYLE);
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], css).into_response()
}

pub(super) async fn script() -> Response {
    let script = format!("{}\n{}", brunt_report::SCRIPT, pages::SCRIPT);
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], script).into_response()
}
