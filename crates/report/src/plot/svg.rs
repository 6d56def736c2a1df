//! Pictures for a web page: a legend in HTML, so that it wraps on a narrow page, and an `svg`
//! element.

use std::fmt::Write;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::shape::{Anchor, Look, RING, Shape};
use super::{HEIGHT, Plot, WIDTH, readings, words};
use crate::html::escape;

impl Plot {
    /// The legend, and the picture as an `svg` element.
    pub fn to_html(&self) -> String {
        let at = readings::places(self);
        let mut svg = format!(
            "{}<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"{}>",
            self.legend_html(),
            escape(&words::equivalent(self)),
            readings::attributes(self, &at),
        );
        for shape in self.shapes() {
            let values = match &shape {
                Shape::Curve { number, .. } => {
                    readings::of_curve(&self.curves[*number], &at, self.is_stairs)
                }
                _ => String::new(),
            };
            element(&mut svg, &shape, &values);
        }
        svg + "</svg>"
    }

    fn legend_html(&self) -> String {
        let keys = self.legend();
        let keys = keys.iter().map(|key| {
            let number = key.number;
            let mut drawn = String::new();
            match key.is_mark {
                true => {
                    let at = [11.0, 5.0];
                    element(&mut drawn, &Shape::Ring { number, at }, "");
                }
                false => line(&mut drawn, &format!("curve c{number}"), [0.0, 5.0, 22.0, 5.0]),
            }
            let name = escape(&key.name);
            format!("<li><svg viewBox=\"0 0 22 10\" aria-hidden=\"true\">{drawn}</svg>{name}</li>")
        });
        format!("<ul class=\"legend\">{}</ul>", keys.collect::<String>())
    }
}

/// Templates see the title, and the rest as `html`.
impl Serialize for Plot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown = serializer.serialize_struct("Plot", 2)?;
        shown.serialize_field("title", self.title)?;
        shown.serialize_field("html", &self.to_html())?;
        shown.end()
    }
}

/// The class of the style sheet.
fn class(look: Look) -> &'static str {
    match look {
        Look::Label => "",
        Look::Grid => "grid",
        Look::Axis => "axis",
        Look::Limit => "limit",
        Look::Goal => "goal",
        Look::Event => "event",
        Look::State => "state",
    }
}

pub(super) fn line(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    write!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    )
    .expect("a string takes all");
}

/// A text whose start, middle or end is at a place.
pub(super) fn label(svg: &mut String, class: &str, anchor: &str, [x, y]: [f64; 2], text: &str) {
    let text = escape(text);
    write!(
        svg,
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
    )
    .expect("a string takes all");
}

pub(super) fn rectangle(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let (width, height) = (x2 - x1, y2 - y1);
    write!(
        svg,
        "<rect class=\"{class}\" x=\"{x1:.1}\" y=\"{y1:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    )
    .expect("a string takes all");
}

/// Adds the element of `shape`; `attributes` are added to a curve.
fn element(svg: &mut String, shape: &Shape, attributes: &str) {
    match shape {
        Shape::Line(look, ends) => line(svg, class(*look), *ends),
        Shape::Rectangle(look, corners) => rectangle(svg, class(*look), *corners),
        Shape::Text(look, anchor, at, text) => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            label(svg, class(*look), anchor, *at, text);
        }
        Shape::Curve { number, stretches } => {
            let (mut path, mut surface) = (String::new(), String::new());
            for stretch in stretches {
                draw(&mut path, stretch.line.iter().copied());
                if !stretch.edge.is_empty() {
                    draw(&mut surface, stretch.area());
                    surface.push('Z');
                }
            }
            if !surface.is_empty() {
                svg.push_str(&format!("<path class=\"surface c{number}\" d=\"{surface}\"/>"));
            }
            svg.push_str(&format!("<path class=\"curve c{number}\" d=\"{path}\"{attributes}/>"));
        }
        Shape::Ring { number, at: [x, y] } => svg.push_str(&format!(
            "<circle class=\"mark c{number}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RING}\"/>"
        )),
    }
}

/// Adds a line through `points`.
fn draw(path: &mut String, points: impl Iterator<Item = (f64, f64)>) {
    for (at, (x, y)) in points.enumerate() {
        let verb = if at == 0 { 'M' } else { 'L' };
        write!(path, "{verb}{x:.1} {y:.1}").expect("a string takes all");
    }
}
