//! Negative controls: the same checks on a replica that is broken on purpose must turn red.
//!
//! The same course without a fault comes first. Where that is red already, a red control shows
//! nothing.

use brunt_report::result::{Outcome, Rule};
use brunt_run::Stop;

use crate::sites::messages::How;
use crate::{Objectives, Rehearsed};

/// What is broken, by name.
const CONTROLS: [(&str, How); 4] = [
    ("drop one acknowledged write", How::Drop),
    ("swap two writes", How::Swap),
    ("promote the stale side", How::Stale),
    ("lose the tail of the log", How::Tail),
];

/// Runs all controls: a `course` each, in which nothing may be lost; `tell` hears their names.
///
/// # Errors
/// That of a course.
pub fn all<E>(
    stop: &Stop,
    tell: impl Fn(&str),
    mut course: impl FnMut(Option<How>) -> Result<Rehearsed, E>,
) -> Result<Vec<Control>, E> {
    let wanted = Objectives::usual(true);
    let mut controls = Vec::new();
    tell("no fault");
    let sound = course(None)?.evidence.rules(&wanted);
    for (name, how) in CONTROLS {
        if stop.is_asked() {
            break;
        }
        tell(name);
        let Rehearsed { evidence, struck, .. } = course(Some(how))?;
        controls.push(Control::judged(name, struck, &evidence.rules(&wanted), &sound));
    }
    Ok(controls)
}

/// A control, and whether it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    pub name: &'static str,
    /// What the checks found that they do not find without the fault; `None` when that is nothing.
    pub found: Option<String>,
    /// What fails in the same course without the fault: then a red rule says nothing about the
    /// fault.
    pub fails_anyway: Option<String>,
    /// Whether there was anything to break.
    pub struck: bool,
}

impl Control {
    /// The control called `name`, judged by `rules`; those of the same course without the fault are
    /// `sound`.
    pub(crate) fn judged(name: &'static str, struck: bool, rules: &[Rule], sound: &[Rule]) -> Self {
        let first_failed = |rules: &[Rule]| {
            let failed = rules.iter().find(|rule| rule.outcome == Outcome::Failed);
            failed.map(|rule| match rule.remark.as_str() {
                "" => rule.against_limit(),
                remark => format!("{}: {remark}", rule.title),
            })
        };
        let fails_anyway = first_failed(sound);
        Self {
            name,
            struck,
            found: first_failed(rules).filter(|_| fails_anyway.is_none()),
            fails_anyway,
        }
    }
}
