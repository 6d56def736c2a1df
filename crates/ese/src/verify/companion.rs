//! Verifying the small files beside a database: checkpoint and flush map.

use brunt_units::PageNumber;

use super::report::{Fault, FileKind, FileReport, Note, Place};
use super::source::Source;
use crate::format::checkpoint_file::{CHECKPOINT_BYTES, Checkpoint};
use crate::format::flush_map::{FlushMapHeader, MAP_PAGE_BYTES, map_pages, sound_map_page};

/// Verifies the two copies of a checkpoint; `None` when neither is one.
pub(super) fn verify_checkpoint(source: &Source, start: &[u8]) -> Option<FileReport> {
    let path = source.path.clone();
    let mut report = FileReport::new(path, source.length, FileKind::Checkpoint);
    let copies = start.chunks_exact(CHECKPOINT_BYTES).take(2);
    for (copy, place) in copies.zip([Place::Header, Place::Shadow]) {
        report.pages_seen += 1;
        if Checkpoint::read(copy).is_err() {
            let offset = if place == Place::Header { 0 } else { CHECKPOINT_BYTES as u64 };
            report.find(place, offset, Fault::Checksum);
        }
    }
    (report.pages_bad < report.pages_seen).then_some(report)
}

/// Verifies header and map pages of a flush map; `None` when it does not have a brunt header.
pub(super) async fn verify_flush_map(source: &Source, start: &[u8]) -> Option<FileReport> {
    let header = FlushMapHeader::read(start.get(..MAP_PAGE_BYTES)?)?;
    let path = source.path.clone();
    let mut report = FileReport::new(path, source.length, FileKind::FlushMap);
    report.pages_seen = 1;
    let map_page_bytes = MAP_PAGE_BYTES as u64;
    let in_file = source.readable.div_euclid(map_page_bytes).saturating_sub(1);
    let expected = u64::from(map_pages(header.pages));
    // The header has the number of pages at the time the map was created.
    let mut stream = source.stream(map_page_bytes..(in_file + 1) * map_page_bytes, MAP_PAGE_BYTES);
    while let Some((offset, bytes)) = stream.next().await {
        match bytes {
            Ok(bytes) => judge_map_pages(&mut report, offset, &bytes),
            Err(error) => judge_map_page(&mut report, offset, Some(Fault::Device(error))),
        }
    }
    if in_file == 0 && expected > 0 {
        report.notes.push(Note::FlushMapUnwritten);
    } else if in_file < expected {
        let first = (in_file + 1) * map_page_bytes;
        report.pages_seen += expected - in_file;
        report.find_run(map_page(first), first, expected - in_file, Fault::PastEnd);
    }
    Some(report)
}

fn judge_map_pages(report: &mut FileReport, offset: u64, bytes: &[u8]) {
    let places = (offset..).step_by(MAP_PAGE_BYTES);
    for (page, offset) in bytes.chunks_exact(MAP_PAGE_BYTES).zip(places) {
        let sound = sound_map_page(page, map_page(offset).0 - 1).is_some();
        judge_map_page(report, offset, (!sound).then_some(Fault::Checksum));
    }
}

fn judge_map_page(report: &mut FileReport, offset: u64, fault: Option<Fault>) {
    report.pages_seen += 1;
    if let Some(fault) = fault {
        report.find(Place::Page(map_page(offset)), offset, fault);
    }
}

/// The map page at `offset`, counted from 1; the header comes before the first.
fn map_page(offset: u64) -> PageNumber {
    let number = offset.div_euclid(MAP_PAGE_BYTES as u64);
    PageNumber(u32::try_from(number).expect("a map has fewer than 2^32 pages"))
}
