//! Server-sent events: what has become new, and nothing of it.
//!
//! ```text
//!   id: 7            a sample has ended; the id is its number, and its data its figures
//!   event: sample    who was away sends Last-Event-ID, and hears of every sample since
//!   data: {...}
//!
//!   event: change    anything else has changed: phase, test log, verdict
//! ```
//!
//! Who hears an event fetches what it needs. A reader that is slow hears of several changes as one.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use brunt_report::result::{Flow, Sample};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde_json::json;
use tokio::sync::watch::Receiver;

use crate::follow::Seen;
use crate::library::{Known, Shelf};

/// Without events something is sent this often: proxies cut connections that are silent.
const ALIVE: Duration = Duration::from_secs(5);

/// What is heard of all runs, or of the one called `name`, by a reader that has heard of its samples
/// up to `last`, and whose page shows `version`.
pub(super) fn events(
    shelf: Receiver<Arc<Shelf>>,
    name: Option<String>,
    last: Option<u64>,
    version: Option<String>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let hearing = Hearing { shelf, name, last, version, waiting: VecDeque::new() };
    let heard = unfold(hearing, |mut hearing| async move {
        let event = hearing.next().await?;
        Some((Ok(event), hearing))
    });
    Sse::new(heard).keep_alive(KeepAlive::new().interval(ALIVE))
}

/// A reader.
struct Hearing {
    shelf: Receiver<Arc<Shelf>>,
    name: Option<String>,
    /// The number of the last sample that it has heard of.
    last: Option<u64>,
    /// What of the shelf it has heard of.
    version: Option<String>,
    waiting: VecDeque<Event>,
}

impl Hearing {
    /// The next event; `None` when there will be none.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let shelf = Arc::clone(&self.shelf.borrow_and_update());
            self.note(&shelf);
            if self.waiting.is_empty() {
                self.shelf.changed().await.ok()?;
            }
        }
    }

    fn note(&mut self, shelf: &Shelf) {
        let Some(name) = &self.name else {
            return self.changed(shelf.version.to_string());
        };
        let known = shelf.runs.get(name).map(|book| &book.known);
        if let Some(Known::Seen(seen)) = known
            && let Seen::Run(look) = seen.as_ref()
        {
            let samples = &look.run.samples;
            let now = samples.len() as u64;
            // A run that became another one begins anew.
            let last = self.last.filter(|last| *last <= now);
            let first = last.unwrap_or(if self.last.is_some() { 0 } else { now });
            let new = (1..).zip(samples).skip(usize::try_from(first).unwrap_or(usize::MAX));
            self.waiting.extend(new.map(|(number, sample)| of_sample(number, sample)));
            self.last = Some(now);
        }
        self.changed(version(known));
    }

    fn changed(&mut self, version: String) {
        let before = self.version.replace(version.clone());
        if before.is_some_and(|before| before != version) {
            self.waiting.push_back(Event::default().event("change").data(version));
        }
    }
}

/// What changes with a run.
pub(crate) fn version(known: Option<&Known>) -> String {
    match known {
        None => "gone".to_owned(),
        Some(Known::New) => "new".to_owned(),
        Some(Known::Ended(_)) => "ended".to_owned(),
        Some(Known::Unreadable(why)) => why.replace(['\n', '\r'], " "),
        Some(Known::Seen(seen)) => {
            let progress = seen.progress().map(|progress| progress.in_words());
            let progress = progress.unwrap_or_default().replace(['\n', '\r'], " ");
            format!("{} {} {progress}", seen.state().word(), seen.version())
        }
    }
}

fn of_sample(number: u64, sample: &Sample) -> Event {
    let flow = |flow: &Flow| {
        json!({
            "per_s": flow.per_s,
            "bytes_per_s": flow.bytes_per_s,
            "latency_ms_mean": flow.latency_ms_mean,
            "latency_ms_p99": flow.latency_ms_p99,
        })
    };
    let data = json!({
        "sample": number,
        "begin_s": sample.begin_s,
        "length_s": sample.length_s,
        "database_read": flow(&sample.database_reads),
        "database_write": flow(&sample.database_writes),
        "log_write": flow(&sample.log_writes),
    });
    Event::default().id(number.to_string()).event("sample").data(data.to_string())
}
