//! Every rule has a subject that keeps it and one that breaks it: the same one, but for what the rule looks at.

use std::collections::BTreeSet;
use std::path::Path;

use brunt_array::SystemDesign;
use brunt_host::configuration::{Configuration, Device, Volume};
use brunt_scenario::Document;
use brunt_units::ByteSize;
use brunt_world_real::facts::{BlockDevice, DiskSettings, Made, Swap, Transport, WriteCache};

use crate::judge::Outcome;
use crate::rules::{all, find};
use crate::subject::{Subject, What};

/// Two servers on two arrays, as they should be.
const MODELLED: &str = r#"
servers = ["A"]
[test]
duration = "2h"
sessions = 8
copies = 2
target_io_per_s = 200
[profile]
version = "exchange-2016"
[[instance]]
log = "/log1"
databases = ["/db1/1.edb"]
database_size = "500 GiB"
[site]
fabrics = 2
iscsi_network = "own"
iscsi_non_blocking = true
iscsi_delayed_ack = false
neighbours = false
[[array]]
name = "one"
spares = 1
[[array.drives]]
model = "constellation2-1000-nlsas"
count = 7
[[array.group]]
name = "db one"
level = "raid10"
drives = 4
strip = "256 KiB"
rebuild_priority = "low"
[[array.group]]
name = "log one"
level = "raid1"
drives = 2
rebuild_priority = "low"
[array.front]
transport = "fc8"
ports = 2
[array.controller]
count = 2
[array.cache]
write = "1 GiB"
read = "256 MiB"
[[array]]
name = "two"
spares = 1
[[array.drives]]
model = "constellation2-1000-nlsas"
count = 7
[[array.group]]
name = "db two"
level = "raid10"
drives = 4
strip = "256 KiB"
rebuild_priority = "low"
[[array.group]]
name = "log two"
level = "raid1"
drives = 2
rebuild_priority = "low"
[array.front]
transport = "fc8"
ports = 2
[array.controller]
count = 2
[array.cache]
write = "1 GiB"
read = "256 MiB"
[volumes]
"/db1" = "db one"
"/log1" = "log one"
"#;

/// An array that is replicated.
const PAIR: &str = r#"
[test]
duration = "2h"
sessions = 8
target_io_per_s = 200
[profile]
version = "exchange-2003"
log_buffer = "4608000 B"
[[instance]]
log = "/log1"
databases = ["/db1/1.edb"]
database_size = "50 GiB"
[array]
[[array.drives]]
model = "10k-600-fc"
count = 11
[[array.group]]
name = "db"
level = "raid5"
drives = 5
[[array.group]]
name = "log"
level = "raid1"
drives = 2
[array.front]
transport = "fc8"
ports = 2
[array.controller]
count = 2
[array.cache]
write = "1 GiB"
[link]
rtt = "2ms"
bandwidth = "100 MB"
paths = 2
[replication]
[[replication.group]]
name = "sg1"
luns = ["db", "log"]
[volumes]
"/db1" = "db"
"/log1" = "log"
"#;

const POOL: &str = r#"
[test]
duration = "2h"
sessions = 8
target_io_per_s = 200
[[instance]]
log = "/log1"
databases = ["/db1/1.edb"]
database_size = "50 GiB"
[array]
[[array.drives]]
model = "savvio-10k6-900-sas"
count = 12
[[array.group]]
name = "pool"
level = "pool"
drives = 12
[[array.lun]]
name = "db"
size = "1 TiB"
[[array.lun]]
name = "log"
size = "1 TiB"
[array.front]
transport = "fc8"
ports = 2
[array.controller]
count = 2
[volumes]
"/db1" = "db"
"/log1" = "log"
"#;

const REAL: &str = r#"
[test]
duration = "2h"
sessions = 8
target_io_per_s = 200
[[instance]]
log = "/mnt/log/1"
databases = ["/mnt/db/1.edb"]
database_size = "50 GiB"
"#;

const ORG: &str = r#"
[profile]
version = "exchange-2016"
[org]
servers = 4
copies = 2
failures = 1
restore_within = "8h"
[mailboxes]
count = 4000
quota = "1 GiB"
messages_per_day = 100
[storage]
drive = "savvio-10k6-900-sas"
level = "raid10"
group_drives = 8
logs = "swapped"
"#;

fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

fn document(text: &str) -> Document {
    Document::new("t.toml", text, Path::new("/")).unwrap()
}

fn modelled(id: &str, text: &str, changes: &[(&str, &str)]) -> Outcome {
    let text = changed(text, changes);
    let scenario = document(&text)
        .modelled_test(&[])
        .unwrap_or_else(|refusal| panic!("{id}: {refusal}"));
    let subject = Subject {
        what: What::Modelled(&scenario),
        host: None,
    };
    find(id).unwrap().judge(&subject)
}

fn organisation(id: &str, changes: &[(&str, &str)]) -> Outcome {
    let text = changed(ORG, changes);
    let org = document(&text)
        .organisation(&[], &brunt_sizing::keys())
        .unwrap();
    let sizing = brunt_sizing::size(&org);
    let subject = Subject {
        what: What::Organisation(&sizing),
        host: None,
    };
    find(id).unwrap().judge(&subject)
}

/// A LUN with two paths for databases, and a drive for logs.
fn machine() -> Configuration {
    let path = |name: &str, adapter: &str| Device {
        device: BlockDevice {
            name: name.to_owned(),
            scheduler: Some("none".to_owned()),
            write_cache: Some(WriteCache::WriteThrough),
            ..BlockDevice::default()
        },
        settings: DiskSettings {
            queue_depth: Some(64),
            state: Some("running".to_owned()),
            transport: Some(Transport::Iscsi),
            adapter: Some(adapter.to_owned()),
            start: None,
        },
        is_leaf: true,
    };
    let lun = Device {
        device: BlockDevice {
            name: "dm-0".to_owned(),
            made: Made::Mapped {
                name: "lun".to_owned(),
                by: Some("mpath".to_owned()),
            },
            ..BlockDevice::default()
        },
        settings: DiskSettings {
            start: Some(1 << 20),
            ..DiskSettings::default()
        },
        is_leaf: false,
    };
    let volume = |mount: &str| Volume {
        mount: mount.to_owned(),
        file_system: Some("xfs".to_owned()),
        options: Some("rw,noatime,attr2".to_owned()),
        bytes: Some(ByteSize::gib(100)),
        free: Some(ByteSize::gib(40)),
        ..Volume::default()
    };
    let db = Volume {
        databases: vec![0],
        devices: vec![lun, path("sda", "host1"), path("sdb", "host2")],
        ..volume("/mnt/db")
    };
    let log = Volume {
        logs: vec![0],
        devices: vec![Device {
            device: BlockDevice {
                name: "nvme0n1".to_owned(),
                write_cache: Some(WriteCache::WriteThrough),
                ..BlockDevice::default()
            },
            settings: DiskSettings::default(),
            is_leaf: true,
        }],
        ..volume("/mnt/log")
    };
    let mut machine = Configuration {
        volumes: vec![db, log],
        processors: Some(8),
        swap_devices: vec!["sdz".to_owned()],
        ..Configuration::default()
    };
    machine.tuning.clock_source = Some("tsc".to_owned());
    machine.tuning.huge_pages = Some("madvise".to_owned());
    machine.tuning.swappiness = Some(1);
    machine.tuning.swaps = vec![Swap {
        path: "/dev/sdz1".to_owned(),
        bytes: ByteSize::gib(4),
    }];
    machine.tuning.numa_nodes = Some(2);
    machine.tuning.zone_reclaim = Some(false);
    machine.limits.processors = Some(4.0);
    machine.limits.memory = Some(ByteSize::gib(16));
    machine
}

fn real(id: &str, edit: impl Fn(&mut Configuration), changes: &[(&str, &str)]) -> Outcome {
    let scenario = document(&changed(REAL, changes)).test(&[]).unwrap();
    let mut machine = machine();
    edit(&mut machine);
    let subject = Subject {
        what: What::Test(&scenario),
        host: Some(&machine),
    };
    find(id).unwrap().judge(&subject)
}

fn as_it_is(_: &mut Configuration) {}

/// For each rule, what keeps it and what breaks it.
fn cases() -> Vec<(&'static str, Outcome, Outcome)> {
    let mut cases = Vec::new();
    let mut on_model = |id: &'static str, text: &str, from: &str, to: &str| {
        cases.push((
            id,
            modelled(id, text, &[]),
            modelled(id, text, &[(from, to)]),
        ));
    };
    on_model(
        "log-beside-database",
        MODELLED,
        "\"/log1\" = \"log one\"",
        "\"/log1\" = \"db one\"",
    );
    on_model(
        "database-size",
        PAIR,
        "database_size = \"50 GiB\"",
        "database_size = \"101 GiB\"",
    );
    on_model(
        "headroom",
        MODELLED,
        "target_io_per_s = 200",
        "target_io_per_s = 200\nheadroom_percent = 10",
    );
    on_model(
        "free-space",
        MODELLED,
        "database_size = \"500 GiB\"",
        "database_size = \"1800 GiB\"",
    );
    on_model(
        "log-buffers",
        PAIR,
        "log_buffer = \"4608000 B\"",
        "log_buffer = \"256 KiB\"",
    );
    on_model(
        "unprotected-drives",
        MODELLED,
        "name = \"db one\"\nlevel = \"raid10\"",
        "name = \"db one\"\nlevel = \"raid0\"",
    );
    on_model(
        "copies-alike",
        MODELLED,
        "name = \"db two\"\nlevel = \"raid10\"",
        "name = \"db two\"\nlevel = \"raid5\"",
    );
    on_model("link-paths", PAIR, "paths = 2", "paths = 1");
    on_model(
        "link-carries-all",
        PAIR,
        "bandwidth = \"100 MB\"",
        "bandwidth = \"500 KB\"",
    );
    on_model(
        "standby-like-primary",
        PAIR,
        "[replication]\n",
        "[replica]\nspares = 1\n[[replica.drives]]\nmodel = \"10k-600-fc\"\ncount = 8\n[[replica.group]]\nname = \"db\"\nlevel = \"raid5\"\ndrives = 5\n[[replica.group]]\nname = \"log\"\nlevel = \"raid1\"\ndrives = 2\n[replication]\n",
    );
    on_model(
        "stripe",
        MODELLED,
        "strip = \"256 KiB\"",
        "strip = \"64 KiB\"",
    );
    on_model(
        "parity-width",
        PAIR,
        "level = \"raid5\"\ndrives = 5",
        "level = \"raid5\"\ndrives = 9",
    );
    on_model(
        "pool-reserve",
        POOL,
        "level = \"pool\"",
        "level = \"pool\"\npreserved = 0",
    );
    on_model("spares", MODELLED, "spares = 1", "spares = 0");
    on_model(
        "rebuild-priority",
        MODELLED,
        "rebuild_priority = \"low\"",
        "rebuild_priority = \"high\"",
    );
    on_model(
        "controllers",
        MODELLED,
        "count = 2\n[array.cache]",
        "count = 1\n[array.cache]",
    );
    on_model(
        "write-cache",
        MODELLED,
        "write = \"1 GiB\"",
        "write = \"0 B\"",
    );
    on_model(
        "mirrored-cache",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"256 MiB\"\nmirrored = false",
    );
    on_model(
        "cache-share",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"1 GiB\"",
    );
    on_model(
        "cache-page",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"256 MiB\"\npage = \"4 KiB\"",
    );
    on_model(
        "watermarks",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"256 MiB\"\nhigh = 95",
    );
    on_model(
        "watermark-order",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"256 MiB\"\nlow = 20",
    );
    on_model(
        "prefetch",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"256 MiB\"\nprefetch = \"0 B\"",
    );
    on_model(
        "balanced-controllers",
        POOL,
        "size = \"1 TiB\"",
        "size = \"1 TiB\"\ncontroller = 0",
    );
    on_model("fabrics", MODELLED, "fabrics = 2", "fabrics = 1");
    on_model("array-paths", MODELLED, "ports = 2", "ports = 1");
    on_model(
        "surviving-path",
        POOL,
        "target_io_per_s = 200",
        "target_io_per_s = 100000",
    );
    on_model(
        "iscsi-network",
        MODELLED,
        "iscsi_network = \"own\"",
        "iscsi_network = \"shared\"",
    );
    on_model(
        "iscsi-non-blocking",
        MODELLED,
        "iscsi_non_blocking = true",
        "iscsi_non_blocking = false",
    );
    on_model(
        "iscsi-delayed-ack",
        MODELLED,
        "iscsi_delayed_ack = false",
        "iscsi_delayed_ack = true",
    );
    on_model(
        "neighbours",
        MODELLED,
        "neighbours = false",
        "neighbours = true",
    );
    let two = |text: &str| text.replace("servers = [\"A\"]", "servers = [\"A\", \"B\"]");
    let apart = [
        ("\"/db1\" = \"db one\"", "\"/db1\" = \"db {server}\""),
        ("\"/log1\" = \"log one\"", "\"/log1\" = \"log {server}\""),
        ("\"db one\"\nlevel", "\"db A\"\nlevel"),
        ("\"log one\"\nlevel", "\"log A\"\nlevel"),
        ("\"db two\"\nlevel", "\"db B\"\nlevel"),
        ("\"log two\"\nlevel", "\"log B\"\nlevel"),
    ];
    let together = [("database_size = \"500 GiB\"", "database_size = \"50 GiB\"")];
    for id in ["copies-apart", "isolation"] {
        cases.push((
            id,
            modelled(id, &two(MODELLED), &apart),
            modelled(id, &two(MODELLED), &together),
        ));
    }
    cases.push((
        "parity-writes",
        raid5_with("read_percent = 80"),
        raid5_with("read_percent = 50"),
    ));
    let id = "database-supported";
    cases.push((
        id,
        organisation(id, &[]),
        organisation(
            id,
            &[
                ("servers = 4", "servers = 4\ndatabases = 1"),
                ("count = 4000", "count = 40000"),
            ],
        ),
    ));
    let id = "databases-on-server";
    cases.push((
        id,
        organisation(id, &[]),
        organisation(id, &[("servers = 4", "servers = 4\ndatabases = 400")]),
    ));
    let id = "restore-time";
    cases.push((
        id,
        organisation(id, &[]),
        organisation(id, &[("servers = 4", "servers = 4\ndatabases = 1")]),
    ));
    let id = "copies-left";
    cases.push((
        id,
        organisation(id, &[]),
        organisation(id, &[("failures = 1", "failures = 2")]),
    ));
    cases.push(("pool-drives", pool_of(11), pool_of(10)));
    let mut on_host = |id: &'static str, edit: &dyn Fn(&mut Configuration)| {
        cases.push((id, real(id, as_it_is, &[]), real(id, edit, &[])));
    };
    on_host("volumes-on-one-device", &|machine| {
        machine.volumes[1].devices = machine.volumes[0].devices.clone()
    });
    on_host("multipath", &|machine| {
        machine.volumes[0].devices.truncate(2);
    });
    on_host("multipath-state", &|machine| {
        machine.volumes[0].devices[2].settings.state = Some("offline".to_owned())
    });
    on_host("multipath-adapters", &|machine| {
        machine.volumes[0].devices[2].settings.adapter = Some("host1".to_owned())
    });
    on_host("alignment", &|machine| {
        machine.volumes[0].devices[0].settings.start = Some(63 * 512)
    });
    on_host("io-scheduler", &|machine| {
        machine.volumes[0].devices[1].device.scheduler = Some("bfq".to_owned())
    });
    on_host("queue-depth", &|machine| {
        machine.volumes[0].devices[1].settings.queue_depth = Some(1)
    });
    on_host("volatile-cache", &|machine| {
        machine.volumes[1].devices[0].device.write_cache = Some(WriteCache::WriteBack)
    });
    on_host("loop-device", &|machine| {
        machine.volumes[1].devices[0].device.made = Made::Loop {
            file: "/file".into(),
            direct: Some(false),
        };
    });
    on_host("file-system", &|machine| {
        machine.volumes[0].file_system = Some("btrfs".to_owned())
    });
    on_host("barriers", &|machine| {
        machine.volumes[0].options = Some("rw,noatime,nobarrier".to_owned())
    });
    on_host("data-journal", &|machine| {
        machine.volumes[0].options = Some("rw,noatime,data=journal".to_owned())
    });
    on_host("discard", &|machine| {
        machine.volumes[0].options = Some("rw,noatime,discard".to_owned())
    });
    on_host("access-times", &|machine| {
        machine.volumes[0].options = Some("rw".to_owned())
    });
    on_host("clock-source", &|machine| {
        machine.tuning.clock_source = Some("hpet".to_owned())
    });
    on_host("swap-on-tested-device", &|machine| {
        machine.swap_devices = vec!["sda".to_owned()]
    });
    on_host("swappiness", &|machine| {
        machine.tuning.swappiness = Some(60)
    });
    on_host("huge-pages", &|machine| {
        machine.tuning.huge_pages = Some("always".to_owned())
    });
    on_host("zone-reclaim", &|machine| {
        machine.tuning.zone_reclaim = Some(true)
    });
    on_host("processors", &|machine| machine.processors = Some(1));
    on_host("processor-limit", &|machine| {
        machine.limits.processors = Some(0.5)
    });
    on_host("memory-limit", &|machine| {
        machine.limits.memory = Some(ByteSize::mib(64))
    });
    cases
}

/// A pool that no scenario can have is judged all the same.
fn pool_of(drives: usize) -> Outcome {
    let text = "[simulate]\nduration = \"1s\"\n[array]\n[[array.drives]]\nmodel = \"savvio-10k6-900-sas\"\ncount = 11\n\
                [[array.group]]\nlevel = \"pool\"\ndrives = 11\n[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\noutstanding = 1\n";
    let mut scenario = document(text).load(&[]).unwrap();
    if let SystemDesign::One(design) = &mut scenario.simulation.design {
        design.groups[0].drives.truncate(drives);
    }
    let subject = Subject {
        what: What::Load(&scenario),
        host: None,
    };
    find("pool-drives").unwrap().judge(&subject)
}

/// Raw load on RAID 5.
fn raid5_with(share: &str) -> Outcome {
    let text = format!(
        "[simulate]\nduration = \"1s\"\n[array]\n[[array.drives]]\nmodel = \"10k-600-fc\"\ncount = 5\n\
         [[array.group]]\nlevel = \"raid5\"\ndrives = 5\n[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\noutstanding = 1\n{share}\n"
    );
    let scenario = document(&text).load(&[]).unwrap();
    let subject = Subject {
        what: What::Load(&scenario),
        host: None,
    };
    find("parity-writes").unwrap().judge(&subject)
}

#[test]
fn each_rule_is_kept_by_one_subject_and_broken_by_another() {
    let cases = cases();
    for (id, good, bad) in &cases {
        assert!(matches!(good, Outcome::Kept(_)), "{id}: {good:?}");
        assert!(matches!(bad, Outcome::Broken(_)), "{id}: {bad:?}");
    }
    let tested: BTreeSet<&str> = cases.iter().map(|(id, ..)| *id).collect();
    let untested: Vec<&str> = all()
        .map(|rule| rule.id)
        .filter(|id| !tested.contains(id))
        .collect();
    assert_eq!(untested, [""; 0]);
    assert_eq!(tested.len(), cases.len());
}

#[test]
fn what_cannot_be_seen_is_not_judged_and_the_reason_is_said() {
    let why = |outcome: Outcome| match outcome {
        Outcome::NotJudged(why) | Outcome::DoesNotApply(why) => why,
        other => panic!("{other:?}"),
    };
    let said = why(modelled("fabrics", PAIR, &[]));
    assert_eq!(said, "no program can see it; [site] can say it");
    assert_eq!(
        why(modelled("io-scheduler", MODELLED, &[])),
        "modelled storage has no host"
    );
    assert_eq!(
        why(real("stripe", as_it_is, &[])),
        "an array does not show its settings to hosts; describe it in [array]"
    );
    assert_eq!(
        why(modelled("log-buffers", MODELLED, &[])),
        "it is for Exchange 2003 only"
    );
    assert_eq!(
        why(modelled("stripe", PAIR, &[])),
        "it is for Exchange 2013 to Exchange 2019"
    );
    let blind = |machine: &mut Configuration| machine.volumes[0].devices.clear();
    let both = |machine: &mut Configuration| {
        blind(machine);
        machine.volumes[1].devices.clear();
    };
    assert_eq!(
        why(real("io-scheduler", both, &[])),
        "the kernel names no device below these volumes"
    );
}

#[test]
fn three_copies_may_have_logs_beside_databases() {
    let change = |copies: &str| {
        modelled(
            "log-beside-database",
            MODELLED,
            &[
                ("\"/log1\" = \"log one\"", "\"/log1\" = \"db one\""),
                ("copies = 2", copies),
            ],
        )
    };
    assert!(matches!(change("copies = 2"), Outcome::Broken(_)));
    assert!(matches!(change("copies = 3"), Outcome::Kept(_)));
}

#[test]
fn protected_power_protects_a_write_cache() {
    let edit = |machine: &mut Configuration| {
        machine.volumes[1].devices[0].device.write_cache = Some(WriteCache::WriteBack)
    };
    let site = [(
        "[[instance]]",
        "[site]\nprotected_caches = true\n[[instance]]",
    )];
    assert!(matches!(
        real("volatile-cache", edit, &site),
        Outcome::Kept(_)
    ));
}

#[test]
fn ids_are_unique_and_every_rule_is_whole() {
    let mut ids = BTreeSet::new();
    for rule in all() {
        assert!(ids.insert(rule.id), "{} is there twice", rule.id);
        for text in [rule.title, rule.reason, rule.source, rule.remedy] {
            assert!(!text.is_empty(), "{}", rule.id);
        }
        assert!(rule.reason.ends_with('.'), "{}", rule.id);
        assert!(rule.versions.0 <= rule.versions.1, "{}", rule.id);
    }
    assert!(ids.len() > 50, "{}", ids.len());
}

/// `docs/check.md` has the table of the rules as they are.
#[test]
fn the_page_lists_every_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, listed) = page
        .split_once("<!-- rules -->\n")
        .expect("the page has the mark");
    let wanted = crate::words::page();
    assert!(
        listed == wanted,
        "docs/check.md below its mark is not up to date; it should be:\n{wanted}"
    );
}
