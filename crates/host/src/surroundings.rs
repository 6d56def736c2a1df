//! The machine, and the way of I/O from it to the storage.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brunt_qualify::plan::Plan;
use brunt_qualify::result::{Beneath, Surroundings, THROUGH_CACHE, VolumeUse};
use brunt_qualify::rules::SystemLog;
use brunt_report::result::{
    Backend, Device, Durability, Machine, MachineClock, Origin, Redundancy, Volume, World,
    WriteCache,
};
use brunt_units::ByteSize;
use brunt_world_real::facts::{self, BlockDevice, DiskCounters, IoLimit, Made, Place, Stack};
use brunt_world_real::{Backend as RealBackend, Kind, is_direct};
use rustix::fs::statvfs;

/// A file system in use, and what lies on it.
#[derive(Clone, Debug)]
pub struct Used {
    place: Place,
    bytes: Option<ByteSize>,
    /// The device beneath and everything under it.
    pub(crate) stack: Stack,
    /// Folders on it, and a database in each if one is there or will be.
    folders: Vec<(PathBuf, Option<PathBuf>)>,
    /// What several devices made together when the test began.
    redundancy: Vec<facts::Redundancy>,
    pub(crate) databases: Vec<usize>,
    pub(crate) logs: Vec<usize>,
    /// A folder on it that is there.
    folder: PathBuf,
    beneath: Beneath,
}

/// What the kernel counted of each device during the collection, by its name.
pub type DeviceCounts = BTreeMap<String, DiskCounters>;

/// What the devices of a volume did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    reads: u64,
    read: ByteSize,
    written: ByteSize,
}

impl Used {
    /// What the kernel calls the device beneath, if there is exactly one.
    fn device(&self) -> Option<&str> {
        let device = self.place.device.as_ref();
        device.map(|device| device.name.as_str())
    }

    /// What the lowest devices beneath did; nothing where there is no device, or where all counters
    /// stood still, because some systems do not count. A cache that answers reads still lets writes
    /// through.
    fn counted(&self, counted: &DeviceCounts) -> Option<Counted> {
        let leaves = self.stack.leaves.iter();
        let found = leaves.filter_map(|leaf| counted.get(leaf));
        let found: Vec<&DiskCounters> = found.collect();
        let sum = |of: fn(&DiskCounters) -> u64| found.iter().map(|device| of(device)).sum();
        let is_counted = found.iter().any(|device| !device.is_still());
        is_counted.then(|| Counted {
            reads: sum(|device| device.reads),
            read: ByteSize::bytes(sum(|device| device.read_bytes.get())),
            written: ByteSize::bytes(sum(|device| device.written_bytes.get())),
        })
    }

    /// The file server, as the kernel names it in its messages: `nas` of `nas:/export`.
    fn server(&self) -> Option<&str> {
        let system = self.place.file_system.as_deref()?;
        let source = self.place.source.as_deref()?;
        match system {
            "nfs" | "nfs4" => Some(source.rsplit_once(":/")?.0.trim_matches(['[', ']'])),
            "cifs" | "smb3" => source.trim_start_matches('/').split('/').next(),
            _ => None,
        }
    }

    fn file_system(&self) -> String {
        let unknown = || "unknown file system".to_owned();
        self.place.file_system.clone().unwrap_or_else(unknown)
    }

    fn device_or_source(&self) -> String {
        let source = || self.place.source.clone();
        let device = self.device().map(str::to_owned).or_else(source);
        device.unwrap_or_else(|| "unknown device".to_owned())
    }

    /// The file system of `path`, with nothing on it. A folder that is still to be made will lie
    /// where the nearest one does that is there.
    fn at(path: &Path) -> Option<Self> {
        let mut ancestors = path.ancestors();
        let (path, place) = ancestors.find_map(|at| Some((at, facts::place(at).ok()?)))?;
        let stack =
            place.device.as_ref().map_or_else(Stack::default, |device| facts::stack(&device.name));
        let holding = |file: &Path| facts::place(file).ok()?.file_system;
        Some(Self {
            folder: path.to_owned(),
            beneath: beneath(place.file_system.as_deref(), &stack, &holding),
            bytes: statvfs(path)
                .ok()
                .map(|space| ByteSize::bytes(space.f_blocks.saturating_mul(space.f_frsize))),
            folders: Vec::new(),
            redundancy: redundancy(&place, &stack),
            stack,
            place,
            databases: Vec::new(),
            logs: Vec::new(),
        })
    }

    /// The folders whose files are written through the page cache in spite of `O_DIRECT`, as it is
    /// now.
    pub(crate) fn cached_writes(&self) -> Vec<String> {
        let is_cached = |(folder, file): &&(PathBuf, Option<PathBuf>)| {
            let file = file.as_deref().filter(|file| file.exists());
            let there = folder.ancestors().find(|at| at.is_dir());
            there.and_then(|there| facts::direct_writes_are_cached(there, file)) == Some(true)
        };
        let cached = self.folders.iter().filter(is_cached);
        cached.map(|(folder, _)| folder.display().to_string()).collect()
    }

    /// What several devices made together when the test began.
    pub(crate) fn redundancy(&self) -> &[facts::Redundancy] {
        &self.redundancy
    }

    /// The same as it is now, for what was there then.
    fn redundancy_now(&self) -> Vec<facts::Redundancy> {
        let mount = self.place.mount_point.as_deref();
        let now = mount.and_then(|mount| facts::place(mount).ok());
        redundancy(&now.unwrap_or_else(|| self.place.clone()), &self.stack)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn bytes(&self) -> Option<ByteSize> {
        self.bytes
    }

    pub(crate) fn mount(&self) -> PathBuf {
        self.place.mount_point.clone().unwrap_or_default()
    }
}

/// What several devices make together in `stack`, or for the file system in `place`.
fn redundancy(place: &Place, stack: &Stack) -> Vec<facts::Redundancy> {
    let devices = stack.devices.iter();
    let found = devices.filter_map(|device| facts::redundancy(&device.name));
    found.chain(place.redundancy.clone()).collect()
}

/// Adds to `surroundings`, which has the volumes of `places`, how RAID is at the end of the run.
pub fn look_again(surroundings: &mut Surroundings, places: &[Used]) {
    for (used, place) in surroundings.volumes.iter_mut().zip(places) {
        let now = place.redundancy_now();
        for raid in &mut used.volume.redundancy {
            let now = now.iter().find(|now| now.name == raid.name);
            raid.at_end =
                Some(now.map_or_else(|| "not there".to_owned(), facts::Redundancy::words));
        }
    }
}

/// The file systems that `plan` uses.
pub fn places(plan: &Plan) -> Vec<Used> {
    let mut used = BTreeMap::<(PathBuf, String), Used>::new();
    let mut note = |folder: &Path, file: Option<&Path>, note: &dyn Fn(&mut Used)| {
        let Some(found) = Used::at(folder) else {
            return;
        };
        let key = (found.mount(), found.device_or_source());
        let used = used.entry(key).or_insert(found);
        match used.folders.iter_mut().find(|(other, _)| other == folder) {
            Some((_, known @ None)) => *known = file.map(Path::to_owned),
            Some(_) => {}
            None => used.folders.push((folder.to_owned(), file.map(Path::to_owned))),
        }
        note(used);
    };
    for (at, instance) in plan.instances.iter().enumerate() {
        note(&instance.log, None, &|used| used.logs.push(at));
    }
    for (at, database) in plan.databases().enumerate() {
        let folder = database.path.parent().unwrap_or(Path::new("/"));
        note(folder, Some(&database.path), &|used| {
            used.databases.push(at);
        });
    }
    used.into_values().collect()
}

/// What the kernel calls the lowest devices beneath, each once.
pub fn devices(places: &[Used]) -> Vec<String> {
    let leaves: BTreeSet<&String> = places.iter().flat_map(|used| &used.stack.leaves).collect();
    leaves.into_iter().cloned().collect()
}

/// What the kernel calls every device beneath `places`, and beneath the copies and backups of
/// `plan`, from the volumes down, each once.
pub fn all_devices(plan: &Plan, places: &[Used]) -> Vec<String> {
    let beside: Vec<Used> = copied_to(plan).filter_map(Used::at).collect();
    let places = || places.iter().chain(&beside);
    let stacks = places().flat_map(|used| &used.stack.devices);
    let own = places().filter_map(Used::device).map(str::to_owned);
    let controllers = stacks.clone().flat_map(|device| facts::controllers(&device.name));
    let servers = places().filter_map(Used::server).map(str::to_owned);
    let all: BTreeSet<String> = stacks
        .map(|device| device.name.clone())
        .chain(controllers)
        .chain(own)
        .chain(servers)
        .collect();
    all.into_iter().collect()
}

/// Mount points of the volumes of `plan` of which the kernel says nothing, because no device is
/// known under them.
pub fn unheard(plan: &Plan, places: &[Used]) -> Vec<String> {
    let beside: Vec<Used> = copied_to(plan).filter_map(Used::at).collect();
    let all = places.iter().chain(&beside);
    let without = all.filter(|used| used.stack.leaves.is_empty() && used.server().is_none());
    let mounts: BTreeSet<String> = without.map(|used| used.mount().display().to_string()).collect();
    mounts.into_iter().collect()
}

#[cfg(test)]
impl Used {
    /// An empty volume at `mount` on the device `leaf`.
    pub(crate) fn mounted(mount: &Path, leaf: &str) -> Self {
        Self {
            place: Place {
                is_block_device: false,
                mount_point: Some(mount.to_owned()),
                file_system: None,
                source: None,
                mount_options: None,
                redundancy: None,
                device: None,
            },
            bytes: None,
            folders: Vec::new(),
            redundancy: Vec::new(),
            stack: Stack { leaves: [leaf.to_owned()].into(), ..Stack::default() },
            databases: Vec::new(),
            logs: Vec::new(),
            folder: mount.to_owned(),
            beneath: Beneath::Devices,
        }
    }

    /// The same volume when logs lie elsewhere.
    pub(crate) fn without_logs(&self) -> Self {
        Self { logs: Vec::new(), ..self.clone() }
    }
}

/// The folders of passive copies and backups.
fn copied_to(plan: &Plan) -> impl Iterator<Item = &Path> {
    let copies = plan.passive.iter().flat_map(|copy| {
        let databases = copy.files.databases.iter();
        let folders = databases.filter_map(|database| database.path.parent());
        folders.chain([copy.files.log.as_path()])
    });
    copies.chain(plan.copy_to.as_deref())
}

/// A warning when the run folder lies on a file system that is tested: then its own writes are
/// among what is measured.
pub fn shared_with(folder: &Path, plan: &Plan) -> Option<String> {
    let device = |path: &Path| fs::metadata(path).ok().map(|status| status.dev());
    let own = folder.ancestors().find_map(device)?;
    let logs = plan.instances.iter().map(|instance| instance.log.as_path());
    let databases = plan.databases().filter_map(|database| database.path.parent());
    let tested =
        logs.chain(databases).chain(copied_to(plan)).find(|path| device(path) == Some(own))?;
    Some(format!(
        "the run folder is on the tested volume of {}: its writes are measured, too; --out names another place",
        tested.display()
    ))
}

/// Everything about this machine that a result has.
pub fn surroundings(
    plan: &Plan,
    places: &[Used],
    counted: &DeviceCounts,
    backend: &RealBackend,
    origin: Origin,
) -> Surroundings {
    let volume = |used: &Used| {
        let device = used.counted(counted);
        VolumeUse {
            volume: Volume {
                mount: used.mount().display().to_string(),
                file_system: used.file_system(),
                device: used.device_or_source(),
                device_reads: device.map(|all| all.reads),
                engine_reads: 0,
                redundancy: used.redundancy.iter().map(begun).collect(),
                stack: used
                    .stack
                    .devices
                    .iter()
                    .map(|device| described(device, &used.stack))
                    .collect(),
            },
            bytes: used.bytes,
            device_read: device.map(|all| all.read),
            device_written: device.map(|all| all.written),
            databases: used.databases.clone(),
            logs: used.logs.clone(),
            beneath: used.beneath.clone(),
        }
    };

    let cached_writes = cached_writes(places);
    Surroundings {
        world: World::Real,
        machine: machine(),
        host: Vec::new(),
        phases: Vec::new(),
        mounts: copied_to(plan)
            .filter_map(Used::at)
            .map(|used| used.mount().display().to_string())
            .collect(),
        busiest: None,
        system_log: Some(SystemLog {
            remark: "the run has not ended".to_owned(),
            ..SystemLog::default()
        }),
        io_limits: Some(io_limits(places)),
        replicas: Vec::new(),
        setup: Vec::new(),
        backend: Backend {
            name: backend.kind.to_string(),
            remark: remark(backend, places, &cached_writes),
            direct: backend.buffered_files.is_empty()
                && cached_files(places).next().is_none()
                && cached_writes.is_empty(),
            volumes: Vec::new(),
        },
        cached_writes,
        volumes: places.iter().map(volume).collect(),
        durability: plan
            .instances
            .iter()
            .enumerate()
            .map(|(at, instance)| durability(&instance.log, at, places, backend))
            .collect(),
        origin,
    }
}

/// What control groups limit of the I/O to any device beneath `places`, now, in words.
pub fn io_limits(places: &[Used]) -> Vec<String> {
    let devices = places.iter().flat_map(|used| &used.stack.devices);
    let disks: BTreeSet<&str> = devices.map(|device| device.disk.as_str()).collect();
    let limits = facts::io_limits(disks).into_iter();
    let words = limits.map(|limit| {
        let IoLimit { device, limit, group } = limit;
        format!("{limit} on {device} in {}", group.display())
    });
    words.collect()
}

/// The same before anything was opened: whether I/O will bypass the page cache is tried in each
/// folder, with a file without a name.
pub fn forecast(
    plan: &Plan,
    places: &[Used],
    backend: &RealBackend,
    origin: Origin,
) -> Surroundings {
    let mut around = surroundings(plan, places, &DeviceCounts::new(), backend, origin);
    let tried = places.iter().map(|used| is_direct(&used.folder));
    if tried.flatten().any(|is_direct| !is_direct) {
        around.backend.direct = false;
    }
    around
}

/// Beginnings of the names of devices that are memory: compressed memory, RAM disks, the kernel's
/// null device.
const MEMORY_DEVICES: [&str; 3] = ["zram", "ram", "nullb"];
/// Parts of the models of devices that are memory: the debug host of the kernel's SCSI layer, the
/// RAM disk of its target.
const MEMORY_MODELS: [&str; 2] = ["scsi_debug", "RAMDISK"];
const MEMORY_SYSTEMS: [&str; 2] = ["tmpfs", "ramfs"];
/// Beginnings of the names of devices that a program serves: a network block device, a block device
/// in user space.
const SERVED_DEVICES: [&str; 2] = ["nbd", "ublkb"];

/// What a file system of the type `system` on `stack` lies on; `holding` tells the type of the file
/// system that holds a file.
fn beneath(
    system: Option<&str>,
    stack: &Stack,
    holding: &dyn Fn(&Path) -> Option<String>,
) -> Beneath {
    let files = stack.devices.iter().filter_map(|device| match &device.made {
        Made::Loop { file, .. } => holding(file),
        _ => None,
    });
    let systems: Vec<String> = system.map(str::to_owned).into_iter().chain(files).collect();
    let is_numbered = |name: &str, of: &&str| {
        let rest = name.strip_prefix(of);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_memory = |device: &&BlockDevice| {
        let has = |part: &&str| device.model.as_ref().is_some_and(|model| model.contains(part));
        MEMORY_DEVICES.iter().any(|of| is_numbered(&device.name, of))
            || MEMORY_MODELS.iter().any(has)
    };
    let is_served = |device: &&BlockDevice| {
        let mut served = SERVED_DEVICES.iter();
        served.any(|of| is_numbered(&device.name, of))
    };
    let named = |device: &BlockDevice| device.name.clone();
    let mut of_memory = systems.iter().filter(|system| MEMORY_SYSTEMS.contains(&system.as_str()));
    if let Some(system) = of_memory.next() {
        return Beneath::Memory(system.clone());
    }
    if let Some(device) = stack.devices.iter().find(is_memory) {
        return Beneath::Memory(named(device));
    }
    if let Some(system) = systems.iter().find(|system| system.starts_with("fuse")) {
        return Beneath::Program(system.clone());
    }
    match stack.devices.iter().find(is_served) {
        Some(device) => Beneath::Program(named(device)),
        None if stack.leaves.is_empty() => Beneath::Unknown,
        None => Beneath::Devices,
    }
}

/// Devices that are files whose I/O goes through the page cache, and these files.
fn cached_files(places: &[Used]) -> impl Iterator<Item = (&str, &Path)> {
    let devices = places.iter().flat_map(|used| &used.stack.devices);
    devices.filter_map(|device| match &device.made {
        Made::Loop { file, direct } if *direct == Some(false) => {
            Some((device.name.as_str(), file.as_path()))
        }
        _ => None,
    })
}

/// Folders whose files are written through the page cache in spite of `O_DIRECT`.
fn cached_writes(places: &[Used]) -> Vec<String> {
    places.iter().flat_map(Used::cached_writes).collect()
}

fn remark(backend: &RealBackend, places: &[Used], cached_writes: &[String]) -> String {
    let mut remarks = backend.refused.clone();
    for (folder, (files, why)) in &backend.buffered_files {
        let folder = folder.display();
        remarks.push(format!("{files} files in {folder} through the page cache: {why}"));
    }
    for (device, file) in cached_files(places) {
        let file = file.display();
        remarks.push(format!(
            "{device} is {file} through the page cache (losetup --direct-io=on bypasses it)"
        ));
    }
    for folder in cached_writes {
        remarks.push(format!("direct writes in {folder} go through the page cache"));
    }
    if backend.allocations_unreserved > 0 {
        remarks.push("the file system could not reserve space".to_owned());
    }
    remarks.join("; ")
}

fn durability(log: &Path, at: usize, places: &[Used], backend: &RealBackend) -> Durability {
    let place = places.iter().find(|used| used.logs.contains(&at));
    let device = place.and_then(|used| used.place.device.as_ref());
    let call = match backend.kind {
        Kind::Threads => "pwritev2",
        Kind::Registered | Kind::Unregistered => "io_uring",
    };
    Durability {
        path: log.display().to_string(),
        method: format!("write-through ({call} with RWF_DSYNC)"),
        write_cache: device
            .and_then(|device| device.write_cache)
            .map_or(WriteCache::Unknown, write_cache),
        fua: device.and_then(|device| device.fua),
        log_latency_ms_mean: None,
        flush_share: None,
    }
}

fn write_cache(cache: facts::WriteCache) -> WriteCache {
    match cache {
        facts::WriteCache::WriteBack => WriteCache::WriteBack,
        facts::WriteCache::WriteThrough => WriteCache::WriteThrough,
    }
}

fn begun(found: &facts::Redundancy) -> Redundancy {
    Redundancy { name: found.name.clone(), at_begin: found.words(), at_end: None }
}

/// A device of a stack, for the result.
fn described(device: &BlockDevice, stack: &Stack) -> Device {
    Device {
        name: device.name.clone(),
        made: match (&device.made, facts::namespace_of_path(&device.name)) {
            (Made::Drive, Some(_)) => path(&facts::disk_settings(&device.name)),
            (other, _) => made(other),
        },
        is_leaf: stack.leaves.contains(&device.name),
        model: device.model.clone(),
        serial: device.serial.clone(),
        firmware: device.firmware.clone(),
        capacity_bytes: device.capacity.map(ByteSize::get),
        is_rotational: device.rotational,
        write_cache: device.write_cache.map(write_cache),
        scheduler: device.scheduler.clone(),
        queue_requests: device.requests,
        logical_sector_bytes: device.logical_sector,
        physical_sector_bytes: device.physical_sector,
    }
}

/// A path to a namespace of NVMe, and how it is: `path, inaccessible`.
fn path(settings: &facts::DiskSettings) -> String {
    match (settings.transport, &settings.state) {
        (None, _) => made(&Made::Drive),
        (Some(_), None) => "path".to_owned(),
        (Some(_), Some(state)) => format!("path, {state}"),
    }
}

fn made(made: &Made) -> String {
    match made {
        Made::Drive => "drive".to_owned(),
        Made::Mapped { name, by: Some(by) } => format!("{name} ({by})"),
        Made::Mapped { name, by: None } => name.clone(),
        Made::Multipath { name } => format!("paths of {name}"),
        Made::Raid { level } => level.clone(),
        Made::Loop { file, direct } => {
            let cached = match direct {
                Some(false) => THROUGH_CACHE,
                _ => "",
            };
            format!("file {}{cached}", file.display())
        }
    }
}

pub(crate) fn machine() -> Machine {
    let host = facts::host();
    Machine {
        name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        operating_system: operating_system(),
        kernel: host.kernel,
        processor: host.processor.unwrap_or_default(),
        processors: host.processors.and_then(|count| count.try_into().ok()).unwrap_or(0),
        memory_bytes: facts::memory_that_caches().map_or(0, ByteSize::get),
        clock: facts::clock_error().map(|clock| MachineClock {
            synchronised: clock.synchronised,
            estimated_error_ms: clock.estimated.as_millis(),
            max_error_ms: clock.max.as_millis(),
        }),
    }
}

/// What the distribution calls itself; `os-release(5)`.
fn operating_system() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("Linux").trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Document;

    use super::*;

    #[test]
    fn counters_that_stand_still_do_not_count() {
        let used = Used::mounted(Path::new("/mnt"), "sda");
        let counted = |counters| used.counted(&[("sda".to_owned(), counters)].into());
        let still = DiskCounters::default();
        assert_eq!(counted(still), None);
        let bytes = ByteSize::kib(28);
        let written = DiskCounters { writes: 7, written_bytes: bytes, ..still };
        let wanted = Counted { reads: 0, read: ByteSize::bytes(0), written: bytes };
        assert_eq!(counted(written), Some(wanted), "reads came from a cache");
    }

    #[test]
    fn memory_and_programs_are_known_by_name() {
        let device = |name: &str| BlockDevice { name: name.to_owned(), ..BlockDevice::default() };
        let on = |system: &str, devices: Vec<BlockDevice>| {
            let leaves = devices.last().map(|device| device.name.clone());
            let holding = |file: &Path| file.starts_with("/dev/shm").then(|| "tmpfs".to_owned());
            let leaves = leaves.into_iter().collect();
            beneath(Some(system), &Stack { devices, leaves }, &holding)
        };
        let named = |name: &str| on("ext4", vec![device("dm-0"), device(name)]);
        for drive in ["sda", "nvme0n1", "vda", "md127", "rbd0", "drbd1", "ramses", "mmcblk0"] {
            assert_eq!(named(drive), Beneath::Devices, "{drive}");
        }
        for memory in ["zram0", "ram0", "nullb1"] {
            assert_eq!(named(memory), Beneath::Memory(memory.to_owned()));
        }
        for served in ["nbd0", "nbd15p1", "ublkb0"] {
            assert_eq!(named(served), Beneath::Program(served.to_owned()));
        }
        let debug = BlockDevice { model: Some("Linux scsi_debug".to_owned()), ..device("sdc") };
        assert_eq!(on("xfs", vec![debug]), Beneath::Memory("sdc".to_owned()));
        let file = |path: &str| BlockDevice {
            made: Made::Loop { file: path.into(), direct: Some(true) },
            ..device("loop0")
        };
        let tmpfs = Beneath::Memory("tmpfs".to_owned());
        assert_eq!(on("ext4", vec![file("/dev/shm/disk")]), tmpfs);
        assert_eq!(on("ext4", vec![file("/srv/disk"), device("sda")]), Beneath::Devices);
        assert_eq!(on("tmpfs", Vec::new()), tmpfs);
        assert_eq!(on("ramfs", Vec::new()), Beneath::Memory("ramfs".to_owned()));
        let fuse = Beneath::Program("fuse.sshfs".to_owned());
        assert_eq!(on("fuse.sshfs", vec![device("sda")]), fuse, "a name that it chose");
        assert_eq!(on("overlay", Vec::new()), Beneath::Unknown);
    }

    #[test]
    fn a_path_says_how_it_is() {
        let over = |transport, state: &str| {
            let state = Some(state.to_owned());
            path(&facts::DiskSettings { transport, state, ..facts::DiskSettings::default() })
        };
        let fabric = Some(facts::Transport::NvmeFabrics);
        assert_eq!(over(fabric, "inaccessible"), "path, inaccessible");
        assert_eq!(over(None, "live"), "drive", "one in this machine");
    }

    #[test]
    fn a_folder_is_looked_at_with_a_database_in_it() {
        let text = "[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\nlog = \"both\"\n\
                    databases = [\"both/1.edb\", \"both/2.edb\"]\ndatabase_size = \"8 MiB\"\n";
        let folder = std::env::current_dir().unwrap();
        let document = Document::new("t.toml", text, &folder).unwrap();
        let places = places(&document.test(&[]).unwrap().plan());
        let both = folder.join("both");
        assert_eq!(places[0].folders, [(both.clone(), Some(both.join("1.edb")))]);
    }

    #[test]
    fn the_kernel_is_heard_about_the_devices_of_backups() {
        let text = "[test]\nkind = \"database-backup\"\nsessions = 1\n[[instance]]\nlog = \"log\"\n\
                    databases = [\"1.edb\"]\ndatabase_size = \"8 MiB\"\n";
        let folder = std::env::current_dir().unwrap();
        let document = Document::new("t.toml", text, &folder).unwrap();
        let plan = Plan { copy_to: Some(folder.clone()), ..document.test(&[]).unwrap().plan() };
        let own: Vec<Used> = Used::at(&folder).into_iter().collect();
        let without = Plan { copy_to: None, ..plan.clone() };
        assert_eq!(all_devices(&plan, &[]), all_devices(&without, &own));
    }
}
