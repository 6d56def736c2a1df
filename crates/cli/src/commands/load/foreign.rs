//! Servers that brunt did not start, as a scenario and the command line name them, and the messages
//! of earlier runs in their mailboxes.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::rc::Rc;

use brunt_host::consent::TargetConsent;
use brunt_host::load::Demand;
use brunt_host::load::target::{Foreign, Secret};
use brunt_host::load::{LoadListener, Telling, clean};

use brunt_report::{counted, one_line};
use brunt_scenario::{MailScenario, Subject};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::{LoadArgs, LoadCommandError, page};
use crate::exit::Exit;
use crate::mistakes::Mistakes;
use crate::output::Output;
use crate::source::Source;
use crate::teller::Teller;
use crate::version;

/// The servers of the user's own, if the scenario has them.
///
/// # Errors
/// [`LoadCommandError`] when they may not be tested, or cannot be.
pub(super) fn find(
    args: &LoadArgs,
    scenario: &MailScenario,
) -> Result<Option<Foreign>, LoadCommandError> {
    let Some(target) = &scenario.target else {
        let flags = [
            ("--allow-target", !args.allow_target.is_empty()),
            ("--insecure", args.insecure),
            ("--allow-exec", args.allow_exec),
        ];
        return match flags.into_iter().find(|(_, is_there)| *is_there) {
            Some((flag, _)) => Err(LoadCommandError::NoTarget(flag)),
            None => Ok(None),
        };
    };
    let consent = TargetConsent {
        targets: args.allow_target.clone(),
        insecure: args.insecure,
        exec: args.allow_exec,
    };
    let is_check = args.output.check;
    let ask = |question: &str| match is_check {
        true => Ok(Some(Secret::new(""))),
        false => password(question),
    };
    Ok(Some(Foreign::find(target, scenario.mail.users, &consent, &ask)?))
}

/// The servers of the user's own that the run in `folder` had, if it had any.
///
/// # Errors
/// [`LoadCommandError`] when they may not be looked at, or cannot be.
pub(super) fn of_run(args: &LoadArgs, folder: &Path) -> Result<Option<Foreign>, LoadCommandError> {
    let path = folder.join("scenario.toml");
    if !path.exists() {
        // A run of servers that were started for it may have none.
        return Ok(None);
    }
    let document =
        Source::of(&path, &[]).and_then(|source| source.document()).map_err(Mistakes::from)?;
    if document.subject() != Subject::Mail {
        return Ok(None);
    }
    let mut kept = document.mail(&[]).map_err(Mistakes::from)?;
    // The ledger says which accounts it had.
    kept.mail.users = None;
    if let Some(target) = kept.target.as_mut().filter(|_| args.clean.is_some()) {
        target.queue_command = None;
    }
    find(args, &kept)
}

/// What is sent where, and what is done meanwhile.
pub(super) fn opening(scenario: &MailScenario, foreign: &Foreign, demand: &Demand) -> String {
    let users = counted(foreign.users().into(), "user");
    let name = one_line(&scenario.name);
    let mut lines =
        vec![format!("brunt {}   {name}   {users}, {}", version::SHORT, page::what(demand))];
    let labels = ["sent to", "read at"];
    for ((label, server), address) in labels.iter().zip(foreign.servers()).zip(foreign.addresses())
    {
        lines.push(format!("{label:14}{} ({})   {}", server.name, address.ip(), server.settings));
    }
    lines.push(format!("{:14}nothing is killed", "events"));
    lines.push(format!("{:14}{}", "seed", demand.seed));
    lines.extend(demand.limit.map(|limit| format!("{:14}{limit}", "limit")));
    format!("{}\n", lines.join("\n"))
}

/// Removes the messages of the run in `folder` from its mailboxes.
///
/// # Errors
/// [`LoadCommandError`] when no mailbox was looked into.
pub(super) fn remove(
    args: &LoadArgs,
    folder: &Path,
    output: &Output,
) -> Result<Exit, LoadCommandError> {
    let foreign = of_run(args, folder)?;
    let telling = Telling::new(Teller::new(output, "clean"));
    let listener: Rc<dyn LoadListener> = Rc::new(telling);
    let cleaned = clean(folder, foreign.as_ref(), &listener)?;
    let mut lines = vec![match cleaned.removed {
        0 => "nothing of this run was there".to_owned(),
        removed => format!("removed       {}", counted(removed, "message")),
    }];
    for (count, what) in [
        (cleaned.changed, "of this run that differ from what was sent"),
        (cleaned.others, "that are not of this run"),
    ] {
        if count > 0 {
            lines.push(format!("{:14}{} {what}", "left", counted(count, "message")));
        }
    }
    if !cleaned.unfinished.is_empty() {
        let users = cleaned.unfinished.join(", ");
        lines.push(format!("{:14}{users}: not looked into, or not to the end", "unfinished"));
    }
    for (kind, first) in &cleaned.errors {
        lines.push(format!("{:14}{kind}: {}", "errors", one_line(first)));
    }
    output.show(&lines.join("\n"));
    Ok(if cleaned.unfinished.is_empty() { Exit::Passed } else { Exit::NoAnswer })
}

/// Asks for a password on the terminal, which does not show it; `None` where stdin is none.
fn password(question: &str) -> io::Result<Option<Secret>> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(None);
    }
    let usual = tcgetattr(&stdin)?;
    let mut hidden = usual.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ECHONL);
    let _ = write!(io::stderr().lock(), "{question} ");
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    tcsetattr(&stdin, OptionalActions::Flush, &usual)?;
    let is_there = read? > 0;
    let answer = answer.trim_end_matches(['\n', '\r']);
    Ok((is_there && !answer.is_empty()).then(|| Secret::new(answer)))
}
