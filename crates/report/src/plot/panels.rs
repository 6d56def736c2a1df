//! Several panels above one another, with one axis of time: what happened at once stands on one
//! line.
//!
//! ```text
//!   A before  │B no service      │C after the failover    phases, shaded in turn
//!   1 source lost                                         events: words in rows where they fit, else numbers
//!             │2 failover begins
//!             ├─ no service 5 min 30 s ─┤                 outages: hatched through all panels
//!   I/O       │╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱│__________
//!   latency   │╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱│__________
//!                       minutes
//! ```
//!
//! It is drawn twice, for a wide and for a narrow page; the style sheet shows one of them. A value
//! above the end of its axis is drawn at the end, and the highest of such neighbours is written
//! there.

use std::fmt::Write;

use super::svg::{label, line, rectangle};
use super::{Axis, Band, Curve, Drawn, LONE, Moment, readings, words};
use crate::html::escape;

/// Panels with one axis of time.
#[derive(Clone, Debug)]
pub(crate) struct Panels {
    pub(crate) title: &'static str,
    pub(crate) x: Axis,
    pub(crate) panels: Vec<Panel>,
    /// One after the other.
    pub(crate) phases: Vec<Band>,
    pub(crate) outages: Vec<Band>,
    /// In the order of time.
    pub(crate) events: Vec<Moment>,
}

/// One panel. Its curves have points at the same places as those of all panels.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) y: Axis,
    /// Curves, each with the number of its colour.
    pub(crate) curves: Vec<(Curve, usize)>,
    /// Where there is no value, and why.
    pub(crate) absent: Vec<Band>,
}

/// The measures of a drawing.
struct Form {
    class: &'static str,
    width: f64,
    left: f64,
    /// Height of a panel's field.
    height: f64,
    /// Width of most letters.
    letter: f64,
    /// From one row of text to the next.
    row: f64,
    /// Rows of events in words; more are numbers.
    rows: usize,
}

const WIDE: Form = Form {
    class: "wide",
    width: 1100.0,
    left: 62.0,
    height: 104.0,
    letter: 6.9,
    row: 18.0,
    rows: 8,
};
const NARROW: Form = Form {
    class: "narrow",
    width: 560.0,
    left: 74.0,
    height: 130.0,
    letter: 9.6,
    row: 25.0,
    rows: 0,
};
/// Right of the panels.
const MARGIN: f64 = 14.0;
/// Between a line and its text.
const GAP: f64 = 4.0;
/// Between the lines of a hatched field.
const HATCH: f64 = 11.0;
/// How much wider bold letters are.
const BOLD: f64 = 1.14;
/// Between the title of a panel and its field.
const HEAD: f64 = 10.0;
/// Length of the line that stands for a curve in a legend.
const KEY: f64 = 22.0;

impl Panels {
    /// Both drawings.
    pub(crate) fn to_html(&self) -> String {
        [WIDE, NARROW].map(|form| self.draw(&form)).concat()
    }

    /// Whether the wide drawing has only numbers for its events.
    pub(crate) fn is_numbered(&self) -> bool {
        self.events_in_words(&WIDE).is_none()
    }

    fn draw(&self, form: &Form) -> String {
        let strip = form.row + 4.0;
        let words = self.events_in_words(form);
        let rows = words
            .as_ref()
            .map_or(1, |words| words.iter().map(|(row, ..)| row + 1).max().unwrap_or(0));
        let lane = strip + 3.0 + rows as f64 * form.row;
        let first = match self.outages.is_empty() {
            true => lane,
            false => lane + form.row + 6.0,
        };
        let mut fields = Vec::new();
        let mut y = first;
        for panel in &self.panels {
            let head = form.row * if self.legend_fits(panel, form) { 1.0 } else { 2.0 };
            fields.push((y + head + HEAD, y + head + HEAD + form.height));
            y += head + form.height + HEAD + 8.0;
        }
        let bottom = fields.last().map_or(first, |(_, bottom)| *bottom);
        let height = bottom + 2.0 * form.row + 8.0;
        let at = self.places();
        let mut svg = format!(
            "<svg class=\"{}\" viewBox=\"0 0 {} {height:.0}\" role=\"img\" aria-label=\"{}\" data-x=\"{}\" \
             data-axis=\"{} {} {} {first:.1} {bottom:.1}\" data-unit=\"{}\" data-y-unit=\"\">",
            form.class,
            form.width,
            escape(&self.in_words()),
            at.iter().map(|x| readings::rounded(*x)).collect::<Vec<_>>().join(" "),
            self.x.ends(),
            form.left,
            form.width - MARGIN,
            escape(&self.x.unit),
        );
        self.draw_phases(&mut svg, form, strip, bottom);
        for outage in &self.outages {
            self.hatched(&mut svg, form, "outage", outage, [first, bottom]);
        }
        for (panel, field) in self.panels.iter().zip(&fields) {
            self.draw_field(&mut svg, form, panel, *field);
        }
        self.draw_time(&mut svg, form, &fields);
        self.draw_events(&mut svg, form, words, [strip + 3.0, bottom]);
        self.draw_outages(&mut svg, form, lane);
        for (panel, field) in self.panels.iter().zip(&fields) {
            self.draw_head(&mut svg, form, panel, field.0 - HEAD);
            for (curve, colour) in &panel.curves {
                self.draw_curve(&mut svg, form, panel, curve, *colour, *field);
            }
            self.draw_peaks(&mut svg, form, panel, field.0);
        }
        svg.push_str("</svg>");
        svg
    }

    /// The position of a time.
    fn x(&self, form: &Form, at_s: f64) -> f64 {
        let share = self.x.share(at_s).unwrap_or(0.0);
        form.left + share * (form.width - MARGIN - form.left)
    }

    /// The places of all points.
    fn places(&self) -> Vec<f64> {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        curves.take(1).flat_map(|(curve, _)| &curve.points).map(|(x, _)| *x).collect()
    }

    fn draw_phases(&self, svg: &mut String, form: &Form, strip: f64, bottom: f64) {
        for (number, phase) in self.phases.iter().enumerate() {
            let [from, until] = [phase.from_s, phase.until_s].map(|at| self.x(form, at));
            let class = if number % 2 == 0 { "phase even" } else { "phase odd" };
            rectangle(svg, class, [from, 0.0, until, bottom]);
            line(svg, "border", [from, 0.0, from, bottom]);
            let letter = letter(number);
            let texts = [format!("{letter} {}", phase.text), letter];
            let fits = |text: &&String| from + 2.0 * GAP + width(form, text) <= until;
            if let Some(text) = texts.iter().find(fits) {
                label(svg, "name", "start", [from + GAP, strip - 7.0], text);
            }
        }
    }

    /// The rows of events, with place, side and text, where all fit in the rows of `form`.
    fn events_in_words(&self, form: &Form) -> Option<Vec<(usize, f64, bool, String)>> {
        let mut ends: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut words = Vec::new();
        for (number, event) in (1..).zip(&self.events) {
            let text = format!("{number} {}", event.text);
            let (at, length) = (self.x(form, event.at_s), width(form, &text) + 2.0 * GAP);
            let is_left = at + length > form.width;
            let (from, until) = if is_left { (at - length, at) } else { (at, at + length) };
            if from < 0.0 {
                return None;
            }
            // Below all that it would cover, so that no line of an event runs through the text of
            // an earlier one.
            let covers = |row: &Vec<(f64, f64)>| row.iter().any(|(f, u)| from < *u && *f < until);
            let row = ends.iter().rposition(covers).map_or(0, |row| row + 1);
            if row >= form.rows {
                return None;
            }
            ends.resize(ends.len().max(row + 1), Vec::new());
            ends[row].push((from, until));
            words.push((row, at, is_left, text));
        }
        Some(words)
    }

    fn draw_events(
        &self,
        svg: &mut String,
        form: &Form,
        words: Option<Vec<(usize, f64, bool, String)>>,
        [top, bottom]: [f64; 2],
    ) {
        let base = |row: usize| top + (row + 1) as f64 * form.row - 5.0;
        let texts = words.unwrap_or_else(|| self.numbers(form));
        let mut last = f64::NEG_INFINITY;
        for event in &self.events {
            let at = self.x(form, event.at_s);
            let row = texts.iter().find(|(_, place, ..)| *place == at).map_or(0, |(row, ..)| *row);
            if at - last >= 0.5 {
                line(svg, "event", [at, base(row) - form.row + 8.0, at, bottom]);
            }
            last = at;
        }
        for (row, at, is_left, text) in texts {
            let (anchor, x) = if is_left { ("end", at - GAP) } else { ("start", at + GAP) };
            label(svg, "event", anchor, [x, base(row)], &text);
        }
    }

    /// Numbers from 1, each at its line; those of neighbours without room between them are drawn as
    /// one: `3-5`.
    fn numbers(&self, form: &Form) -> Vec<(usize, f64, bool, String)> {
        let text = |first: usize, last: usize| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let mut clusters: Vec<(f64, usize, usize)> = Vec::new();
        for (number, event) in (1..).zip(&self.events) {
            let at = self.x(form, event.at_s);
            match clusters.last_mut() {
                Some((begin, first, last))
                    if at < *begin + width(form, &text(*first, *last)) + 2.0 * GAP =>
                {
                    *last = number;
                }
                _ => clusters.push((at, number, number)),
            }
        }
        let shown = clusters.into_iter().map(|(at, first, last)| {
            let text = text(first, last);
            (0, at, at + GAP + width(form, &text) > form.width, text)
        });
        shown.collect()
    }

    /// A bar for each outage, named above its middle.
    fn draw_outages(&self, svg: &mut String, form: &Form, lane: f64) {
        let mut free = 0.0;
        for outage in &self.outages {
            let [from, until] = [outage.from_s, outage.until_s].map(|at| self.x(form, at));
            let until = until.max(from + 2.0);
            let y = lane + form.row;
            rectangle(svg, "bar", [from, y, until, y + 5.0]);
            let length = width(form, &outage.text);
            let middle = f64::midpoint(from, until);
            let middle = middle.clamp(form.left + length / 2.0, form.width - MARGIN - length / 2.0);
            if middle - length / 2.0 > free {
                label(svg, "outage", "middle", [middle, y - 4.0], &outage.text);
                free = middle + length / 2.0 + GAP;
            }
        }
    }

    fn hatched(
        &self,
        svg: &mut String,
        form: &Form,
        class: &str,
        band: &Band,
        [top, bottom]: [f64; 2],
    ) {
        let [from, until] = [band.from_s, band.until_s].map(|at| self.x(form, at));
        let until = until.max(from + 1.0);
        rectangle(svg, class, [from, top, until, bottom]);
        let mut path = String::new();
        let mut at = (from + top).div_euclid(HATCH) * HATCH + HATCH;
        // Lines on which x + y is the same.
        while at < until + bottom {
            let (x1, x2) = (from.max(at - bottom), until.min(at - top));
            write!(path, "M{x1:.1} {:.1}L{x2:.1} {:.1}", at - x1, at - x2)
                .expect("a string takes all");
            at += HATCH;
        }
        write!(svg, "<path class=\"hatch {class}\" d=\"{path}\"/>").expect("a string takes all");
    }

    fn draw_field(&self, svg: &mut String, form: &Form, panel: &Panel, (top, bottom): (f64, f64)) {
        let right = form.width - MARGIN;
        for band in &panel.absent {
            self.hatched(svg, form, "absent", band, [top, bottom]);
            let [from, until] = [band.from_s, band.until_s].map(|at| self.x(form, at));
            if from + 2.0 * GAP + width(form, &band.text) <= until {
                label(svg, "", "start", [from + GAP, bottom - 6.0], &band.text);
            }
        }
        let most = (form.height / (form.row * 1.2)).floor();
        let every = (panel.y.marks.len() as f64 / most).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few")]
        let every = (every as usize).max(1);
        for (value, text) in panel.y.marks.iter().step_by(every) {
            let Some(share) = panel.y.share(*value) else {
                continue;
            };
            let y = bottom - share * (bottom - top);
            line(svg, "grid", [form.left, y, right, y]);
            label(svg, "", "end", [form.left - 7.0, y + 4.5], text);
        }
        line(svg, "axis", [form.left, bottom, right, bottom]);
    }

    /// The title, and the legend behind or below it.
    fn draw_head(&self, svg: &mut String, form: &Form, panel: &Panel, base: f64) {
        let title = panel.head();
        let fits = self.legend_fits(panel, form);
        let below = if fits { 0.0 } else { form.row };
        label(svg, "title", "start", [0.0, base - below], &title);
        let mut x = if fits { width(form, &title) * BOLD + 3.0 * GAP } else { form.left };
        if panel.curves.len() < 2 {
            return;
        }
        for (curve, colour) in &panel.curves {
            line(svg, &format!("curve c{colour}"), [x, base - 4.5, x + KEY, base - 4.5]);
            label(svg, "", "start", [x + KEY + GAP, base], &curve.name);
            x += key_width(form, &curve.name);
        }
    }

    fn legend_fits(&self, panel: &Panel, form: &Form) -> bool {
        let keys = panel.curves.iter().map(|(curve, _)| key_width(form, &curve.name));
        let keys = if panel.curves.len() < 2 { 0.0 } else { keys.sum() };
        width(form, &panel.head()) * BOLD + keys + 3.0 * GAP <= form.width
    }

    fn draw_time(&self, svg: &mut String, form: &Form, fields: &[(f64, f64)]) {
        let bottom = fields.last().map_or(0.0, |(_, bottom)| *bottom);
        for (value, text) in &self.x.marks {
            let x = self.x(form, *value);
            for (top, bottom) in fields {
                line(svg, "grid", [x, *top, x, *bottom]);
            }
            label(svg, "", "middle", [x, bottom + form.row], text);
        }
        let middle = f64::midpoint(form.left, form.width - MARGIN);
        label(svg, "", "middle", [middle, bottom + 2.0 * form.row], &self.x.label());
    }

    fn draw_curve(
        &self,
        svg: &mut String,
        form: &Form,
        panel: &Panel,
        curve: &Curve,
        colour: usize,
        (top, bottom): (f64, f64),
    ) {
        let place = |(x, y): &(f64, f64)| {
            let share = panel.y.share(*y)?;
            Some((self.x(form, *x), bottom - share * (bottom - top)))
        };
        let places: Vec<Option<(f64, f64)>> = curve.points.iter().map(place).collect();
        let (mut path, mut surface) = (String::new(), String::new());
        for stretch in places.split(Option::is_none) {
            let mut stretch: Vec<(f64, f64)> = stretch.iter().copied().flatten().collect();
            if let [(x, y)] = stretch[..] {
                stretch = vec![(x - LONE, y), (x + LONE, y)];
            }
            let (Some((first, _)), Some((last, _))) = (stretch.first(), stretch.last()) else {
                continue;
            };
            write!(surface, "M{first:.1} {bottom:.1}").expect("a string takes all");
            for (at, (x, y)) in stretch.iter().enumerate() {
                let verb = if at == 0 { 'M' } else { 'L' };
                write!(path, "{verb}{x:.1} {y:.1}").expect("a string takes all");
                write!(surface, "L{x:.1} {y:.1}").expect("a string takes all");
            }
            write!(surface, "L{last:.1} {bottom:.1}Z").expect("a string takes all");
        }
        if curve.drawn == Drawn::Area {
            write!(svg, "<path class=\"surface c{colour}\" d=\"{surface}\"/>")
                .expect("a string takes all");
        }
        let shown = |(_, y): &(f64, f64)| match y.is_finite() {
            true => readings::shown(*y),
            false => "-".to_owned(),
        };
        let values: Vec<String> = curve.points.iter().map(shown).collect();
        write!(
            svg,
            "<path class=\"curve c{colour}\" d=\"{path}\" data-name=\"{}\" data-values=\"{}\" data-unit=\"{}\"/>",
            escape(&curve.name),
            values.join(" "),
            escape(&panel.y.unit)
        )
        .expect("a string takes all");
    }

    /// The highest value of each stretch above the end of the axis, in rows where some would meet.
    fn draw_peaks(&self, svg: &mut String, form: &Form, panel: &Panel, top: f64) {
        let mut rows: Vec<Vec<(f64, f64)>> = Vec::new();
        for (curve, _) in &panel.curves {
            for stretch in curve.points.split(|(_, y)| !panel.y.is_above(*y)) {
                let highest = stretch.iter().max_by(|one, other| one.1.total_cmp(&other.1));
                let Some((at, value)) = highest else { continue };
                let text = format!("\u{2191} {} {}", readings::shown(*value), curve.name);
                let length = width(form, &text) + GAP;
                let from = (self.x(form, *at) + GAP).min(form.width - length);
                let meets = |row: &Vec<(f64, f64)>| {
                    row.iter().any(|(other, until)| from < *until && *other < from + length)
                };
                let row = rows.iter().position(|row| !meets(row)).unwrap_or(rows.len());
                if row > 1 {
                    continue;
                }
                rows.resize(rows.len().max(row + 1), Vec::new());
                rows[row].push((from, from + length));
                let y = top + (row + 1) as f64 * form.row - 6.0;
                label(svg, "peak", "start", [from, y], &text);
            }
        }
    }

    /// What the picture shows, for those who do not see it.
    fn in_words(&self) -> String {
        let span = |band: &Band, what: &str| {
            let [from, until] = [band.from_s, band.until_s].map(words::clock);
            format!("{what} from {from} to {until}")
        };
        let phases = self.phases.iter().enumerate();
        let phases = phases
            .map(|(number, phase)| span(phase, &format!("{} {}", letter(number), phase.text)));
        let outages = self.outages.iter().map(|outage| span(outage, &outage.text));
        let curves = self.panels.iter().flat_map(|panel| {
            let of = |(curve, _): &(Curve, usize)| words::range(curve, &panel.y.unit);
            panel.curves.iter().filter_map(of)
        });
        let absent = self.panels.iter().flat_map(|panel| &panel.absent);
        let absent = absent.map(|band| span(band, &band.text));
        let events = self.events.iter();
        let events = events.map(|event| format!("at {}: {}", words::clock(event.at_s), event.text));
        let parts = phases.chain(outages).chain(curves).chain(absent).chain(events);
        format!("{}: {}", self.title, parts.collect::<Vec<_>>().join("; "))
    }
}

impl Panel {
    /// The title with its unit.
    fn head(&self) -> String {
        format!("{}, {}", self.title, self.y.label())
    }
}

/// `A` to `Z`, then `A1` and so on: the sign of a phase.
pub(crate) fn letter(number: usize) -> String {
    let (round, at) = (number.div_euclid(26), number % 26);
    let sign = char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at]);
    match round {
        0 => sign.to_string(),
        round => format!("{sign}{round}"),
    }
}

fn width(form: &Form, text: &str) -> f64 {
    form.letter * text.chars().count() as f64
}

fn key_width(form: &Form, name: &str) -> f64 {
    KEY + width(form, name) + 5.0 * GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(from_s: f64, until_s: f64, text: &str) -> Band {
        Band { from_s, until_s, text: text.to_owned() }
    }

    fn panels(events: &[(f64, &str)]) -> Panels {
        let curve = Curve {
            name: "reads".into(),
            points: vec![(10.0, 100.0), (30.0, f64::NAN), (50.0, 900.0), (70.0, 90.0)],
            drawn: Drawn::Area,
        };
        let moment = |(at_s, text): &(f64, &str)| Moment { at_s: *at_s, text: (*text).to_owned() };
        Panels {
            title: "Timeline",
            x: Axis::time(100.0).of("the drill"),
            panels: vec![Panel {
                title: "I/O",
                y: Axis::from_zero(200.0, "per second"),
                curves: vec![(curve, 0)],
                absent: vec![band(20.0, 40.0, "no copy")],
            }],
            phases: vec![band(0.0, 40.0, "before"), band(40.0, 100.0, "after <it>")],
            outages: vec![band(20.0, 40.0, "no service 20 s")],
            events: events.iter().map(moment).collect(),
        }
    }

    #[test]
    fn both_drawings_say_what_they_show() {
        let html = panels(&[(20.0, "site <lost>")]).to_html();
        assert_eq!(html.matches("role=\"img\"").count(), 2);
        let words = "Timeline: A before from 0 s to 40.0 s; B after &lt;it&gt; from 40.0 s to 1:40 min; \
                     no service 20 s from 20.0 s to 40.0 s; reads 90.0 to 900, mean 363 per second; \
                     no copy from 20.0 s to 40.0 s; at 20.0 s: site &lt;lost&gt;\"";
        assert_eq!(html.matches(words).count(), 2, "{html}");
        assert_eq!(html.matches("data-values=\"100 - 900 90.0\"").count(), 2);
        assert_eq!(html.matches("<path class=\"hatch outage\"").count(), 2);
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn what_is_above_the_axis_is_written_there() {
        let html = panels(&[]).to_html();
        assert_eq!(html.matches("\u{2191} 900 reads").count(), 2);
        let mut two = panels(&[]);
        let other = two.panels[0].curves[0].clone();
        two.panels[0].curves.push(other);
        let (html, mut places) = (two.to_html(), std::collections::BTreeSet::new());
        for text in html.split("<text class=\"peak\"").skip(1) {
            let (place, _) = text.split_once('>').expect("a text");
            places.insert(place.to_owned());
        }
        assert_eq!(places.len(), 4, "none covers another: {places:?}");
    }

    #[test]
    fn texts_of_events_do_not_cover_each_other() {
        let long = "a text of an event that takes a part of the width";
        let few = panels(&[(10.0, long), (11.0, long), (90.0, long)]);
        let words = few.events_in_words(&WIDE).unwrap();
        let rows: Vec<_> = words.iter().map(|(row, _, is_left, _)| (*row, *is_left)).collect();
        assert_eq!(rows, [(0, false), (1, false), (0, true)]);
        assert!(few.events_in_words(&NARROW).is_none());
        let many: Vec<_> = (0..20).map(|at| (f64::from(at), long)).collect();
        let many = panels(&many);
        assert!(many.is_numbered());
        assert_eq!(many.numbers(&WIDE)[0].3, "1-3");
    }

    #[test]
    fn every_line_of_a_hatched_field_lies_within_it() {
        let (panels, mut svg) = (panels(&[]), String::new());
        panels.hatched(&mut svg, &WIDE, "outage", &band(20.0, 40.0, ""), [100.0, 150.0]);
        let (_, path) = svg.split_once(" d=\"").unwrap();
        let [from, until] = [20.0, 40.0].map(|at| panels.x(&WIDE, at));
        let numbers =
            path.split(['M', 'L', ' ', '"']).filter_map(|number| number.parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect();
        assert!(numbers.len() >= 40);
        for pair in numbers.chunks(2) {
            assert!((from - 0.1..=until + 0.1).contains(&pair[0]), "{pair:?}");
            assert!((99.9..=150.1).contains(&pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn phases_have_letters() {
        assert_eq!([0, 25, 26].map(letter), ["A", "Z", "A1"]);
    }
}
