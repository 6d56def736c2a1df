//! Explains the cells of the matrix: what was observed, not what should happen.

use brunt_world::fault::FaultKind;

use super::trial::Place;

/// One sentence for the cell at `kind` and `place`, whose outcome is `cell`.
pub(crate) fn why(kind: FaultKind, place: Place, cell: &str) -> &'static str {
    match kind {
        FaultKind::DeviceError if place == Place::Checkpoint => {
            "without a new checkpoint every recovery would take longer, so the instance stops"
        }
        FaultKind::DeviceError | FaultKind::NoSpace => {
            "the device reports it, and no error is taken for success"
        }
        FaultKind::MediumError if cell.starts_with("**") => {
            "the device reports it, and no error is taken for success"
        }
        FaultKind::MediumError if cell == "harmless" => "the second copy is read, or it is rebuilt",
        FaultKind::Stuck => "an I/O in flight for 30 s counts as hung",
        FaultKind::Slow(_) => "late I/O is a matter for the latency rules",
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
        FaultKind::BitFlip => "the checksum shows which bit it is; it is turned back and counted",
        FaultKind::TwoBitFlip | FaultKind::ShortRead | FaultKind::Torn => {
            "the checksum covers the whole page"
        }
        FaultKind::Zeroed => "a tree points to it, so it cannot be blank",
        FaultKind::MisdirectedRead(_) if cell.contains("-1019") => {
            "the page there was never used, but a tree points here"
        }
        FaultKind::MisdirectedRead(_) => "the checksum includes the page's number",
        FaultKind::MisdirectedWrite(_) if cell.contains("-1118") => {
            "the page that was hit carries another number; the one that was missed is too old, too"
        }
        FaultKind::Lost | FaultKind::Stale | FaultKind::MisdirectedWrite(_) => {
            "its flush type is not that of the last write, which memory and flush map remember"
        }
        FaultKind::DroppedSync => {
            "the log is newer than the page; redo compares times before and after"
        }
        _ => "",
    }
}

fn of_the_header(kind: FaultKind, cell: &str) -> &'static str {
    match kind {
        FaultKind::MisdirectedWrite(_) => {
            "it hits the first page of the database, whose checksum does not match"
        }
        FaultKind::DroppedSync => "pages were lost with it, and redo detects those",
        FaultKind::Stale if cell == "harmless" => {
            "the header from before the close says that it is open, so the log is replayed again"
        }
        FaultKind::Stale | FaultKind::Lost => {
            "both copies are sound: the newer one is used, and verify reports that they differ"
        }
        _ => "there is a second copy, written once the first is durable",
    }
}

fn of_the_flush_map(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Lost | FaultKind::MisdirectedWrite(_) | FaultKind::Stale => {
            "a sound map page that is too old accuses newer pages"
        }
        FaultKind::DroppedSync => "pages were lost with it, and redo detects those",
        _ => "a damaged map page accuses no page; it is rebuilt",
    }
}

fn of_the_log(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::DroppedSync => {
            "every file ends with its header; nothing behind the end could show that there was more"
        }
        _ => "later segments are whole, so this one was durable: no crash leaves that",
    }
}

fn of_the_checkpoint(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::DroppedSync => {
            "it is written through, and synced again before old logs are released"
        }
        FaultKind::Lost | FaultKind::Stale => "both copies are sound: the one further on is used",
        _ => "there is a second copy; without either, recovery begins at the oldest log",
    }
}

fn of_a_copy(kind: FaultKind, cell: &str) -> &'static str {
    match kind {
        FaultKind::BitFlip => "the checksum shows which bit it is, before and after the restore",
        FaultKind::TwoBitFlip
        | FaultKind::ShortRead
        | FaultKind::Torn
        | FaultKind::MisdirectedRead(_)
        | FaultKind::MisdirectedWrite(_) => "every page is verified before anything is replaced",
        FaultKind::DroppedSync if cell.starts_with("**") => {
            "every page is verified before anything is replaced, the header first"
        }
        _ if cell.starts_with("**") => {
            "it was written only once, so it is blank, but trees point to it"
        }
        _ => {
            "it was written only once, so it is blank; trees of an unclosed database are not checked, and redo rebuilds the page"
        }
    }
}
