//! What all hosts must agree on before one of them writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fate::Fate;

/// What an agent has found on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The host's own name.
    pub host: String,
    /// Which boot of which machine it is.
    pub boot: String,
    /// CRC-32 of the scenario as it was read there.
    pub scenario: u32,
    /// What the test would write to.
    pub devices: Vec<Device>,
    /// Its wall clock, in nanoseconds since 1970; only for advice.
    pub unix_ns: u64,
    /// What the user should know before anything begins.
    pub warnings: Vec<String>,
}

/// A device under a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Device {
    /// What names it on every host: its WWID, or the UUID of its file system.
    pub id: String,
    /// A folder on it.
    pub folder: String,
}

/// The digest of a scenario.
pub(crate) fn digest(scenario: &str) -> u32 {
    crc32fast::hash(scenario.as_bytes())
}

/// Why hosts may not begin together: their numbers, and what is wrong.
pub(crate) fn conflicts(hosts: &[(&str, &Facts)], same_machine: bool) -> Vec<(usize, Fate)> {
    let mut found = Vec::new();
    let mut boots: BTreeMap<&str, &str> = BTreeMap::new();
    let mut devices: BTreeMap<&str, &str> = BTreeMap::new();
    for (number, (name, facts)) in hosts.iter().enumerate() {
        let other = boots.insert(&facts.boot, name);
        if let Some(other) = other.filter(|_| !same_machine) {
            found.push((number, Fate::SameMachine { other: other.to_owned() }));
        }
        // One server may have several folders on a device. On one machine all share its disks.
        let own: BTreeMap<&str, &str> = facts
            .devices
            .iter()
            .map(|device| (device.id.as_str(), device.folder.as_str()))
            .collect();
        for (device, folder) in own {
            let other = devices.insert(device, name);
            let is_here = same_machine && hosts.iter().all(|(_, host)| host.boot == facts.boot);
            if let Some(other) = other.filter(|_| !is_here) {
                found.push((
                    number,
                    Fate::SameDevice {
                        other: other.to_owned(),
                        device: device.to_owned(),
                        folder: folder.to_owned(),
                    },
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(boot: &str, devices: &[&str]) -> Facts {
        let device = |id: &&str| Device { id: (*id).to_owned(), folder: format!("/mnt/{id}") };
        Facts {
            boot: boot.to_owned(),
            devices: devices.iter().map(device).collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn no_machine_and_no_device_is_there_twice() {
        let [a, b, c] = [facts("1", &["x", "x", "y"]), facts("2", &["z"]), facts("1", &["q"])];
        assert_eq!(conflicts(&[("A", &a), ("B", &b)], false), []);
        let same = (1, Fate::SameMachine { other: "A".to_owned() });
        assert_eq!(conflicts(&[("A", &a), ("C", &c)], false), [same]);
        assert_eq!(conflicts(&[("A", &a), ("C", &c)], true), []);
        let d = facts("3", &["y"]);
        let lun = Fate::SameDevice {
            other: "A".to_owned(),
            device: "y".to_owned(),
            folder: "/mnt/y".to_owned(),
        };
        assert_eq!(conflicts(&[("A", &a), ("D", &d)], false), [(1, lun.clone())]);
        assert_eq!(conflicts(&[("A", &a), ("D", &d)], true), [(1, lun)], "two machines, one LUN");
        let e = facts("1", &["y"]);
        assert_eq!(conflicts(&[("A", &a), ("E", &e)], true), [], "a try on one disk");
    }
}
