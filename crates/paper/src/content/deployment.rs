//! The solution, the customers it is for, and what was deployed for the tests.

use brunt_report::{Cell, Column, Row, Table, grouped};
use brunt_scenario::{Part, Solution};
use brunt_units::ByteSize;

use super::{below, design, heading, is_model, main_result, model, modelled, scenario, text};
use crate::block::Block;
use crate::modelled::{Modelled, Use};
use crate::numbers::float;
use crate::paper::Subject;

pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let solution = &subject.solution;
    let mut blocks = vec![heading("Solution")];
    match solution.text("description") {
        Some(said) => blocks.push(text(said)),
        None if is_model(&subject.kinds) => blocks.push(text(
            "The solution is a design: the tables below show its modelled storage.",
        )),
        None if solution.is_empty() => blocks.push(text(
            "The vendor did not describe the solution; the tables below show what the tests saw of it.",
        )),
        None => {}
    }
    let out_of_scope = solution.list("out_of_scope");
    if !out_of_scope.is_empty() {
        blocks.push(text("Out of scope:"));
        blocks.push(Block::List(out_of_scope.to_vec()));
    }
    blocks.push(heading("Targeted customer profile"));
    blocks.extend(solution.text("customers").map(text));
    blocks.push(Block::Table(profile(subject)));
    if let Some(modelled) = modelled(&subject.kinds) {
        blocks.push(heading("Modelled deployment"));
        blocks.push(Block::Table(simulated(subject)));
        blocks.extend(model::blocks(subject, &modelled));
        return blocks;
    }
    blocks.push(heading("Tested deployment"));
    blocks.push(Block::Table(simulated(subject)));
    let tables = [
        ("Primary storage hardware", hardware(subject)),
        ("Primary storage software", software(subject)),
    ];
    let tables = tables.map(|(title, rows)| Table::pairs(title, rows));
    blocks.extend(tables.into_iter().filter(|t| !t.is_empty()).map(Block::Table));
    for (title, part, databases) in [
        ("Disks of the databases", Part::DatabaseDisks, true),
        ("Disks of the logs", Part::LogDisks, false),
        ("Disks of the backups", Part::BackupDisks, false),
    ] {
        let rows = disks(subject, part, databases);
        if !rows.is_empty() {
            blocks.push(Block::Table(Table::pairs(title, rows)));
        }
    }
    blocks.push(below("As the tests saw it"));
    blocks.push(Block::Table(servers(subject)));
    blocks
}

fn profile(subject: &Subject<'_>) -> Table {
    let result = main_result(&subject.kinds);
    let scenario = scenario(&subject.kinds);
    let value = |table: &str, key: &str| scenario.get(table)?.get(key).cloned();
    let solution = &subject.solution;
    let tested = result.storage.servers.len() as u64;
    let servers = subject.design.as_ref().map_or(tested, |org| org.servers.value);
    let mailboxes = subject.design.as_ref().map(|org| ("Mailboxes", grouped(design::count(org))));
    let mut rows: Vec<(&str, String)> = mailboxes.into_iter().collect();
    rows.push(("Mail servers", grouped(servers)));
    let mut add = |name, said: Option<String>| rows.extend(said.map(|said| (name, said)));
    let rate = value("mailboxes", "io_per_s").and_then(|rate| {
        rate.as_float()
            .or_else(|| rate.as_integer().and_then(|rate| u64::try_from(rate).ok().map(float)))
    });
    add("I/Os per second of a mailbox", rate.map(|rate| rate.to_string()));
    let quota = value("mailboxes", "quota");
    let quota = quota.and_then(|quota| quota.as_str()?.parse::<ByteSize>().ok());
    let size = match subject.design {
        Some(_) => "Size of a mailbox in its database",
        None => "Size of a mailbox",
    };
    add(size, quota.map(|size| size.to_string()));
    add("Backup strategy", solution.text("backup_strategy").map(str::to_owned));
    add("Restore time", solution.text("restore_time").map(str::to_owned));
    Table::pairs("Profile", rows)
}

/// The percentage above the target that was asked for.
fn headroom(subject: &Subject<'_>) -> Option<i64> {
    let scenario = scenario(&subject.kinds);
    scenario.get("test")?.get("headroom_percent")?.as_integer()
}

fn simulated(subject: &Subject<'_>) -> Table {
    let result = main_result(&subject.kinds);
    let setup = &result.storage.details.setup;
    let servers = result.storage.servers.len() as u64;
    let databases = result.storage.database_files;
    let each = |count: u64, of: u64| match of > 0 && count.is_multiple_of(of) {
        true => grouped(count.div_euclid(of)),
        false => format!("{:.1}", float(count) / float(of.max(1))),
    };
    let mut rows: Vec<(&str, Cell)> = Vec::new();
    let mut add = |name, cell: Option<Cell>| rows.extend(cell.map(|cell| (name, cell)));
    let all = setup.mailboxes;
    add("Mailboxes simulated", all.map(Cell::from));
    add("Servers", Some(servers.into()));
    add("Mailboxes per server", all.map(|all| each(all, servers).into()));
    add("Databases per server", Some(each(databases, servers).into()));
    let instances = result.instances().count() as u64;
    add("Log streams per server", Some(each(instances, servers).into()));
    add("Copies of each database", Some(u64::from(setup.copies).into()));
    add("Mailboxes per database", all.map(|all| each(all, databases).into()));
    let target = result.storage.target_iops;
    let percent =
        crate::numbers::float(headroom(subject).and_then(|p| u64::try_from(p).ok()).unwrap_or(0));
    add("Target, I/Os per second", target.map(Cell::Number));
    if let (Some(target), Some(all)) = (target, all) {
        let own = target / float(all.max(1));
        add("Profile, I/Os per second per mailbox", Some(format!("{own:.3}").into()));
        let with = own * (1.0 + percent / 100.0);
        add("Profile with headroom", Some(format!("{with:.3}, with {percent} % headroom").into()));
    }
    let sizes = [
        ("Database LUN size", Part::DatabaseDisks),
        ("Log LUN size", Part::LogDisks),
        ("Backup LUN size", Part::BackupDisks),
    ];
    let modelled = modelled(&subject.kinds);
    let is_model = modelled.is_some();
    for (name, part) in sizes.into_iter().filter(|_| !is_model) {
        let size = subject.solution.size(part, "lun_size");
        add(name, size.map(|size| size.to_string().into()));
    }
    add("Total size of the databases", result.storage.database_bytes_initial.map(Cell::Bytes));
    let formatted = match &modelled {
        Some(modelled) => {
            let luns = modelled.luns(result, Use::Databases);
            let sizes: Option<Vec<u64>> = luns.iter().map(|(_, lun)| lun.bytes).collect();
            sizes.map(|sizes| sizes.into_iter().sum()).filter(|sum| *sum > 0)
        }
        None => formatted(&subject.solution, Part::DatabaseDisks),
    };
    let used = result.storage.database_bytes_initial.zip(formatted);
    add(
        "Storage capacity used by databases",
        used.map(|(bytes, formatted)| Cell::Share(float(bytes) / float(formatted))),
    );
    Table::pairs("Simulated Exchange configuration", rows)
}

/// The capacity of all LUNs.
fn formatted(solution: &Solution, part: Part) -> Option<u64> {
    let (size, luns) = (solution.size(part, "lun_size")?, solution.count(part, "luns")?);
    size.get().checked_mul(luns)
}

/// The capacity of all disks.
fn raw(solution: &Solution, part: Part) -> Option<u64> {
    let (size, disks) = (solution.size(part, "disk_size")?, solution.count(part, "disks")?);
    size.get().checked_mul(disks)
}

/// Drives of the databases, and their bytes: as they were modelled, or as the solution has them.
pub(super) fn database_drives(subject: &Subject<'_>) -> (Option<u64>, Option<u64>) {
    let Some(modelled) = modelled(&subject.kinds) else {
        let solution = &subject.solution;
        let drives = solution.count(Part::DatabaseDisks, "disks");
        return (drives, raw(solution, Part::DatabaseDisks));
    };
    let luns = modelled.luns(main_result(&subject.kinds), Use::Databases);
    let groups = Modelled::groups(&luns);
    let drives: u64 = groups.iter().map(|(times, group)| times * group.drives).sum();
    let bytes = groups.iter().map(|(times, group)| Some(times * group.drives * group.drive.bytes?));
    let bytes: Option<u64> = bytes.sum();
    (Some(drives).filter(|n| *n > 0), bytes.filter(|n| *n > 0))
}

fn hardware(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    subject.solution.all(Part::Hardware)
}

fn software(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let mut rows = subject.solution.all(Part::Software);
    let result = main_result(&subject.kinds);
    let mut systems: Vec<String> = result
        .storage
        .servers
        .iter()
        .map(|server| &server.details.machine)
        .filter(|machine| machine.processors > 0)
        .map(|machine| format!("{}, Linux {}", machine.operating_system, machine.kernel))
        .collect();
    systems.sort();
    systems.dedup();
    if !systems.is_empty() {
        rows.push(("Operating system", systems.join("; ")));
    }
    rows.push((
        "Database engine",
        format!("brunt {}, in the place of ESE.dll", result.origin.version),
    ));
    rows
}

/// What was said about the disks of `part`, and what follows from it.
fn disks(subject: &Subject<'_>, part: Part, databases: bool) -> Vec<(&'static str, String)> {
    let solution = &subject.solution;
    let mut rows = solution.all(part);
    let share = |part: u64, of: u64| format!("{:.0} %", 100.0 * float(part) / float(of));
    let raw = raw(solution, part);
    let formatted = formatted(solution, part);
    let size = |bytes: u64| ByteSize::bytes(bytes).to_string();
    rows.extend(raw.map(|raw| ("Total raw capacity", size(raw))));
    rows.extend(formatted.map(|formatted| ("Total formatted capacity", size(formatted))));
    if let (Some(raw), Some(formatted)) = (raw, formatted) {
        rows.push(("Storage capacity utilization", share(formatted, raw)));
    }
    let bytes = main_result(&subject.kinds).storage.database_bytes_initial;
    if let (Some(raw), Some(bytes), true) = (raw, bytes, databases) {
        rows.push(("Database capacity utilization", share(bytes, raw)));
    }
    rows
}

/// The machines, as they described themselves.
fn servers(subject: &Subject<'_>) -> Table {
    let result = main_result(&subject.kinds);
    let rows = result.storage.servers.iter().map(|server| {
        let machine = &server.details.machine;
        let volumes = server.details.backend.volumes.iter();
        let mut volumes: Vec<String> =
            volumes.map(|volume| format!("{} on {}", volume.file_system, volume.device)).collect();
        volumes.sort();
        volumes.dedup();
        let (processor, memory) = match machine.processors {
            0 => ("in virtual time".to_owned(), Cell::Nothing),
            count => {
                (format!("{count} x {}", machine.processor), Cell::Bytes(machine.memory_bytes))
            }
        };
        Row::new([
            Cell::from(server.name.as_str()),
            processor.into(),
            memory,
            volumes.join("; ").into(),
        ])
    });
    let columns = [
        Column::words("Server"),
        Column::words("Processors"),
        Column::numbers("Memory"),
        Column::words("File systems"),
    ];
    Table::new(columns, rows).titled("Servers")
}
