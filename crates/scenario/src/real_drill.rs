//! A drill on real storage: a mail server at one of two sites, each a folder, and what happens to
//! them.
//!
//! ```toml
//! [test] [profile] [[instance]] ...   as for `brunt run`; paths of instances are the same at both sites, below their folders
//! [site.source]                       the side that serves first
//! folder = "/srv/a"
//! [site.destination]                  the side that takes over
//! folder = "/srv/b"                   and `host`, if it is another one (see `sites`)
//! device = "/dev/sdb"                 only where replication is external: named to commands
//! [link]
//! rtt = "2ms"                         a round trip between the sites, and more; without it that of the machine itself
//! [replication]
//! mode = "synchronous"                or "asynchronous": closed logs are shipped; or "external": the user's storage replicates,
//!                                     and `[[step]]`s drive it ([`super::pair_steps`])
//! [drill]
//! recovery_time = "15min"             these five as for modelled arrays
//! [[event]]
//! at = "20s"
//! what = "source lost"                or "source frozen", "link lost", "failover", "exec"
//! ```
//!
//! Events end with a failover. Times count from the moment when sessions have worked for
//! `min_warmup`.

use std::path::{Component, Path, PathBuf};

use super::drill::{self, Drill};
use super::format::{path, quoted};
use super::keys::{At, Word, keys};
use super::model::Scenario;
use super::pair_steps::{self, PairStep, STEP, StepTime};
use super::place::{Place, Placed, Refusal};
use super::real_link::RealLink;
use super::site_events::{self, Decision, SiteEvent, SiteIncident};
use super::sites::{RemoteHost, SIDES, Sites};
use super::top::Top;

keys! {
    /// What `[replication]` says here.
    pub(crate) struct Replicates; REPLICATION = "[replication]";
    /// Whether a write waits for the other site; in a drill on real storage also `"external"`, for a pair of your own.
    mode: Placed<SiteReplication> = Placed::unwritten(SiteReplication::Synchronous), At(Word(&MODES)), "`\"synchronous\"`";
}

static MODES: [(&str, SiteReplication); 3] = [
    ("synchronous", SiteReplication::Synchronous),
    ("asynchronous", SiteReplication::Asynchronous),
    ("external", SiteReplication::External),
];
/// Where files lie in the folder of a site.
const FILES: &str = "files";

/// What replicates one site to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteReplication {
    /// brunt's mirror: writes wait for the other site.
    Synchronous,
    /// brunt ships closed logs.
    Asynchronous,
    /// Something else, which the user's commands drive.
    External,
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
    /// The devices below them, of the source and of the destination, where the scenario names them.
    pub devices: [Option<Placed<PathBuf>>; 2],
    /// What is between the sites, if it is more than this machine.
    pub link: Option<RealLink>,
    /// What replicates.
    pub replication: SiteReplication,
    /// What it has to reach.
    pub drill: Drill,
    /// What happens, in order.
    pub timeline: Vec<SiteEvent>,
    /// The user's commands around it.
    pub steps: Vec<PairStep>,
}

impl RealDrill {
    /// The user's commands at this time.
    pub fn steps_at(&self, when: StepTime) -> impl Iterator<Item = &PairStep> {
        self.steps.iter().filter(move |step| step.when == when)
    }

    /// Reads the sections of a test and of the sites below it. Relative folders of sites are
    /// relative to `folder`.
    pub(super) fn read(mut top: Top, folder: &Path) -> Self {
        let own = top.sections.place().clone();
        let sites = Sites::read(&mut top.sections, folder);
        let link = top.sections.take("link");
        let link_place = link.as_ref().map(|link| link.place.clone());
        let link = link.map(RealLink::read);
        let mut replicates = Replicates::default();
        REPLICATION.read(top.sections.table("replication"), &mut replicates);
        let mode = replicates.mode;
        let drill = top.sections.take("drill");
        let steps = pair_steps::read(&mut top.sections, folder);
        let timeline = site_events::read(&mut top.sections, &own, folder);
        let sink = top.sections.sink().clone();
        sink.catch(check_mode(&mode, &sites, link_place.as_ref(), &steps, &timeline));
        let timeline: Vec<SiteEvent> = timeline.into_iter().map(|(event, _)| event).collect();
        let is_planned = |one: &SiteEvent| one.what == SiteIncident::FailOver(Decision::Planned);
        if mode.value == SiteReplication::Asynchronous && timeline.iter().any(is_planned) {
            let refusal =
                mode.place.refuse("ships closed logs, and a planned failover loses nothing");
            sink.refuse(refusal.hint("synchronous, or a failover without `planned`"));
        }
        let cut = steps.iter().find(|step| step.when == StepTime::Cut);
        if let Some(cut) = cut
            && timeline.iter().any(is_planned)
        {
            let place = &cut.exec.run.place;
            let refusal = place.refuse("cuts the source off, and a planned failover needs it");
            let hint = "a failover without `planned`, or no step with when = \"cut\"";
            sink.refuse(refusal.hint(hint));
        }
        let scenario = Scenario::read(top, Vec::new(), Path::new("/"));
        sink.catch(check_paths(&scenario));
        if scenario.shards.value > 1 {
            let refusal = scenario.shards.place.refuse("shares a server among threads");
            sink.refuse(refusal.hint("a drill on real storage has one: leave `shards` out"));
        }
        Self {
            scenario,
            source: sites.source,
            destination: sites.destination,
            remote: sites.remote,
            devices: sites.devices,
            link,
            replication: mode.value,
            drill: drill::read_real(drill),
            timeline,
            steps,
        }
    }

    /// The scenario of the server in the site's folder `site`. That folder may be made.
    pub fn at(&self, site: &Path) -> Scenario {
        let files = site.join(FILES);
        let moved = |path: &Path| files.join(path.strip_prefix("/").unwrap_or(path));
        let mut scenario = self.scenario.clone();
        scenario.scratch =
            Some(Placed { value: site.to_owned(), place: self.source.place.clone() });
        for instance in &mut scenario.instances {
            instance.log = moved(&instance.log);
            for database in &mut instance.databases {
                database.path = moved(&database.path);
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
        let out = &mut text;
        let folders = [&self.source, &self.destination];
        for ((side, folder), device) in SIDES.iter().zip(folders).zip(&self.devices) {
            *out += &format!("\n[site.{side}]\nfolder = {}\n", path(&folder.value));
            if let Some(device) = device {
                *out += &format!("device = {}\n", path(&device.value));
            }
        }
        if let Some(RemoteHost { host, program }) = &self.remote {
            *out += &format!("host = {}\nprogram = {}\n", quoted(host), quoted(program));
        }
        self.link.iter().for_each(|link| link.write(out));
        REPLICATION.write(&Replicates { mode: Placed::unwritten(self.replication) }, out);
        drill::write_real(&self.drill, out);
        site_events::write(&self.timeline, out);
        self.steps.iter().for_each(|step| STEP.write(step, out));
        text
    }
}

/// What only brunt's own link has, and what only a pair of the user has.
fn check_mode(
    mode: &Placed<SiteReplication>,
    sites: &Sites,
    link: Option<&Place>,
    steps: &[PairStep],
    events: &[(SiteEvent, Place)],
) -> Result<(), Refusal> {
    if mode.value == SiteReplication::External {
        const OWN: &str = "needs brunt's own link, and the replication is external";
        if let Some(link) = link {
            let refusal = link.refuse(OWN);
            return Err(refusal.hint("leave it out: the link is that of your storage"));
        }
        if sites.remote.is_some() {
            let refusal = sites
                .destination
                .place
                .refuse("is on another host, and the replication is external");
            return Err(refusal.hint("commands bring the copy to this host: leave `host` out"));
        }
        let lost = events.iter().find(|(one, _)| one.what == SiteIncident::LinkLost);
        return match lost {
            Some((_, place)) => Err(place
                .refuse(OWN)
                .hint("what = \"exec\", with a command that cuts the link of your storage")),
            None => Ok(()),
        };
    }
    if let (Some(link), Some(_)) = (link, &sites.remote) {
        let refusal = link.refuse("is for two sites on one host");
        return Err(refusal.hint("between two hosts it is the network itself: leave [link] out"));
    }
    let runs = |(one, place): &(SiteEvent, Place)| match one.what {
        SiteIncident::Exec(_) => Some(place.clone()),
        _ => None,
    };
    let step = steps.iter().map(|step| step.exec.run.place.clone()).next();
    let device = sites.devices.iter().flatten().map(|device| device.place.clone());
    let first = step.or_else(|| events.iter().find_map(runs)).or_else(|| device.into_iter().next());
    match first {
        Some(place) => Err(place
            .refuse("is for a pair of your own, and brunt itself replicates here")
            .hint("[replication] with mode = \"external\"")),
        None => Ok(()),
    }
}

/// Paths of instances lead nowhere else.
fn check_paths(scenario: &Scenario) -> Result<(), Refusal> {
    let logs = scenario.files().map(|(own, places)| (&own.log, &places.log));
    let databases = scenario.database_files();
    let databases = databases.map(|(database, places)| (&database.path, &places.databases));
    for (path, place) in logs.chain(databases) {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.components().all(is_plain) {
            let refusal = place.refuse("leads out of the folder of the site");
            return Err(refusal.hint("for example \"log1\", which is the same at both sites"));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use brunt_units::Span;

    use super::*;
    use crate::{Document, Subject};

    pub(crate) const TEST: &str = "[test]\nduration = \"1min\"\nsessions = 2\n[[instance]]\nlog = \"log1\"\n\
                        databases = [\"db1/1.edb\"]\ndatabase_size = \"16 MiB\"\n";
    pub(crate) const SITES: &str =
        "[site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"/srv/b\"\n";
    pub(crate) const EVENTS: &str = "[[event]]\nat = \"20s\"\nwhat = \"failover\"\n[[event]]\nat = \"10s\"\nwhat = \"source frozen\"\n";

    pub(crate) fn read(text: &str) -> Result<RealDrill, String> {
        let document = Document::new("t.toml", text, Path::new("/srv")).unwrap();
        assert_eq!(document.subject(), Subject::RealDrill);
        document.real_drill(&[]).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_drill_is_read_and_written_again() {
        let more = "[link]\nrtt = \"2ms\"\n[drill]\nafter = \"3s\"\nsample = \"1s\"\nrecovery_point = \"0s\"\n[site]\nneighbours = true\n";
        let drill = read(&format!("{TEST}{SITES}{EVENTS}{more}")).unwrap();
        assert_eq!(drill.source.value, Path::new("/srv/a"));
        assert_eq!(drill.link.map(|link| link.round_trip), Some(Span::millis(2)));
        assert_eq!(drill.drill.after, Span::seconds(3));
        assert_eq!(drill.scenario.site.has_neighbours, Some(true));
        let words: Vec<_> = drill.timeline.iter().map(|one| one.what.word()).collect();
        assert_eq!(words, ["source frozen", "failover"]);
        let at = drill.at(&drill.destination.value);
        assert_eq!(at.instances[0].log, Path::new("/srv/b/files/log1"));
        assert_eq!(read(&drill.to_toml()).unwrap(), drill);
        let link =
            "[link]\nkm = 30.5\njitter = \"150us\"\nbandwidth = \"T3\"\nloss_per_million = 7\n";
        let drill = read(&format!("{TEST}{SITES}{EVENTS}{link}")).unwrap();
        let link = drill.link.unwrap();
        assert_eq!((link.round_trip, link.jitter), (Span::micros(305), Span::micros(150)));
        assert_eq!(link.beyond_delay(), ["jitter", "bandwidth", "loss_per_million"]);
        assert_eq!(read(&drill.to_toml()).unwrap(), drill);
        let automatic = EVENTS
            .replace("at = \"20s\"\nwhat = \"failover\"", "what = \"failover\"\nsilence = \"5s\"");
        let drill = read(&format!("{TEST}{SITES}{automatic}")).unwrap();
        let last = drill.timeline.last().unwrap();
        let silence = Span::seconds(5);
        let decision = Decision::Automatic { silence };
        assert_eq!(last.what, SiteIncident::FailOver(decision));
        assert_eq!(last.at, Span::seconds(10));
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
        refused(whole("[site.source]\nfolder = \"a\"\n", EVENTS), "lacks `destination`");
        refused(
            whole("[site.source]\n[site.destination]\nfolder = \"b\"\n", EVENTS),
            "lacks `folder`",
        );
        let nested = "[site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"a/b\"\n";
        refused(whole(nested, EVENTS), "in the folder of the other site");
        let there = |keys: &str| format!("{SITES}{keys}\n");
        refused(whole(&there("host = \"-oProxyCommand=x\""), EVENTS), "is not a valid ssh host");
        refused(whole(&there("program = \"brunt\""), EVENTS), "is for another host");
        refused(
            whole(&there("host = \"b\"\n[link]\nrtt = \"1ms\""), EVENTS),
            "is for two sites on one host",
        );
        refused(whole(SITES, ""), "nothing fails over");
        refused(whole(SITES, &event("1s", "link lost")), "nothing fails over");
        refused(whole(SITES, &event("1s", "sauce lost")), "did you mean \"source lost\"?");
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
        let silent =
            |more: &str| format!("[[event]]\nwhat = \"failover\"\nsilence = \"5s\"\n{more}");
        refused(
            whole(SITES, &(silent("") + &event("1s", "link lost"))),
            "the source is not lost before",
        );
        refused(
            whole(SITES, &(silent("at = \"3s\"\n") + &event("1s", "source lost"))),
            "`at` and `silence` exclude each other",
        );
        let short = silent("").replace("5s", "20ms") + &event("1s", "source lost");
        refused(whole(SITES, &short), "is not between 1.0 s and 10 min 00 s");
        refused(
            whole(SITES, &format!("{EVENTS}[link]\nrtt = \"2 m\"\n")),
            "is a round trip of more than 1.0 s",
        );
        refused(
            whole(SITES, &format!("{EVENTS}[link]\nrtt = \"2ms\"\ngateway = \"1ms\"\n")),
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
