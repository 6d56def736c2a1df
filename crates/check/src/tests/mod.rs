//! Every rule has a subject that keeps it and one that breaks it: the same one, but for what the
//! rule looks at.

mod subjects;

use std::collections::BTreeSet;
use std::path::Path;

use brunt_host::configuration::Configuration;
use brunt_units::ByteSize;
use brunt_world_real::facts::{IoLimit, Made, Transport, WriteCache};

use self::subjects::*;
use crate::judge::Outcome;
use crate::rules::all;
use crate::subject::{Subject, What};

/// For each rule, what keeps it and what breaks it.
fn cases() -> Vec<(&'static str, Outcome, Outcome)> {
    let mut cases = Vec::new();
    let mut on_model = |id: &'static str, text: &str, from: &str, to: &str| {
        cases.push((id, modelled(id, text, &[]), modelled(id, text, &[(from, to)])));
    };
    on_model("log-beside-database", MODELLED, "\"/log1\" = \"log one\"", "\"/log1\" = \"db one\"");
    on_model("database-size", PAIR, "database_size = \"50 GiB\"", "database_size = \"101 GiB\"");
    on_model(
        "headroom",
        MODELLED,
        "target_io_per_s = 200",
        "target_io_per_s = 200\nheadroom_percent = 10",
    );
    on_model("free-space", MODELLED, "database_size = \"500 GiB\"", "database_size = \"1800 GiB\"");
    on_model("log-buffers", PAIR, "log_buffer = \"4608000 B\"", "log_buffer = \"256 KiB\"");
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
    on_model("link-carries-all", PAIR, "bandwidth = \"100 MB\"", "bandwidth = \"500 KB\"");
    on_model(
        "standby-like-primary",
        PAIR,
        "[replication]\n",
        "[replica]\nspares = 1\n[[replica.drives]]\nmodel = \"10k-600-fc\"\ncount = 8\n[[replica.group]]\nname = \"db\"\nlevel = \"raid5\"\ndrives = 5\n[[replica.group]]\nname = \"log\"\nlevel = \"raid1\"\ndrives = 2\n[replication]\n",
    );
    on_model("stripe", MODELLED, "strip = \"256 KiB\"", "strip = \"64 KiB\"");
    on_model(
        "parity-width",
        PAIR,
        "level = \"raid5\"\ndrives = 5",
        "level = \"raid5\"\ndrives = 9",
    );
    on_model("pool-reserve", POOL, "level = \"pool\"", "level = \"pool\"\npreserved = 0");
    on_model("spares", MODELLED, "spares = 1", "spares = 0");
    on_model(
        "rebuild-priority",
        MODELLED,
        "rebuild_priority = \"low\"",
        "rebuild_priority = \"high\"",
    );
    on_model("controllers", MODELLED, "count = 2\n[array.cache]", "count = 1\n[array.cache]");
    on_model("write-cache", MODELLED, "write = \"1 GiB\"", "write = \"0 B\"");
    on_model(
        "mirrored-cache",
        MODELLED,
        "read = \"256 MiB\"",
        "read = \"256 MiB\"\nmirrored = false",
    );
    on_model("cache-share", MODELLED, "read = \"256 MiB\"", "read = \"1 GiB\"");
    on_model("cache-page", MODELLED, "read = \"256 MiB\"", "read = \"256 MiB\"\npage = \"4 KiB\"");
    on_model("watermarks", MODELLED, "read = \"256 MiB\"", "read = \"256 MiB\"\nhigh = 95");
    on_model("watermark-order", MODELLED, "read = \"256 MiB\"", "read = \"256 MiB\"\nlow = 20");
    on_model("prefetch", MODELLED, "read = \"256 MiB\"", "read = \"256 MiB\"\nprefetch = \"0 B\"");
    on_model("balanced-controllers", POOL, "size = \"1 TiB\"", "size = \"1 TiB\"\ncontroller = 0");
    on_model("fabrics", MODELLED, "fabrics = 2", "fabrics = 1");
    on_model("array-paths", MODELLED, "ports = 2", "ports = 1");
    on_model("surviving-path", POOL, "target_io_per_s = 200", "target_io_per_s = 100000");
    on_model("iscsi-network", MODELLED, "iscsi_network = \"own\"", "iscsi_network = \"shared\"");
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
    on_model("neighbours", MODELLED, "neighbours = false", "neighbours = true");
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
    cases.push(("parity-writes", raid5_with("read_percent = 80"), raid5_with("read_percent = 50")));
    let id = "database-supported";
    cases.push((
        id,
        organisation(id, &[]),
        organisation(
            id,
            &[("servers = 4", "servers = 4\ndatabases = 1"), ("count = 4000", "count = 40000")],
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
    cases.push((id, organisation(id, &[]), organisation(id, &[("failures = 1", "failures = 2")])));
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
    on_host("alignment", &|machine| machine.volumes[0].devices[0].settings.start = Some(63 * 512));
    on_host("io-scheduler", &|machine| {
        machine.volumes[0].devices[1].device.scheduler = Some("bfq".to_owned())
    });
    on_host("queue-depth", &|machine| machine.volumes[0].devices[1].settings.queue_depth = Some(1));
    on_host("volatile-cache", &|machine| {
        machine.volumes[1].devices[0].device.write_cache = Some(WriteCache::WriteBack)
    });
    on_host("loop-device", &|machine| {
        machine.volumes[1].devices[0].device.made =
            Made::Loop { file: "/file".into(), direct: Some(false) };
    });
    on_host("file-system", &|machine| machine.volumes[0].file_system = Some("btrfs".to_owned()));
    on_host("direct-writes", &|machine| {
        machine.volumes[0].cached_writes = vec!["/mnt/db".to_owned()]
    });
    on_host("raid-whole", &|machine| {
        machine.volumes[1].redundancy[0].lacks = Some("resync, 5 % done".to_owned())
    });
    on_host("raid-at-rest", &|machine| {
        machine.volumes[1].redundancy[0].busy = Some("check, 5 % done".to_owned())
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
    on_host("access-times", &|machine| machine.volumes[0].options = Some("rw".to_owned()));
    on_host("clock-source", &|machine| machine.tuning.clock_source = Some("hpet".to_owned()));
    on_host("swap-on-tested-device", &|machine| machine.swap_devices = vec!["sda".to_owned()]);
    on_host("swappiness", &|machine| machine.tuning.swappiness = Some(60));
    on_host("huge-pages", &|machine| machine.tuning.huge_pages = Some("always".to_owned()));
    on_host("zone-reclaim", &|machine| machine.tuning.zone_reclaim = Some(true));
    on_host("processors", &|machine| machine.processors = Some(1));
    on_host("processor-limit", &|machine| machine.limits.processors = Some(0.5));
    on_host("memory-limit", &|machine| machine.limits.memory = Some(ByteSize::mib(64)));
    on_host("io-limit", &|machine| {
        machine.io_limits = vec![IoLimit {
            device: "sda".to_owned(),
            limit: "rbps=1048576".to_owned(),
            group: "/sys/fs/cgroup/batch".into(),
        }]
    });
    cases
}

#[test]
fn each_rule_is_kept_by_one_subject_and_broken_by_another() {
    let cases = cases();
    for (id, good, bad) in &cases {
        assert!(matches!(good, Outcome::Kept(_)), "{id}: {good:?}");
        assert!(matches!(bad, Outcome::Broken(_)), "{id}: {bad:?}");
    }
    let tested: BTreeSet<&str> = cases.iter().map(|(id, ..)| *id).collect();
    let untested: Vec<&str> = all().map(|rule| rule.id).filter(|id| !tested.contains(id)).collect();
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
    assert_eq!(why(modelled("io-scheduler", MODELLED, &[])), "modelled storage has no host");
    assert_eq!(
        why(real("stripe", as_it_is, &[])),
        "an array does not show its settings to hosts; describe it in [array]"
    );
    assert_eq!(why(modelled("log-buffers", MODELLED, &[])), "it is for Exchange 2003 only");
    assert_eq!(why(modelled("stripe", PAIR, &[])), "it is for Exchange 2013 to Exchange 2019");
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
fn random_writes_are_those_of_databases() {
    let of = |changes: &[(&str, &str)]| modelled("parity-writes", MODELLED, changes);
    let log = "name = \"log one\"\nlevel = \"raid1\"\ndrives = 2\n";
    let backups = "[[array.group]]\nname = \"backups\"\nlevel = \"raid5\"\ndrives = 5\n";
    let beside = format!("{log}{backups}");
    let with_backups = [("count = 7", "count = 12"), (log, beside.as_str())];
    assert!(matches!(of(&with_backups), Outcome::DoesNotApply(_)));
    let databases = [("level = \"raid10\"", "level = \"raid5\"")];
    assert!(matches!(of(&databases), Outcome::Broken(_)));
}

#[test]
fn memory_of_the_machine_and_of_its_group_has_to_hold_the_caches() {
    let of = |machine: u64, group: Option<u64>| {
        let edit = |found: &mut Configuration| {
            found.memory = Some(ByteSize::mib(machine));
            found.limits.memory = group.map(ByteSize::mib);
        };
        real("memory-limit", edit, &[])
    };
    assert!(matches!(of(384, None), Outcome::Kept(_)));
    assert!(matches!(of(383, None), Outcome::Broken(_)));
    assert!(matches!(of(384, Some(383)), Outcome::Broken(_)));
}

#[test]
fn errors_are_asked_before_a_run_and_other_findings_are_not() {
    let said = |edit: &dyn Fn(&mut Configuration)| {
        let scenario = subjects::document(subjects::REAL).test(&[]).unwrap();
        let mut machine = subjects::machine();
        edit(&mut machine);
        crate::words::errors(&Subject { what: What::Test(&scenario), host: Some(&machine) })
    };
    assert_eq!(said(&as_it_is), [""; 0]);
    let bfq = |machine: &mut Configuration| {
        machine.volumes[0].devices[1].device.scheduler = Some("bfq".to_owned());
    };
    assert_eq!(said(&bfq), [""; 0], "a warning");
    let offline = |machine: &mut Configuration| {
        machine.volumes[0].devices[2].settings.state = Some("offline".to_owned());
    };
    assert_eq!(
        said(&offline),
        [
            "state of paths, sdb is offline: `multipath -ll` or `nvme list-subsys`, then cable, zone or port"
        ]
    );
    let alone = |machine: &mut Configuration| machine.volumes[0].devices.truncate(2);
    assert_eq!(
        said(&alone),
        [
            "paths of a LUN, /mnt/db has 1, wanted at least 2: a second path; `multipath -ll` shows those of dm-multipath, `nvme list-subsys` those of NVMe"
        ]
    );
    let degraded = |machine: &mut Configuration| {
        let raid = &mut machine.volumes[1].redundancy[0];
        raid.lacks = Some("degraded, 1 of 3 members missing".to_owned());
    };
    let said = said(&degraded);
    let wanted = "members of a RAID, md0 is degraded, 1 of 3 members missing: replace";
    assert!(said.len() == 1 && said[0].starts_with(wanted), "{said:?}");
}

/// A namespace of NVMe with these paths, in place of the LUN.
fn nvme(paths: &[(&str, Option<Transport>)]) -> impl Fn(&mut Configuration) {
    move |machine: &mut Configuration| {
        let devices = &mut machine.volumes[0].devices;
        let (mut head, path) = (devices[0].clone(), devices[1].clone());
        head.device.name = "nvme2n1".to_owned();
        head.device.made = Made::Multipath { name: "nvme-subsys2".to_owned() };
        *devices = vec![head];
        devices.extend(paths.iter().map(|(name, transport)| {
            let mut path = path.clone();
            path.device.name = (*name).to_owned();
            path.settings.transport = *transport;
            path.settings.state = Some("live".to_owned());
            path
        }));
    }
}

#[test]
fn paths_of_nvme_are_those_of_its_subsystem() {
    let fabric = Some(Transport::NvmeFabrics);
    let both = [("nvme2c2n1", fabric), ("nvme2c3n1", fabric)];
    for rule in ["multipath", "multipath-state"] {
        assert!(matches!(real(rule, nvme(&both), &[]), Outcome::Kept(_)));
    }
    let one = real("multipath", nvme(&both[..1]), &[]);
    assert!(matches!(&one, Outcome::Broken(items) if items[0].what == "nvme2n1"), "{one:?}");
    let others = [("nvme2c2n1", fabric), ("nvme3c3n1", fabric)];
    let others = real("multipath", nvme(&others), &[]);
    assert!(matches!(others, Outcome::Broken(_)), "{others:?}");
    let drive = real("multipath", nvme(&[("nvme2c2n1", None)]), &[]);
    assert!(matches!(drive, Outcome::DoesNotApply(_)), "{drive:?}");
    let lost = |machine: &mut Configuration| {
        nvme(&both)(machine);
        machine.volumes[0].devices[2].settings.state = Some("connecting".to_owned());
    };
    let lost = real("multipath-state", lost, &[]);
    assert!(matches!(lost, Outcome::Broken(_)), "{lost:?}");
    let says = |state: &str| {
        let said = |machine: &mut Configuration| {
            nvme(&both)(machine);
            machine.volumes[0].devices[2].settings.state = Some(state.to_owned());
        };
        real("multipath-state", said, &[])
    };
    assert!(matches!(says("non-optimized"), Outcome::Kept(_)));
    let inaccessible = says("inaccessible");
    assert!(
        matches!(&inaccessible, Outcome::Broken(items) if items[0].what == "nvme2c3n1"),
        "{inaccessible:?}"
    );
}

#[test]
fn three_copies_may_have_logs_beside_databases() {
    let change = |copies: &str| {
        modelled(
            "log-beside-database",
            MODELLED,
            &[("\"/log1\" = \"log one\"", "\"/log1\" = \"db one\""), ("copies = 2", copies)],
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
    let site = [("[[instance]]", "[site]\nprotected_caches = true\n[[instance]]")];
    assert!(matches!(real("volatile-cache", edit, &site), Outcome::Kept(_)));
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
    let (_, listed) = page.split_once("<!-- rules -->\n").expect("the page has the mark");
    let wanted = crate::words::page();
    assert!(
        listed == wanted,
        "docs/check.md below its mark is not up to date; it should be:\n{wanted}"
    );
}
