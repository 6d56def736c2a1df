//! Recomputes checksums, so that the code behind them is also tested.

use brunt_ese::format::checksum::{seal, seal_block, seal_header};
use brunt_ese::format::log_file::seal_segment;
use brunt_units::{PageNumber, PageSize};

/// Size of the headers of logs, checkpoints and flush maps.
pub const HEADER: usize = 4096;

/// Seals the header in the first `length` bytes, if there are that many.
pub fn header(bytes: &mut [u8], length: usize) {
    if let Some(header) = bytes.get_mut(..length) {
        seal_header(header);
    }
}

/// Seals both copies of a header and every whole page after them.
pub fn database(bytes: &mut [u8], size: PageSize) {
    for (number, page) in (0..).zip(bytes.chunks_exact_mut(size.bytes())) {
        match u32::checked_sub(number, 1) {
            None | Some(0) => seal_header(page),
            Some(number) => seal(page, size, PageNumber(number)),
        }
    }
}

/// Seals the header of a log and every whole segment after it.
pub fn log(bytes: &mut [u8], segment: usize) {
    header(bytes, HEADER);
    let first = HEADER.div_euclid(segment);
    let segments = (0..).zip(bytes.chunks_exact_mut(segment)).skip(first);
    segments.for_each(|(number, segment)| seal_segment(segment, number));
}

/// Seals both copies of a checkpoint.
pub fn checkpoint(bytes: &mut [u8]) {
    bytes.chunks_exact_mut(HEADER).take(2).for_each(seal_header);
}

/// Seals the header of a flush map and every whole map page after it.
pub fn flush_map(bytes: &mut [u8], page: usize) {
    header(bytes, HEADER);
    let pages = (0..).zip(bytes.chunks_exact_mut(page));
    pages.skip(1).for_each(|(number, page)| seal_block(page, number));
}
