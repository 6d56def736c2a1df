//! Paths and networks between servers and storage.

use brunt_host::configuration::Device;
use brunt_world_real::facts::{Made, Transport, namespace_of_path};

use super::copies::load;
use super::{ALL, Gap, Group, Item, Measured, Rule, Severity, Unit, Wanted, float};
use crate::subject::{Subject, What, known};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "fabrics",
        title: "fabrics",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: fabrics,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "A mistake in zoning or a failed switch then costs half of the paths, not all.",
        source: "EMC CX4-960, 2010; HP Continuous Access EVA, 2005",
        remedy: "a second switch that is not joined to the first; say `fabrics = 2` in [site]",
        windows: "",
    },
    Rule {
        id: "array-paths",
        title: "ports of an array",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: ports,
        wanted: Wanted::AtLeast(4.0, Unit::Count),
        reason: "Two ports on each of two controllers: each controller is reached by both fabrics.",
        source: "EMC CX4-960, 2010; Dell PowerVault MD3820f, 2015",
        remedy: "`ports = 2` in [array.front] and `count = 2` in [array.controller]",
        windows: "",
    },
    Rule {
        id: "surviving-path",
        title: "half of the ports carry all",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: port_load,
        wanted: Wanted::AtMost(80.0, Unit::Percent),
        reason: "When a fabric or a controller is lost, the other half has the whole load.",
        source: "HP Continuous Access EVA, 2005: each path must carry both loads",
        remedy: "more or faster ports",
        windows: "",
    },
    Rule {
        id: "multipath",
        title: "paths of a LUN",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Error,
        measure: paths,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "A LUN with one path is lost with its cable.",
        source: "EMC CX3-20, 2007; EMC CX4-960, 2010; Dell PowerVault MD3820f, 2015",
        remedy: "a second path; `multipath -ll` shows those of dm-multipath, `nvme list-subsys` those of NVMe",
        windows: "MPIO with the array's DSM",
    },
    Rule {
        id: "multipath-state",
        title: "state of paths",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Error,
        measure: path_states,
        wanted: Wanted::OneOf(&["running", "live", "non-optimized"]),
        reason: "A path that is down or inaccessible is not there when the other one fails, and the test is slower than the system would be.",
        source: "kernel documentation: state of a SCSI device; of an NVMe controller; NVMe base specification: asymmetric namespace access",
        remedy: "`multipath -ll` or `nvme list-subsys`, then cable, zone or port",
        windows: "MPIO: state of paths",
    },
    Rule {
        id: "multipath-adapters",
        title: "adapters that reach a LUN",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: adapters,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "Paths through one adapter are lost together.",
        source: "EMC CX3-20, 2007: two adapters in each host",
        remedy: "paths through a second adapter",
        windows: "MPIO over two host bus adapters",
    },
    Rule {
        id: "iscsi-network",
        title: "network of iSCSI",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: iscsi_network,
        wanted: Wanted::OneOf(&["own"]),
        reason: "Other traffic makes storage wait, and a broadcast storm stops it.",
        source: "Dell EqualLogic PS5000XV, 2008; EMC CX3-20, 2007: own VLAN",
        remedy: "a VLAN or switches of its own; say `iscsi_network = \"own\"` in [site]",
        windows: "",
    },
    Rule {
        id: "iscsi-non-blocking",
        title: "switches of iSCSI",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: iscsi_blocking,
        wanted: Wanted::OneOf(&["not blocking"]),
        reason: "A switch that cannot forward at the rate of all its ports drops packets when all servers are busy.",
        source: "Dell EqualLogic PS5000XV, 2008: non-blocking Gigabit Ethernet",
        remedy: "another switch; say `iscsi_non_blocking = true` in [site]",
        windows: "",
    },
    Rule {
        id: "iscsi-delayed-ack",
        title: "delayed acknowledgements of iSCSI",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: iscsi_ack,
        wanted: Wanted::OneOf(&["off"]),
        reason: "A read that waits for an acknowledgement waits 40 ms on Linux and 200 ms on Windows.",
        source: "EMC CX3-20, 2007 and Dell EqualLogic PS5000XV, 2008: TcpAckFrequency = 1",
        remedy: "`ip route change ... quickack 1` for the storage network; say `iscsi_delayed_ack = false` in [site]",
        windows: "registry: TcpAckFrequency = 1",
    },
    Rule {
        id: "neighbours",
        title: "other systems on the same drives",
        group: Group::Network,
        versions: ALL,
        severity: Severity::Warning,
        measure: neighbours,
        wanted: Wanted::OneOf(&["none"]),
        reason: "A backup of a file server in the busiest hour is not in any test.",
        source: "Dell EqualLogic PS5000XV, 2008; EMC CX4-960, 2010: separate Exchange from other heavy loads",
        remedy: "drives of its own; say `neighbours = false` in [site]",
        windows: "",
    },
];

const NO_FABRIC: &str = "no device is reached through iSCSI, Fibre Channel or NVMe over fabrics";

fn fabrics(subject: &Subject<'_>) -> Measured {
    subject.test()?;
    let fabrics = Subject::said(subject.site().fabrics)?;
    Ok(vec![Item::new("the site", fabrics)])
}

fn ports(subject: &Subject<'_>) -> Measured {
    let arrays = subject.arrays()?.into_iter();
    let items =
        arrays.map(|(name, array)| Item::new(name, array.front.ports * array.controller.count));
    Ok(items.collect())
}

fn port_load(subject: &Subject<'_>) -> Measured {
    let arrays = subject.arrays()?;
    let (read, written) = load(subject)?;
    let [(name, array)] = arrays.as_slice() else {
        return Err(Gap::unknown("several arrays share the load, and how is not known"));
    };
    let (rate, ports) = (array.front.port_bytes_per_s, array.front.ports * array.controller.count);
    if rate == 0 {
        return Err(Gap::unknown(
            "ports have no limit of rate: give a `transport` in [array.front]",
        ));
    }
    if ports < 2 {
        return Err("there is one port; `array-paths` says so".into());
    }
    let left = float(rate) * f64::from(ports.div_euclid(2));
    let share = (read + written) / left * 100.0;
    Ok(vec![Item::new(*name, share)])
}

/// Paths of what multipath made, or of a LUN that it has not: the lowest devices of its volume.
/// Several LUNs of SCSI below one volume are not told apart, and have as many each as all of them
/// divided by their number. A namespace of NVMe has the paths of its subsystem.
fn paths(subject: &Subject<'_>) -> Measured {
    let mut items = Vec::new();
    for volume in subject.volumes()? {
        let has_fabric = |device: &&Device| device.is_leaf && device.settings.transport.is_some();
        let own = volume.devices.iter();
        let paths: Vec<&Device> = own.clone().filter(has_fabric).collect();
        let mut others = paths.clone();
        for namespace in own.clone().filter(|device| is_namespace(device)) {
            let is_own = |path: &&Device| {
                let of = namespace_of_path(&path.device.name);
                of.as_ref() == Some(&namespace.device.name)
            };
            let count = paths.iter().copied().filter(|path| is_own(path)).count();
            others.retain(|path| !is_own(path));
            // A drive in this machine has no fabric.
            if count > 0 {
                items.push(Item::new(&namespace.device.name, count));
            }
        }
        let luns = own.filter(|device| is_multipath(&device.device.made));
        let (luns, leaves) = (luns.count() as u64, others.len() as u64);
        match (luns, leaves) {
            (_, 0) => {}
            // Without multipath each of them is a LUN with one path.
            (0, _) => items.push(Item::new(&volume.mount, 1.0)),
            (luns, leaves) => items.push(Item::new(&volume.mount, float(leaves) / float(luns))),
        }
    }
    known(items.into_iter(), NO_FABRIC)
}

fn is_namespace(device: &Device) -> bool {
    matches!(device.device.made, Made::Multipath { .. })
}

fn is_multipath(made: &Made) -> bool {
    matches!(made, Made::Mapped { by: Some(by), .. } if by == "mpath")
}

fn path_states(subject: &Subject<'_>) -> Measured {
    let devices = subject.devices()?.into_iter();
    known(
        devices.filter_map(|device| {
            device.settings.transport?;
            Some(Item::new(&device.device.name, device.settings.state.as_deref()?))
        }),
        NO_FABRIC,
    )
}

fn adapters(subject: &Subject<'_>) -> Measured {
    let devices = subject.devices()?;
    let mut adapters: Vec<&str> = devices
        .iter()
        .filter(|device| device.settings.transport.is_some())
        .filter_map(|device| device.settings.adapter.as_deref())
        .collect();
    adapters.sort_unstable();
    adapters.dedup();
    match adapters.is_empty() {
        true => Err(NO_FABRIC.into()),
        false => Ok(vec![Item::new("all LUNs", adapters.len())]),
    }
}

/// Why iSCSI need not be asked about: nothing here uses it.
fn no_iscsi(subject: &Subject<'_>) -> Result<(), Gap> {
    subject.test()?;
    let What::Test(_) = subject.what else {
        return Ok(());
    };
    let Ok(devices) = subject.devices() else {
        return Ok(());
    };
    let is_iscsi = devices.iter().any(|device| device.settings.transport == Some(Transport::Iscsi));
    match is_iscsi || subject.site().has_own_network.is_some() {
        true => Ok(()),
        false => Err("no device is reached through iSCSI".into()),
    }
}

fn iscsi_network(subject: &Subject<'_>) -> Measured {
    no_iscsi(subject)?;
    let own = Subject::said(subject.site().has_own_network)?;
    Ok(vec![Item::new("the site", if own { "own" } else { "shared" })])
}

fn iscsi_blocking(subject: &Subject<'_>) -> Measured {
    no_iscsi(subject)?;
    let free = Subject::said(subject.site().is_non_blocking)?;
    Ok(vec![Item::new("the site", if free { "not blocking" } else { "blocking" })])
}

fn iscsi_ack(subject: &Subject<'_>) -> Measured {
    no_iscsi(subject)?;
    let delayed = Subject::said(subject.site().has_delayed_ack)?;
    Ok(vec![Item::new("the site", if delayed { "on" } else { "off" })])
}

fn neighbours(subject: &Subject<'_>) -> Measured {
    subject.test()?;
    let others = Subject::said(subject.site().has_neighbours)?;
    Ok(vec![Item::new("the site", if others { "others" } else { "none" })])
}
