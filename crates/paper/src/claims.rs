//! Whether `[solution]` and `[design]` can be true of what was tested.
//!
//! | claim | has to agree with |
//! | --- | --- |
//! | drives in all | the drives of all modelled arrays, with or without spares |
//! | drives, RAID level, type and size of a drive | the groups below the LUNs of databases, or of logs |
//! | LUNs and their size | those LUNs |
//! | controllers, ports | those of the modelled arrays |
//! | capacity | the databases that lay on it, in every test |
//!
//! What a model does not have, such as firmware, cannot be checked; a paper shows it apart. Real
//! storage is not what the host sees of it, so only its capacity can contradict.

use brunt_report::result::{RunResult, World};
use brunt_report::{counted, grouped};
use brunt_scenario::{Organisation, Part, Solution};
use brunt_units::ByteSize;

use crate::audit::Wrong;
use crate::modelled::{Group, Modelled, Use};
use crate::numbers::float;

/// Sizes on labels are rounded, and their units mixed up: a GiB is 7 % more than a GB.
const SIZE_TOLERANCE: f64 = 0.10;

/// The claims of `solution` that `result` and `scenario` contradict. They are those of run `run`,
/// the first of `runs` on equal arrays that make one test.
pub(crate) fn contradicted(
    (run, runs): (usize, usize),
    solution: &Solution,
    result: &RunResult,
    scenario: &toml::Table,
) -> Vec<Wrong> {
    let mut judge = Judge { run, runs, solution, wrong: Vec::new() };
    judge.capacity(result);
    let modelled = Modelled::of(scenario).filter(|_| result.world == World::Virtual);
    if let Some(modelled) = modelled {
        judge.array(&modelled);
        judge.disks(&modelled, result, Part::DatabaseDisks, Use::Databases);
        judge.disks(&modelled, result, Part::LogDisks, Use::Logs);
    }
    judge.wrong
}

/// What `[design]` says and the run of a prediction contradicts: a scenario that was changed after
/// it was sized is another design.
pub(crate) fn design_contradicted(
    (run, runs): (usize, usize),
    design: &Organisation,
    result: &RunResult,
    scenario: &toml::Table,
) -> Vec<Wrong> {
    let sizing = brunt_sizing::size(design);
    let sheet = &sizing.sheet;
    let servers = sheet.find("array_servers").unwrap_or(1.0);
    let each = (sheet.get("mailboxes_per_database") * sheet.get("copies_per_server")).round();
    let mut wrong = Vec::new();
    let mut compare = |what: &str, stated: f64, follows: u64| {
        if stated != float(follows) {
            let (what, stated) = (format!("[design] {what}"), format!("{stated:.0}"));
            let stated = stated.parse().map_or(stated, grouped);
            let follows = grouped(follows);
            wrong.push(Wrong { run, what, stated, follows, by_rules: false });
        }
    };
    if let Some(mailboxes) = result.storage.details.setup.mailboxes {
        compare("mailboxes of a server", each * servers * float(runs as u64), mailboxes);
    }
    if let (Some(modelled), true) = (Modelled::of(scenario), sizing.block.is_some()) {
        let drives = servers * sheet.get("drives_per_server") + sheet.get("spares");
        compare("drives of an array", drives, modelled.drives()[1]);
    }
    wrong
}

struct Judge<'s> {
    run: usize,
    runs: usize,
    solution: &'s Solution,
    wrong: Vec<Wrong>,
}

/// How messages call a part of `[solution]`.
fn table(part: Part) -> &'static str {
    match part {
        Part::Overview => "[solution]",
        Part::Hardware => "[solution.hardware]",
        Part::Software => "[solution.software]",
        Part::DatabaseDisks => "[solution.database_disks]",
        Part::LogDisks => "[solution.log_disks]",
        Part::BackupDisks => "[solution.backup_disks]",
    }
}

impl Judge<'_> {
    fn contradict(&mut self, part: Part, key: &str, stated: String, follows: String) {
        self.wrong.push(Wrong {
            run: self.run,
            what: format!("{} {key}", table(part)),
            stated,
            follows,
            by_rules: false,
        });
    }

    /// A number that has to be one of `possible`.
    fn count(&mut self, part: Part, key: &str, possible: &[u64], what: &str) {
        let Some(stated) = self.solution.count(part, key) else {
            return;
        };
        let is = |possible: &u64| [*possible, possible * self.runs as u64].contains(&stated);
        if !possible.is_empty() && !possible.iter().any(is) {
            let follows = format!("{} ({what})", grouped(possible[0]));
            self.contradict(part, key, grouped(stated), follows);
        }
    }

    /// A size that has to be that of one of `possible`.
    fn size(&mut self, part: Part, key: &str, possible: &[u64]) {
        let Some(stated) = self.solution.size(part, key) else {
            return;
        };
        let near = |size: &u64| {
            let (one, other) = (float(stated.get()), float(*size));
            (one - other).abs() <= SIZE_TOLERANCE * f64::max(one, other)
        };
        if let Some(first) = possible.first()
            && !possible.iter().any(near)
        {
            let follows = ByteSize::bytes(*first).to_string();
            let stated = self.solution.in_words(part, key).unwrap_or_default();
            self.contradict(part, key, stated, follows);
        }
    }

    fn array(&mut self, modelled: &Modelled) {
        let arrays = &modelled.arrays;
        let spares: u64 = arrays.iter().map(|one| one.members * one.spares).sum();
        let [own, all] = modelled.drives();
        let tested = [own, own - spares.min(own), all];
        self.count(Part::Hardware, "disks_tested", &tested, "modelled drives");
        let controllers: Vec<u64> = arrays.iter().map(|one| one.controllers).collect();
        let ports: Vec<u64> = arrays.iter().map(|one| one.controllers * one.ports).collect();
        let of = |each: &[u64]| {
            let sum = arrays.iter().zip(each);
            let sum = sum.map(|(one, each)| one.members * each);
            [&[sum.sum()], each].concat()
        };
        let what = "modelled controllers";
        self.count(Part::Hardware, "controllers", &of(&controllers), what);
        let each = arrays.iter().map(|one| one.ports);
        let ports: Vec<u64> = of(&ports).into_iter().chain(each).collect();
        let what = "modelled ports of all controllers";
        self.count(Part::Hardware, "ports", &ports, what);
    }

    fn disks(&mut self, modelled: &Modelled, result: &RunResult, part: Part, what: Use) {
        let luns = modelled.luns(result, what);
        let groups = Modelled::groups(&luns);
        if groups.is_empty() {
            return;
        }
        let drives = groups.iter().map(|(times, group)| times * group.drives).sum();
        let title = groups[0].1.drive.title.clone();
        self.count(part, "disks", &[drives], &title);
        let sizes = groups.iter().filter_map(|(_, group)| group.drive.bytes);
        let sizes: Vec<u64> = sizes.collect();
        self.size(part, "disk_size", &sizes);
        self.count(part, "luns", &[luns.len() as u64], "modelled LUNs");
        let sizes: Option<Vec<u64>> = luns.iter().map(|(_, lun)| lun.bytes).collect();
        self.size(part, "lun_size", &sizes.unwrap_or_default());
        let groups: Vec<&Group> = groups.into_iter().map(|(_, group)| group).collect();
        self.kind(part, &groups);
        self.level(part, &groups);
    }

    /// Speed and kind of the drives, as far as the text names them.
    fn kind(&mut self, part: Part, groups: &[&Group]) {
        let Some(stated) = self.solution.in_words(part, "type") else {
            return;
        };
        let agrees = |group: &&Group| {
            let drive = &group.drive;
            let speed = match (rpm(&stated), drive.rpm) {
                (Some(stated), Some(rpm)) => stated == rpm,
                (Some(_), None) => drive.is_solid_state != Some(true),
                (None, _) => true,
            };
            let kind = match (kind(&stated), kind(&drive.title)) {
                (Some(stated), Some(modelled)) => stated == modelled,
                _ => true,
            };
            speed && kind
        };
        if !groups.iter().all(agrees) {
            let wrong = groups.iter().find(|group| !agrees(group));
            let follows = wrong.map_or(String::new(), |group| group.drive.title.clone());
            self.contradict(part, "type", stated, follows);
        }
    }

    fn level(&mut self, part: Part, groups: &[&Group]) {
        let Some(stated) = self.solution.in_words(part, "raid") else {
            return;
        };
        let Some(claimed) = level(&stated) else {
            return;
        };
        let modelled = |group: &&Group| level(&group.level);
        if let Some(group) = groups.iter().find(|group| modelled(group) != Some(claimed)) {
            self.contradict(part, "raid", stated, group.level.clone());
        }
    }

    /// Databases do not lie on less than their size.
    fn capacity(&mut self, result: &RunResult) {
        let part = Part::DatabaseDisks;
        let Some(bytes) = result.storage.database_bytes_initial else {
            return;
        };
        for (count, size) in [("disks", "disk_size"), ("luns", "lun_size")] {
            let claim = self.solution.count(part, count);
            let claim = claim.zip(self.solution.size(part, size));
            let Some((many, each)) = claim else { continue };
            if each.get().saturating_mul(many) < bytes {
                let stated = format!("{} of {each}", grouped(many));
                let databases = counted(result.storage.database_files, "database");
                let follows = format!("room for {databases} of {}", ByteSize::bytes(bytes));
                self.contradict(part, count, stated, follows);
            }
        }
    }
}

/// Turns per minute that a text names: `10,000 rpm`, `10K`, `7.2k`.
fn rpm(text: &str) -> Option<u64> {
    let text = text.to_lowercase().replace(['.', ',', ' '], "");
    [
        (15_000, ["15k", "15000"]),
        (10_000, ["10k", "10000"]),
        (7_200, ["72k", "7200"]),
        (5_400, ["54k", "5400"]),
    ]
    .into_iter()
    .find(|(_, words)| words.iter().any(|word| text.contains(word)))
    .map(|(rpm, _)| rpm)
}

/// A kind of drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nearline,
    Sas,
    FibreChannel,
    Sata,
    Flash,
}

/// The kind of drive that a text names.
fn kind(text: &str) -> Option<Kind> {
    let text = text.to_lowercase().replace('-', " ");
    let own: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let has = |words: &[&str]| {
        words.iter().any(|word| match word.contains(' ') {
            true => text.contains(word),
            false => own.contains(word),
        })
    };
    if has(&["ssd", "nvme", "flash", "solid state"]) {
        Some(Kind::Flash)
    } else if has(&["nl sas", "nlsas", "nearline", "near line"]) {
        Some(Kind::Nearline)
    } else if has(&["sas"]) {
        Some(Kind::Sas)
    } else if has(&["fc", "fibre channel", "fiber channel"]) {
        Some(Kind::FibreChannel)
    } else if has(&["sata"]) {
        Some(Kind::Sata)
    } else {
        None
    }
}

/// How data are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    None,
    Mirrored,
    One(u8),
    Pool,
}

/// The level that a text names: `RAID 1_0`, `raid10`, `DDP`, `Vraid 1`.
fn level(text: &str) -> Option<Level> {
    let text: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    if text.contains("pool") || text.contains("ddp") {
        return Some(Level::Pool);
    }
    let (_, level) = text.split_once("raid")?;
    [
        ("50", Level::One(50)),
        ("10", Level::Mirrored),
        ("1", Level::Mirrored),
        ("5", Level::One(5)),
        ("6", Level::One(6)),
        ("0", Level::None),
    ]
    .into_iter()
    .find(|(digits, _)| level.starts_with(digits))
    .map(|(_, level)| level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_vendors_are_understood() {
        assert_eq!(rpm("SAS 10k 900GB, firmware B556"), Some(10_000));
        assert_eq!(rpm("4 Gbps FC, 15,000 RPM"), Some(15_000));
        assert_eq!(rpm("7.2K NL-SAS"), Some(7_200));
        assert_eq!(rpm("SSD"), None);
        assert_eq!(kind("7.2K NL-SAS"), Some(Kind::Nearline));
        assert_eq!(kind("900 GB, SAS"), Some(Kind::Sas));
        assert_eq!(kind("Seagate Constellation.2, nearline SAS"), Some(Kind::Nearline));
        assert_eq!(kind("An NVMe solid-state drive"), Some(Kind::Flash));
        assert_eq!(kind("146 GB, Fibre Channel"), Some(Kind::FibreChannel));
        assert_eq!(kind("the model of ours.toml"), None);
        for mirrored in ["RAID 1_0", "RAID 1/0", "raid10", "Vraid 1"] {
            assert_eq!(level(mirrored), Some(Level::Mirrored), "{mirrored}");
        }
        assert_eq!(level("RAID 5 (4+1)"), Some(Level::One(5)));
        assert_eq!(level("DDP (11 disks)"), Some(Level::Pool));
        assert_eq!(level("mirrored"), None);
    }
}
