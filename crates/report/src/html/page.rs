//! What all pages share: the head with title and style, and the foot of every printed page.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::escape;
use crate::text::units_kept;

const HEAD: &str = include_str!("head.html");
const PICTURES: &str = include_str!("pictures.html");
/// The only script of a page; pages are complete without it.
pub(super) const SCRIPT: &str = include_str!("crosshair.js");
const STYLE: &str =
    concat!(include_str!("style.css"), include_str!("plot.css"), include_str!("drill/drill.css"));

#[derive(Serialize)]
struct Whole<'a, P> {
    style: &'static str,
    script: &'static str,
    title: &'a str,
    foot: String,
    #[serde(flatten)]
    page: &'a P,
}

/// Renders `template` with the data of `page`. `foot` tells printed pages apart; the page number
/// stands beside it.
pub(super) fn rendered(template: &str, title: &str, foot: &str, page: &impl Serialize) -> String {
    let whole = Whole { style: STYLE, script: SCRIPT, title, foot: css_string(foot), page };
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
