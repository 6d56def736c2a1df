//! The building block: the drives for one copy of a server's databases.
//!
//! ```text
//!   I/O with headroom -> reads + writes x RAID penalty -> drives -> whole groups --+
//!                                                                                  +-- the larger
//!   databases, index, logs, free space -> volumes -> groups that hold them whole --+
//! ```
//!
//! A database lies in one group, so the busiest group has whole databases, too: a third limit,
//! which the paper leaves out.
//!
//! Writes of logs are sequential and gathered by the array's cache. Where logs share groups with
//! databases, the block does not count them, as the papers do not; the simulation of the design
//! does.
//!
//! Source: EMC CX4-960, 80,000 users, Exchange 2010 (H6918.1).

use brunt_array::drive::DriveModel;
use brunt_array::{Level, preservation_drives};
use brunt_scenario::{BlockPlan, GroupPlan, LogPlace, Organisation, StoragePlan};
use brunt_workload::profile::{Certainty, Figure};

use crate::sheet::{Sheet, ceil, figure, floor, max};
use crate::users::number;

/// One of a stripe's ten pieces in eight holds data.
const POOL_DATA: f64 = 8.0 / 10.0;

/// Random I/Os per second of a drive, as a sizing counts it.
pub fn drive_io(model: &DriveModel) -> Figure<f64> {
    let figure = |value, certainty, source| Figure { value, certainty, source };
    match model.rpm() {
        Some(15_000) => figure(180.0, Certainty::Found, "EMC 2010: 15,000 rpm"),
        Some(10_000..=10_999) => figure(140.0, Certainty::Found, "EMC 2010: 10,000 rpm"),
        Some(_) => figure(75.0, Certainty::Found, "4sysops: 7,200 rpm (EMC: 80)"),
        None if model.sectors() < 1_000_000_000 => {
            figure(10_000.0, Certainty::Assumed, "a SATA SSD, mixed, without running hot")
        }
        None => figure(50_000.0, Certainty::Assumed, "an NVMe SSD, mixed, without running hot"),
    }
}

/// I/Os to drives for a random write.
pub fn write_penalty(level: Level) -> Figure<f64> {
    let (value, certainty, source) = match level {
        Level::Raid0 => (1.0, Certainty::Published, "nothing but the data"),
        Level::Raid1 | Level::Raid10 => (2.0, Certainty::Found, "EMC 2010: two copies"),
        Level::Raid5 | Level::Raid50(_) => {
            (4.0, Certainty::Found, "EMC 2010: read and write data and parity")
        }
        Level::Raid6 | Level::Pool { .. } => {
            (6.0, Certainty::Published, "read and write data and two parities")
        }
    };
    Figure { value, certainty, source }
}

/// Drives' worth of data in a group of `drives`.
pub fn data_drives(group: GroupPlan) -> f64 {
    let drives = f64::from(group.drives);
    match group.level {
        Level::Raid0 => drives,
        Level::Raid1 => 1.0,
        Level::Raid10 => drives / 2.0,
        Level::Raid5 => drives - 1.0,
        Level::Raid50(sets) => drives - f64::from(sets),
        Level::Raid6 => drives - 2.0,
        Level::Pool { preserved, .. } => {
            let kept = preserved
                .map_or_else(|| preservation_drives(group.drives as usize) as u64, u64::from);
            (drives - number(kept)) * POOL_DATA
        }
    }
}

/// Puts the drives of `plan`, which are of `model`, on `sheet`.
pub(crate) fn block(org: &Organisation, plan: &BlockPlan, model: &DriveModel, sheet: &mut Sheet) {
    inputs(&org.storage, plan, model, sheet);
    figure!(sheet, group_bytes = group_data_drives * drive_bytes; group_data_drives, drive_bytes);
    figure!(sheet, block_databases = active_per_server * 1.0; active_per_server);
    figure!(sheet, blocks_per_server = ceil(copies_per_server / block_databases); copies_per_server, block_databases);
    figure!(sheet, block_io = io_per_database * block_databases; io_per_database, block_databases);
    figure!(sheet, block_drive_io = block_io * read_percent / 100.0 + write_penalty * block_io * (1.0 - read_percent / 100.0);
        block_io, read_percent, write_penalty);
    figure!(sheet, drives_for_io = block_drive_io / drive_io_per_s; block_drive_io, drive_io_per_s);
    figure!(sheet, groups_for_io = ceil(drives_for_io / group_drives); drives_for_io, group_drives);
    if let LogPlace::Own(_) = plan.logs {
        figure!(sheet, volume_bytes = database_volume_bytes * 1.0; database_volume_bytes);
    } else {
        figure!(sheet, volume_bytes = database_volume_bytes + log_volume_bytes; database_volume_bytes, log_volume_bytes);
    }
    figure!(sheet, databases_per_group = floor(group_bytes / volume_bytes); group_bytes, volume_bytes);
    // A group that holds no database: [`crate::findings`] says so, and the rest is what it would be
    // if it did.
    figure!(sheet, groups_for_capacity = max(ceil(volume_bytes * block_databases / group_bytes), ceil(block_databases / max(1.0, databases_per_group)));
        volume_bytes, group_bytes, block_databases, databases_per_group);
    figure!(sheet, database_drive_io = block_drive_io / block_databases; block_drive_io, block_databases);
    figure!(sheet, group_drive_io = group_drives * drive_io_per_s; group_drives, drive_io_per_s);
    figure!(sheet, groups_for_balance = ceil(block_databases / max(1.0, floor(group_drive_io / database_drive_io)));
        block_databases, group_drive_io, database_drive_io);
    let least = if plan.logs == LogPlace::Swapped { 2.0 } else { 1.0 };
    sheet.write("groups_min", least);
    figure!(sheet, groups = max(max(groups_min, groups_for_balance), max(groups_for_io, groups_for_capacity));
        groups_min, groups_for_balance, groups_for_io, groups_for_capacity);
    logs(plan, sheet);
    backup(&org.storage, sheet);
    figure!(sheet, drives_per_server = blocks_per_server * (groups * group_drives + log_groups * log_drives) + backup_groups * backup_drives;
        blocks_per_server, groups, group_drives, log_groups, log_drives, backup_groups, backup_drives);
    figure!(sheet, arrays = ceil(servers / array_servers); servers, array_servers);
    spares(&org.storage, plan, sheet);
    figure!(sheet, drives = servers * drives_per_server + arrays * spares; servers, drives_per_server, arrays, spares);
}

fn inputs(storage: &StoragePlan, plan: &BlockPlan, model: &DriveModel, sheet: &mut Sheet) {
    match &plan.drive_io_per_s {
        Some(rate) => sheet.write("drive_io_per_s", rate.value),
        None => sheet.know("drive_io_per_s", drive_io(model)),
    }
    sheet.know("write_penalty", write_penalty(plan.group.level));
    let bytes = model.sectors() * 512;
    let bytes = plan.drive_size.as_ref().map_or(bytes, |size| size.value.get());
    sheet.write("drive_bytes", number(bytes));
    sheet.write("group_drives", plan.group.drives.into());
    sheet.write("group_data_drives", data_drives(plan.group));
    sheet.write("array_servers", number(storage.servers.value));
}

fn logs(plan: &BlockPlan, sheet: &mut Sheet) {
    let LogPlace::Own(group) = plan.logs else {
        sheet.write("log_groups", 0.0);
        sheet.write("log_drives", 0.0);
        return;
    };
    sheet.write("log_drives", group.drives.into());
    sheet.write("log_data_drives", data_drives(group));
    sheet.know("log_write_penalty", write_penalty(group.level));
    figure!(sheet, log_drive_io = log_io_per_database * block_databases * log_write_penalty;
        log_io_per_database, block_databases, log_write_penalty);
    figure!(sheet, log_group_bytes = log_data_drives * drive_bytes; log_data_drives, drive_bytes);
    figure!(sheet, log_drive_io_each = log_drive_io / block_databases; log_drive_io, block_databases);
    figure!(sheet, log_group_drive_io = log_drives * drive_io_per_s; log_drives, drive_io_per_s);
    // A group that holds no log is a finding, as for databases.
    figure!(sheet, log_groups = ceil(max(log_drive_io / log_group_drive_io, block_databases / max(1.0, floor(log_group_bytes / log_volume_bytes))));
        log_drive_io, log_group_drive_io, block_databases, log_group_bytes, log_volume_bytes);
}

fn backup(storage: &StoragePlan, sheet: &mut Sheet) {
    let Some(group) = storage.backup else {
        sheet.write("backup_groups", 0.0);
        sheet.write("backup_drives", 0.0);
        return;
    };
    sheet.write("backup_drives", group.drives.into());
    sheet.write("backup_data_drives", data_drives(group));
    figure!(sheet, backup_groups = ceil(database_bytes * active_per_server / (backup_data_drives * drive_bytes));
        database_bytes, active_per_server, backup_data_drives, drive_bytes);
}

fn spares(storage: &StoragePlan, plan: &BlockPlan, sheet: &mut Sheet) {
    if let Some(spares) = &storage.spares {
        sheet.write("spares", number(spares.value));
        return;
    }
    // A pool keeps room instead.
    let spared = |level: Level, drives: f64| match level {
        Level::Pool { .. } => 0.0,
        _ => drives,
    };
    let get = |name: &str| sheet.get(name);
    let databases = get("groups") * get("group_drives");
    let logs = match plan.logs {
        LogPlace::Own(group) => spared(group.level, get("log_groups") * get("log_drives")),
        _ => 0.0,
    };
    let backups = storage
        .backup
        .map_or(0.0, |group| spared(group.level, get("backup_groups") * get("backup_drives")));
    let drives = get("blocks_per_server") * (spared(plan.group.level, databases) + logs) + backups;
    if drives < get("drives_per_server") {
        let formula = "sum over groups that are no pools of their drives";
        sheet.calculate("spared_drives", drives, formula, &[]);
        figure!(sheet, spares = ceil(spared_drives * array_servers / 30.0); spared_drives, array_servers);
    } else {
        figure!(sheet, spares = ceil(drives_per_server * array_servers / 30.0); drives_per_server, array_servers);
    }
}

#[cfg(test)]
mod tests {
    use brunt_array::drive::library;
    use brunt_array::{ArrayDesign, SystemDesign};
    use brunt_world::random::Streams;

    use super::*;

    /// What the model of an array makes of a group is what a block counts on, and hardly more.
    #[test]
    fn a_group_holds_what_it_says() {
        for (level, drives) in [
            (Level::Raid1, 2),
            (Level::Raid10, 8),
            (Level::Raid5, 5),
            (Level::Raid6, 8),
            (Level::POOL, 11),
            (Level::POOL, 24),
            (Level::POOL, 60),
        ] {
            for name in ["savvio-10k6-900-sas", "nvme-ssd-1920"] {
                let model = library::find(name).unwrap();
                let counted =
                    data_drives(GroupPlan { level, drives }) * number(model.sectors() * 512);
                let drives = u16::try_from(drives).unwrap();
                let design = SystemDesign::from(ArrayDesign::one_group(&model, drives, level));
                let built = design.build(Streams::new(1), &[]).unwrap();
                let share = number(built.lun_size(0).get()) / counted;
                assert!((0.98..1.0001).contains(&share), "{name} {level:?} {drives}: {share}");
            }
        }
    }
}
