//! Negative controls: the same checks on a mirror that is broken on purpose must turn red.
//!
//! ```text
//!   load -> the receiver breaks its word, and acknowledges all the same -> load -> the source is killed -> failover
//! ```
//!
//! The same course with a receiver that keeps its word comes first: where that is red already, a
//! red control shows nothing.

use std::rc::Rc;

use brunt_drill::sites::CoursePlan;
use brunt_drill::sites::messages::How;
use brunt_drill::{Control, Objectives};
use brunt_report::result::Rule;
use brunt_run::{Listener, News, Silence, Stop};
use brunt_scenario::{Decision, SiteEvent, SiteIncident, SiteReplication};
use brunt_units::Span;

use super::RealDrillError;
use super::setup::{Setup, course};

/// What is broken: names are those of drills on modelled arrays.
const CONTROLS: [(&str, How); 4] = [
    ("drop one acknowledged write", How::Drop),
    ("swap two writes", How::Swap),
    ("promote the stale side", How::Stale),
    ("lose the tail of the log", How::Tail),
];
/// The load before the mirror is broken, and after that.
const BEFORE: Span = Span::seconds(1);
const BROKEN: Span = Span::seconds(2);

/// Runs all controls.
pub(super) fn all(
    setup: &Rc<Setup>,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<Vec<Control>, RealDrillError> {
    let tell = |name: &str| {
        listener.tell(setup.zero.elapsed(), &News::Control { name: name.to_owned() });
    };
    let mut controls = Vec::new();
    tell("no fault");
    let (sound, _) = one(setup, None, stop)?;
    for (name, how) in CONTROLS {
        if stop.is_asked() {
            break;
        }
        tell(name);
        let (rules, struck) = one(setup, Some(how), stop)?;
        controls.push(Control::judged(name, struck, &rules, &sound));
    }
    Ok(controls)
}

/// What happens in each.
pub(super) fn timeline() -> Vec<SiteEvent> {
    let event = |what| SiteEvent { at: BROKEN, what };
    vec![event(SiteIncident::SourceLost), event(SiteIncident::FailOver(Decision::Unplanned))]
}

/// The rules of a course on a mirror that is broken like this, and whether anything was broken.
fn one(
    setup: &Rc<Setup>,
    how: Option<How>,
    stop: &Stop,
) -> Result<(Vec<Rule>, bool), RealDrillError> {
    let plan = CoursePlan {
        timeline: timeline(),
        warm_up: BEFORE,
        after: Span::ZERO,
        // What is shipped later may be lost; a mirror that keeps its word loses nothing.
        replication: SiteReplication::Synchronous,
        how,
    };
    let no_listener: Rc<dyn Listener> = Rc::new(Silence);
    let rehearsed = course(setup, plan, &no_listener, stop)?;
    let rules = rehearsed.evidence.rules(&Objectives::usual(true));
    Ok((rules, rehearsed.struck))
}
