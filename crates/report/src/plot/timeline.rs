//! What happened meanwhile: a thin upright line for each event, a band for each lasting state.
//!
//! ```text
//!   drive 2 failed                 1   2-4      words where all fit between their lines, else numbers
//!   │           ▒▒▒▒▒▒▒            │   │││      for a list below the pictures
//!   │           ▒▒▒▒▒▒▒            │   │││
//! ```

use super::shape::{label, line, rectangle, width_of};
use super::{Anchor, Axis, BOTTOM, LEFT, Look, RIGHT, Shape, TOP};

/// Events and states, for all pictures with the same axis of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    /// In the order of time.
    pub(crate) events: Vec<Moment>,
    pub(crate) states: Vec<Band>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Seconds on the axis of time.
    pub(crate) at_s: f64,
    pub(crate) text: String,
}

/// A state that lasts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
    pub(crate) text: String,
}

/// Between a line and its text, and between two texts.
const GAP: f64 = 4.0;

impl Timeline {
    /// Whether events have numbers in the pictures, because their texts do not fit on `x`.
    pub(crate) fn is_numbered(&self, x: &Axis) -> bool {
        let places: Vec<f64> = self.events.iter().filter_map(|e| x.x(e.at_s)).collect();
        let ends = places.iter().skip(1).chain([&RIGHT]);
        let mut rooms = places.iter().zip(ends).zip(&self.events);
        rooms.any(|((at, end), event)| at + width_of(&event.text) + GAP > *end)
    }

    /// Draws the states, which lie below everything else.
    pub(super) fn draw_states(&self, shapes: &mut Vec<Shape>, x: &Axis) {
        for state in &self.states {
            let (Some(from), Some(until)) = (x.x(state.from_s), x.x(state.until_s)) else {
                continue;
            };
            rectangle(shapes, Look::State, [from, TOP, until, BOTTOM]);
            if from + GAP + width_of(&state.text) <= until {
                label(shapes, Look::Label, Anchor::Start, [from + GAP, BOTTOM - 6.0], &state.text);
            }
        }
    }

    pub(super) fn draw_events(&self, shapes: &mut Vec<Shape>, x: &Axis) {
        for at in self.events.iter().filter_map(|event| x.x(event.at_s)) {
            line(shapes, Look::Event, [at, TOP - 3.0, at, BOTTOM]);
        }
        let texts = match self.is_numbered(x) {
            true => self.numbers(x),
            false => self.words(x),
        };
        for (at, text) in texts {
            label(shapes, Look::Event, Anchor::Start, [at, TOP - 6.0], &text);
        }
    }

    fn words(&self, x: &Axis) -> Vec<(f64, String)> {
        let places = self.events.iter();
        places.filter_map(|event| Some((x.x(event.at_s)?, event.text.clone()))).collect()
    }

    /// Numbers from 1, each at its line; those of neighbours without room between them are drawn as
    /// one: `3-5`.
    fn numbers(&self, x: &Axis) -> Vec<(f64, String)> {
        let mut clusters: Vec<(f64, usize, usize)> = Vec::new();
        let text = |first: usize, last: usize| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        for (number, event) in (1..).zip(&self.events) {
            let Some(at) = x.x(event.at_s) else { continue };
            match clusters.last_mut() {
                Some((begin, first, last))
                    if at < *begin + width_of(&text(*first, *last)) + GAP =>
                {
                    *last = number;
                }
                _ => clusters.push((at.clamp(LEFT, RIGHT), number, number)),
            }
        }
        let shown = clusters.into_iter();
        shown.map(|(at, first, last)| (at - 3.0, text(first, last))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(events: &[(f64, &str)]) -> Timeline {
        let moment = |(at_s, text): &(f64, &str)| Moment { at_s: *at_s, text: (*text).to_owned() };
        Timeline { events: events.iter().map(moment).collect(), states: Vec::new() }
    }

    fn texts(timeline: &Timeline) -> Vec<String> {
        let mut shapes = Vec::new();
        timeline.draw_events(&mut shapes, &Axis::time(100.0));
        let lines = shapes.iter().filter(|s| matches!(s, Shape::Line(..)));
        assert_eq!(lines.count(), timeline.events.len());
        written(shapes)
    }

    fn written(shapes: Vec<Shape>) -> Vec<String> {
        let text = |shape| match shape {
            Shape::Text(.., text) => Some(text),
            _ => None,
        };
        shapes.into_iter().filter_map(text).collect()
    }

    #[test]
    fn a_few_short_texts_stand_at_their_lines() {
        let few = timeline(&[(10.0, "drive 2 failed"), (60.0, "drive 2 <is> back")]);
        assert_eq!(texts(&few), ["drive 2 failed", "drive 2 <is> back"]);
        let at_the_end = timeline(&[(95.0, "drive 2 failed")]);
        assert_eq!(texts(&at_the_end), ["1"]);
    }

    #[test]
    fn neighbours_share_a_number() {
        let long = "a text that is longer than the room between two of these lines";
        let many =
            timeline(&[(10.0, long), (50.0, long), (50.5, long), (51.0, long), (90.0, long)]);
        assert_eq!(texts(&many), ["1", "2-4", "5"]);
    }

    #[test]
    fn a_state_is_named_where_there_is_room() {
        let band = |from_s, until_s| Band { from_s, until_s, text: "rebuilding".to_owned() };
        let states =
            Timeline { events: Vec::new(), states: vec![band(0.0, 40.0), band(60.0, 62.0)] };
        let mut shapes = Vec::new();
        states.draw_states(&mut shapes, &Axis::time(100.0));
        let bands = shapes.iter().filter(|s| matches!(s, Shape::Rectangle(..)));
        assert_eq!(bands.count(), 2);
        assert_eq!(written(shapes), ["rebuilding"]);
    }
}
