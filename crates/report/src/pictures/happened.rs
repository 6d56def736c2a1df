//! What happened during the collection: lines of the test log, and events and states of modelled
//! arrays.

use std::collections::BTreeMap;

use crate::Run;
use crate::event::{COLLECTION_ENDS, COLLECTION_STARTS};
use crate::plot::{Band, Moment, Timeline};

/// More events than this are in the test log only.
const EVENTS_MAX: usize = 20;

/// What happened in this part of the collection, in seconds, and how many more events there were.
pub(super) fn timeline(run: &Run, (from_s, until_s): (f64, f64)) -> (Timeline, usize) {
    let times = &run.result.times;
    let begin = times.collection_started.unwrap_or(times.started);
    let warm_up_s = begin.unix_seconds.saturating_sub(times.started.unix_seconds) as f64;
    let mut events = logged(run);
    let mut states = Vec::new();
    if let Some(model) = &run.result.storage.details.model {
        for array in &model.arrays {
            let name = match model.arrays.len() {
                1 => String::new(),
                _ => format!("{}: ", array.name),
            };
            events.extend(array.events.iter().map(|event| Moment {
                at_s: event.at_s - warm_up_s,
                text: format!("{name}{}", event.what),
            }));
        }
        states.extend(model.states.iter().map(|state| Band {
            from_s: state.from_s - warm_up_s,
            until_s: state.until_s - warm_up_s,
            text: state.state.clone(),
        }));
    }
    events.retain(|event| (from_s..=until_s).contains(&event.at_s));
    states.retain(|state| state.until_s > from_s && state.from_s < until_s);
    limited(Timeline { events, states })
}

/// `timeline` in order, with the first events only, and the number of the others.
pub(crate) fn limited(mut timeline: Timeline) -> (Timeline, usize) {
    let events = &mut timeline.events;
    events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let more = events.len().saturating_sub(EVENTS_MAX);
    events.truncate(EVENTS_MAX);
    (timeline, more)
}

/// Lines of the test log between the marks of the collection. A fault that strikes again is not
/// repeated.
fn logged(run: &Run) -> Vec<Moment> {
    let Some(begin) = run.result.times.collection_started else {
        return Vec::new();
    };
    let mut collecting = 0_usize;
    let mut moments: Vec<Moment> = Vec::new();
    let mut known: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for event in &run.events {
        if event.text.ends_with(COLLECTION_STARTS) {
            collecting += 1;
        } else if event.text.ends_with(COLLECTION_ENDS) {
            collecting = collecting.saturating_sub(1);
        } else if collecting > 0 {
            let (what, _) = event.text.split_once(" at offset ").unwrap_or((&event.text, ""));
            let (at, times) = known.entry(what).or_insert((moments.len(), 0));
            *times += 1;
            if *times > 1 {
                moments[*at].text = format!("{what} ({times} times)");
                continue;
            }
            moments.push(Moment {
                at_s: event.at.unix_seconds.saturating_sub(begin.unix_seconds) as f64,
                text: event.text.clone(),
            });
        }
    }
    moments
}
