//! All runs: what they are doing or how they ended, their figures, and what they ran on.

use brunt_report::result::RunResult;
use brunt_report::{Served, decimals, escape, in_address, lies_on, served_html};

use super::bar;
use crate::follow::Seen;
use crate::library::{Book, Known, Shelf};
use crate::look::State;

/// A row of the list.
struct Row {
    /// The class of the verdict's colour.
    class: &'static str,
    state: String,
    began: String,
    test: String,
    rate: String,
    read: String,
    log: String,
    on: String,
}

impl Row {
    fn empty(class: &'static str, state: String) -> Self {
        let nothing = String::new;
        let (began, test, rate, read) = (nothing(), nothing(), nothing(), nothing());
        Self { class, state, began, test, rate, read, log: nothing(), on: nothing() }
    }

    fn of_result(result: &RunResult, class: &'static str, state: String) -> Self {
        let [reads, _, logs] = result.primary_io();
        let number = |number: Option<f64>| number.map_or(String::new(), decimals);
        Self {
            began: result.times.started.for_people(),
            test: format!("{} {}", result.scenario, result.storage.test.word()),
            rate: number(result.storage.achieved_iops),
            read: number(reads.latency_ms_mean),
            log: number(logs.latency_ms_mean),
            on: lies_on(result).unwrap_or_default(),
            ..Self::empty(class, state)
        }
    }

    fn of(book: &Book) -> Self {
        match &book.known {
            Known::New => Self::empty("open", "not read yet".to_owned()),
            Known::Unreadable(why) => Self::empty("open", why.clone()),
            Known::Ended(None) => Self::empty("open", "ended".to_owned()),
            Known::Ended(Some(result)) => {
                Self::of_result(result, result.colour().class(), result.headline())
            }
            Known::Seen(seen) => {
                let doing = seen.progress().map(|progress| progress.in_words());
                let state = match (seen.state(), doing) {
                    (State::GoesOn, Some(doing)) => format!("running: {doing}"),
                    (state, _) => state.word().to_owned(),
                };
                match seen.as_ref() {
                    Seen::Run(look) if look.state == State::Ended => {
                        let result = &look.run.result;
                        Self::of_result(result, result.colour().class(), result.headline())
                    }
                    Seen::Run(look) => Self::of_result(&look.run.result, "open", state),
                    Seen::Other(_) => Self::empty("open", state),
                }
            }
        }
    }

    fn html(&self, name: &str) -> String {
        let link = format!("<a href=\"/runs/{}\">{}</a>", in_address(name), escape(name));
        let name = escape(name);
        let pick = |side: &str| {
            format!(
                "<td><input type=\"radio\" name=\"{}\" value=\"{name}\" aria-label=\"{side}: {name}\"></td>",
                side.to_lowercase()
            )
        };
        let numbers = [&self.rate, &self.read, &self.log];
        let numbers: String =
            numbers.map(|number| format!("<td class=\"n\">{}</td>", escape(number))).concat();
        let words = [&self.began, &self.test].map(|word| format!("<td>{}</td>", escape(word)));
        format!(
            "<tr class=\"{}\"><th scope=\"row\">{link}</th><td class=\"verdict\">{}</td>{}{numbers}<td>{}</td>{}{}</tr>",
            self.class,
            escape(&self.state),
            words.concat(),
            escape(&self.on),
            pick("A"),
            pick("B"),
        )
    }
}

/// The page of all runs.
pub(crate) fn list(shelf: &Shelf, program: &str) -> String {
    let rows: String =
        shelf.runs.iter().rev().map(|(name, book)| Row::of(book).html(name)).collect();
    let heads = ["Run", "Verdict", "Began", "Test"];
    let heads = heads.map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    let numbers = ["I/O /s", "Read ms", "Log ms"];
    let numbers = numbers.map(|head| format!("<th scope=\"col\" class=\"n\">{head}</th>")).concat();
    let others = ["On", "A", "B"].map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    let note = match shelf.left_out {
        0 => String::new(),
        more => format!("<p class=\"note\">{more} older runs are not shown.</p>"),
    };
    let body = match shelf.runs.is_empty() {
        true => "<h1>Runs</h1><p class=\"sentence\">There is none yet. The first appears here as soon as it begins.</p>".to_owned(),
        false => format!(
            "<h1>Runs</h1><form action=\"/compare\" method=\"get\"><section class=\"tables runs\">\
             <div class=\"scroll\" role=\"group\" aria-label=\"Runs\" tabindex=\"0\"><table class=\"grid\">\
             <thead><tr>{heads}{numbers}{others}</tr></thead><tbody>{rows}</tbody></table></div></section>\
             {note}<p><button>Compare A and B</button></p></form>"
        ),
    };
    let mut served = Served::default();
    bar::of_list(&mut served, shelf.version, program);
    served_html("Runs (brunt)", &body, &served)
}
