//! The devices under the databases and logs, as they describe themselves: a report must show what
//! it was measured on.

use brunt_units::ByteSize;

use super::{Column, Row, Table};
use crate::result::{Device, RunResult, Volume, WriteCache};

const UNKNOWN: &str = "unknown";

/// Every device under every volume, from the top down, each once for each server.
pub(super) fn devices(result: &RunResult) -> Table {
    let mut rows = Vec::new();
    for server in &result.storage.servers {
        let mut shown: Vec<&str> = Vec::new();
        // A model's volumes have no devices, and its server has no processors.
        let volumes = &server.details.backend.volumes;
        for volume in volumes.iter().filter(|_| server.details.machine.processors > 0) {
            if volume.stack.is_empty() {
                rows.push(unknown(volume));
            }
            for device in &volume.stack {
                if !shown.contains(&device.name.as_str()) {
                    shown.push(&device.name);
                    rows.push(row(device));
                }
            }
        }
    }
    let words = [
        "Device",
        "Type",
        "Model",
        "Serial number",
        "Firmware",
        "Media",
        "Write cache",
        "Scheduler, queue depth",
    ];
    let columns = Column::of(&words, &["Sector (bytes)", "Size"]);
    let note = "As reported by the kernel; virtual and array devices often report little, or report it wrongly. \
                Each logical volume, RAID and file is listed above the devices it is built from.";
    Table::new(columns, rows).titled("Devices").noted(&format!("{note}{}", raids(result)))
}

/// How each RAID was at both ends of the run.
fn raids(result: &RunResult) -> String {
    let servers = result.storage.servers.iter();
    let volumes = servers.flat_map(|server| &server.details.backend.volumes);
    let raids = volumes.flat_map(|volume| &volume.redundancy);
    let said = raids.map(|raid| {
        let (name, begin) = (&raid.name, &raid.at_begin);
        match &raid.at_end {
            Some(end) if end == begin => format!(" {name}: {begin} at both ends of the run."),
            Some(end) => format!(" {name}: {begin} at the beginning, {end} at the end."),
            None => format!(" {name}: {begin} at the beginning."),
        }
    });
    let mut said: Vec<String> = said.collect();
    said.dedup();
    said.concat()
}

/// A volume without a known device: a file server, memory, an overlay.
fn unknown(volume: &Volume) -> Row {
    let what = format!("no block device is known ({})", volume.file_system);
    let mut cells = vec![volume.mount.clone(), what];
    cells.extend(std::iter::repeat_n("-".to_owned(), 8));
    Row::new(cells)
}

fn row(device: &Device) -> Row {
    let told = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    // Only drives are expected to have a model, a serial number and firmware.
    let identity = |text: &Option<String>| match (device.is_leaf, text) {
        (false, None) => "-".to_owned(),
        _ => told(text),
    };
    let size = device.capacity_bytes.map(|bytes| ByteSize::bytes(bytes).to_string());
    let media = device.is_rotational.map(|rotates| match rotates {
        true => "rotational".to_owned(),
        false => "solid state".to_owned(),
    });
    let cache = device.write_cache.map(|cache| match cache {
        WriteCache::WriteBack => "write back".to_owned(),
        WriteCache::WriteThrough => "write through".to_owned(),
        WriteCache::Unknown => UNKNOWN.to_owned(),
    });
    Row::new(vec![
        device.name.clone(),
        device.made.clone(),
        identity(&device.model),
        identity(&device.serial),
        identity(&device.firmware),
        told(&media),
        told(&cache),
        queue(device),
        sectors(device),
        told(&size),
    ])
}

fn queue(device: &Device) -> String {
    match (&device.scheduler, device.queue_requests) {
        (Some(scheduler), Some(requests)) => format!("{scheduler}, {requests}"),
        (Some(scheduler), None) => scheduler.clone(),
        (None, Some(requests)) => requests.to_string(),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// `512`, or `512 in 4096` where the device must read, change and rewrite a physical sector.
fn sectors(device: &Device) -> String {
    match (device.logical_sector_bytes, device.physical_sector_bytes) {
        (Some(logical), Some(physical)) if physical > logical => format!("{logical} in {physical}"),
        (Some(logical), _) => logical.to_string(),
        _ => UNKNOWN.to_owned(),
    }
}
