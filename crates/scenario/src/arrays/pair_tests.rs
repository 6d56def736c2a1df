//! Replicated arrays in scenarios.

use std::path::Path;

use brunt_array::{
    Incident, Mode, PairDesign, PairIncident, PairLinkDesign, ResumePolicy, SystemDesign,
};
use brunt_units::{ByteSize, Span, Time};

use crate::{Document, Override};

const ARRAY: &str = "
[simulate]
duration = \"1h\"
[array]
drives = [{ model = \"10k-600-fc\", count = 4 }]
group = [{ level = \"raid10\", drives = 4 }]
lun = [
    { name = \"{} data\", each = [\"SG1\", \"SG2\"], size = \"2 GiB\" },
    { name = \"{} log\", each = [\"SG1\", \"SG2\"], size = \"1 GiB\" },
    { name = \"history\", size = \"1 GiB\" },
]
[[load]]
kind = \"random\"
size = \"8 KiB\"
outstanding = 1
";

fn read(text: &str) -> Result<(PairDesign, Vec<Incident>), String> {
    read_with(text, &[])
}

fn read_with(text: &str, set: &[&str]) -> Result<(PairDesign, Vec<Incident>), String> {
    let document = Document::new("t.toml", &format!("{ARRAY}{text}"), Path::new("/")).unwrap();
    let set: Vec<Override> = set.iter().map(|set| Override::of_set(set).unwrap()).collect();
    let load = document.load(&set).map_err(|refusal| refusal.to_string())?;
    let incidents = load.simulation.incidents.into_iter();
    let incidents = incidents.map(|one| one.incident).collect();
    match load.simulation.design {
        SystemDesign::Pair(pair) => Ok((pair, incidents)),
        _ => Err("no pair".to_owned()),
    }
}

#[test]
fn a_round_trip_from_the_command_line_replaces_kilometres_and_the_other_way_round() {
    let round_trip = |link: &str, set: &[&str]| {
        let (pair, _) = read_with(&format!("[link]\n{link}\n[replication]"), set)?;
        Ok::<Span, String>(pair.link.round_trip)
    };
    let five = Ok(Span::millis(5));
    assert_eq!(round_trip("km = 100", &["link.rtt=5ms"]), five);
    assert_eq!(round_trip("rtt = \"1ms\"", &["link.km=500"]), five);
    assert_eq!(round_trip("km = 100", &["link.rtt=1ms", "link.km=500"]), five);
}

#[test]
fn all_luns_are_one_group_and_the_replica_is_like_the_array() {
    let (pair, _) = read("[link]\nrtt = \"1ms\"\n[replication]\nlog_lun = \"history\"").unwrap();
    assert_eq!(pair.link.round_trip, Span::millis(1));
    assert_eq!(pair.link.round_trips_per_write, 2);
    let [group] = pair.groups.as_slice() else {
        panic!("one group");
    };
    assert_eq!(group.luns, [(0, 0), (1, 1), (2, 2), (3, 3)], "not the log");
    assert_eq!((group.mode, group.failsafe), (Mode::Synchronous, false));
    assert_eq!((pair.history.lun, pair.history.replica_lun), (Some(4), Some(4)));
    assert_eq!(pair.source.lun_names(), pair.destination.lun_names());
    assert_eq!(read("").err().unwrap(), "no pair");
}

#[test]
fn every_key_says_what_it_is_for() {
    let (pair, incidents) = read(
        "[link]
km = 100
jitter = \"50us\"
bandwidth = \"T3\"
loss_per_million = 12
round_trips = 1
gateway = \"1.125ms\"
paths = 2
[replication]
failsafe = true
resume_at = \"2h\"
outstanding = 3
log_initial = \"1 MiB\"
log_limit = \"2 GiB\"
log_room = \"4 GiB\"
[[replication.group]]
name = \"{}\"
each = [\"SG1\", \"SG2\"]
luns = [\"{} log\", \"{} data\"]
[[replication.group]]
name = \"rest\"
luns = [\"history\"]
mode = \"asynchronous\"
failsafe = false
[replica]
drives = [{ model = \"10k-600-fc\", count = 2 }]
group = [{ level = \"raid1\", drives = 2 }]
lun = [
    { name = \"history\", size = \"2 GiB\" },
    { name = \"{} log\", each = [\"SG1\", \"SG2\"], size = \"1 GiB\" },
    { name = \"{} data\", each = [\"SG1\", \"SG2\"], size = \"2 GiB\" },
]
[[event]]
at = \"1s\"
what = \"link path lost\"
path = 1
[[event]]
at = \"2s\"
what = \"group suspended\"
group = \"rest\"
[[event]]
at = \"3s\"
what = \"group resumed\"
group = \"rest\"
full_copy = true
",
    )
    .unwrap();
    let link = PairLinkDesign {
        round_trip: Span::millis(1),
        jitter: Span::micros(50),
        bytes_per_second: 5_592_000,
        lost_per_million: 12,
        round_trips_per_write: 1,
        gateway: Span::micros(1125),
        paths: 2,
        outages: Vec::new(),
    };
    assert_eq!(pair.link, link);
    assert_eq!(pair.outstanding, 3);
    assert_eq!(pair.resume, ResumePolicy::NotBefore(Time(7_200_000_000_000)));
    assert_eq!(pair.history.initial, ByteSize::mib(1));
    assert_eq!(pair.history.limit, ByteSize::gib(2));
    assert_eq!(pair.history.room, ByteSize::gib(4));
    let groups: Vec<_> = pair.groups.iter().map(|one| (one.name.as_str(), &one.luns[..])).collect();
    let expected: [(&str, &[(u32, u32)]); 3] =
        [("SG1", &[(2, 1), (0, 3)]), ("SG2", &[(3, 2), (1, 4)]), ("rest", &[(4, 0)])];
    assert_eq!(groups, expected);
    let modes: Vec<_> = pair.groups.iter().map(|one| (one.mode, one.failsafe)).collect();
    let both = (Mode::Synchronous, true);
    assert_eq!(modes, [both, both, (Mode::Asynchronous, false)]);
    let resumed = PairIncident::GroupResumed { group: 2, full_copy: true };
    let expected = [PairIncident::LinkPathLost(1), PairIncident::GroupSuspended(2), resumed];
    assert_eq!(incidents, expected.map(Incident::Pair));
}

#[test]
fn what_cannot_be_replicated_is_refused_at_its_line() {
    let says = |text: &str, what: &str| {
        let why = read(text).err().unwrap_or_default();
        assert!(why.contains(what), "{text}\n{why}");
    };
    let pair = "[link]\nrtt = \"1ms\"\n[replication]\n";
    says("[link]\nrtt = \"1ms\"", "there is no [replication]");
    says("[replication]", "has no link");
    says("[link]\n[replication]", "lacks `rtt`");
    says("[link]\nrtt = \"1ms\"\nkm = 3\n[replication]", "what `rtt` says");
    says("[link]\nkm = 30000\n[replication]", "more than 20000");
    let group = |luns: &str| format!("{pair}[[replication.group]]\nluns = {luns}\n");
    says(&group("[\"SG3 log\"]"), "no LUN called \"SG3 log\"");
    says(&group("[\"history\", \"history\"]"), "replicated already");
    says(&group("[]"), "has no LUNs");
    says(&format!("{pair}log_limit = \"1 GiB\"\nlog_initial = \"2 GiB\""), "cannot be limited");
    says(&format!("{pair}mode = \"asynchronous\"\nfailsafe = true"), "failsafe needs");
    let small = "[replica]
drives = [{ model = \"10k-600-fc\", count = 2 }]
group = [{ level = \"raid1\", drives = 2 }]
lun = [{ name = \"history\", size = \"512 MiB\" }]
";
    says(&format!("{pair}{small}"), "[replica] has no LUN called \"SG1 data\"");
    let one = group("[\"history\"]");
    says(&format!("{one}{small}"), "its destination only 512 MiB");
    let event = |what: &str| format!("{pair}[[event]]\nat = \"1s\"\nwhat = \"{what}\"\n");
    says(&event("link returns"), "the link is there then");
    says(&format!("{}to = \"source\"", event("failover")), "the source serves already");
    says(
        &format!("{}planned = true\nforced = true", event("failover")),
        "is for a failover that is not planned",
    );
    let lost = format!("{}[[event]]\nat = \"2s\"\n", event("link lost"));
    says(&format!("{lost}what = \"failover\""), "forced = true lets both serve");
    says(&event("split ends"), "lacks `keep`");
    let flaps = format!("{}times = 0", event("link flaps"));
    says(&flaps, "0");
    says(&format!("{}times = 3\ndown = \"0s\"", event("link flaps")), "must be longer than zero");
    let drive = format!("{}drive = 9\nsite = \"destination\"", event("drive fails"));
    says(&drive, "numbered from 0 to 3");
    says(&event("lun grows"), "whose LUNs stay as they are");
    says(
        &format!("{pair}failsafe = true\n[[event]]\nat = \"1s\"\nwhat = \"group suspended\""),
        "is not for a failsafe group",
    );
    let alone = "[[event]]\nat = \"1s\"\nwhat = \"link lost\"";
    says(alone, "there is no [replication]");
}
