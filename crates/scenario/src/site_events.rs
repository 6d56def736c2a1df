//! What happens to the sites of a drill on real storage, and when.

use std::path::Path;

use brunt_units::Span;

use super::format::{quoted, span};
use super::pair_steps::{self, Exec};
use super::place::{Cause, Place, Refusal};
use super::section::{self, Section};
use super::tree::Node;

/// What can happen.
const WORDS: [&str; 5] = ["source lost", "source frozen", "link lost", "failover", "exec"];

/// What happens to one of two sites.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteIncident {
    /// The processes of the source are killed.
    SourceLost,
    /// The processes of the source are stopped, and go on after the failover.
    SourceFrozen,
    /// Nothing gets from one site to the other any more.
    LinkLost,
    /// The destination takes over.
    FailOver(Decision),
    /// A command of the user is run.
    Exec(Exec),
}

/// Who decides that the other site takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// An operator, with both sites at work: the serving one is closed before.
    Planned,
    /// An operator, after a loss.
    Unplanned,
    /// The same, whatever speaks against it. Sites on real storage know no such order.
    Forced,
    /// The witness, when it has not heard from the source for this long.
    Automatic {
        /// How long.
        silence: Span,
    },
}

/// The shortest silence that is not the noise of a busy machine.
const SILENCE_MIN: Span = Span::seconds(1);
/// The longest: beyond it an operator is faster.
const SILENCE_MAX: Span = Span::seconds(600);

impl SiteIncident {
    pub fn word(&self) -> &'static str {
        match self {
            Self::SourceLost => WORDS[0],
            Self::SourceFrozen => WORDS[1],
            Self::LinkLost => WORDS[2],
            Self::FailOver(_) => WORDS[3],
            Self::Exec(_) => WORDS[4],
        }
    }
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteEvent {
    /// When, from the beginning of the timeline.
    pub at: Span,
    pub what: SiteIncident,
}

/// The events, which must be able to follow each other.
pub(super) fn read(top: &mut Section, whole: &Place, folder: &Path) -> Vec<(SiteEvent, Place)> {
    let mut events: Vec<(SiteEvent, Place)> = Vec::new();
    for node in top.tables("event") {
        events.extend(top.sink().catch(read_event(node, folder)));
    }
    let checked = time_automatic(&mut events).and_then(|()| {
        events.sort_by_key(|(event, _)| event.at);
        check_order(&events, whole)
    });
    top.sink().catch(checked);
    events
}

/// Whether they can follow each other.
fn check_order(events: &[(SiteEvent, Place)], whole: &Place) -> Result<(), Refusal> {
    const EXAMPLE: &str = "[[event]] with at = \"10s\" and what = \"source lost\", and one with what = \"failover\" after it";
    let is_failover =
        |(event, _): &(SiteEvent, Place)| matches!(event.what, SiteIncident::FailOver(_));
    let Some(at) = events.iter().position(is_failover) else {
        let place = events.last().map_or(whole, |(_, place)| place);
        let refusal = place.refuse("nothing fails over");
        return Err(refusal.hint(format!("for example: {EXAMPLE}")));
    };
    if let Some((_, place)) = events.get(at + 1) {
        let refusal = place.refuse("comes after the failover");
        return Err(refusal.hint("a drill on real storage ends with it"));
    }
    let is_loss = |(event, _): &&(SiteEvent, Place)| !matches!(event.what, SiteIncident::Exec(_));
    let lost: Vec<_> = events[..at].iter().filter(is_loss).collect();
    if let Some((_, place)) = lost.get(1) {
        let refusal = place.refuse("something is lost before");
        return Err(refusal.hint("one loss for each drill, so that it is known what it cost"));
    }
    let (failover, place) = &events[at];
    if failover.what == SiteIncident::FailOver(Decision::Planned)
        && let Some((loss, _)) = lost.first()
    {
        let refusal = place.refuse(format!("is planned, and comes after \"{}\"", loss.what.word()));
        return Err(
            refusal.hint("a planned failover needs both sites and the link: leave `planned` out")
        );
    }
    Ok(())
}

/// An automatic failover begins to wait when the source is lost.
fn time_automatic(events: &mut Vec<(SiteEvent, Place)>) -> Result<(), Refusal> {
    let is_automatic = |(event, _): &(SiteEvent, Place)| {
        let what = &event.what;
        matches!(what, SiteIncident::FailOver(Decision::Automatic { .. }))
    };
    let Some(at) = events.iter().position(is_automatic) else {
        return Ok(());
    };
    let loss = events.iter().find(|(event, _)| {
        matches!(event.what, SiteIncident::SourceLost | SiteIncident::SourceFrozen)
    });
    let Some((loss, _)) = loss else {
        let refusal = events[at].1.refuse("the source is not lost before");
        return Err(refusal.hint(
            "a witness hears a source that has lost its link alone: give this failover a time, or lose the source",
        ));
    };
    // Behind a loss at the same time.
    let lost_at = loss.at;
    let (mut failover, place) = events.remove(at);
    failover.at = lost_at;
    events.push((failover, place));
    Ok(())
}

fn read_event(node: Node, folder: &Path) -> Result<(SiteEvent, Place), Refusal> {
    let [name, run, timeout] = pair_steps::KEYS;
    let keys = ["at", "what", "planned", "silence", name, run, timeout];
    let mut section = Section::new(node, "[[event]]", &keys);
    let what = section.need("what", "what = \"source lost\"", |node| section::word(node, &WORDS));
    let at = section.read("at", section::span);
    let planned = section.read("planned", section::switch);
    let silence = section.read("silence", read_silence);
    let word = WORDS[what.value];
    if let Some(silence) = &silence {
        let clash = match (word, &at, &planned) {
            ("failover", None, None) => None,
            ("failover", Some(at), _) => Some((&at.place, "`at` and `silence` exclude each other")),
            ("failover", _, Some(planned)) => {
                Some((&planned.place, "`planned` and `silence` exclude each other"))
            }
            _ => Some((&silence.place, "`silence` is for a failover alone")),
        };
        if let Some((place, what)) = clash {
            let refusal = place.refuse(what).because(Cause::Value);
            return Err(
                refusal.hint("a failover comes at a time, or after a silence of the source")
            );
        }
    }
    let at = match (at, &silence) {
        (Some(at), _) => at.value,
        (None, Some(_)) => Span::ZERO,
        (None, None) => return Err(section.lacks("at", "at = \"10s\"")),
    };
    if word != "exec" {
        pair_steps::refuse_in(&mut section, word)?;
    }
    let incident = match (word, planned) {
        ("failover", planned) => {
            let is_planned = planned.is_some_and(|planned| planned.value);
            SiteIncident::FailOver(match (silence, is_planned) {
                (Some(silence), _) => Decision::Automatic { silence: silence.value },
                (None, true) => Decision::Planned,
                (None, false) => Decision::Unplanned,
            })
        }
        (_, Some(planned)) => {
            let refusal = planned.place.refuse("`planned` is for a failover alone");
            return Err(refusal.because(Cause::Value));
        }
        ("source lost", None) => SiteIncident::SourceLost,
        ("source frozen", None) => SiteIncident::SourceFrozen,
        ("link lost", None) => SiteIncident::LinkLost,
        _ => SiteIncident::Exec(pair_steps::read_exec(&mut section, folder)),
    };
    Ok((SiteEvent { at, what: incident }, what.place))
}

fn read_silence(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        silence if (SILENCE_MIN..=SILENCE_MAX).contains(&silence) => Ok(silence),
        _ => {
            let what = format!("is not between {SILENCE_MIN} and {SILENCE_MAX}");
            Err(node.place.refuse(what).hint("for example \"5s\""))
        }
    }
}

/// Writes what [`read`] reads.
pub(super) fn write(timeline: &[SiteEvent], out: &mut String) {
    for event in timeline {
        let (at, what) = (span(event.at), quoted(event.what.word()));
        *out += &format!("\n[[event]]\nwhat = {what}\n");
        *out += &match event.what {
            SiteIncident::FailOver(Decision::Automatic { silence }) => {
                format!("silence = {}\n", span(silence))
            }
            SiteIncident::FailOver(Decision::Planned) => format!("at = {at}\nplanned = true\n"),
            _ => format!("at = {at}\n"),
        };
        if let SiteIncident::Exec(exec) = &event.what {
            pair_steps::write_exec(exec, out);
        }
    }
}
