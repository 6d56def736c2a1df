//! The control of a power cut: a test that cannot fail proves nothing.
//!
//! The same servers with `mail_fsync = never` lose their power in the same way, and must lose mail.
//! Where they do not, the cut does not reach what was not synced, and a pass of the test means
//! nothing: no answer. A file that was not synced says the same of the cut of the test itself.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use brunt_load::{Keep, KeepError};
use brunt_mail::Outcome;
use brunt_mail::incident::{Deed, Incident, Moment, Part};
use brunt_report::result::{Group, MailControl, Rule, RuleName, Verdict};
use brunt_report::{RunResult, grouped};
use brunt_run::Stop;
use brunt_servers::{MailFsync, Plan, Store};

use super::judge::number;
use super::{Demand, LoadError, LoadListener, LoadOptions, made, ran};

/// Deliveries of a control: as many as it takes to lose some.
const DELIVERIES: u64 = 500;

/// A control keeps no ledger.
struct Nothing;

impl Keep for Nothing {
    fn append(&self, _: &[u8]) -> Result<(), KeepError> {
        Ok(())
    }
}

/// The plan of the control; nothing where no power is cut, or no control is possible.
fn plan(options: &LoadOptions) -> Option<(Plan, Incident)> {
    // A queue alone has no setting that would lose mail.
    let is_of_store = |incident: &&Incident| matches!(incident.deed, Deed::PowerCut(machine) if machine.has(Part::Store));
    let cut = options.incidents.iter().find(is_of_store)?;
    match options.plan.store {
        Store::Dovecot { format, fsync } if fsync != MailFsync::Never => {
            let store = Store::Dovecot { format, fsync: MailFsync::Never };
            let cut = Incident { at: Moment::Middle, ..*cut };
            Some((Plan { store, ..options.plan.clone() }, cut))
        }
        _ => None,
    }
}

/// Whether a test cuts the power.
pub(super) fn cuts(options: &LoadOptions) -> bool {
    options.incidents.iter().any(|incident| matches!(incident.deed, Deed::PowerCut(_)))
}

/// Whether a test has a control.
pub fn has_control(options: &LoadOptions) -> bool {
    plan(options).is_some()
}

/// Runs the control of `options`, if there is one, of the run in `folder`, in the folder
/// `home`, of which nothing stays.
///
/// # Errors
/// [`LoadError`] when it comes to no end.
pub(super) fn run(
    options: &LoadOptions,
    (home, folder): (&Path, &Path),
    listener: &Rc<dyn LoadListener>,
    stop: &Stop,
) -> Result<Option<MailControl>, LoadError> {
    let Some((plan, cut)) = plan(options) else {
        return Ok(None);
    };
    listener.step("the control: the same cut with mail_fsync = never has to lose mail");
    let demand = Demand {
        run: Demand::number(),
        deliveries: match options.demand.work {
            Some(_) => DELIVERIES,
            None => options.demand.deliveries.clamp(1, DELIVERIES),
        },
        work: None,
        seed: options.demand.seed,
        limit: None,
    };
    let control = LoadOptions { plan, incidents: vec![cut], demand };
    let tried = || -> Result<MailControl, LoadError> {
        let mut system = made(home, folder, &control)?;
        system.start()?;
        let ran = ran(&control, system, Rc::new(Nothing), listener, stop)?;
        let audited = &ran.finished.audited;
        let is_gone = [Outcome::Lost, Outcome::Unreadable, Outcome::Unchecked, Outcome::Changed];
        Ok(MailControl {
            settings: "mail_fsync = never".to_owned(),
            accepted: audited.accepted,
            lost: is_gone.into_iter().map(|outcome| audited.counts.of(outcome)).sum(),
        })
    };
    let done = tried();
    // It was made here, and its servers are gone.
    let _ = fs::remove_dir_all(home);
    let done = done?;
    listener.step(&format!(
        "the control lost {} of {} deliveries that it had accepted",
        grouped(done.lost),
        grouped(done.accepted)
    ));
    Ok(Some(done))
}

/// `result` with its control, and what that says about the cut, if there was one.
pub(super) fn judge(
    mut result: RunResult,
    was_cut: bool,
    control: Option<MailControl>,
) -> RunResult {
    let Some(mail) = &mut result.mail else {
        return result;
    };
    mail.control = control;
    if let Some(control) = &mail.control {
        let name = RuleName {
            id: "mail-cut-control",
            group: Group::FairTest,
            title: "mail that the control of the cut lost",
        };
        let rule = Rule::at_least(name, "", 1.0, Some(number(control.lost)));
        let remark = format!("{}, {} accepted", control.settings, grouped(control.accepted));
        result.rules.push(rule.with_remark(remark));
    }
    let proves_nothing = mail.control.as_ref().is_some_and(|control| control.lost == 0)
        || mail.cut_loses_unsynced == Some(false)
        || was_cut && mail.cut_loses_unsynced.is_none();
    if was_cut && proves_nothing && result.verdict == Verdict::Pass {
        result.verdict = Verdict::Inconclusive;
        let kept = &mut result.storage.details.sentence;
        *kept = format!("The cut proves nothing here. {kept}");
    }
    result
}
