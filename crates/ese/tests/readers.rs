//! Databases of ours, read by programs that share no code with us.
//!
//! A database is loaded in bulk, worked on, and read back by `dissect.esedb` and `pyesedb`: every column of every record,
//! bodies inside their record and apart from it. The interpreter that has both is named by `BRUNT_READERS_PYTHON`; without
//! it the test counts as skipped.
//!
//! Bodies hold no byte below 0x40: both readers take a long value's first bytes for a compression scheme at times, on
//! genuine files too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use brunt_ese::format::checksum::seal;
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::long_value::{LongValueId, chunk_bytes};
use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_ese::page::{Change, Need, Pages};
use brunt_ese::table::Messages;
use brunt_ese::table::load::{LoadOptions, Loaded, RecordsLoad};
use brunt_ese::table::message::{Body, Message, primary_key, stays_inside};
use brunt_ese::table::operations::{self, NewMessage, OperationKind, Stored, TreeOperation};
use brunt_ese::tree::bulk::PageRun;
use brunt_ese::tree::{self, RemoveOutcome, Step, TreeId};
use brunt_ese::{format, space};
use brunt_units::{DatabaseTime, PageNumber, PageSize};
use brunt_world::random::{Stream, Streams};

const PYTHON: &str = "BRUNT_READERS_PYTHON";
const SKIPPED: &str = "BRUNT_SKIPPED";
const LOADED: i64 = 500;
const ROUNDS: u64 = 700;

/// All pages of a database in memory.
struct AllPages {
    size: PageSize,
    time: DatabaseTime,
    /// Page 1 first.
    bytes: Vec<u8>,
}

impl AllPages {
    fn place(&self, page: PageNumber) -> std::ops::Range<usize> {
        let start = (page.0 as usize - 1) * self.size.bytes();
        start..start + self.size.bytes()
    }
}

impl Pages for AllPages {
    fn page_size(&self) -> PageSize {
        self.size
    }

    fn resident(&self, page: PageNumber) -> Result<&[u8], Need> {
        Ok(&self.bytes[self.place(page)])
    }

    fn claimed(&self, _: PageNumber) -> Result<(), Need> {
        Ok(())
    }

    fn change(&mut self, page: PageNumber) -> &mut [u8] {
        let place = self.place(page);
        &mut self.bytes[place]
    }

    fn time(&self) -> DatabaseTime {
        self.time
    }
}

/// Something to be done to a database.
type Work<T> = dyn FnMut(&mut Change<'_, AllPages>) -> Result<Step<T>, Need>;

/// Works until it is done; the database grows when it must.
fn run<T>(
    pages: &mut AllPages,
    mut work: impl FnMut(&mut Change<'_, AllPages>) -> Result<Step<T>, Need>,
) -> T {
    loop {
        let mut change = Change::new(pages);
        let result = work(&mut change);
        let changed = change.finish();
        if !changed.touched.is_empty() {
            pages.time = changed.time;
        }
        match result {
            Ok(Step::Done(value)) => return value,
            Ok(Step::Again) => {}
            Err(Need::Growth(more)) => {
                let length = pages.bytes.len() + more as usize * pages.size.bytes();
                pages.bytes.resize(length, 0);
                // Boxed, so that growing is one type of work and not an endless row of them.
                let grow: Box<Work<PageNumber>> =
                    Box::new(move |change| space::grow(change, TreeId::DATABASE, more));
                run(pages, grow);
            }
            Err(need) => panic!("{need:?}"),
        }
    }
}

#[derive(Clone, Debug)]
struct Mail {
    folder: i32,
    received: i64,
    version: i32,
    subject: Vec<u8>,
    body: Vec<u8>,
}

fn draw_mail(draw: &mut Stream, id: i64, most: u64) -> Mail {
    let mut bytes = |least: u64, most: u64| {
        let mut bytes = vec![0; usize::try_from(least + draw.below(most)).unwrap()];
        draw.fill(&mut bytes);
        bytes.iter_mut().for_each(|byte| *byte |= 0x40);
        bytes
    };
    let (subject, body) = (bytes(1, 200), bytes(1, most));
    let folder = i32::try_from(id % 13).unwrap() - 6;
    Mail {
        folder,
        received: 1_600_000_000 - id * 7,
        version: 0,
        subject,
        body,
    }
}

/// Loads a database; its pages, and what the load says of it.
fn load(size: PageSize, mails: &BTreeMap<i64, Mail>) -> (AllPages, Loaded) {
    let options = LoadOptions {
        size,
        fill_percent: 85,
        time: DatabaseTime(9),
    };
    let first = format::catalog::system::FIRST_USER_PAGE;
    let mut memory = vec![0; 32 << 20];
    let mut run = PageRun {
        first,
        size,
        bytes: &mut memory,
    };
    let mut records = RecordsLoad::new(options);
    let mut bodies_of: BTreeMap<i64, LongValueId> = BTreeMap::new();
    for (&id, mail) in mails {
        let body = if stays_inside(mail.body.len()) {
            Body::Inside(&mail.body)
        } else {
            let body = LongValueId(u32::try_from(bodies_of.len()).unwrap() + 1);
            bodies_of.insert(id, body);
            Body::Apart(body)
        };
        let message = Message {
            id,
            folder: mail.folder,
            received: mail.received,
            version: mail.version,
            subject: &mail.subject,
            body,
        };
        records.push(&mut run, &message);
    }
    let mut bodies = records.finish(&mut run);
    for (id, body) in bodies_of {
        let bytes = &mails[&id].body;
        bodies.begin(&mut run, body, u32::try_from(bytes.len()).unwrap());
        for (chunk, offset) in bytes
            .chunks(chunk_bytes(size))
            .zip((0..).step_by(chunk_bytes(size)))
        {
            bodies.chunk(&mut run, body, offset, chunk);
        }
    }
    let mut index = bodies.finish(&mut run);
    let mut order: Vec<_> = mails
        .iter()
        .map(|(id, mail)| (mail.folder, mail.received, *id))
        .collect();
    order.sort_unstable();
    for (folder, received, id) in order {
        index.push(&mut run, folder, received, id);
    }
    let loaded = index.finish(&mut run, 40);

    let mut pages = AllPages {
        size,
        time: options.time,
        bytes: vec![0; loaded.last.0 as usize * size.bytes()],
    };
    let streamed = (loaded.used - first.0 + 1) as usize * size.bytes();
    let start = pages.place(first).start;
    pages.bytes[start..start + streamed].copy_from_slice(&memory[..streamed]);
    for (number, bytes) in &loaded.pages {
        pages.change(*number).copy_from_slice(bytes);
    }
    (pages, loaded)
}

fn carry_out(pages: &mut AllPages, list: Vec<TreeOperation>) {
    for operation in list {
        let (tree, key, data) = (operation.tree, operation.sort_key(), &operation.data);
        match operation.kind {
            OperationKind::Insert => {
                run(pages, |change| {
                    tree::insert(change, tree, &operation.key, data)
                });
            }
            OperationKind::Replace => {
                run(pages, |change| tree::replace(change, tree, &key, data));
            }
            OperationKind::Delete => {
                let removed = run(pages, |change| tree::remove(change, tree, &key));
                if removed == (RemoveOutcome::Removed { sparse: true }) {
                    run(pages, |change| tree::shrink(change, tree, &key));
                }
            }
        }
    }
}

fn body_bytes(pages: &AllPages, trees: &Messages, message: &Message<'_>) -> u32 {
    let Body::Apart(id) = message.body else {
        return 0;
    };
    let found = tree::seek(pages, trees.bodies, &id.root_key()).unwrap();
    let root = format::long_value::LongValueRoot::from_bytes(found.data(pages).unwrap());
    root.unwrap().bytes
}

/// Inserts, deletes and replaces messages.
fn work(
    pages: &mut AllPages,
    trees: &Messages,
    mails: &mut BTreeMap<i64, Mail>,
    draw: &mut Stream,
) {
    let size = pages.size;
    let mut next_body = trees.last_body(pages).unwrap().map_or(1, |last| last.0 + 1);
    let mut next_id = LOADED;
    for _ in 0..ROUNDS {
        let known: Vec<i64> = mails.keys().copied().collect();
        let id = known[usize::try_from(draw.below(known.len() as u64)).unwrap()];
        let found = tree::seek(pages, trees.records, &primary_key(id)).unwrap();
        let record = found.data(pages).unwrap().to_vec();
        let message = Message::decode(&record, size).unwrap();
        let old = Stored {
            message,
            body_bytes: body_bytes(pages, trees, &message),
        };
        let choice = draw.below(10);
        if choice < 4 {
            mails.remove(&id);
            carry_out(pages, operations::delete(trees, size, &old));
            continue;
        }
        let id = if choice < 7 { id } else { next_id };
        let most = if draw.percent(3) { 150_000 } else { 6000 };
        let mut mail = draw_mail(draw, id, most);
        mail.version = message.version + 1;
        let new = NewMessage {
            id,
            folder: mail.folder,
            received: mail.received,
            version: mail.version,
            subject: &mail.subject,
            body: &mail.body,
            body_id: LongValueId(next_body),
        };
        let list = if choice < 7 {
            operations::replace(trees, size, &old, &new)
        } else {
            operations::insert(trees, size, &new)
        };
        carry_out(pages, list);
        next_body += 1;
        next_id = next_id.max(id + 1);
        mails.insert(id, mail);
    }
}

/// Writes the database and what it should hold, and lets the readers compare; returns what they say.
fn read_back(
    python: &Path,
    folder: &Path,
    pages: &mut AllPages,
    mails: &BTreeMap<i64, Mail>,
) -> String {
    let size = pages.size;
    let signature = Signature::ours(11, Stamp::from_unix_millis(1_700_000_000_000), RunId(5));
    let mut header = DatabaseHeader::new(size, signature);
    header.state = DatabaseState::Clean;
    header.time = pages.time;
    let header = header.to_bytes();
    let mut file = [header.as_slice(), &header].concat();
    for (page, number) in pages.bytes.chunks_exact_mut(size.bytes()).zip(1..) {
        if page.iter().any(|byte| *byte != 0) {
            seal(page, size, PageNumber(number));
        }
        file.extend_from_slice(page);
    }
    let mut lines = String::new();
    for (id, mail) in mails {
        let (folder, received, version) = (mail.folder, mail.received, mail.version);
        write!(lines, "{id}\t{folder}\t{received}\t{version}").unwrap();
        for bytes in [&mail.subject, &mail.body] {
            lines.push('\t');
            bytes
                .iter()
                .for_each(|byte| write!(lines, "{byte:02x}").unwrap());
        }
        lines.push('\n');
    }
    let (database, expected) = (folder.join("read.edb"), folder.join("expected.tsv"));
    std::fs::write(&database, file).unwrap();
    std::fs::write(&expected, lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/read_back.py");
    let output = Command::new(python)
        .arg(script)
        .args([&database, &expected])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{size}: {said}{errors}");
    said
}

#[test]
fn independent_readers_find_every_record() {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!("skipped: {PYTHON} names no interpreter with dissect.esedb and pyesedb");
        if let Some(list) = std::env::var_os(SKIPPED) {
            let list = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(list);
            writeln!(list.unwrap(), "independent_readers_find_every_record").unwrap();
        }
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for size in PageSize::ALL {
        let mut draw = Streams::new(7).named("mail");
        let mut mails: BTreeMap<i64, Mail> = (0..LOADED)
            .map(|id| (id, draw_mail(&mut draw, id, 4000)))
            .collect();
        let (mut pages, loaded) = load(size, &mails);
        let python = Path::new(&python);
        let said = read_back(python, folder.path(), &mut pages, &mails);
        println!("{size}, loaded: {said}");
        work(&mut pages, &loaded.trees, &mut mails, &mut draw);
        let said = read_back(python, folder.path(), &mut pages, &mails);
        println!("{size}, worked on: {said}");
    }
}
