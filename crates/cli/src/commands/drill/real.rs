//! Drills on two folders of this machine.
//!
//! | exit code | when |
//! | --- | --- |
//! | 0 | every rule held, and every control was found |
//! | 1 | a rule did not hold |
//! | 2 | there is no answer: it did not come to its end, or a control was not found |
//! | 130 | it was stopped; both processes have ended and the folders are empty |

use std::rc::Rc;

use std::path;

use brunt_host::consent::{Consent, PairConsent};
use brunt_host::drill::folders::{SiteFolderError, check as check_folders};
use brunt_host::drill::{RealDrillError, RealDrillOptions, external, rehearse};
use brunt_host::handles;
use brunt_host::preflight::check_memory;
use brunt_report::{RunFolder, one_line};
use brunt_run::{Listener, Stop};
use brunt_scenario::{Decision, Document, Override, RealDrill, SiteIncident, SiteReplication};
use brunt_units::Span;

use super::{DrillArgs, DrillCommandError, keep, run_of, tell};
use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::mistakes::Mistakes;
use crate::opening::{first_line, goal, labelled, volume};
use crate::output::Output;
use crate::records::Lines;
use crate::teller::Teller;
use crate::version;

/// Rehearses the two folders of `document`.
pub(super) fn run(
    args: &DrillArgs,
    document: &Document,
    overrides: &[Override],
    output: &Output,
) -> Result<Exit, DrillCommandError> {
    let checked = document.check_real_drill(overrides);
    let drill = Mistakes::none_or(checked)?;
    let consent = Consent { replace: args.new };
    let is_external = drill.replication == SiteReplication::External;
    if !is_external {
        if (args.allow_exec && drill.remote.is_none()) || !args.allow.is_empty() {
            return Err(not_external(args));
        }
        check_folders(&drill, consent).map_err(RealDrillError::from)?;
    }
    check_memory(&drill.scenario)?;
    if args.shared.output.check {
        output.show(opening(&drill).trim_end());
        return Ok(Exit::Passed);
    }
    if is_external {
        let consent = PairConsent {
            exec: args.allow_exec,
            paths: args.allow.iter().map(path::absolute).collect::<Result<_, _>>()?,
        };
        external::check(&drill, &consent)?;
    }
    external::check_remote(&drill, args.allow_exec)?;
    handles::provide(&drill.scenario).map_err(RealDrillError::from)?;
    let interrupt = Interrupt::listen()?;
    if is_external {
        interrupt.set_farewell("ended at once: the clean-up steps are left to you\n".to_owned());
    }
    let stop = Stop::from(interrupt.flag());
    output.talk(&opening(&drill));
    let name = &drill.scenario.name;
    let folder = RunFolder::of_kind(&args.shared.output.out, now(), name, "drill")?;
    folder.write("scenario.toml", drill.to_toml().as_bytes())?;
    let lines = Lines::of(&args.shared.output.printed, output);
    let teller = Rc::new(Teller::new(output, "drill"));
    let listener: Rc<dyn Listener> = Rc::<Teller>::clone(&teller);
    let options = RealDrillOptions {
        consent,
        controls: !args.no_controls,
        program: None,
        commit: version::commit(),
    };
    let kept = (&folder, lines.heard());
    let result = rehearse(&drill, &options, version::origin, kept, listener, &stop);
    teller.clear();
    let run = match result {
        Ok(result) if !stop.is_asked() => run_of(drill.to_toml(), result),
        Ok(_) | Err(RealDrillError::Stopped) => {
            output.talk(match is_external {
                true => "stopped: both processes have ended, and the clean-up steps were run",
                false => "stopped: both processes have ended, and their folders are empty",
            });
            super::stopped(&folder)?
        }
        Err(error) => {
            folder.discard();
            return Err(error.into());
        }
    };
    keep(&folder, &run)?;
    tell(args, &run.result, &folder, lines, output);
    Ok(run.result.verdict.into())
}

/// What is rehearsed, where, and the timeline.
fn opening(drill: &RealDrill) -> String {
    let mut lines = vec![first_line(&drill.scenario)];
    lines.extend(goal(&drill.scenario).map(|goal| format!("{:14}{goal}", "target")));
    for (label, folder) in [("source", &drill.source), ("destination", &drill.destination)] {
        let path = folder.value.display().to_string();
        let on = match &drill.remote {
            Some(remote) if label == "destination" => format!("on {}", one_line(&remote.host)),
            _ => volume(&folder.value).1,
        };
        lines.push(format!("{label:14}{}   {on}", one_line(&path)));
    }
    let mode = match drill.replication {
        SiteReplication::Synchronous => "synchronous: commits wait for both sites",
        SiteReplication::Asynchronous => "asynchronous: closed logs are shipped",
        SiteReplication::External => "external: by your storage; brunt runs the commands below",
    };
    lines.push(format!("{:14}{mode}", "replication"));
    if drill.replication != SiteReplication::External {
        lines.push(format!("{:14}{}", "link", link(drill)));
    }
    lines.push(format!("{:14}{}", "seed", drill.scenario.test.seed));
    let events = drill.timeline.iter().map(|event| {
        let at = Span(event.at.0).to_string();
        let (at, what) = match &event.what {
            SiteIncident::FailOver(Decision::Automatic { silence }) => {
                (String::new(), format!("failover, when the source has been silent for {silence}"))
            }
            SiteIncident::Exec(exec) => (at, one_line(&exec.name).into_owned()),
            other => (at, other.word().to_owned()),
        };
        format!("{at:>8}  {what}")
    });
    lines.extend(labelled("timeline", events));
    let commands = external::commands(drill).into_iter();
    let commands = commands.map(|(when, exec)| format!("{when:>8}  {}", external::shown(exec)));
    lines.extend(labelled("commands", commands));
    format!("{}\n", lines.join("\n"))
}

/// What is between the sites.
fn link(drill: &RealDrill) -> String {
    if let Some(remote) = &drill.remote {
        let host = one_line(&remote.host);
        let command = external::shown_remote(drill).unwrap_or_default();
        return format!("the network to {host}: {command}");
    }
    let Some(link) = drill.link else {
        return "loopback, through a relay that adds no delay".to_owned();
    };
    let mut words = vec![format!("round trip of {}", link.round_trip)];
    if link.jitter > Span::ZERO {
        words.push(format!("jitter up to {}", link.jitter));
    }
    words.extend(link.bandwidth.map(|rate| format!("{rate}/s")));
    for (count, what) in
        [(link.lost_per_million, "lost"), (link.reordered_per_million, "reordered")]
    {
        if count > 0 {
            words.push(format!("{count} of a million packets {what}"));
        }
    }
    words.join(", ")
}

/// The flag for a pair of the user's own, where there is none.
pub(super) fn not_external(args: &DrillArgs) -> DrillCommandError {
    let flag = match args.allow_exec {
        true => "--allow-exec",
        false => "--allow",
    };
    let on = "on storage that replicates by itself: [replication] mode = \"external\"";
    DrillCommandError::Flag { flag, on }
}

impl From<SiteFolderError> for DrillCommandError {
    fn from(error: SiteFolderError) -> Self {
        Self::Real(error.into())
    }
}
