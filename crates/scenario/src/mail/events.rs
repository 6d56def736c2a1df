//! `[[event]]` of a test of mail servers: what is done to servers and connections, one after the
//! other.
//!
//! ```toml
//! [[event]]
//! at = "10s"                  from the first message on; without it, when half of it is over
//! what = "freeze"
//! service = "lmtp"
//! lasts = "3s"
//! ```
//!
//! Each word of `what` is a row of [`WORDS`], with its keys; `docs/mail.md` has the same table.

use brunt_mail::incident::{Deed, Hop, Incident, Machine, Moment, Part, Processes, Service};
use brunt_units::Span;

use super::super::format::{quoted, span};
use super::super::place::Refusal;
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};

/// The words of `what` and their keys besides `at`.
const WORDS: [(&str, &[&str]); 9] = [
    ("kill", &["server", "service"]),
    ("freeze", &["server", "service", "lasts"]),
    ("restart", &["server"]),
    ("power cut", &["server"]),
    ("connections cut", &["hop"]),
    ("connections slow", &["hop", "delay", "lasts"]),
    ("connections half-open", &["hop", "lasts"]),
    ("disk full", &["server", "lasts"]),
    ("quota full", &["lasts"]),
];
const PARTS: [(&str, Part); 2] = [("store", Part::Store), ("relay", Part::Relay)];
/// Services but the first process, which every server has.
const SERVICES: [(&str, Service); 4] = [
    ("lmtp", Service::Lmtp),
    ("imap", Service::Imap),
    ("auth", Service::Auth),
    ("queue", Service::Queue),
];
const MASTER: &str = "master";
const HOPS: [(&str, Hop); 3] =
    [("sending", Hop::Sending), ("delivery", Hop::Delivery), ("reading", Hop::Reading)];
const MIDDLE: &str = "middle";
const LONGEST: Span = Span::seconds(3_600);

/// The events, in their order.
pub(super) fn read(top: &mut Section, has_target: bool) -> Vec<Incident> {
    let mut events = Vec::new();
    for node in top.tables("event") {
        if has_target {
            let what = "something is done only to servers that brunt has started";
            top.refuse(node.place.refuse(what).hint("leave the event out, or [target]"));
        } else {
            events.extend(top.sink().catch(one(node)));
        }
    }
    events
}

fn one(node: Node) -> Result<Incident, Refusal> {
    let keys = ["what", "at", "server", "service", "hop", "delay", "lasts"];
    let mut section = Section::new(node, "[[event]]", &keys);
    let words = WORDS.map(|(word, _)| word);
    let what = section.need("what", "what = \"kill\"", |node| section::word(node, &words));
    let (word, own) = WORDS[what.value];
    let mut others = section.entries().iter();
    if let Some((key, node)) =
        others.find(|(key, _)| key != "at" && key != "what" && !own.contains(&key.as_str()))
    {
        let refusal = node.place.refuse(format!("`{key}` is not for what = \"{word}\""));
        return Err(refusal.hint(format!("its keys are at, {}", own.join(", "))));
    }
    let at = section.read("at", moment).map_or(Moment::Middle, |at| at.value);
    let deed = match word {
        "kill" => Deed::Kill(processes(&mut section)?),
        "freeze" => Deed::Freeze(processes(&mut section)?, lasts(&mut section)),
        "restart" => Deed::Restart(server(&mut section)),
        "power cut" => Deed::PowerCut(match part(&mut section) {
            Some(part) => Machine::Only(part),
            None => Machine::Whole,
        }),
        "connections cut" => Deed::Cut(hop(&mut section)),
        "connections slow" => {
            let delay = section.need("delay", "delay = \"100ms\"", some_time).value;
            Deed::Slow(hop(&mut section), delay, lasts(&mut section))
        }
        "connections half-open" => Deed::HalfOpen(hop(&mut section), lasts(&mut section)),
        "disk full" => Deed::DiskFull(server(&mut section), lasts(&mut section)),
        _ => Deed::QuotaFull(lasts(&mut section)),
    };
    Ok(Incident { at, deed })
}

fn moment(node: &Node) -> Result<Moment, Refusal> {
    match &node.value {
        Value::Text(text) if text == MIDDLE => Ok(Moment::Middle),
        _ => section::span(node).map(Moment::After),
    }
}

fn some_time(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        time if time > Span::ZERO && time <= LONGEST => Ok(time),
        _ => {
            let refusal = node.place.refuse(format!("is not between 0 and {LONGEST}"));
            Err(refusal.hint("for example \"3s\""))
        }
    }
}

fn lasts(section: &mut Section) -> Span {
    section.need("lasts", "lasts = \"3s\"", some_time).value
}

fn hop(section: &mut Section) -> Hop {
    let words = HOPS.map(|(word, _)| word);
    let hop = section.need("hop", "hop = \"delivery\"", |node| section::word(node, &words));
    HOPS[hop.value].1
}

fn server(section: &mut Section) -> Part {
    let words = PARTS.map(|(word, _)| word);
    let part = section.need("server", "server = \"store\"", |node| section::word(node, &words));
    PARTS[part.value].1
}

fn part(section: &mut Section) -> Option<Part> {
    let read = |node: &Node| section::word(node, &PARTS.map(|(word, _)| word));
    section.read("server", read).map(|part| PARTS[part.value].1)
}

/// All processes of a server, or those of a service.
fn processes(section: &mut Section) -> Result<Processes, Refusal> {
    let part = part(section);
    let mut words = SERVICES.map(|(word, _)| word).to_vec();
    words.push(MASTER);
    let Some(service) = section.read("service", |node| section::word(node, &words)) else {
        let lacks = || section.lacks("server", "server = \"store\", or service = \"lmtp\"");
        return part.map(Processes::All).ok_or_else(lacks);
    };
    let known = SERVICES.get(service.value).map(|(_, service)| *service);
    match (known, part) {
        (Some(known), None) => Ok(Processes::Of(known)),
        (Some(known), Some(part)) if known.part() == part => Ok(Processes::Of(known)),
        (Some(_), Some(_)) => {
            let refusal = service.place.refuse("is not a service of that server");
            Err(refusal.hint("leave `server` out"))
        }
        (None, Some(part)) => Ok(Processes::Of(Service::Master(part))),
        (None, None) => {
            let refusal = service.place.refuse("is a process of each server");
            Err(refusal.hint("for example: server = \"store\", service = \"master\""))
        }
    }
}

/// Writes what [`read`] reads.
pub(super) fn write(events: &[Incident], out: &mut String) {
    for Incident { at, deed } in events {
        let (what, keys) = written(*deed);
        let at = match at {
            Moment::Middle => quoted(MIDDLE),
            Moment::After(after) => span(*after),
        };
        *out += &format!("\n[[event]]\nwhat = {}\nat = {at}\n{keys}", quoted(what));
    }
}

/// The word of `what`, and the other keys.
fn written(deed: Deed) -> (&'static str, String) {
    let word_of = |part: Part| PARTS.iter().find(|(_, own)| *own == part).map_or("", |own| own.0);
    let server = |part: Part| format!("server = {}\n", quoted(word_of(part)));
    let whom = |processes: Processes| match processes {
        Processes::All(part) => server(part),
        Processes::Of(Service::Master(part)) => {
            format!("{}service = {}\n", server(part), quoted(MASTER))
        }
        Processes::Of(service) => format!("service = {}\n", quoted(service.name())),
    };
    let hop = |hop: Hop| {
        let word = HOPS.iter().find(|(_, own)| *own == hop).map_or("", |own| own.0);
        format!("hop = {}\n", quoted(word))
    };
    let lasts = |lasts: Span| format!("lasts = {}\n", span(lasts));
    match deed {
        Deed::Kill(processes) => ("kill", whom(processes)),
        Deed::Freeze(processes, long) => ("freeze", whom(processes) + &lasts(long)),
        Deed::Restart(part) => ("restart", server(part)),
        Deed::PowerCut(Machine::Whole) => ("power cut", String::new()),
        Deed::PowerCut(Machine::Only(part)) => ("power cut", server(part)),
        Deed::Cut(at) => ("connections cut", hop(at)),
        Deed::Slow(at, delay, long) => {
            ("connections slow", format!("{}delay = {}\n{}", hop(at), span(delay), lasts(long)))
        }
        Deed::HalfOpen(at, long) => ("connections half-open", hop(at) + &lasts(long)),
        Deed::DiskFull(part, long) => ("disk full", server(part) + &lasts(long)),
        Deed::QuotaFull(long) => ("quota full", lasts(long)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Document, MailScenario};

    fn scenario(text: &str) -> Result<MailScenario, String> {
        let text = format!("[mail]\n{text}");
        let document = Document::new("t.toml", &text, Path::new("/srv")).unwrap();
        document.mail(&[]).map_err(|refusal| refusal.to_string())
    }

    fn events(text: &str) -> Result<Vec<Incident>, String> {
        let read = scenario(text)?;
        let again = read.to_toml();
        let document = Document::new("t.toml", &again, Path::new("/srv")).unwrap();
        assert_eq!(document.mail(&[]).unwrap().events, read.events, "{again}");
        Ok(read.events)
    }

    #[test]
    fn every_word_is_read_and_written_again() {
        let long = Span::seconds(3);
        for (text, deed) in [
            ("\"kill\"\nserver = \"store\"", Deed::Kill(Processes::All(Part::Store))),
            ("\"kill\"\nservice = \"lmtp\"", Deed::Kill(Processes::Of(Service::Lmtp))),
            (
                "\"kill\"\nserver = \"relay\"\nservice = \"master\"",
                Deed::Kill(Processes::Of(Service::Master(Part::Relay))),
            ),
            (
                "\"freeze\"\nservice = \"auth\"\nlasts = \"3s\"",
                Deed::Freeze(Processes::Of(Service::Auth), long),
            ),
            ("\"restart\"\nserver = \"relay\"", Deed::Restart(Part::Relay)),
            ("\"power cut\"", Deed::PowerCut(Machine::Whole)),
            ("\"power cut\"\nserver = \"relay\"", Deed::PowerCut(Machine::Only(Part::Relay))),
            ("\"connections cut\"\nhop = \"delivery\"", Deed::Cut(Hop::Delivery)),
            (
                "\"connections slow\"\nhop = \"reading\"\ndelay = \"3s\"\nlasts = \"3s\"",
                Deed::Slow(Hop::Reading, long, long),
            ),
            (
                "\"connections half-open\"\nhop = \"sending\"\nlasts = \"3s\"",
                Deed::HalfOpen(Hop::Sending, long),
            ),
            (
                "\"disk full\"\nserver = \"store\"\nlasts = \"3s\"",
                Deed::DiskFull(Part::Store, long),
            ),
            ("\"quota full\"\nlasts = \"3s\"", Deed::QuotaFull(long)),
        ] {
            let read = events(&format!("[[event]]\nat = \"3s\"\nwhat = {text}\n")).unwrap();
            assert_eq!(read, [Incident { at: Moment::After(long), deed }], "{text}");
            let middle = events(&format!("[[event]]\nwhat = {text}\n")).unwrap();
            assert_eq!(middle, [Incident { at: Moment::Middle, deed }], "{text}");
        }
        assert_eq!(WORDS.len(), 9);
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_a_way_out() {
        let refused = |text: &str, said: &str| {
            let whole = scenario(text).unwrap_err();
            assert!(whole.contains(said) && whole.contains("\n  "), "{text}: {whole}");
        };
        refused("[[event]]\nwhat = \"kil\"\n", "kill");
        refused("[[event]]\nat = \"1s\"\n", "lacks `what`");
        refused("[[event]]\nwhat = \"kill\"\n", "lacks `server`");
        refused("[[event]]\nwhat = \"kill\"\nservice = \"master\"\n", "of each server");
        refused(
            "[[event]]\nwhat = \"kill\"\nserver = \"relay\"\nservice = \"lmtp\"\n",
            "not a service of that server",
        );
        refused("[[event]]\nwhat = \"freeze\"\nserver = \"store\"\n", "lacks `lasts`");
        refused(
            "[[event]]\nwhat = \"restart\"\nserver = \"store\"\nlasts = \"1s\"\n",
            "`lasts` is not for",
        );
        refused("kill = true\n[[event]]\nwhat = \"power cut\"\n", "is beside [[event]]");
        refused("kill = true\npower_cut = true\n", "a power cut kills, too");
        refused(
            "[target]\nsend = \"a:25\"\nread = \"a:993\"\naccounts = \"a\"\n[[event]]\nwhat = \"power cut\"\n",
            "only to servers that brunt has started",
        );
        assert!(!scenario("[[event]]\nwhat = \"power cut\"\n").unwrap().kills());
        let cut = scenario("power_cut = true\n").unwrap();
        assert!(cut.cuts_power() && !cut.kills());
    }

    #[test]
    fn the_page_has_every_word() {
        let page = include_str!("../../../../docs/mail.md");
        for (word, keys) in WORDS {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let row = format!("| `{word}` | {} |", keys.join(", "));
            assert!(page.contains(&row), "docs/mail.md lacks the row\n{row}");
        }
    }
}
