//! What happens to the sites of a drill on real storage, and when.

use std::fmt::{self, Write};
use std::path::Path;

use brunt_units::Span;

use super::format::{quoted, span};
use super::pair_steps::{self, Exec};
use super::place::{Cause, Place, Refusal};
use super::section::{self, Section};
use super::tree::Node;

/// What can happen.
const WORDS: [&str; 5] = [
    "source lost",
    "source frozen",
    "link lost",
    "failover",
    "exec",
];

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
    FailOver {
        /// Whether the source is closed before.
        planned: bool,
    },
    /// A command of the user is run.
    Exec(Exec),
}

impl SiteIncident {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::SourceLost => WORDS[0],
            Self::SourceFrozen => WORDS[1],
            Self::LinkLost => WORDS[2],
            Self::FailOver { .. } => WORDS[3],
            Self::Exec(_) => WORDS[4],
        }
    }
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteEvent {
    /// When, from the beginning of the timeline.
    pub at: Span,
    /// What.
    pub what: SiteIncident,
}

/// The events, which must be able to follow each other.
pub(super) fn read(
    node: Option<Node>,
    whole: &Place,
    folder: &Path,
) -> Result<Vec<(SiteEvent, Place)>, Refusal> {
    const EXAMPLE: &str = "[[event]] with at = \"10s\" and what = \"source lost\", and one with what = \"failover\" after it";
    let nodes = node.map_or(Ok(Vec::new()), |node| section::tables(node, "event"))?;
    let mut events: Vec<(SiteEvent, Place)> = Vec::new();
    for node in nodes {
        events.push(read_event(node, folder)?);
    }
    events.sort_by_key(|(event, _)| event.at);
    let is_failover =
        |(event, _): &(SiteEvent, Place)| matches!(event.what, SiteIncident::FailOver { .. });
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
    if failover.what == (SiteIncident::FailOver { planned: true })
        && let Some((loss, _)) = lost.first()
    {
        let refusal = place.refuse(format!(
            "is planned, and comes after \"{}\"",
            loss.what.word()
        ));
        return Err(
            refusal.hint("a planned failover needs both sites and the link: leave `planned` out")
        );
    }
    Ok(events)
}

fn read_event(node: Node, folder: &Path) -> Result<(SiteEvent, Place), Refusal> {
    let [name, run, timeout] = pair_steps::KEYS;
    let keys = ["at", "what", "planned", name, run, timeout];
    let mut section = Section::new(node, "[[event]]", &keys)?;
    let what = section.read("what", |node| section::word(node, &WORDS))?;
    let what = what.ok_or_else(|| section.lacks("what", "what = \"source lost\""))?;
    let at = section.read("at", section::span)?;
    let at = at.ok_or_else(|| section.lacks("at", "at = \"10s\""))?.value;
    let planned = section.read("planned", section::switch)?;
    let word = WORDS[what.value];
    if word != "exec" {
        pair_steps::refuse_in(&mut section, word)?;
    }
    let incident = match (word, planned) {
        ("failover", planned) => SiteIncident::FailOver {
            planned: planned.is_some_and(|planned| planned.value),
        },
        (_, Some(planned)) => {
            let refusal = planned.place.refuse("`planned` is for a failover alone");
            return Err(refusal.because(Cause::Value));
        }
        ("source lost", None) => SiteIncident::SourceLost,
        ("source frozen", None) => SiteIncident::SourceFrozen,
        ("link lost", None) => SiteIncident::LinkLost,
        _ => SiteIncident::Exec(pair_steps::read_exec(&mut section, folder)?),
    };
    Ok((SiteEvent { at, what: incident }, what.place))
}

/// Writes what [`read`] reads.
pub(super) fn write(timeline: &[SiteEvent], out: &mut String) -> fmt::Result {
    for event in timeline {
        let (at, what) = (span(event.at), quoted(event.what.word()));
        writeln!(out, "\n[[event]]\nat = {at}\nwhat = {what}")?;
        if event.what == (SiteIncident::FailOver { planned: true }) {
            writeln!(out, "planned = true")?;
        }
        if let SiteIncident::Exec(exec) = &event.what {
            pair_steps::write_exec(exec, out)?;
        }
    }
    Ok(())
}
