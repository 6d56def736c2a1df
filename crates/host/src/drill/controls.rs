//! Negative controls: the same checks on a mirror that is broken on purpose must turn red.
//!
//! ```text
//!   load -> the receiver breaks its word, and acknowledges all the same -> load -> the source is killed -> failover
//! ```

use std::rc::Rc;

use brunt_drill::sites::CoursePlan;
use brunt_drill::{Control, controls};
use brunt_run::{Listener, News, Silence, Stop};
use brunt_scenario::{Decision, SiteEvent, SiteIncident, SiteReplication};
use brunt_units::Span;

use super::RealDrillError;
use super::setup::{Setup, course};

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
    controls::all(stop, tell, |how| {
        let plan = CoursePlan {
            timeline: timeline(),
            warm_up: BEFORE,
            after: Span::ZERO,
            // What is shipped later may be lost; a mirror that keeps its word loses nothing.
            replication: SiteReplication::Synchronous,
            how,
        };
        let no_listener: Rc<dyn Listener> = Rc::new(Silence);
        course(setup, plan, &no_listener, stop)
    })
}

/// What happens in each.
pub(super) fn timeline() -> Vec<SiteEvent> {
    let event = |what| SiteEvent { at: BROKEN, what };
    vec![event(SiteIncident::SourceLost), event(SiteIncident::FailOver(Decision::Unplanned))]
}
