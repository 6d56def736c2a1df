//! What all pages share: the head with title and style, and the foot of every printed page.
//!
//! A page is a file that has everything in it, or a console serves it. Then style and script are
//! files beside it, a bar stands above it, and a run that goes on has no verdict yet.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::escape;
use crate::pictures::View;
use crate::result::RunResult;
use crate::text::units_kept;

const HEAD: &str = include_str!("head.html");
const PICTURES: &str = include_str!("pictures.html");
/// The only script of a page; pages are complete without it.
pub const SCRIPT: &str = include_str!("crosshair.js");
/// The style of every page.
pub const STYLE: &str =
    concat!(include_str!("style.css"), include_str!("plot.css"), include_str!("drill/drill.css"));

/// A page as a console serves it: it links to `/style.css` and `/console.js`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Served {
    /// What stands above the page, as HTML.
    pub bar: String,
    /// Of a run that goes on: what it is doing, in a sentence.
    #[serde(skip)]
    pub goes_on: Option<String>,
    #[serde(skip)]
    pub view: View,
}

/// The verdict at the head of a page.
pub(super) struct Heading<'a> {
    pub(super) verdict: String,
    /// The class of its colour.
    pub(super) colour: &'static str,
    pub(super) sentence: &'a str,
    /// The verdict as Jetstress writes it.
    pub(super) outcome: String,
    /// Whether it is only what there is so far.
    pub(super) goes_on: bool,
}

impl<'a> Heading<'a> {
    /// That of `result`, which `sentence` describes.
    pub(super) fn of(result: &RunResult, sentence: &'a str, served: Option<&'a Served>) -> Self {
        match served.and_then(|served| served.goes_on.as_deref()) {
            Some(sentence) => {
                let (verdict, outcome) = ("RUNNING".to_owned(), "not yet known".to_owned());
                Self { verdict, colour: "open", sentence, outcome, goes_on: true }
            }
            None => Self {
                verdict: result.headline(),
                colour: result.colour().class(),
                sentence,
                outcome: result.outcome_in_words(),
                goes_on: false,
            },
        }
    }
}

#[derive(Serialize)]
struct Whole<'a, P> {
    style: &'static str,
    script: &'static str,
    title: &'a str,
    foot: String,
    served: Option<&'a Served>,
    #[serde(flatten)]
    page: &'a P,
}

/// Renders `template` with the data of `page`. `foot` tells printed pages apart; the page number
/// stands beside it.
pub(super) fn rendered(template: &str, title: &str, foot: &str, page: &impl Serialize) -> String {
    rendered_for(None, template, title, foot, page)
}

/// The same page as a file, or `served`.
pub(super) fn rendered_for(
    served: Option<&Served>,
    template: &str,
    title: &str,
    foot: &str,
    page: &impl Serialize,
) -> String {
    let foot = css_string(foot);
    let whole = Whole { style: STYLE, script: SCRIPT, title, foot, served, page };
    let mut environment = Environment::new();
    environment.set_formatter(escape::formatter);
    environment.add_filter("kept", |text: &str| units_kept(text));
    for (name, text) in [("head.html", HEAD), ("pictures.html", PICTURES), ("page.html", template)]
    {
        environment.add_template(name, text).expect("the template is part of the program");
    }
    environment
        .get_template("page.html")
        .and_then(|template| template.render(Serde(&whole)))
        .expect("the template fits its data")
}

/// `text` within a string of a style sheet. A quote, a brace or a bracket could end the string, or
/// the sheet.
fn css_string(text: &str) -> String {
    let of = |c: char| match c.is_ascii_alphanumeric() || "-_.:,() ".contains(c) {
        true => c.to_string(),
        false => format!("\\{:x} ", u32::from(c)),
    };
    text.chars().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_end_the_style() {
        assert_eq!(css_string("demo-1: 46d4"), "demo-1: 46d4");
        let evil = "\"}</style>\n";
        assert_eq!(css_string(evil), "\\22 \\7d \\3c \\2f style\\3e \\a ");
        let page = std::collections::BTreeMap::from([("name", "x")]);
        let html = rendered("{% include \"head.html\" %}{{ name }}", "a < b", evil, &page);
        assert_eq!(html.matches("</style>").count(), 1);
        assert!(html.contains("<title>a &lt; b</title>") && html.ends_with('x'));
    }
}
