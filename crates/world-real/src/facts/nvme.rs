//! NVMe namespaces with several paths, which the kernel itself makes one of (native multipath).
//!
//! ```text
//!   nvme-subsys2
//!     nvme2n1      the namespace: what is mounted; before Linux 6.4 it counts no I/O
//!     nvme2        a controller: one connection to the array
//!       nvme2c2n1    its path to the namespace, hidden from /dev; it counts
//!     nvme3
//!       nvme2c3n1
//! ```
//!
//! Numbers are those of the subsystem, the controller and the namespace. A drive in this machine
//! may be such a namespace as well, with one path. Nothing of this is in a `slaves` folder. Source:
//! `drivers/nvme/host/multipath.c` of Linux, and what its `/sys` shows.

use std::fs;
use std::path::{Path, PathBuf};

use super::text;

/// What `nvme-subsys2` begins with.
const SUBSYSTEM: &str = "nvme-subsys";

/// The namespace that the path `name` leads to: `nvme2n1` for `nvme2c3n1`.
pub fn namespace_of_path(name: &str) -> Option<String> {
    let (subsystem, rest) = number(name.strip_prefix("nvme")?)?;
    let (_, rest) = number(rest.strip_prefix('c')?)?;
    let (namespace, rest) = number(rest.strip_prefix('n')?)?;
    rest.is_empty().then(|| format!("nvme{subsystem}n{namespace}"))
}

/// The controller that a message about the path or the namespace `name` may name instead: `nvme3`
/// for `nvme2c3n1`, `nvme0` for `nvme0n1`.
pub fn controller_of(name: &str) -> Option<String> {
    let (first, rest) = number(name.strip_prefix("nvme")?)?;
    match rest.strip_prefix('c').and_then(number) {
        Some((controller, rest)) if rest.starts_with('n') => Some(format!("nvme{controller}")),
        _ if rest.starts_with('n') => Some(format!("nvme{first}")),
        _ => None,
    }
}

/// The digits that `text` begins with, and what follows.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    (!digits.is_empty()).then_some((digits, rest))
}

/// The names of all controllers of the subsystem that the device `name` belongs to; none if it is
/// no namespace of one.
pub fn controllers(name: &str) -> Vec<String> {
    let entry = Path::new("/sys/class/block").join(name);
    let disk = fs::canonicalize(entry).ok();
    let disk = disk.and_then(|own| super::block_device::disk(&own));
    disk.map_or_else(Vec::new, |disk| controllers_of(&disk))
}

fn controllers_of(disk: &Path) -> Vec<String> {
    let Some((_, folder)) = subsystem(disk) else {
        return Vec::new();
    };
    let is_controller = |name: &String| {
        let number = name.strip_prefix("nvme").and_then(number);
        number.is_some_and(|(_, rest)| rest.is_empty())
    };
    names(&folder).into_iter().filter(is_controller).collect()
}

/// The subsystem that the disk described by `disk` is a namespace of, and its folder.
pub(super) fn subsystem(disk: &Path) -> Option<(String, PathBuf)> {
    let folder = fs::canonicalize(disk.join("device")).ok()?;
    let name = folder.file_name()?.to_str()?.to_owned();
    name.starts_with(SUBSYSTEM).then_some((name, folder))
}

/// The paths to the namespace `disk`, as far as `tree`, which has an entry for each block device,
/// shows them.
pub(super) fn paths(tree: &Path, disk: &str) -> Vec<String> {
    let all = names(tree).into_iter();
    all.filter(|name| namespace_of_path(name).as_deref() == Some(disk)).collect()
}

/// How a path is whose controller is in `state`: as the array says (asymmetric namespace access)
/// when that is less than the controller's.
pub(super) fn access(path: &Path, state: String) -> String {
    let access = text(&path.join("ana_state")).filter(|access| access != "optimized");
    access.filter(|_| state == "live").unwrap_or(state)
}

/// Whether the controller with this folder is reached over a network, and is no drive in this
/// machine.
pub(super) fn is_on_fabric(controller: &Path) -> bool {
    let transport = text(&controller.join("transport"));
    transport.is_some_and(|transport| ["tcp", "rdma", "fc", "loop"].contains(&transport.as_str()))
}

/// The end of the connection in this machine: `host_traddr`, `host_iface` or `src_addr` of a
/// controller's address.
pub(super) fn own_end(controller: &Path) -> Option<String> {
    let address = text(&controller.join("address"))?;
    let of = |key: &str| {
        let mut fields = address.split(',').filter_map(|field| field.split_once('='));
        fields.find(|(name, _)| *name == key).map(|(_, end)| end)
    };
    let end = of("host_traddr").or_else(|| of("host_iface"));
    end.or_else(|| of("src_addr")).map(str::to_owned)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::super::captured::Captured;
    use super::super::{DiskSettings, Made, Transport, stack};
    use super::*;

    #[test]
    fn names_of_paths_are_understood() {
        let namespace = |name| namespace_of_path(name).unwrap_or_default();
        let all = ["nvme2c3n1", "nvme10c11n12", "nvme2n1", "nvme2c3", "sda"].map(namespace);
        assert_eq!(all, ["nvme2n1", "nvme10n12", "", "", ""]);
        let controller = |name| controller_of(name).unwrap_or_default();
        let all = ["nvme2c3n1", "nvme0n1", "nvme0n1p2", "nvme4", "vda"].map(controller);
        assert_eq!(all, ["nvme3", "nvme0", "nvme0", "", ""]);
    }

    /// An array over TCP with two paths (nvme2n1), one with one (nvme4n1), a drive with a subsystem
    /// (nvme1n1) and one without (nvme0n1).
    #[test]
    fn a_namespace_lies_on_the_paths_of_its_subsystem() {
        let sys = Captured::new(include_str!("captured/nvme-tcp-linux-6.1.txt"));
        let tree = sys.path("class/block");
        let leaves = |name: &str| {
            let found = stack::below(&tree, name, &|_| None);
            found.leaves.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(leaves("nvme2n1"), ["nvme2c2n1", "nvme2c3n1"]);
        assert_eq!(leaves("nvme4n1"), ["nvme4c4n1"]);
        assert_eq!(leaves("nvme1n1"), ["nvme1c1n1"]);
        assert_eq!(leaves("nvme0n1"), ["nvme0n1"]);
        let found = stack::below(&tree, "nvme2n1", &|_| None);
        let [head, path, _] = found.devices.as_slice() else {
            panic!("{found:?}");
        };
        let name = "nvme-subsys2".to_owned();
        assert_eq!(head.made, Made::Multipath { name });
        assert_eq!((head.model.as_deref(), &path.made), (Some("Linux"), &Made::Drive));
        assert_eq!(path.serial.as_deref(), Some("SER001"));
    }

    #[test]
    fn a_path_tells_how_it_is_reached_and_a_drive_does_not() {
        let sys = Captured::new(include_str!("captured/nvme-tcp-linux-6.1.txt"));
        let settings =
            |name: &str| super::super::disk_settings::at(&sys.path("class/block").join(name));
        let path = settings("nvme2c3n1");
        let expected = DiskSettings {
            state: Some("live".to_owned()),
            transport: Some(Transport::NvmeFabrics),
            adapter: Some("127.0.0.1".to_owned()),
            ..DiskSettings::default()
        };
        assert_eq!(path, expected);
        let own = fs::canonicalize(sys.path("class/block").join("nvme2c3n1")).unwrap();
        let says = |access: &str, state: &str| {
            fs::write(own.join("ana_state"), format!("{access}\n")).unwrap();
            fs::write(own.join("device/state"), format!("{state}\n")).unwrap();
            settings("nvme2c3n1").state.unwrap()
        };
        assert_eq!(says("optimized", "live"), "live");
        assert_eq!(says("inaccessible", "live"), "inaccessible");
        assert_eq!(says("inaccessible", "connecting"), "connecting", "nothing is known of it now");
        for drive in ["nvme0n1", "nvme1n1", "nvme1c1n1", "nvme2n1"] {
            let found = settings(drive);
            assert_eq!((found.transport, found.adapter), (None, None), "{drive}");
        }
        let of = |name: &str| {
            let disk = fs::canonicalize(sys.path("class/block").join(name)).unwrap();
            controllers_of(&disk)
        };
        assert_eq!(of("nvme2n1"), ["nvme2", "nvme3"]);
        assert_eq!(of("nvme0n1"), [""; 0]);
    }
}
