//! What rules look at: scenarios, a machine and an organisation as they should be, with changes.

use std::path::Path;

use brunt_array::SystemDesign;
use brunt_host::configuration::{Configuration, Device, Volume};
use brunt_scenario::Document;
use brunt_units::ByteSize;
use brunt_world_real::facts::{
    BlockDevice, DiskSettings, Made, Redundancy, Swap, Transport, WriteCache,
};

use crate::judge::Outcome;
use crate::rules::find;
use crate::subject::{Subject, What};

/// Two servers on two arrays, as they should be.
pub(super) const MODELLED: &str = r#"
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
pub(super) const PAIR: &str = r#"
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

pub(super) const POOL: &str = r#"
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

pub(super) const REAL: &str = r#"
[test]
duration = "2h"
sessions = 8
target_io_per_s = 200
[[instance]]
log = "/mnt/log/1"
databases = ["/mnt/db/1.edb"]
database_size = "50 GiB"
"#;

pub(super) const ORG: &str = r#"
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

pub(super) fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

pub(super) fn document(text: &str) -> Document {
    Document::new("t.toml", text, Path::new("/")).unwrap()
}

/// What the rule `id` says of `what`, without a machine.
fn judged(id: &str, what: What<'_>) -> Outcome {
    find(id).unwrap().judge(&Subject { what, host: None })
}

pub(super) fn modelled(id: &str, text: &str, changes: &[(&str, &str)]) -> Outcome {
    let text = changed(text, changes);
    let scenario =
        document(&text).modelled_test(&[]).unwrap_or_else(|refusal| panic!("{id}: {refusal}"));
    judged(id, What::Modelled(&scenario))
}

pub(super) fn organisation(id: &str, changes: &[(&str, &str)]) -> Outcome {
    let text = changed(ORG, changes);
    let org = document(&text).organisation(&[], &brunt_sizing::keys()).unwrap();
    let sizing = brunt_sizing::size(&org);
    judged(id, What::Organisation(&sizing))
}

/// A LUN with two paths for databases, and a drive for logs.
pub(super) fn machine() -> Configuration {
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
            made: Made::Mapped { name: "lun".to_owned(), by: Some("mpath".to_owned()) },
            ..BlockDevice::default()
        },
        settings: DiskSettings { start: Some(1 << 20), ..DiskSettings::default() },
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
        redundancy: vec![Redundancy { name: "md0".to_owned(), ..Redundancy::default() }],
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
        memory: Some(ByteSize::gib(64)),
        swap_devices: vec!["sdz".to_owned()],
        ..Configuration::default()
    };
    machine.tuning.clock_source = Some("tsc".to_owned());
    machine.tuning.huge_pages = Some("madvise".to_owned());
    machine.tuning.swappiness = Some(1);
    machine.tuning.swaps = vec![Swap { path: "/dev/sdz1".to_owned(), bytes: ByteSize::gib(4) }];
    machine.tuning.numa_nodes = Some(2);
    machine.tuning.zone_reclaim = Some(false);
    machine.limits.processors = Some(4.0);
    machine.limits.memory = Some(ByteSize::gib(16));
    machine
}

pub(super) fn real(
    id: &str,
    edit: impl Fn(&mut Configuration),
    changes: &[(&str, &str)],
) -> Outcome {
    let scenario = document(&changed(REAL, changes)).test(&[]).unwrap();
    let mut machine = machine();
    edit(&mut machine);
    let subject = Subject { what: What::Test(&scenario), host: Some(&machine) };
    find(id).unwrap().judge(&subject)
}

pub(super) fn as_it_is(_: &mut Configuration) {}

/// A pool that no scenario can have is judged all the same.
pub(super) fn pool_of(drives: usize) -> Outcome {
    let text = "[simulate]\nduration = \"1s\"\n[array]\n[[array.drives]]\nmodel = \"savvio-10k6-900-sas\"\ncount = 11\n\
                [[array.group]]\nlevel = \"pool\"\ndrives = 11\n[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\noutstanding = 1\n";
    let mut scenario = document(text).load(&[]).unwrap();
    if let SystemDesign::One(design) = &mut scenario.simulation.design {
        design.groups[0].drives.truncate(drives);
    }
    judged("pool-drives", What::Load(&scenario))
}

/// Raw load on RAID 5.
pub(super) fn raid5_with(share: &str) -> Outcome {
    let text = format!(
        "[simulate]\nduration = \"1s\"\n[array]\n[[array.drives]]\nmodel = \"10k-600-fc\"\ncount = 5\n\
         [[array.group]]\nlevel = \"raid5\"\ndrives = 5\n[[load]]\nkind = \"random\"\nsize = \"8 KiB\"\noutstanding = 1\n{share}\n"
    );
    let scenario = document(&text).load(&[]).unwrap();
    judged("parity-writes", What::Load(&scenario))
}
