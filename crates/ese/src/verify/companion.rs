//! Judging the small files beside a database: checkpoint and flush map.

use super::report::{Fault, FileKind, FileReport, Place};
use super::source::{Source, pieces};
use crate::format::checkpoint_file::{CHECKPOINT_BYTES, Checkpoint};
use crate::format::flush_map::{FlushMapHeader, MAP_PAGE_BYTES, map_pages, sound_map_page};
use brunt_units::PageNumber;

/// Judges the two copies of a checkpoint; `None` when neither is one.
pub(super) fn verify_checkpoint(source: &Source, start: &[u8]) -> Option<FileReport> {
    let path = source.path.clone();
    let mut report = FileReport::new(path, source.length, FileKind::Checkpoint);
    let copies = start.chunks_exact(CHECKPOINT_BYTES).take(2);
    for (copy, place) in copies.zip([Place::Header, Place::Shadow]) {
        report.pages_seen += 1;
        if Checkpoint::read(copy).is_err() {
            let offset = if place == Place::Header {
                0
            } else {
                CHECKPOINT_BYTES as u64
            };
            report.find(place, offset, Fault::Checksum);
        }
    }
    (report.pages_bad < report.pages_seen).then_some(report)
}

/// Judges header and map pages of a flush map; `None` when the header is not one of ours.
pub(super) async fn verify_flush_map(source: &Source, start: &[u8]) -> Option<FileReport> {
    let header = FlushMapHeader::read(start.get(..MAP_PAGE_BYTES)?)?;
    let path = source.path.clone();
    let mut report = FileReport::new(path, source.length, FileKind::FlushMap);
    report.pages_seen = 1;
    let map_page_bytes = MAP_PAGE_BYTES as u64;
    let in_file = source.readable.div_euclid(map_page_bytes).saturating_sub(1);
    let there = in_file.min(map_pages(header.pages).into());
    let mut stream = source.stream(pieces(map_page_bytes..(there + 1) * map_page_bytes));
    let mut index = 0;
    while let Some((piece, bytes)) = stream.next().await {
        let places = (piece.offset..).step_by(MAP_PAGE_BYTES);
        let count = piece.length.div_euclid(MAP_PAGE_BYTES);
        for (slot, offset) in (0..count).zip(places) {
            let fault = match &bytes {
                Err(error) => Some(Fault::Device(*error)),
                Ok(bytes) => {
                    let page = &bytes[slot * MAP_PAGE_BYTES..][..MAP_PAGE_BYTES];
                    sound_map_page(page, index)
                        .is_none()
                        .then_some(Fault::Checksum)
                }
            };
            report.pages_seen += 1;
            index += 1;
            if let Some(fault) = fault {
                report.find(Place::Page(PageNumber(index)), offset, fault);
            }
        }
    }
    Some(report)
}
