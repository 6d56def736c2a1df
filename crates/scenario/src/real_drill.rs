//! A drill on real storage: a mail server at one of two sites, each a folder, and what happens to them.
//!
//! ```toml
//! [test] [profile] [[instance]] ...   as for `brunt run`; paths of instances are the same at both sites, below their folders
//! [site.source]                       the side that serves first
//! folder = "/srv/a"
//! [site.destination]                  the side that takes over
//! folder = "/srv/b"                   and `host`, if it is another one (see `remote`)
//! [link]
//! rtt = "2ms"                         a round trip between the sites, and more; without it that of the machine itself
//! [replication]
//! mode = "synchronous"                or "asynchronous": closed logs are shipped
//! [drill]
//! recovery_time = "15min"             these five as for modelled arrays
//! [[event]]
//! at = "20s"
//! what = "source lost"                or "source frozen", "link lost", "failover"
//! ```
//!
//! Events end with a failover. Times count from the moment when sessions have worked for `min_warmup`.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use brunt_units::Span;

use super::document::Top;
use super::drill::{self, Drill};
use super::format::{path, quoted, span, word};
use super::model::Scenario;
use super::place::{Cause, Place, Placed, Refusal};
use super::real_link::RealLink;
use super::remote::{self, RemoteHost};
use super::section::{self, Section};
use super::tree::{Node, Value};

/// Sides, as tables of `[site]`.
pub(super) const SIDES: [&str; 2] = ["source", "destination"];
/// Modes of replication, and whether they wait for the other site.
const MODES: [(&str, bool); 2] = [("synchronous", true), ("asynchronous", false)];
/// What can happen.
const WORDS: [(&str, SiteIncident); 4] = [
    ("source lost", SiteIncident::SourceLost),
    ("source frozen", SiteIncident::SourceFrozen),
    ("link lost", SiteIncident::LinkLost),
    ("failover", SiteIncident::FailOver { planned: false }),
];
/// Where files lie in the folder of a site.
const FILES: &str = "files";

/// What happens to one of two sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl SiteIncident {
    /// Its word.
    pub fn word(self) -> &'static str {
        let kind = std::mem::discriminant(&self);
        let own = WORDS
            .iter()
            .find(|(_, one)| std::mem::discriminant(one) == kind);
        own.expect("every incident has a word").0
    }
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteEvent {
    /// When, from the beginning of the timeline.
    pub at: Span,
    /// What.
    pub what: SiteIncident,
}

/// A drill on two folders, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct RealDrill {
    /// What the server does; its paths begin at the folder of a site.
    pub scenario: Scenario,
    /// The folder of the side that serves first.
    pub source: Placed<PathBuf>,
    /// The folder of the side that takes over.
    pub destination: Placed<PathBuf>,
    /// Where that folder is, if it is not on this host.
    pub remote: Option<RemoteHost>,
    /// What is between the sites, if it is more than this machine.
    pub link: Option<RealLink>,
    /// Whether writes wait for the other site.
    pub is_synchronous: bool,
    /// What it has to reach.
    pub drill: Drill,
    /// What happens, in order.
    pub timeline: Vec<SiteEvent>,
}

impl RealDrill {
    /// Reads the sections of a test and of the sites below it. Relative folders of sites are relative to `folder`.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong.
    pub(super) fn read(mut top: Top, folder: &Path) -> Result<Self, Refusal> {
        let own = top.sections.place().clone();
        let ([source, destination], remote) = read_sites(&mut top.sections, folder)?;
        let link = top.sections.take("link");
        if let (Some(link), Some(_)) = (&link, &remote) {
            let refusal = link.place.refuse("is for two sites on one host");
            return Err(
                refusal.hint("between two hosts it is the network itself: leave [link] out")
            );
        }
        let link = link.map(RealLink::read).transpose()?;
        let mut replication = top.sections.section("replication", &["mode"])?;
        let mode = replication.read_or("mode", true, |node| section::choice(node, &MODES))?;
        let (events, drill) = (top.sections.take("event"), top.sections.take("drill"));
        let timeline = read_timeline(events, &own)?;
        let is_planned = |one: &SiteEvent| one.what == (SiteIncident::FailOver { planned: true });
        if !mode.value && timeline.iter().any(is_planned) {
            let refusal = mode
                .place
                .refuse("ships closed logs, and a planned failover loses nothing");
            return Err(refusal.hint("synchronous, or a failover without `planned`"));
        }
        let scenario = Scenario::read(top, Vec::new(), Path::new("/"))?;
        check_paths(&scenario)?;
        if scenario.shards.value > 1 {
            let refusal = scenario
                .shards
                .place
                .refuse("shares a server among threads");
            return Err(refusal.hint("a drill on real storage has one: leave `shards` out"));
        }
        Ok(Self {
            scenario,
            source,
            destination,
            remote,
            link,
            is_synchronous: mode.value,
            drill: drill::read_real(drill)?,
            timeline,
        })
    }

    /// The scenario of the server in the site's folder `site`. That folder may be made.
    pub fn at(&self, site: &Path) -> Scenario {
        let files = site.join(FILES);
        let moved = |path: &Path| files.join(path.strip_prefix("/").unwrap_or(path));
        let mut scenario = self.scenario.clone();
        scenario.scratch = Some(Placed {
            value: site.to_owned(),
            place: self.source.place.clone(),
        });
        for instance in &mut scenario.instances {
            instance.log.value = moved(&instance.log.value);
            for database in &mut instance.databases {
                database.path.value = moved(&database.path.value);
            }
        }
        scenario
    }

    /// Where files lie in the folder of a site.
    pub fn files(site: &Path) -> PathBuf {
        site.join(FILES)
    }

    /// The drill, resolved. Reading it gives this drill again.
    pub fn to_toml(&self) -> String {
        let mut text = self.scenario.to_toml();
        self.write(&mut text).expect("a string takes all");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        for (side, folder) in SIDES.iter().zip([&self.source, &self.destination]) {
            writeln!(out, "\n[site.{side}]\nfolder = {}", path(&folder.value))?;
        }
        if let Some(remote) = &self.remote {
            remote.write(out)?;
        }
        if let Some(link) = &self.link {
            link.write(out)?;
        }
        writeln!(
            out,
            "\n[replication]\nmode = {}",
            word(&MODES, self.is_synchronous)
        )?;
        drill::write_real(&self.drill, out)?;
        for event in &self.timeline {
            let (at, what) = (span(event.at), quoted(event.what.word()));
            writeln!(out, "\n[[event]]\nat = {at}\nwhat = {what}")?;
            if event.what == (SiteIncident::FailOver { planned: true }) {
                writeln!(out, "planned = true")?;
            }
        }
        Ok(())
    }
}

/// Whether `node`, the value of `site`, names folders.
pub(super) fn names_folders(node: &Node) -> bool {
    let Value::Table(entries) = &node.value else {
        return false;
    };
    entries.iter().any(|(key, _)| SIDES.contains(&key.as_str()))
}

/// The folders of the two sites, and where the second one is. What else `[site]` says stays there.
fn read_sites(
    top: &mut Section,
    folder: &Path,
) -> Result<([Placed<PathBuf>; 2], Option<RemoteHost>), Refusal> {
    let mut site = top.split(|key| key == "site");
    let node = site.take("site").expect("it names folders");
    let place = node.place.clone();
    let Value::Table(entries) = node.value else {
        unreachable!("it names folders");
    };
    let (sides, rest): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|(key, _)| SIDES.contains(&key.as_str()));
    if !rest.is_empty() {
        let value = Value::Table(rest);
        top.put(
            "site",
            Node {
                value,
                place: place.clone(),
            },
        );
    }
    let mut sides = Section::new(
        Node {
            value: Value::Table(sides),
            place,
        },
        "[site]",
        &SIDES,
    )?;
    let mut one = |side: &str, keys: &[&str]| {
        let example = format!("[site.{side}] with folder = \"/srv/{side}\"");
        let node = sides
            .take(side)
            .ok_or_else(|| sides.lacks(side, &example))?;
        let mut section = Section::new(node, &format!("[site.{side}]"), keys)?;
        let found = section.read("folder", |node| section::absolute(node, folder))?;
        let lacking = || section.lacks("folder", &format!("folder = \"/srv/{side}\""));
        let found = found.ok_or_else(lacking)?;
        Ok((found, RemoteHost::read(&mut section)?))
    };
    let (source, _) = one(SIDES[0], &["folder"])?;
    let (destination, remote) = one(SIDES[1], &remote::KEYS)?;
    let (first, second) = (&source.value, &destination.value);
    if remote.is_none() && (first.starts_with(second) || second.starts_with(first)) {
        let refusal = destination
            .place
            .refuse("lies in the folder of the other site");
        return Err(refusal.hint("two folders beside each other, better on two volumes"));
    }
    Ok(([source, destination], remote))
}

/// The events, which must be able to follow each other.
fn read_timeline(node: Option<Node>, whole: &Place) -> Result<Vec<SiteEvent>, Refusal> {
    const EXAMPLE: &str = "[[event]] with at = \"10s\" and what = \"source lost\", and one with what = \"failover\" after it";
    let nodes = node.map_or(Ok(Vec::new()), |node| section::tables(node, "event"))?;
    let mut events: Vec<(SiteEvent, Place)> = Vec::new();
    for node in nodes {
        events.push(read_event(node)?);
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
    let lost = &events[..at];
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
    Ok(events.into_iter().map(|(event, _)| event).collect())
}

fn read_event(node: Node) -> Result<(SiteEvent, Place), Refusal> {
    let mut section = Section::new(node, "[[event]]", &["at", "what", "planned"])?;
    let what = section.read("what", |node| section::choice(node, &WORDS))?;
    let what = what.ok_or_else(|| section.lacks("what", "what = \"source lost\""))?;
    let at = section.read("at", section::span)?;
    let at = at.ok_or_else(|| section.lacks("at", "at = \"10s\""))?.value;
    let planned = section.read("planned", section::switch)?;
    let incident = match (what.value, planned) {
        (SiteIncident::FailOver { .. }, planned) => SiteIncident::FailOver {
            planned: planned.is_some_and(|planned| planned.value),
        },
        (_, Some(planned)) => {
            let refusal = planned.place.refuse("`planned` is for a failover alone");
            return Err(refusal.because(Cause::Value));
        }
        (incident, None) => incident,
    };
    Ok((SiteEvent { at, what: incident }, what.place))
}

/// Paths of instances lead nowhere else.
fn check_paths(scenario: &Scenario) -> Result<(), Refusal> {
    let logs = scenario.instances.iter().map(|instance| &instance.log);
    let databases = scenario.databases().map(|database| &database.path);
    for path in logs.chain(databases) {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.value.components().all(is_plain) {
            let refusal = path.place.refuse("leads out of the folder of the site");
            return Err(refusal.hint("for example \"log1\", which is the same at both sites"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Subject};

    const TEST: &str = "[test]\nduration = \"1min\"\nsessions = 2\n[[instance]]\nlog = \"log1\"\n\
                        databases = [\"db1/1.edb\"]\ndatabase_size = \"16 MiB\"\n";
    const SITES: &str = "[site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"/srv/b\"\n";
    const EVENTS: &str = "[[event]]\nat = \"20s\"\nwhat = \"failover\"\n[[event]]\nat = \"10s\"\nwhat = \"source frozen\"\n";

    fn read(text: &str) -> Result<RealDrill, String> {
        let document = Document::new("t.toml", text, Path::new("/srv")).unwrap();
        assert_eq!(document.subject(), Subject::RealDrill);
        document
            .real_drill(&[])
            .map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_drill_is_read_and_written_again() {
        let more = "[link]\nrtt = \"2ms\"\n[drill]\nafter = \"3s\"\nsample = \"1s\"\nrecovery_point = \"0s\"\n[site]\nneighbours = true\n";
        let drill = read(&format!("{TEST}{SITES}{EVENTS}{more}")).unwrap();
        assert_eq!(drill.source.value, Path::new("/srv/a"));
        assert_eq!(
            drill.link.map(|link| link.round_trip),
            Some(Span::millis(2))
        );
        assert_eq!(drill.drill.after, Span::seconds(3));
        assert_eq!(drill.scenario.site.has_neighbours, Some(true));
        let words: Vec<_> = drill.timeline.iter().map(|one| one.what.word()).collect();
        assert_eq!(words, ["source frozen", "failover"]);
        let at = drill.at(&drill.destination.value);
        assert_eq!(at.instances[0].log.value, Path::new("/srv/b/files/log1"));
        assert_eq!(read(&drill.to_toml()).unwrap(), drill);
        let link =
            "[link]\nkm = 30.5\njitter = \"150us\"\nbandwidth = \"T3\"\nloss_per_million = 7\n";
        let drill = read(&format!("{TEST}{SITES}{EVENTS}{link}")).unwrap();
        let link = drill.link.unwrap();
        assert_eq!(
            (link.round_trip, link.jitter),
            (Span::micros(305), Span::micros(150))
        );
        assert_eq!(
            link.beyond_delay(),
            ["jitter", "bandwidth", "loss_per_million"]
        );
        assert_eq!(read(&drill.to_toml()).unwrap(), drill);
        // Equal folders of two hosts are two folders.
        let sites =
            "[site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"a\"\nhost = \"b\"\n";
        let drill = read(&format!("{TEST}{sites}{EVENTS}")).unwrap();
        assert_eq!(drill.remote.as_ref().unwrap().program, "brunt");
        assert_eq!(read(&drill.to_toml()).unwrap(), drill);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_way_out() {
        let refused = |text: String, said: &str| {
            let whole = read(&text).unwrap_err();
            assert!(whole.contains(said) && whole.contains("\n  "), "{whole}");
        };
        let event = |at: &str, what: &str| format!("[[event]]\nat = \"{at}\"\nwhat = \"{what}\"\n");
        let whole = |sites: &str, events: &str| format!("{TEST}{sites}{events}");
        refused(
            whole("[site.source]\nfolder = \"a\"\n", EVENTS),
            "lacks `destination`",
        );
        refused(
            whole(
                "[site.source]\n[site.destination]\nfolder = \"b\"\n",
                EVENTS,
            ),
            "lacks `folder`",
        );
        let nested = "[site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"a/b\"\n";
        refused(whole(nested, EVENTS), "in the folder of the other site");
        let there = |keys: &str| format!("{SITES}{keys}\n");
        refused(
            whole(&there("host = \"-oProxyCommand=x\""), EVENTS),
            "is no host of ssh",
        );
        refused(
            whole(&there("program = \"brunt\""), EVENTS),
            "is for another host",
        );
        refused(
            whole(&there("host = \"b\"\n[link]\nrtt = \"1ms\""), EVENTS),
            "is for two sites on one host",
        );
        refused(whole(SITES, ""), "nothing fails over");
        refused(
            whole(SITES, &event("1s", "link lost")),
            "nothing fails over",
        );
        refused(
            whole(SITES, &event("1s", "sauce lost")),
            "did you mean \"source lost\"?",
        );
        refused(
            whole(SITES, &format!("{EVENTS}{}", event("30s", "link lost"))),
            "comes after the failover",
        );
        refused(
            whole(SITES, &format!("{EVENTS}{}", event("15s", "link lost"))),
            "something is lost before",
        );
        refused(
            whole(
                SITES,
                &format!(
                    "{}planned = true\n{}",
                    event("20s", "failover"),
                    event("1s", "link lost")
                ),
            ),
            "is planned, and comes after \"link lost\"",
        );
        refused(
            whole(SITES, &format!("{EVENTS}[link]\nrtt = \"2 m\"\n")),
            "is a round trip of more than 1.0 s",
        );
        refused(
            whole(
                SITES,
                &format!("{EVENTS}[link]\nrtt = \"2ms\"\ngateway = \"1ms\"\n"),
            ),
            "unknown key `gateway` in [link]",
        );
        refused(
            format!("{}{SITES}{EVENTS}", TEST.replace("log1", "../log1")),
            "leads out of the folder of the site",
        );
        refused(
            whole(SITES, &format!("{EVENTS}[drill]\nhost_rescan = \"2min\"\n")),
            "unknown key `host_rescan` in [drill]",
        );
        refused(whole(SITES, &format!("{EVENTS}[engine]\nshards = 2\n")), "");
    }
}
