//! Databases of ours, read by programs that share no code with us.
//!
//! The engine creates a database in a virtual world, then works on it with transactions and closes
//! it. After each step `dissect.esedb` and `pyesedb` read it back: every column of every record,
//! with bodies inside the record and separate from it. `BRUNT_READERS_PYTHON` names the Python
//! interpreter that has both; without it the test counts as skipped.
//!
//! Subjects and bodies are made for the test: both readers look for a compression scheme in the
//! first byte of uncompressed chunks, even in genuine files, and must not find one in ours.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::common::{RUN, database_path, options};
use brunt_ese::create::{CreateOptions, MessageSource, create_database};
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_ese::instance::InstanceOptions;
use brunt_ese::instance::messages::NewContent;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::log::LogShape;
use brunt_units::PageSize;
use brunt_workload::content::{Content, Part, Shape};
use brunt_world::World;
use brunt_world::random::{Stream, Streams};
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

const PYTHON: &str = "BRUNT_READERS_PYTHON";
const SKIPPED: &str = "BRUNT_SKIPPED";
const CREATED: u64 = 500;
const ROUNDS: u64 = 700;

#[derive(Clone, Debug)]
struct Mail {
    folder: i32,
    received: i64,
    version: i32,
    subject: Vec<u8>,
    body: Vec<u8>,
}

/// Messages by id.
#[derive(Clone, Debug)]
struct Mails(BTreeMap<u64, Mail>);

impl MessageSource for Mails {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(self.0.keys().copied())
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let mut numbers: Vec<u64> = self.0.keys().copied().collect();
        numbers.sort_by_key(|number| (self.0[number].folder, self.0[number].received, *number));
        Box::new(numbers.into_iter())
    }

    fn keys(&self, number: u64) -> (i64, i32, i64) {
        let mail = &self.0[&number];
        (id_of(number), mail.folder, mail.received)
    }

    fn body_bytes(&self, number: u64) -> usize {
        self.0[&number].body.len()
    }

    fn subject(&self, number: u64, subject: &mut Vec<u8>) {
        subject.clone_from(&self.0[&number].subject);
    }

    fn body(&self, number: u64, body: &mut Vec<u8>) {
        body.clone_from(&self.0[&number].body);
    }
}

fn id_of(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}

fn draw_mail(draw: &mut Stream, number: u64, most: u64) -> Mail {
    let content = Content::new(Shape::JETSTRESS, draw.bits());
    let mut bytes = |part, most: u64| {
        let mut bytes = vec![0; usize::try_from(1 + draw.below(most)).unwrap()];
        content.fill(number, 0, part, &mut bytes);
        bytes
    };
    let (subject, body) = (bytes(Part::Short, 200), bytes(Part::Large, most));
    let folder = i32::try_from(number % 13).unwrap() - 6;
    Mail { folder, received: 1_600_000_000 - id_of(number) * 7, version: 0, subject, body }
}

async fn create(world: World, size: PageSize, mails: Mails) {
    let how = CreateOptions {
        page_size: size,
        fill_percent: 85,
        free_pages: 40,
        expected_bytes: 1 << 20,
        signature: Signature::ours(7, Stamp::from_unix_millis(1_700_000_000_000), RUN),
    };
    create_database(&world, &database_path(0), &how, &mails, &|_| {}).await.unwrap();
}

/// Inserts, deletes and replaces messages, some in vain, and closes the database.
async fn work(world: World, size: PageSize, mut mails: Mails, mut draw: Stream) -> Mails {
    let log = LogShape::new(512, 256 << 10);
    let options =
        InstanceOptions { page_size: size, log, log_buffer_units: 256, ..options(1, 512) };
    let (instance, _) = crate::common::open(&world, 48, options).await.unwrap();
    let table = instance.messages(0).await.unwrap();
    let mut next = CREATED;
    for _ in 0..ROUNDS {
        let before = mails.clone();
        let transaction = instance.begin();
        let known: Vec<u64> = mails.0.keys().copied().collect();
        let number = known[usize::try_from(draw.below(known.len() as u64)).unwrap()];
        match draw.below(10) {
            0..4 => {
                mails.0.remove(&number);
                transaction.delete_message(&table, id_of(number)).await.unwrap();
            }
            choice => {
                let number = if choice < 7 { number } else { next };
                let most = if draw.percent(3) { 150_000 } else { 6000 };
                let mut mail = draw_mail(&mut draw, number, most);
                mail.version = mails.0.get(&number).map_or(0, |mail| mail.version + 1);
                let new = NewContent {
                    id: id_of(number),
                    folder: mail.folder,
                    received: mail.received,
                    version: mail.version,
                    subject: &mail.subject,
                    body: &mail.body,
                };
                if number < next {
                    transaction.replace_message(&table, &new).await.unwrap();
                } else {
                    next += 1;
                    transaction.insert_message(&table, &new).await.unwrap();
                }
                mails.0.insert(number, mail);
            }
        }
        if draw.percent(10) {
            transaction.take_back().await.unwrap();
            mails = before;
        } else {
            transaction.commit(Commit::Lazy).await.unwrap();
        }
    }
    instance.close().await.unwrap();
    mails
}

/// Passes the database and its expected content to the readers; returns their output.
fn read_back(python: &Path, folder: &Path, database: &[u8], mails: &Mails) -> String {
    let mut lines = String::new();
    for (number, mail) in &mails.0 {
        let (folder, received, version) = (mail.folder, mail.received, mail.version);
        write!(lines, "{number}\t{folder}\t{received}\t{version}").unwrap();
        for bytes in [&mail.subject, &mail.body] {
            lines.push('\t');
            bytes.iter().for_each(|byte| write!(lines, "{byte:02x}").unwrap());
        }
        lines.push('\n');
    }
    let (path, expected) = (folder.join("read.edb"), folder.join("expected.tsv"));
    std::fs::write(&path, database).unwrap();
    std::fs::write(&expected, lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ese/read_back.py");
    let output = Command::new(python).arg(script).args([&path, &expected]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    said
}

#[test]
fn independent_readers_find_every_record() {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!("skipped: {PYTHON} names no interpreter with dissect.esedb and pyesedb");
        if let Some(list) = std::env::var_os(SKIPPED) {
            let list = std::fs::OpenOptions::new().create(true).append(true).open(list);
            writeln!(list.unwrap(), "independent_readers_find_every_record").unwrap();
        }
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let python = Path::new(&python);
    for size in PageSize::ALL {
        let mut draw = Streams::new(7).named("mail");
        let mails = Mails(
            (0..CREATED).map(|number| (number, draw_mail(&mut draw, number, 4000))).collect(),
        );
        let mut virtual_world = VirtualWorld::new(VirtualOptions::new(7));
        let world = virtual_world.world.clone();
        let database = |machine: &brunt_world_virtual::Machine| {
            machine.store().get(&database_path(0)).unwrap()
        };

        virtual_world.executor.block_on(create(world.clone(), size, mails.clone()));
        let said = read_back(python, folder.path(), &database(&virtual_world.machine), &mails);
        println!("{size}, created: {said}");

        let mails = virtual_world.executor.block_on(work(world, size, mails, draw));
        let said = read_back(python, folder.path(), &database(&virtual_world.machine), &mails);
        println!("{size}, worked on and closed: {said}");
    }
}
