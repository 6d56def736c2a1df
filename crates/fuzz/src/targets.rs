//! The fuzz targets, one function for each kind of input.

use std::path::Path;

use brunt_copies::wire::Message;
use brunt_drill::sites::messages::{Command, SiteMessage, line};
use brunt_ese::format::checkpoint_file::Checkpoint;
use brunt_ese::format::checksum::{Diagnosis, diagnose};
use brunt_ese::format::flush_map::{FlushMapHeader, MAP_PAGE_BYTES, flush_type, sound_map_page};
use brunt_ese::format::header::DatabaseHeader;
use brunt_ese::format::log_file::LogHeader;
use brunt_ese::format::page::Page;
use brunt_ese::log::LogRecord;
use brunt_ese::log::reader::Generation;
use brunt_ese::page::PageChanges;
use brunt_ese::verify::verify;
use brunt_report::{Run, RunResult, report_html};
use brunt_run::{Entry, FORMAT, Journal, Writer, fold};
use brunt_scenario::{Document, Subject};
use brunt_units::{PageNumber, PageSize};
use brunt_world_virtual::Store;

pub use crate::batch::run as batch;
pub use crate::fleet::fleet;
pub use crate::mail::{ledger, mailbox};
pub use crate::sessions::{imap, smtp};
use crate::{batch, instance, mail, messages, seal, seeds, sessions};

/// A target: its name, its function, and its seeds.
pub struct Target {
    /// The `cargo fuzz` file that calls it.
    pub name: &'static str,
    /// Accepts any bytes, and returns.
    pub run: fn(&[u8]),
    /// Valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets except the canary.
pub const ALL: [Target; 19] = [
    Target { name: "page", run: page, seeds: || seeds::ending(".edb") },
    Target { name: "log", run: log, seeds: || seeds::ending(".log") },
    Target { name: "header", run: header, seeds: || seeds::ending(".edb") },
    Target { name: "checkpoint", run: checkpoint, seeds: || seeds::ending(".chk") },
    Target { name: "flush_map", run: flush_map, seeds: || seeds::ending(".jfm") },
    Target { name: "scenario", run: scenario, seeds: seeds::scenarios },
    Target { name: "result", run: result, seeds: seeds::results },
    Target {
        name: "any_file",
        run: any_file,
        seeds: || {
            let files = seeds::engine_files().into_iter();
            files.map(|(_, bytes)| bytes).collect()
        },
    },
    Target { name: "instance", run: instance::run, seeds: instance::seeds },
    Target { name: "messages", run: messages::run, seeds: messages::seeds },
    Target { name: "shipping", run: shipping, seeds: seeds::shipped },
    Target { name: "journal", run: journal, seeds: seeds::journals },
    Target { name: "smtp", run: smtp, seeds: sessions::smtp_seeds },
    Target { name: "imap", run: imap, seeds: sessions::imap_seeds },
    Target { name: "site", run: site, seeds: seeds::lines_of_sites },
    Target { name: "batch", run: batch, seeds: batch::seeds },
    Target { name: "ledger", run: ledger, seeds: mail::ledgers },
    Target { name: "mailbox", run: mailbox, seeds: mail::mailboxes },
    Target { name: "fleet", run: fleet, seeds: crate::fleet::seeds },
];

/// A target that must fail: a runner that does not report it is broken.
pub const CANARY: Target =
    Target { name: "canary", run: canary, seeds: || vec![b"a bird in a mine".to_vec()] };

/// Pages of every size, starting at every page boundary of the bytes.
pub fn page(bytes: &[u8]) {
    for size in PageSize::ALL {
        for (number, piece) in (1..).zip(bytes.chunks_exact(size.bytes()).take(16)) {
            let mut piece = piece.to_vec();
            if let Diagnosis::Correctable(flips) = diagnose(&piece, size, PageNumber(number)) {
                flips.repair(&mut piece);
            }
            let page = Page::new(&piece, size);
            // Every reader must cope with pages that `check` rejects.
            let sound = page.check().is_ok();
            let nodes = page.nodes().filter(Result::is_ok).count();
            assert!(!sound || nodes == page.node_count(), "sound, with bad nodes");
            let _ = (page.prefix(), page.space_header(), page.number());
        }
    }
}

/// A log file: its header, segments, records, and the page changes in them.
pub fn log(bytes: &[u8]) {
    read_log(bytes);
    let mut sealed = bytes.to_vec();
    seal::log(&mut sealed, seeds::SEGMENT);
    read_log(&sealed);
}

fn read_log(bytes: &[u8]) {
    if let Some(start) = bytes.get(..seal::HEADER) {
        let _ = LogHeader::read(start);
    }
    let Ok(generation) = Generation::read(bytes) else {
        return;
    };
    let mut end = None;
    for located in generation.records() {
        assert!(end < Some(located.start), "positions ascend");
        end = Some(located.start);
        if let Some(LogRecord::Change { image, .. }) = located.record {
            changes(image);
        }
    }
}

fn changes(image: &[u8]) {
    for size in PageSize::ALL {
        // A malformed change is an error and ends the record.
        for change in PageChanges::new(image, size) {
            let Some(change) = change else { break };
            change.ranges().for_each(drop);
        }
    }
}

/// The first pages of a database.
pub fn header(bytes: &[u8]) {
    let _ = DatabaseHeader::find(bytes);
    for size in PageSize::ALL {
        let mut sealed = bytes.to_vec();
        seal::header(&mut sealed, size.bytes());
        if let Ok(found) = DatabaseHeader::find(&sealed) {
            let again = found.header.to_bytes();
            assert_eq!(again.len(), found.header.page_size.bytes());
        }
    }
}

/// A checkpoint file.
pub fn checkpoint(bytes: &[u8]) {
    let _ = Checkpoint::find(bytes);
    let mut sealed = bytes.to_vec();
    seal::checkpoint(&mut sealed);
    if let Ok(found) = Checkpoint::find(&sealed) {
        assert!(found.to_bytes().is_ok(), "what was read can be written");
    }
}

pub fn flush_map(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    seal::flush_map(&mut sealed, MAP_PAGE_BYTES);
    for bytes in [bytes, &sealed] {
        if let Some(start) = bytes.get(..MAP_PAGE_BYTES) {
            let _ = FlushMapHeader::read(start);
        }
        for (index, page) in (0..).zip(bytes.chunks_exact(MAP_PAGE_BYTES)) {
            if sound_map_page(page, index).is_some() {
                assert!((0..100).all(|entry| flush_type(page, entry) < 4));
            }
        }
    }
}

/// A scenario for a test or an array. An accepted scenario must round-trip.
pub fn scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(document) = Document::new("fuzz.toml", &text, Path::new("/home/me")) else {
        return;
    };
    let _ = (document.load(&[]), document.modelled_test(&[]));
    let (is_read, mistakes) = match document.subject() {
        Subject::Test => (document.test(&[]).is_ok(), document.check_test(&[]).mistakes),
        Subject::ModelledTest => {
            let is_read = document.modelled_test(&[]).is_ok();
            (is_read, document.check_modelled_test(&[]).mistakes)
        }
        Subject::RealDrill => {
            let drill = document.real_drill(&[]);
            if let Ok(drill) = &drill {
                let resolved = drill.to_toml();
                let again = Document::new("again.toml", &resolved, Path::new("/"));
                let again = again.and_then(|again| again.real_drill(&[]));
                assert_eq!(again.as_ref(), Ok(drill), "{resolved}");
            }
            (drill.is_ok(), document.check_real_drill(&[]).mistakes)
        }
        Subject::Mail => {
            let test = document.mail(&[]);
            if let Ok(test) = &test {
                let resolved = test.to_toml();
                let again = Document::new("again.toml", &resolved, Path::new("/"));
                let again = again.and_then(|again| again.mail(&[]));
                assert_eq!(again.as_ref(), Ok(test), "{resolved}");
            }
            (test.is_ok(), document.check_mail(&[]).mistakes)
        }
        Subject::Fleet => {
            let checked = document.check_fleet(&[]).expect("it describes a fleet");
            (checked.mistakes.is_empty(), checked.mistakes)
        }
        Subject::Load => (document.load(&[]).is_ok(), document.check_load(&[]).mistakes),
        Subject::Organisation => (
            document.organisation(&[], &[]).is_ok(),
            document.check_organisation(&[], &[]).mistakes,
        ),
    };
    assert_eq!(mistakes.is_empty(), is_read, "{mistakes:?}");
    if let Ok(scenario) = document.test(&[]) {
        let resolved = scenario.to_toml();
        let again = Document::new("again.toml", &resolved, Path::new("/"));
        match again.and_then(|again| again.test(&[])) {
            Ok(again) => assert_eq!(again, scenario, "{resolved}"),
            Err(refusal) => panic!("{refusal}\n{resolved}"),
        }
    }
}

/// A `result.json` and its report.
pub fn result(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(result) = RunResult::from_json(&text) {
        let again = RunResult::from_json(&result.to_json());
        assert!(again.is_ok(), "what was written can be read");
        let run = Run::of_result(result);
        assert!(report_html(&run).trim_end().ends_with("</html>"));
    }
}

/// `brunt verify` on any file.
pub fn any_file(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    seal::database(&mut sealed, seeds::PAGE);
    for bytes in [bytes, &sealed] {
        let mut store = Store::new();
        let path = Path::new("/any.edb");
        store.put(path, bytes);
        let mut made = seeds::world(store);
        let world = made.world.clone();
        let judged = made.executor.block_on(async move { verify(&world, path).await });
        if let Ok(report) = judged {
            assert!(report.findings.len() as u64 <= report.pages_bad + report.pages_correctable);
        }
    }
}

/// A message between an active and a passive copy. One that is read has these bytes and no others.
pub fn shipping(bytes: &[u8]) {
    if let Ok(message) = Message::read(bytes) {
        assert_eq!(message.to_bytes(), bytes, "{message:?}");
    }
}

/// A line between a drill and one of its sites. One that is read can be said again.
pub fn site(bytes: &[u8]) {
    let said = String::from_utf8_lossy(bytes);
    if let Ok(command) = serde_json::from_str::<Command>(&said) {
        assert_eq!(serde_json::from_str(&line(&command)).ok(), Some(command));
    }
    if let Some(SiteMessage::Answer(answer) | SiteMessage::News(answer)) = SiteMessage::parse(&said)
    {
        let again = line(&answer);
        assert!(SiteMessage::parse(again.trim_end()).is_some(), "{again}");
    }
}

/// The journal of a run, and a record before it is deflated. A record that is read can be written,
/// and is then the only one of its journal.
pub fn journal(bytes: &[u8]) {
    if let Ok(mut journal) = Journal::open(bytes) {
        let folded = fold(&mut journal).expect("memory can be read");
        assert!(folded.samples.len() as u64 <= folded.records);
    }
    let Some(entry) = Entry::from_plain(bytes) else {
        return;
    };
    let record = Writer::new("fuzz").bytes(entry.at, &entry.record);
    let written = [FORMAT.as_bytes(), &record].concat();
    let mut again = Journal::open(written.as_slice()).expect("it has a head");
    let read = again.next_entry().expect("memory can be read").expect("it is whole");
    assert_eq!(read.at, entry.at);
    let mut all = Journal::open(written.as_slice()).expect("it has a head");
    fold(&mut all).expect("memory can be read");
}

/// Fails on purpose.
pub fn canary(bytes: &[u8]) {
    assert!(!bytes.contains(&0xFF), "the canary is dead");
}
