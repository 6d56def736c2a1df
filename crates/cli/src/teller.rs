//! Shows the progress of drills, raw load, mail and sweeps on the screen.

use std::cell::RefCell;

use brunt_report::points::{outcome, value_of};
use brunt_report::{Event, grouped};
use brunt_run::{Listener, News};
use brunt_units::{Span, Time};

use crate::clock::now;
use crate::output::Output;
use crate::progress::Progress;

/// Shows what it is told, line by line, with one line of progress below.
pub(crate) struct Teller {
    output: Output,
    /// The word of the work, beside its progress.
    what: String,
    /// Whether it is a part of something: then only its progress is shown.
    is_part: bool,
    progress: RefCell<Option<Progress>>,
    /// The notes, for work without a journal.
    events: RefCell<Vec<Event>>,
}

impl Teller {
    pub(crate) fn new(output: &Output, what: impl Into<String>) -> Self {
        Self {
            output: output.clone(),
            what: what.into(),
            is_part: false,
            progress: RefCell::default(),
            events: RefCell::default(),
        }
    }

    /// A part of something larger.
    pub(crate) fn of_part(output: &Output, what: impl Into<String>) -> Self {
        Self { is_part: true, ..Self::new(output, what) }
    }

    /// The notes so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }

    /// What is in place on the screen goes.
    pub(crate) fn clear(&self) {
        if let Some(mut progress) = self.progress.borrow_mut().take() {
            progress.vanish();
        }
    }

    fn line(&self, text: &str) {
        if !self.is_part {
            self.clear();
            self.output.talk(text);
        }
    }

    fn show(&self, share: f64, detail: impl FnOnce() -> String) {
        let mut progress = self.progress.borrow_mut();
        progress.get_or_insert_with(|| self.output.progress(&self.what)).show(share, detail);
    }
}

impl Listener for Teller {
    fn tell(&self, at: Time, news: &News) {
        match news {
            News::Note { text } => {
                let since = Span::seconds(at.0.div_euclid(1_000_000_000));
                self.line(&format!("{:14}{text}", since.to_string()));
                self.events.borrow_mut().push(Event { at: now(), text: text.clone() });
            }
            News::Happened { at_s, what } => {
                let at = Span::from_seconds(*at_s).to_string();
                self.line(&format!("{at:>14}  {what}"));
            }
            News::Rehearsing { at_s, share } => {
                self.show(*share, || Span::from_seconds(*at_s).to_string());
            }
            News::Control { name } => self.line(&format!("{:14}{name}", "control")),
            News::Step { when, name } => self.line(&format!("{when:14}{name}")),
            News::Simulating { at_s, end_s } => {
                self.show(at_s / end_s, || format!("{at_s:.0} s"));
            }
            News::Computed { done, all, point } => {
                if let Some(point) = point {
                    self.line(&format!("{:14}{}", value_of(point), outcome(point)));
                }
                match all {
                    Some(all) => {
                        self.show(*done as f64 / *all as f64, || format!("{done} of {all} done"));
                    }
                    None => self.show(0.0, || format!("{done} done")),
                }
            }
            News::Sending { share, accepted, .. } => {
                self.show(*share, || format!("{} deliveries accepted", grouped(*accepted)));
            }
            _ => {}
        }
    }
}
