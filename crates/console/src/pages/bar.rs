//! What stands above a page: where one is, what the run is doing, what else there is to see.

use brunt_report::{Served, escape, in_address};

use super::{Accepted, Chosen};
use crate::follow::{Other, Seen};
use crate::http::{Site, version};
use crate::library::{Book, Known};
use crate::look::{Look, State};
use crate::part;

/// Lines of the test log.
const EVENTS: usize = 3;

/// Of a page that does not change.
pub(super) fn plain(site: &Site) -> String {
    let program = escape(site.program);
    format!(
        "<section class=\"bar\" aria-label=\"Console\"><nav aria-label=\"Pages\"><a href=\"/\">Runs</a>\
         <span>{program} console</span></nav></section>"
    )
}

/// Of the list of runs at this version.
pub(super) fn of_list(served: &mut Served, shelf_version: u64, program: &str) {
    let program = escape(program);
    let heard = unheard();
    served.bar = format!(
        "<section class=\"bar\" aria-label=\"Console\" data-events=\"/events?version={shelf_version}\">\
         <nav aria-label=\"Pages\"><span>{program} console</span></nav>{heard}</section>"
    );
}

/// Shown by the script when it hears nothing any more.
fn unheard() -> &'static str {
    "<p class=\"unheard\" role=\"alert\" hidden>The console is not heard any more: this page shows what it knew last.</p>"
}

fn head(name: &str, events: &str, links: &str, site: &Site) -> String {
    let program = escape(site.program);
    format!(
        "<section class=\"bar\" aria-label=\"Console\" data-events=\"{}\"><nav aria-label=\"Pages\"><a href=\"/\">Runs</a>\
         <span aria-current=\"page\">{}</span>{links}<span>{program} console</span></nav>{}",
        escape(events),
        escape(name),
        unheard(),
    )
}

fn events_of(name: &str, sample: Option<u64>, known: &Known) -> String {
    let sample = sample.map_or(String::new(), |sample| format!("sample={sample}&"));
    let version = in_address(&version(Some(known)));
    format!("/runs/{}/events?{sample}version={version}", in_address(name))
}

pub(super) fn of_other(other: &Other, book: &Book, site: &Site) -> String {
    let events = events_of(&other.name, None, &book.known);
    format!("{}</section>", head(&other.name, &events, "", site))
}

/// Of the page of a run.
pub(super) fn of_run(
    look: &Look,
    book: &Book,
    chosen: &Chosen,
    accepted: Option<&Accepted>,
    site: &Site,
) -> String {
    let name = in_address(&look.name);
    let events = events_of(&look.name, Some(look.run.samples.len() as u64), &book.known);
    let links = format!(
        "<a href=\"/history/{name}\">History</a>\
         <a href=\"/runs/{name}/report.html\" download=\"report.html\">Save the report</a>"
    );
    let mut html = head(&look.name, &events, &links, site);
    html += &format!("<p class=\"state\" role=\"status\">{}</p>", escape(&state(look)));
    html += &last_events(look);
    if let Some(accepted) = accepted {
        let reference = in_address(&accepted.reference);
        let link = match accepted.is_comparable {
            true => format!(" <a href=\"/compare?a={reference}&amp;b={name}\">Compare</a>"),
            false => String::new(),
        };
        html += &format!(
            "<p class=\"accepted\">Against the accepted run {}: {}{link}</p>",
            escape(&accepted.reference),
            escape(&accepted.sentence),
        );
    }
    html += &choice(look, book, chosen);
    html + "</section>"
}

/// What it is doing: state, phase, and the number of samples.
fn state(look: &Look) -> String {
    let doing = look.progress.as_ref().map(|progress| progress.in_words());
    let silent = (look.state == State::Silent)
        .then(|| "its journal stands still: it was killed, or its host died, or hangs".to_owned());
    let samples = look.run.samples.len() as u64;
    let samples = (samples > 0).then(|| brunt_report::counted(samples, "sample"));
    let parts = [Some(look.state.word().to_owned()), silent, doing, samples];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" \u{b7} ")
}

fn last_events(look: &Look) -> String {
    let events = &look.run.events;
    let newest = events.iter().skip(events.len().saturating_sub(EVENTS));
    let items = newest.map(|event| {
        let at = event.at.for_people();
        format!("<li><time>{}</time> {}</li>", escape(&at), escape(&event.text))
    });
    let items: String = items.collect();
    match look.state == State::Ended || items.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"last\" aria-label=\"Newest events\">{items}</ul>"),
    }
}

/// The form that chooses what the pictures show; none where there are no pictures.
fn choice(look: &Look, book: &Book, chosen: &Chosen) -> String {
    if look.run.samples.is_empty() {
        return String::new();
    }
    let names = match &book.known {
        Known::Seen(seen) => match seen.as_ref() {
            Seen::Run(look) => part::names(look.streams.iter()),
            Seen::Other(_) => Vec::new(),
        },
        _ => part::of_result(&look.run.result),
    };
    let option = |name: &String| {
        let selected = if chosen.of.as_ref() == Some(name) { " selected" } else { "" };
        let name = escape(name);
        format!("<option value=\"{name}\"{selected}>{name}</option>")
    };
    let options: String = names.iter().map(option).collect();
    let field = |name: &str, value: &Option<String>, label: &str| {
        let value = escape(value.as_deref().unwrap_or_default());
        format!(
            "<label>{label} <input name=\"{name}\" value=\"{value}\" size=\"8\" placeholder=\"m:ss\"></label>"
        )
    };
    let all = match chosen.is_all() {
        true => String::new(),
        false => format!(" <a href=\"/runs/{}\">Show everything</a>", in_address(&look.name)),
    };
    format!(
        "<form class=\"choice\" method=\"get\"><label>Pictures of <select name=\"of\">\
         <option value=\"\">everything together</option>{options}</select></label>{}{}\
         <button>Show</button>{all}</form>",
        field("from", &chosen.from, "from"),
        field("to", &chosen.to, "to"),
    )
}
