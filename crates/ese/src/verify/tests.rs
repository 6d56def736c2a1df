//! Whole files, intact and with every kind of damage.

use brunt_units::{DatabaseTime, LogPosition, PageNumber, PageSize, Span};
use brunt_world::random::Streams;
use brunt_world::{Frames, IoError};
use brunt_world_virtual::{Agenda, Device, Request};

use super::testkit::{
    OWNED, TestDatabase, USER_ROOT, options, set_flush_type, verify_bytes, verify_in,
};
use super::{Contradiction, Fault, FileKind, FileReport, Finding, Note, Place, VerifyError};
use crate::format::checkpoint_file::Checkpoint;
use crate::format::checksum::{seal, seal_header};
use crate::format::field::{put_u32, put_u64, u32_at};
use crate::format::flush_map::{FlushMapHeader, MAP_PAGE_BYTES, seal_map_page};
use crate::format::header::{DatabaseState, HeaderError, LogsRequired};
use crate::format::log_file::{FILL, LogHeader, LogHeaderError, SegmentHeader, SegmentSize};
use crate::format::page::{DATABASE_TIME_AT, FLAGS_AT, NEXT_AT, PREVIOUS_AT, Page, PageFlags};
use crate::format::stamp::{RunId, Signature, Stamp};

const RECORDS: i32 = 600;
const NO_MAP: Note = stale_pages(false, true);

const fn stale_pages(flush_map: bool, neighbours: bool) -> Note {
    Note::StalePages { flush_map, neighbours }
}

fn at(number: PageNumber, size: PageSize) -> usize {
    usize::try_from(number.offset(size)).unwrap()
}

/// A leaf that the user table's root points to.
fn a_leaf(file: &[u8], size: PageSize) -> PageNumber {
    let root = at(USER_ROOT, size);
    let page = Page::new(&file[root..root + size.bytes()], size);
    page.node(1).unwrap().child().unwrap()
}

/// The report of a damaged database, and the leaf that a test may damage.
fn damaged(
    size: PageSize,
    damage: impl FnOnce(&mut Vec<u8>, PageNumber),
) -> (FileReport, PageNumber) {
    let mut file = TestDatabase::new(size, RECORDS).bytes();
    let leaf = a_leaf(&file, size);
    damage(&mut file, leaf);
    (verify_bytes(&file).unwrap(), leaf)
}

fn only(report: &FileReport) -> Finding {
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    report.findings[0]
}

#[test]
fn intact_databases_of_every_page_size() {
    for size in PageSize::ALL {
        let database = TestDatabase::new(size, RECORDS);
        let report = verify_bytes(&database.bytes()).unwrap();
        assert!(report.is_intact(), "{:?}", report.findings);
        assert_eq!(report.pages_seen, u64::from(OWNED) + 2);
        assert!(report.pages_uninitialised > 0);
        assert_eq!(report.notes, [NO_MAP]);
        let kind = FileKind::Database {
            page_size: size,
            revision: 20,
            state: DatabaseState::Clean,
            ours: true,
        };
        assert_eq!(report.kind, kind);
        assert!(report.elapsed > Span::ZERO);
    }
}

#[test]
fn every_page_of_the_test_database_keeps_the_structure_rules() {
    for size in PageSize::ALL {
        let file = TestDatabase::new(size, RECORDS).bytes();
        for page in file[2 * size.bytes()..].chunks_exact(size.bytes()) {
            if page.iter().any(|byte| *byte != 0) {
                assert_eq!(Page::new(page, size).check(), Ok(()));
            }
        }
    }
}

#[test]
fn damage_is_named_with_its_number() {
    for size in PageSize::ALL {
        let (report, leaf) = damaged(size, |file, leaf| {
            file[at(leaf, size) + 200] ^= 0x11;
        });
        let found = only(&report);
        assert_eq!((found.place, found.fault), (Place::Page(leaf), Fault::Checksum));
        assert_eq!((found.offset, found.fault.code()), (leaf.offset(size), -1018));
        assert_eq!((report.pages_bad, report.pages_correctable), (1, 0));

        let (report, _) = damaged(size, |file, leaf| file[at(leaf, size) + 200] ^= 0x10);
        assert_eq!(only(&report).fault, Fault::Correctable { bits: 1 });
        assert_eq!((report.pages_bad, report.pages_correctable), (0, 1));

        let (report, leaf) = damaged(size, |file, leaf| {
            let (from, to) = (at(leaf.after(1), size), at(leaf, size));
            file.copy_within(from..from + size.bytes(), to);
        });
        let belongs_at = leaf.after(1);
        assert_eq!(only(&report).fault, Fault::WrongNumber { belongs_at });
        assert_eq!(only(&report).fault.code(), -1118);
        assert_eq!((report.pages_bad, report.pages_wrong_number), (1, 1));
    }
}

#[test]
fn a_page_that_cannot_be_anywhere_here_is_a_checksum_error_on_small_pages() {
    // Small pages do not store their number, so a damaged checksum field can look like another
    // page's.
    let (report, _) = damaged(PageSize::KIB_4, |file, leaf| {
        file[at(leaf, PageSize::KIB_4) + 3] ^= 0x40;
    });
    assert_eq!(only(&report).fault, Fault::Checksum);
    // A large page stores its number, so one from a longer database is identified.
    let size = PageSize::KIB_32;
    let far = PageNumber(1_000_000);
    let (report, _) = damaged(size, |file, leaf| {
        let leaf = at(leaf, size);
        seal(&mut file[leaf..leaf + size.bytes()], size, far);
    });
    assert_eq!(only(&report).fault, Fault::WrongNumber { belongs_at: far });
}

#[test]
fn a_blank_page_is_bad_only_when_a_tree_reaches_it() {
    for size in PageSize::ALL {
        let blank = |file: &mut Vec<u8>, page| file[at(page, size)..][..size.bytes()].fill(0);
        let (report, leaf) = damaged(size, blank);
        let found = only(&report);
        assert_eq!((found.place, found.fault), (Place::Page(leaf), Fault::Uninitialised));
        assert_eq!(found.fault.code(), -1019);
        // Only the catalog points to a root.
        let (report, _) = damaged(size, |file, _| blank(file, USER_ROOT));
        assert_eq!(only(&report).place, Place::Page(USER_ROOT));
        let (report, _) = damaged(size, |file, _| blank(file, PageNumber(3)));
        assert_eq!(only(&report).place, Place::Page(PageNumber(3)), "a space tree's root");
    }
}

#[test]
fn before_recovery_a_blank_page_that_a_tree_names_is_not_judged() {
    let size = PageSize::KIB_4;
    let mut database = TestDatabase::new(size, RECORDS);
    database.header.state = DatabaseState::Dirty;
    (database.header.required, database.header.committed) =
        (LogsRequired { lowest: 3, highest: 11 }, 12);
    let not_clean = Note::NotClean { required: database.header.required, committed: 12 };
    assert_eq!(
        not_clean.to_string(),
        "the database was not closed properly; Log Required: 3-11 (0x3-0xb), Log Committed: 0-12 (0x0-0xc)"
    );
    let whole = database.bytes();
    let report = verify_bytes(&whole).unwrap();
    assert!(report.is_intact() && report.is_judged());
    for blank in [a_leaf(&whole, size), USER_ROOT] {
        let mut file = whole.clone();
        file[at(blank, size)..][..size.bytes()].fill(0);
        let report = verify_bytes(&file).unwrap();
        assert!(report.is_intact() && !report.is_judged());
        let named = Note::BlankNamed(vec![blank]);
        let words = format!("page {blank} is blank, and a tree names it (ESE -1019)");
        assert!(named.to_string().contains(&words), "{named}");
        let notes = [not_clean.clone(), stale_pages(false, false), named];
        assert_eq!(report.notes, notes);
    }
}

#[test]
fn before_recovery_a_wrong_checksum_may_be_a_write_that_was_cut_short() {
    let size = PageSize::KIB_4;
    let mut database = TestDatabase::new(size, RECORDS);
    database.header.state = DatabaseState::Dirty;
    let mut file = database.bytes();
    let leaf = a_leaf(&file, size);
    file[at(leaf, size) + size.bytes() - 512..][..512].fill(0x5A);
    let mut report = verify_bytes(&file).unwrap();
    assert_eq!(only(&report).fault, Fault::Checksum);
    assert_eq!(report.notes.last(), Some(&Note::PerhapsTorn));
    // Who knows that its write failed leaves it out.
    let (seen, other) = (report.pages_seen, leaf.after(1));
    assert_eq!(report.leave_out(&[other]), 0);
    assert_eq!(report.leave_out(&[leaf, other]), 1);
    assert!(report.is_intact() && report.findings.is_empty());
    assert_eq!(report.pages_seen, seen - 1);
}

#[test]
fn a_remnant_s_pointer_to_a_blank_page_accuses_nobody() {
    let size = PageSize::KIB_4;
    let mut database = TestDatabase::new(size, RECORDS);
    // Other programs leave remnants.
    database.header.signature = Signature::default();
    let mut file = database.bytes();
    // Copy the root's content to a page that no tree reaches, pointing to a blank one.
    let (remnant, blank) = (database.first_blank(), database.first_blank().after(1));
    let root = at(USER_ROOT, size);
    file.copy_within(root..root + size.bytes(), at(remnant, size));
    let remnant_at = at(remnant, size);
    let page = &mut file[remnant_at..remnant_at + size.bytes()];
    let child_at = 40 + 16 + 2 + 5;
    put_u32(page, child_at, blank.0);
    seal(page, size, remnant);
    assert_eq!(Page::new(page, size).node(0).unwrap().child(), Some(blank));
    let report = verify_bytes(&file).unwrap();
    assert!(report.is_intact(), "{:?}", report.findings);
}

#[test]
fn what_is_not_owned_is_not_judged() {
    let size = PageSize::KIB_8;
    let (report, _) = damaged(size, |file, _| {
        file.extend(vec![0x5A; 3 * size.bytes() + 512]);
    });
    assert!(report.is_intact());
    assert_eq!(report.notes, [Note::NotOwned(3), NO_MAP, Note::OddEnd(512)]);
}

/// The reports of a database of 48 pages truncated at each page border, and its remaining pages.
fn cut(size: PageSize, change: fn(&mut TestDatabase)) -> Vec<(usize, FileReport)> {
    let mut database = TestDatabase::owning(48, size, 40);
    change(&mut database);
    let file = database.bytes();
    let left = 2 * size.bytes()..=file.len();
    let reports = left.step_by(size.bytes()).map(|left| {
        let pages = left.div_euclid(size.bytes()) - 2;
        (pages, verify_bytes(&file[..left]).unwrap())
    });
    reports.collect()
}

#[test]
fn a_database_is_damaged_wherever_it_is_cut() {
    for size in [PageSize::KIB_4, PageSize::KIB_32] {
        for state in [DatabaseState::Clean, DatabaseState::Dirty] {
            let reports = match state {
                DatabaseState::Clean => cut(size, |_| ()),
                _ => cut(size, |database| database.header.state = DatabaseState::Dirty),
            };
            let (whole, shorter) = reports.split_last().unwrap();
            assert!(whole.1.is_intact() && whole.1.is_judged());
            assert_eq!(shorter.len(), 48);
            for (pages, report) in shorter {
                let missing = PageNumber(u32::try_from(*pages).unwrap() + 1);
                let place = Place::Page(missing);
                let mut ends = report.findings.iter();
                let end = ends.find(|found| found.fault == Fault::PastEnd);
                assert_eq!(end.map(|end| end.place), Some(place), "{size}, {pages} pages");
            }
        }
    }
}

#[test]
fn a_database_cut_inside_its_headers_is_damaged() {
    for size in [PageSize::KIB_4, PageSize::KIB_32] {
        let file = TestDatabase::owning(48, size, 40).bytes();
        for left in (4096..2 * size.bytes()).step_by(4096) {
            let is_damaged = match verify_bytes(&file[..left]) {
                Ok(report) => report.findings[0].place == Place::Shadow && report.pages_bad == 2,
                Err(error) => error.is_damage(),
            };
            assert!(is_damaged, "{size}, {left} bytes");
        }
    }
}

#[test]
fn somebody_else_s_owned_space_that_cannot_be_read_is_not_judged() {
    for size in [PageSize::KIB_4, PageSize::KIB_32] {
        let reports = cut(size, |database| {
            database.header.signature = Signature::default();
        });
        for (pages, report) in reports {
            // Page 1 has the root's space header, page 2 the owned space.
            let is_readable = pages >= 2;
            assert_eq!(report.is_judged(), is_readable, "{size}, {pages} pages");
            let is_whole = pages == 48;
            assert_eq!(report.is_intact(), !is_readable || is_whole);
        }
    }
}

#[test]
fn owned_space_that_makes_no_sense_is_damage_once_recovery_is_done() {
    let size = PageSize::KIB_8;
    let verify = |state, signature: Option<Signature>| {
        let mut database = TestDatabase::new(size, RECORDS);
        database.header.state = state;
        database.header.signature = signature.unwrap_or(database.header.signature);
        let mut file = database.bytes();
        // Put the catalog's root in place of the owned space.
        let (from, to) = (at(PageNumber(4), size), at(PageNumber(2), size));
        file.copy_within(from..from + size.bytes(), to);
        seal(&mut file[to..to + size.bytes()], size, PageNumber(2));
        verify_bytes(&file).unwrap()
    };
    let report = verify(DatabaseState::Clean, None);
    let found = only(&report);
    assert_eq!((found.fault, found.fault.code()), (Fault::OwnedSpace, -1206));
    assert_eq!(found.place, Place::Page(PageNumber(2)));
    for (state, signature) in
        [(DatabaseState::Dirty, None), (DatabaseState::Clean, Some(Signature::default()))]
    {
        let report = verify(state, signature);
        assert!(report.is_intact() && !report.is_judged());
    }
}

#[test]
fn owned_space_that_cannot_be_read_means_all_pages() {
    let size = PageSize::KIB_4;
    let (report, _) = damaged(size, |file, _| {
        file[at(PageNumber(2), size) + 100] ^= 0x11;
        file.extend(vec![0x5A; size.bytes()]);
    });
    assert!(matches!(report.notes[0], Note::OwnedSpaceUnreadable(_)));
    assert_eq!(report.pages_bad, 2);
    assert_eq!(report.pages_seen, u64::from(OWNED) + 3);
}

#[test]
fn a_shorter_file_lacks_pages() {
    let size = PageSize::KIB_16;
    let (report, _) = damaged(size, |file, _| {
        let length = file.len() - 5 * size.bytes();
        file.truncate(length);
    });
    let found = only(&report);
    assert_eq!((found.fault, found.fault.code()), (Fault::PastEnd, -4001));
    assert_eq!(found.place, Place::Page(PageNumber(OWNED - 4)));
    assert_eq!((report.pages_bad, report.pages_seen), (5, u64::from(OWNED) + 2));
    assert_eq!(report.findings_omitted(), 4);
}

#[test]
fn one_header_copy_is_enough_and_missed() {
    let size = PageSize::KIB_4;
    let (report, _) = damaged(size, |file, _| file[20] ^= 1);
    assert_eq!(only(&report).place, Place::Header);
    let (report, _) = damaged(size, |file, _| file[size.bytes() + 20] ^= 1);
    assert_eq!(only(&report).place, Place::Shadow);
    let mut file = TestDatabase::new(size, RECORDS).bytes();
    file[20] ^= 1;
    file[size.bytes() + 20] ^= 1;
    let both = verify_bytes(&file).unwrap_err();
    assert_eq!(both, VerifyError::Header(HeaderError::Checksum));
    assert!(both.is_damage());
}

#[test]
fn files_of_other_kinds_are_refused() {
    for bytes in [&b""[..], b"short", &[0; 8192], &[0xFF; 100_000]] {
        let refused = verify_bytes(bytes).unwrap_err();
        assert_eq!(refused, VerifyError::NotEse);
        assert!(!refused.is_damage());
    }
    let missing = verify_in(options(&[]), "nowhere.edb");
    assert!(matches!(missing, Err(VerifyError::Open(_))));
}

#[test]
fn a_log_that_was_never_written_is_one() {
    let report = verify_bytes(&[FILL; 65536]).unwrap();
    assert_eq!(report.kind, FileKind::BlankLog);
    assert!(report.is_intact());
    let mut half = [FILL; 65536];
    half[8192..].fill(0);
    assert_eq!(verify_bytes(&half).unwrap().kind, FileKind::BlankLog);
    half[30_000] = 1;
    assert_eq!(verify_bytes(&half).unwrap_err(), VerifyError::NotEse);
    // A reserve is only allocated.
    let zeros = [0; 65536];
    let reserve = verify_in(options(&[("edbres00001.jrs", &zeros)]), "edbres00001.jrs");
    assert_eq!(reserve.unwrap().kind, FileKind::BlankLog);
    assert_eq!(verify_bytes(&zeros).unwrap_err(), VerifyError::NotEse);
}

#[test]
fn the_next_log_is_one_at_every_step_of_its_making() {
    let name = "log1/edbtmp.log";
    let used = log(SegmentSize::BYTES_4096, 20);
    let mut being_filled = used.clone();
    being_filled[..8192].fill(FILL);
    let reports = [&b""[..], &[0; 65536], &being_filled].map(|bytes| {
        let report = verify_in(options(&[(name, bytes)]), name);
        report.unwrap_or_else(|error| panic!("{} bytes: {error}", bytes.len()))
    });
    for report in reports {
        assert_eq!(report.kind, FileKind::BlankLog);
        assert!(report.is_intact());
    }
    let given_up = verify_in(options(&[(name, &used)]), name).unwrap();
    assert_eq!(given_up.kind, FileKind::Log { generation: 4 });
    let foreign = verify_in(options(&[(name, &[7; 8192])]), name);
    assert_eq!(foreign, Err(VerifyError::NotEse));
}

/// Contradicted pages after changing and resealing `leaf`, the second of its table. That leaf is
/// reported as page 100.
fn contradicted(change: fn(&mut [u8], PageNumber)) -> Vec<(PageNumber, Fault)> {
    let size = PageSize::KIB_4;
    let (report, leaf) = damaged(size, |file, leaf| {
        let page = &mut file[at(leaf, size)..][..size.bytes()];
        change(page, leaf);
        seal(page, size, leaf);
    });
    let found = report.findings.iter().map(|found| match found.place {
        Place::Page(page) => (PageNumber(page.0 + 100 - leaf.0), found.fault),
        other => panic!("{other:?}"),
    });
    found.collect()
}

#[test]
fn pages_that_contradict_each_other_are_named() {
    let faults = |what, pages: &[u32]| -> Vec<_> {
        let fault = Fault::Contradicted(what);
        pages.iter().map(|page| (PageNumber(*page), fault)).collect()
    };
    // As before a split: the leaf does not know its new successor, page 101.
    let before_split = contradicted(|page, leaf| put_u32(page, NEXT_AT, leaf.0 + 2));
    assert_eq!(before_split, faults(Contradiction::Order, &[100, 101]));
    let unlinked = contradicted(|page, _| put_u32(page, PREVIOUS_AT, 0));
    assert_eq!(unlinked, faults(Contradiction::Order, &[99]));
    // The leaf is emptied, but its neighbours and the root still point to it.
    let emptied = contradicted(|page, _| {
        let flags = PageFlags(u32_at(page, FLAGS_AT));
        put_u32(page, FLAGS_AT, flags.with(PageFlags::EMPTY).0);
    });
    assert_eq!(emptied.len(), 3, "{emptied:?}");
    assert!(emptied.iter().all(|(page, _)| page.0 != 100));
}

#[test]
fn a_page_that_is_newer_than_the_database_is_bad() {
    let newer = contradicted(|page, _| put_u64(page, DATABASE_TIME_AT, 1 << 40));
    assert_eq!(newer, [(PageNumber(100), Fault::TooNew)]);
    assert_eq!(Fault::TooNew.code(), -567);
}

/// Verifies a database with its flush map; `map_type` is the map's entry for page 31.
fn with_flush_map(map_type: u8, change: impl FnOnce(&mut FlushMapHeader)) -> FileReport {
    let size = PageSize::KIB_4;
    let mut database = TestDatabase::new(size, RECORDS);
    let mut header = FlushMapHeader {
        database: database.header.signature,
        flush: Signature { random: 5, ..Signature::default() },
        pages: OWNED,
    };
    database.header.flush_map = header.flush;
    let mut file = database.bytes();
    set_flush_type(&mut file, size, USER_ROOT, 2);
    change(&mut header);
    let mut map = header.to_bytes();
    map.resize(2 * MAP_PAGE_BYTES, 0);
    let page = &mut map[MAP_PAGE_BYTES..];
    crate::format::flush_map::set_flush_type(page, USER_ROOT.0 - 1, map_type);
    seal_map_page(page, 0, DatabaseTime(1));
    verify_in(options(&[("db.edb", &file), ("db.jfm", &map)]), "db.edb").unwrap()
}

#[test]
fn a_lost_write_is_seen_through_the_flush_map() {
    let report = with_flush_map(3, |_| ());
    let lost = Fault::LostFlush { page: 2, map: 3 };
    assert_eq!((only(&report).fault, only(&report).fault.code()), (lost, -1119));
    assert_eq!(only(&report).place, Place::Page(USER_ROOT));
    assert_eq!(report.notes, [Note::FlushMapUsed, stale_pages(true, true)]);
    assert!(with_flush_map(2, |_| ()).is_intact());
    assert!(with_flush_map(0, |_| ()).is_intact(), "unknown accuses nobody");
    let grown = with_flush_map(3, |header| header.pages = 1);
    assert_eq!(only(&grown).fault, lost, "the database grew since the map was begun");
    let other = with_flush_map(3, |header| header.flush.random = 6);
    assert!(other.is_intact());
    assert!(matches!(other.notes[..], [Note::FlushMapIgnored(_), NO_MAP]));
}

#[test]
fn flush_maps_and_checkpoints_are_judged_themselves() {
    let header = FlushMapHeader {
        database: Signature::default(),
        flush: Signature::default(),
        pages: 40_000,
    };
    let mut map = header.to_bytes();
    map.resize(3 * MAP_PAGE_BYTES, 0);
    for index in 0..2 {
        let page = &mut map[(index as usize + 1) * MAP_PAGE_BYTES..][..MAP_PAGE_BYTES];
        seal_map_page(page, index, DatabaseTime(1));
    }
    assert!(verify_bytes(&map).unwrap().is_intact());
    map[2 * MAP_PAGE_BYTES + 50] ^= 1;
    assert_eq!(only(&verify_bytes(&map).unwrap()).place, Place::Page(PageNumber(2)));
    map.truncate(2 * MAP_PAGE_BYTES);
    assert_eq!(only(&verify_bytes(&map).unwrap()).fault, Fault::PastEnd);
    map.truncate(MAP_PAGE_BYTES);
    let unwritten = verify_bytes(&map).unwrap();
    assert!(unwritten.is_intact());
    assert_eq!(unwritten.notes, [Note::FlushMapUnwritten]);

    let checkpoint = Checkpoint {
        position: LogPosition::start_of(1),
        consistency: LogPosition::start_of(1),
        signature: Signature::default(),
        attachments: Vec::new(),
    };
    let mut file = checkpoint.to_bytes().unwrap().repeat(2);
    assert!(verify_bytes(&file).unwrap().is_intact());
    file[4096 + 12] ^= 1;
    assert_eq!(only(&verify_bytes(&file).unwrap()).place, Place::Shadow);
    file[12] ^= 1;
    assert_eq!(verify_bytes(&file), Err(VerifyError::NotEse));
}

/// A log of 64 segments, the first `written` of them used.
fn log(segment_size: SegmentSize, written: u16) -> Vec<u8> {
    let header = LogHeader {
        generation: 4,
        segment_size,
        segments: 64,
        page_size: PageSize::KIB_32,
        created: Stamp::default(),
        previous_created: Stamp::default(),
        signature: Signature::ours(1, Stamp::default(), RunId(1)),
        checkpoint: LogPosition::default(),
        attachments: Vec::new(),
    };
    let mut file = header.to_bytes().unwrap();
    file.resize(64 * segment_size.bytes(), FILL);
    let first = segment_size.first_segment();
    for number in first..first + written {
        segment(&mut file, segment_size, number, 4);
    }
    file
}

fn segment(file: &mut [u8], size: SegmentSize, number: u16, generation: u32) {
    let header = SegmentHeader {
        position: LogPosition { generation, segment: number, byte: 0 },
        written: Stamp::default(),
        used: 10,
        first_record: 40,
    };
    header.seal(&mut file[usize::from(number) * size.bytes()..][..size.bytes()]);
}

#[test]
fn logs_are_judged_segment_by_segment() {
    for size in [SegmentSize::BYTES_512, SegmentSize::BYTES_4096] {
        let first = size.first_segment();
        let log = log(size, 20);
        let report = verify_bytes(&log).unwrap();
        assert!(report.is_intact(), "{:?}", report.findings);
        let empty = u64::from(64 - first - 20);
        assert_eq!(report.notes, [Note::LogEndsEarly(empty)]);
        assert_eq!(report.pages_seen, u64::from(64 - first) + 1);

        let mut damaged = log.clone();
        damaged[usize::from(first + 3) * size.bytes() + 45] ^= 1;
        let report = verify_bytes(&damaged).unwrap();
        let found = only(&report);
        assert_eq!((found.place, found.fault.code()), (Place::Segment(first + 3), -501));

        // A lost write in the middle, and an older generation after the end.
        let mut lost = log.clone();
        lost[usize::from(first + 5) * size.bytes()..][..size.bytes()].fill(0);
        segment(&mut lost, size, 40, 3);
        let report = verify_bytes(&lost).unwrap();
        assert_eq!(only(&report).place, Place::Segment(first + 5));

        let mut short = log.clone();
        short.truncate((60 * size.bytes()) & !4095);
        let report = verify_bytes(&short).unwrap();
        assert_eq!(only(&report).fault, Fault::PastEnd);
    }
    let mut foreign = log(SegmentSize::BYTES_4096, 1);
    put_u32(&mut foreign, 32, 8);
    seal_header(&mut foreign[..4096]);
    let refused = verify_bytes(&foreign).unwrap_err();
    assert!(matches!(refused, VerifyError::Log(LogHeaderError::Foreign { major: 8, .. })));
}

/// A device that cannot read one range.
struct BadSector(std::ops::Range<u64>);

impl Device for BadSector {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        let end = request.offset + request.length;
        let bad = request.offset < self.0.end && self.0.start < end;
        let result = if bad { Err(IoError::Device) } else { Ok(()) };
        agenda.finish_at(agenda.now() + Span::micros(100), request.id, result);
    }

    fn on_event(&mut self, _: &mut Agenda<'_>) {}
}

#[test]
fn a_read_that_fails_costs_one_page() {
    let size = PageSize::KIB_4;
    let file = TestDatabase::new(size, RECORDS).bytes();
    let bad = a_leaf(&file, size);
    let mut options = options(&[("test.edb", &file)]);
    let range = bad.offset(size)..bad.offset(size) + 512;
    options.devices = vec![Box::new(BadSector(range))];
    let report = verify_in(options, "test.edb").unwrap();
    let found = only(&report);
    assert_eq!(found.place, Place::Page(bad));
    assert_eq!((found.fault, found.fault.code()), (Fault::Device(IoError::Device), -1022));
    assert_eq!(report.pages_seen, u64::from(OWNED) + 2);
}

#[test]
fn a_header_that_cannot_be_read_has_a_shadow() {
    let size = PageSize::KIB_4;
    let file = TestDatabase::new(size, RECORDS).bytes();
    let verify = |bad: std::ops::Range<u64>| {
        let mut options = options(&[("test.edb", &file)]);
        options.devices = vec![Box::new(BadSector(bad))];
        verify_in(options, "test.edb")
    };
    assert_eq!(only(&verify(512..1024).unwrap()).place, Place::Header);
    let all = verify(0..1 << 30).unwrap_err();
    assert_eq!(all, VerifyError::Read(IoError::Device));
}

#[test]
fn a_log_read_that_fails_costs_eight_small_segments_or_one_large() {
    for (size, lost) in [(SegmentSize::BYTES_512, 8), (SegmentSize::BYTES_4096, 1)] {
        let file = log(size, 40);
        let mut options = options(&[("test.log", &file)]);
        options.devices = vec![Box::new(BadSector(8192..8704))];
        let report = verify_in(options, "test.log").unwrap();
        assert_eq!(report.pages_bad, lost);
        assert_eq!(report.findings[0].fault, Fault::Device(IoError::Device));
        let segments = 64 - size.first_segment();
        assert_eq!(report.pages_seen, u64::from(segments) + 1);
    }
}

#[test]
fn mutated_files_are_judged_without_a_panic() {
    let mut random = Streams::new(8).named("mutations");
    let frames = Frames::in_memory();
    let size = PageSize::KIB_4;
    let database = TestDatabase::new(size, 200).bytes();
    let log = log(SegmentSize::BYTES_512, 20);
    for round in 0..300 {
        let mut file = if round % 4 == 0 { log.clone() } else { database.clone() };
        let is_database = round % 4 != 0;
        for _ in 0..=random.below(6) {
            mutate(&mut file, &mut random, is_database.then_some(size));
        }
        let mut options = options(&[("test.edb", &file)]);
        options.frames = frames.clone();
        let Ok(report) = verify_in(options, "test.edb") else {
            continue;
        };
        assert!(report.pages_wrong_number <= report.pages_bad);
        assert!(report.pages_bad + report.pages_correctable <= report.pages_seen * 2);
    }
}

/// Changes a few bytes, and often corrects the checksums afterwards, so that the content is
/// believed.
fn mutate(file: &mut Vec<u8>, random: &mut brunt_world::random::Stream, size: Option<PageSize>) {
    let byte = |random: &mut brunt_world::random::Stream| random.bits().to_le_bytes()[0];
    let pick = |random: &mut brunt_world::random::Stream, bound: usize| {
        usize::try_from(random.below(bound as u64)).unwrap()
    };
    if random.percent(3) {
        let length = pick(random, file.len()) + 1;
        file.truncate(length);
        return;
    }
    let Some(size) = size.filter(|size| file.len() > 40 * size.bytes()) else {
        let place = pick(random, file.len());
        file[place] = byte(random);
        if random.percent(50) && file.len() >= 4096 {
            seal_header(&mut file[..4096]);
        }
        return;
    };
    // Headers, root, space trees and catalog matter most.
    let page = pick(random, 34);
    let start = page * size.bytes();
    let bytes = &mut file[start..start + size.bytes()];
    for _ in 0..=random.below(3) {
        let place = match random.below(3) {
            0 => pick(random, 80),
            1 => size.bytes() - 1 - pick(random, 60),
            _ => pick(random, size.bytes()),
        };
        bytes[place] = byte(random);
    }
    if random.percent(80) {
        if page < 2 {
            seal_header(bytes);
        } else {
            seal(bytes, size, PageNumber(u32::try_from(page).unwrap() - 1));
        }
    }
}
