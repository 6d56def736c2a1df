//! Why a cell of the matrix is what it is: words for what was tried, not for what ought to be.

use brunt_world::fault::FaultKind;

use super::trial::Place;

/// One sentence for the cell at `kind` and `place`, whose outcome is `cell`.
pub(crate) fn why(kind: FaultKind, place: Place, cell: &str) -> &'static str {
    match kind {
        FaultKind::DeviceError if place == Place::Checkpoint => {
            "a checkpoint that cannot be written would make every recovery longer; the instance stops"
        }
        FaultKind::DeviceError | FaultKind::NoSpace => {
            "the device says so, and nobody takes an error for success"
        }
        FaultKind::MediumError if cell.starts_with("**") => {
            "the device says so, and nobody takes an error for success"
        }
        FaultKind::MediumError if cell == "harmless" => {
            "the second copy is read, or it is made anew"
        }
        FaultKind::Stuck => "an I/O in flight for 30 s counts as hung",
        FaultKind::Slow(_) => "late is a matter of the latency rules",
        _ => match place {
            Place::Leaf | Place::Branch | Place::Root => of_a_page(kind, cell),
            Place::Header => of_the_header(kind, cell),
            Place::FlushMap => of_the_flush_map(kind),
            Place::LogSegment => of_the_log(kind),
            Place::Checkpoint => of_the_checkpoint(kind),
            Place::Copy => of_a_copy(kind, cell),
        },
    }
}

fn of_a_page(kind: FaultKind, cell: &str) -> &'static str {
    match kind {
        FaultKind::BitFlip => {
            "the checksum says which bit it is, and it is turned back and counted"
        }
        FaultKind::TwoBitFlip | FaultKind::ShortRead | FaultKind::Torn => {
            "the checksum covers the whole page"
        }
        FaultKind::Zeroed => "a tree points to it, so it cannot be blank",
        FaultKind::MisdirectedRead(_) if cell.contains("-1019") => {
            "the page there was never used, and a tree points here"
        }
        FaultKind::MisdirectedRead(_) => "the checksum is made with the page's number",
        FaultKind::MisdirectedWrite(_) if cell.contains("-1118") => {
            "the page that was hit carries another number; the one that was missed is too old as well"
        }
        FaultKind::Lost | FaultKind::Stale | FaultKind::MisdirectedWrite(_) => {
            "its flush type is not that of the last write, which memory and flush map know"
        }
        FaultKind::DroppedSync => {
            "the log is newer than the page, and redo compares times before and after"
        }
        _ => "",
    }
}

fn of_the_header(kind: FaultKind, cell: &str) -> &'static str {
    match kind {
        FaultKind::MisdirectedWrite(_) => {
            "it hits the first page of the database, whose checksum fails"
        }
        FaultKind::DroppedSync => "pages were lost with it, and redo notices those",
        FaultKind::Stale if cell == "harmless" => {
            "the header of before the close says that it is open, and the log is replayed again"
        }
        FaultKind::Stale | FaultKind::Lost => {
            "of two copies that are sound and differ the newer is taken, and verify notes that they differ"
        }
        _ => "there is a second copy, written when the first is durable",
    }
}

fn of_the_flush_map(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Lost | FaultKind::MisdirectedWrite(_) | FaultKind::Stale => {
            "a map page that is sound and too old contradicts pages that are newer: it accuses them"
        }
        FaultKind::DroppedSync => "pages were lost with it, and redo notices those",
        _ => "a map page that is damaged knows nothing and accuses nobody; it is made anew",
    }
}

fn of_the_log(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::DroppedSync => {
            "every file ends with its header, and nothing behind the end could say that there was more"
        }
        _ => {
            "more was written behind it later, and is whole: it was durable before, and is not what a crash leaves"
        }
    }
}

fn of_the_checkpoint(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::DroppedSync => {
            "it is written through, and synced once more before old logs are given up"
        }
        FaultKind::Lost | FaultKind::Stale => {
            "of two copies that are sound and differ the one that is further on is taken"
        }
        _ => "there is a second copy, and without any the oldest log is where recovery begins",
    }
}

fn of_a_copy(kind: FaultKind, cell: &str) -> &'static str {
    match kind {
        FaultKind::BitFlip => "the checksum says which bit it is, before and after it is restored",
        FaultKind::TwoBitFlip
        | FaultKind::ShortRead
        | FaultKind::Torn
        | FaultKind::MisdirectedRead(_)
        | FaultKind::MisdirectedWrite(_) => "every page is verified before anything is replaced",
        FaultKind::DroppedSync if cell.starts_with("**") => {
            "every page is verified before anything is replaced, and the header is the first of them"
        }
        _ if cell.starts_with("**") => "it was written once, so it is blank, and trees point to it",
        _ => {
            "it was written once, so it is blank; no tree of a database that was not closed is looked into, and redo makes it anew"
        }
    }
}
