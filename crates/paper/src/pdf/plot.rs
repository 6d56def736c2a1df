//! Draws pictures: the shapes of [`brunt_report::plot`] as paths and texts.

use brunt_report::plot::{Anchor, Look, RING, Shape};
use krilla::geom::{Path, PathBuilder};
use krilla::num::NormalizedF32;
use krilla::paint::{Fill, Stroke, StrokeDash};
use krilla::surface::Surface;

use super::display::{BAD, CURVES, Colour, DOUBT, FAINT, RULE, TEXT};
use super::fonts::{Face, shown, width};
use super::write::{Fonts, paint, text};
use crate::numbers::place;

/// The size of letters, in units of the picture.
const SIZE: f32 = 11.5;

/// Draws `shapes` with their left top at `at`.
pub(super) fn draw(
    surface: &mut Surface<'_>,
    fonts: &Fonts,
    shapes: &[Shape],
    at: [f32; 2],
    scale: f32,
) {
    let to = |[x, y]: [f64; 2]| [at[0] + scale * place(x), at[1] + scale * place(y)];
    for shape in shapes {
        match shape {
            Shape::Line(look, [x1, y1, x2, y2]) => {
                let path = polyline(&[to([*x1, *y1]), to([*x2, *y2])], false);
                stroke(surface, path, colour(*look), scale * weight(*look), &[]);
            }
            Shape::Rectangle(look, [x1, y1, x2, y2]) => {
                let corners = [[*x1, *y1], [*x2, *y1], [*x2, *y2], [*x1, *y2]].map(to);
                fill(surface, polyline(&corners, true), colour(*look), 0.13);
            }
            Shape::Text(look, anchor, place, words) => {
                let words = shown(words);
                let size = SIZE * scale;
                let own = width(Face::Plain, size, &words);
                let [x, y] = to(*place);
                let x = match anchor {
                    Anchor::Start => x,
                    Anchor::Middle => x - own / 2.0,
                    Anchor::End => x - own,
                };
                if *look != Look::Label {
                    // What is written over curves can be read all the same.
                    let corners = [
                        [x - 1.0, y - 0.8 * size],
                        [x + own + 1.0, y - 0.8 * size],
                        [x + own + 1.0, y + 0.25 * size],
                        [x - 1.0, y + 0.25 * size],
                    ];
                    fill(surface, polyline(&corners, true), [255, 255, 255], 0.8);
                }
                let ink = match look {
                    Look::Limit => BAD,
                    Look::Event | Look::Goal => TEXT,
                    _ => FAINT,
                };
                text(surface, fonts, Face::Plain, size, ink, [x, y], &words);
            }
            Shape::Curve { number, stretches } => {
                let placed = |(x, y): (f64, f64)| to([x, y]);
                for stretch in stretches {
                    if !stretch.edge.is_empty() {
                        let area: Vec<[f32; 2]> = stretch.area().map(placed).collect();
                        fill(surface, polyline(&area, true), curve(*number), 0.14);
                    }
                    let line: Vec<[f32; 2]> = stretch.line.iter().copied().map(placed).collect();
                    let path = polyline(&line, false);
                    stroke(surface, path, curve(*number), scale * 1.7, dashes(*number));
                }
            }
            Shape::Ring { number, at } => ring(surface, *number, to(*at), scale * place(RING)),
        }
    }
}

/// A key of a legend: a piece of the curve, or a ring.
pub(super) fn key(surface: &mut Surface<'_>, number: usize, is_mark: bool, [x, y]: [f32; 2]) {
    match is_mark {
        true => ring(surface, number, [x + 11.0, y], 3.0),
        false => {
            let path = polyline(&[[x, y], [x + 22.0, y]], false);
            stroke(surface, path, curve(number), 1.4, dashes(number));
        }
    }
}

fn curve(number: usize) -> Colour {
    CURVES[number % CURVES.len()]
}

/// As in the style sheet of the report.
fn dashes(number: usize) -> &'static [f32] {
    match number % CURVES.len() {
        1 => &[5.5, 2.4],
        2 => &[1.6, 2.0],
        3 => &[7.0, 2.4, 1.6, 2.4],
        _ => &[],
    }
}

fn colour(look: Look) -> Colour {
    match look {
        Look::Label | Look::Axis => FAINT,
        Look::Grid => RULE,
        Look::Limit => BAD,
        Look::Event | Look::Goal => TEXT,
        Look::State => DOUBT,
    }
}

fn weight(look: Look) -> f32 {
    match look {
        Look::Grid => 0.7,
        Look::Event => 0.8,
        _ => 1.0,
    }
}

fn polyline(points: &[[f32; 2]], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (at, [x, y]) in points.iter().enumerate() {
        match at {
            0 => path.move_to(*x, *y),
            _ => path.line_to(*x, *y),
        }
    }
    if is_closed {
        path.close();
    }
    path.finish()
}

fn ring(surface: &mut Surface<'_>, number: usize, at: [f32; 2], radius: f32) {
    fill(surface, circle(at, radius), [255, 255, 255], 1.0);
    stroke(surface, circle(at, radius), curve(number), 1.4, &[]);
}

/// A circle of four curves.
fn circle([x, y]: [f32; 2], radius: f32) -> Option<Path> {
    // The usual approximation of a quarter of a circle.
    let bend = radius * 0.552_284_8;
    let mut path = PathBuilder::new();
    path.move_to(x + radius, y);
    path.cubic_to(x + radius, y + bend, x + bend, y + radius, x, y + radius);
    path.cubic_to(x - bend, y + radius, x - radius, y + bend, x - radius, y);
    path.cubic_to(x - radius, y - bend, x - bend, y - radius, x, y - radius);
    path.cubic_to(x + bend, y - radius, x + radius, y - bend, x + radius, y);
    path.close();
    path.finish()
}

fn stroke(
    surface: &mut Surface<'_>,
    path: Option<Path>,
    colour: Colour,
    width: f32,
    dashes: &[f32],
) {
    let Some(path) = path else { return };
    let dash = (!dashes.is_empty()).then(|| StrokeDash { array: dashes.to_vec(), offset: 0.0 });
    surface.set_fill(None);
    surface.set_stroke(Some(Stroke { paint: paint(colour), width, dash, ..Stroke::default() }));
    surface.draw_path(&path);
    surface.set_stroke(None);
}

fn fill(surface: &mut Surface<'_>, path: Option<Path>, colour: Colour, opacity: f32) {
    let Some(path) = path else { return };
    surface.set_stroke(None);
    surface.set_fill(Some(Fill {
        paint: paint(colour),
        opacity: NormalizedF32::new(opacity).unwrap_or(NormalizedF32::ONE),
        ..Fill::default()
    }));
    surface.draw_path(&path);
}
