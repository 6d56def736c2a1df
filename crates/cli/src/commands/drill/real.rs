//! Drills on two folders of this machine.
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | every rule held, and every control was found |
//! | 1 | a rule did not hold |
//! | 2 | there is no answer: it did not come to its end, or a control was not found |
//! | 130 | it was stopped; both processes have ended and the folders are empty |

use std::rc::Rc;
use std::time::SystemTime;

use brunt_host::consent::Consent;
use brunt_host::drill::folders::{SiteFolderError, check as check_folders};
use brunt_host::drill::{RealDrillError, RealDrillOptions, rehearse};
use brunt_host::handles;
use brunt_lab::DrillListener;
use brunt_qualify::progress::Stop;
use brunt_report::{RunFolder, one_line};
use brunt_scenario::{Document, Override, RealDrill};
use brunt_units::Span;

use super::{DrillArgs, DrillCommandError, Screen, keep, tell};
use crate::commands::run::timestamp;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::opening::{first_line, goal, labelled, volume};
use crate::output::Output;
use crate::version;

/// Rehearses the two folders of `document`.
pub(super) fn run(
    args: &DrillArgs,
    document: &Document,
    overrides: &[Override],
    output: &Output,
) -> Result<Exit, DrillCommandError> {
    let checked = document.check_real_drill(overrides);
    let drill = Mistakes::none_or(&checked.mistakes, checked.value)?;
    let consent = Consent { replace: args.new };
    check_folders(&drill, consent).map_err(RealDrillError::from)?;
    if args.check {
        output.show(opening(&drill).trim_end());
        return Ok(Exit::Passed);
    }
    handles::provide(&drill.scenario).map_err(|error| RealDrillError::Broken(error.to_string()))?;
    let interrupt = Interrupt::listen()?;
    let stop = Stop::from(interrupt.flag());
    output.talk(&opening(&drill));
    let screen: Rc<dyn DrillListener> = Rc::new(Screen::new(output));
    let options = RealDrillOptions {
        consent,
        controls: !args.no_controls,
        program: None,
    };
    let begun = timestamp(SystemTime::now());
    let result = rehearse(&drill, &options, version::origin, &screen, &stop)?;
    drop(screen);
    if stop.is_asked() {
        output.talk("stopped: both processes have ended, and their folders are empty");
        return Ok(Exit::Interrupted);
    }
    let folder = RunFolder::create(&args.out, begun, &drill.scenario.name)?;
    keep(&folder, drill.to_toml(), &result)?;
    tell(args, &result, &folder, output);
    Ok(result.verdict.into())
}

/// What is rehearsed, where, and the timeline.
fn opening(drill: &RealDrill) -> String {
    let mut lines = vec![first_line(&drill.scenario)];
    lines.extend(goal(&drill.scenario).map(|goal| format!("{:14}{goal}", "target")));
    for (label, folder) in [
        ("source", &drill.source),
        ("destination", &drill.destination),
    ] {
        let path = folder.value.display().to_string();
        let on = match &drill.remote {
            Some(remote) if label == "destination" => format!("on {}", one_line(&remote.host)),
            _ => volume(&folder.value).1,
        };
        lines.push(format!("{label:14}{}   {on}", one_line(&path)));
    }
    let mode = match drill.is_synchronous {
        true => "synchronous: commits wait for both sites",
        false => "asynchronous: closed logs are shipped",
    };
    lines.push(format!("{:14}{mode}", "replication"));
    lines.push(format!("{:14}{}", "link", link(drill)));
    lines.push(format!("{:14}{}", "seed", drill.scenario.test.seed));
    let events = drill.timeline.iter().map(|event| {
        let at = Span(event.at.0).to_string();
        format!("{at:>8}  {}", event.what.word())
    });
    lines.extend(labelled("timeline", events));
    format!("{}\n", lines.join("\n"))
}

/// What is between the sites.
fn link(drill: &RealDrill) -> String {
    if let Some(remote) = &drill.remote {
        return format!("the network to {}, through ssh", one_line(&remote.host));
    }
    let Some(link) = drill.link else {
        return "loopback, through a relay that adds no delay".to_owned();
    };
    let mut words = vec![format!("round trip of {}", link.round_trip)];
    if link.jitter > Span::ZERO {
        words.push(format!("jitter up to {}", link.jitter));
    }
    words.extend(link.bandwidth.map(|rate| format!("{rate}/s")));
    for (count, what) in [
        (link.lost_per_million, "lost"),
        (link.reordered_per_million, "reordered"),
    ] {
        if count > 0 {
            words.push(format!("{count} of a million packets {what}"));
        }
    }
    words.join(", ")
}

impl From<SiteFolderError> for DrillCommandError {
    fn from(error: SiteFolderError) -> Self {
        Self::Real(error.into())
    }
}
