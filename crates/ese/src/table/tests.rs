//! A database that is loaded, checked, changed and checked again.

use std::collections::BTreeMap;

use brunt_units::{DatabaseTime, PageNumber, PageSize};
use brunt_world::random::{Stream, Streams};

use super::load::{LoadOptions, Loaded, RecordsLoad};
use super::message::{Body, Message, stays_inside};
use super::operations::{self, NewMessage, OperationKind, Stored, TreeOperation};
use super::*;
use crate::format::checksum::is_sound;
use crate::format::long_value::{LongValueId, LongValueRoot, chunk_bytes};
use crate::page::memory::MemoryPages;
use crate::tree::bulk::PageRun;
use crate::tree::testing::Database;
use crate::tree::{self, Cursor, Step, seek};

const FOLDERS: i32 = 7;

/// A message as the test expects it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mail {
    folder: i32,
    received: i64,
    version: i32,
    subject: Vec<u8>,
    body: Vec<u8>,
}

fn draw_mail(draw: &mut Stream, id: i64, body_most: u64) -> Mail {
    let mut bytes = |most: u64| {
        let mut bytes = vec![0; usize::try_from(draw.below(most)).unwrap()];
        draw.fill(&mut bytes);
        bytes
    };
    Mail {
        subject: bytes(256),
        body: bytes(body_most),
        folder: i32::try_from(id % i64::from(FOLDERS)).unwrap(),
        received: 1000 + id,
        version: 0,
    }
}

fn load(size: PageSize, mails: &BTreeMap<i64, Mail>, free: u32) -> (Database, Loaded) {
    let options = LoadOptions { size, fill_percent: 80, time: DatabaseTime(5) };
    let mut memory = vec![0xEE; 16 << 20];
    let mut run = PageRun { first: PageNumber(31), size, bytes: &mut memory };
    let mut records = RecordsLoad::new(options);
    let apart = || mails.iter().filter(|(_, mail)| !stays_inside(size, mail.body.len()));
    let body_ids: BTreeMap<i64, LongValueId> =
        apart().zip(1..).map(|((id, _), body)| (*id, LongValueId(body))).collect();
    for (&id, mail) in mails {
        let body = match body_ids.get(&id) {
            Some(body) => Body::Apart(*body),
            None => Body::Inside(&mail.body),
        };
        let (folder, received, version) = (mail.folder, mail.received, mail.version);
        let message = Message { id, folder, received, version, subject: &mail.subject, body };
        records.push(&mut run, &message);
    }
    let mut bodies = records.finish(&mut run);
    for (id, mail) in apart() {
        let body = body_ids[id];
        bodies.begin(&mut run, body, u32::try_from(mail.body.len()).unwrap());
        for (index, chunk) in mail.body.chunks(chunk_bytes(size)).enumerate() {
            let offset = u32::try_from(index * chunk_bytes(size)).unwrap();
            bodies.chunk(&mut run, body, offset, chunk);
        }
    }
    let mut index = bodies.finish(&mut run);
    let mut order: Vec<_> =
        mails.iter().map(|(id, mail)| (mail.folder, mail.received, *id)).collect();
    order.sort_unstable();
    for (folder, received, id) in order {
        index.push(&mut run, folder, received, id);
    }
    let loaded = index.finish(&mut run, free);
    let mut pages = MemoryPages::new(size);
    for number in 31..=loaded.used {
        let bytes = &run.bytes[(number as usize - 31) * size.bytes()..][..size.bytes()];
        pages.put(PageNumber(number), bytes.to_vec());
    }
    for (number, bytes) in &loaded.pages {
        assert!(is_sound(bytes, size, *number), "page {number}");
        pages.put(*number, bytes.clone());
    }
    let database = Database::of(pages, DatabaseTime(5), all_trees(&loaded.trees));
    (database, loaded)
}

/// Every tree of a loaded database.
fn all_trees(trees: &Messages) -> Vec<tree::TreeId> {
    use crate::format::catalog::system::*;
    let system = [
        (CATALOG, CATALOG_ROOT),
        (NAME_INDEX, NAME_INDEX_ROOT),
        (ROOT_OBJECTS_INDEX, ROOT_OBJECTS_INDEX_ROOT),
        (SHADOW, SHADOW_ROOT),
        (OBJECT_IDS, OBJECT_IDS_ROOT),
        (LOCALES, LOCALES_ROOT),
    ];
    let mut all: Vec<_> =
        system.into_iter().map(|(object, root)| tree::TreeId { root, object }).collect();
    all.extend([trees.records, trees.bodies, trees.by_received]);
    all
}

fn body_of(database: &mut Database, trees: &Messages, id: LongValueId) -> (u32, Vec<u8>) {
    let tree = trees.bodies;
    let mut cursor = Cursor::before(tree, &id.root_key());
    let root = database.look(|pages| Ok(cursor.next(pages)?.unwrap().data.to_vec()));
    let root = LongValueRoot::from_bytes(&root).unwrap();
    assert_eq!(root.references, 1);
    let mut body = Vec::new();
    while body.len() < root.bytes as usize {
        let chunk = database.look(|pages| Ok(cursor.next(pages)?.unwrap().data.to_vec()));
        body.extend(chunk);
    }
    (root.bytes, body)
}

/// Reads everything, through both indexes.
fn agree(database: &mut Database, trees: &Messages, mails: &BTreeMap<i64, Mail>) {
    let size = crate::page::Pages::page_size(&database.pages);
    let mut cursor = Cursor::before(trees.by_received, &[]);
    let mut order: Vec<_> =
        mails.iter().map(|(id, mail)| (mail.folder, mail.received, *id)).collect();
    order.sort_unstable();
    for (_, _, id) in &order {
        let bookmark =
            database.look(|pages| Ok(cursor.next(pages)?.expect("one more").data.to_vec()));
        let record = database
            .look(|pages| seek(pages, trees.records, &bookmark)?.data(pages).map(<[u8]>::to_vec));
        let message = Message::decode(&record, size).unwrap();
        let mail = &mails[id];
        let body = match message.body {
            Body::Inside(body) => body.to_vec(),
            Body::Apart(body) => body_of(database, trees, body).1,
        };
        let (folder, received, version) = (message.folder, message.received, message.version);
        let subject = message.subject.to_vec();
        assert_eq!(message.id, *id);
        assert_eq!(&Mail { folder, received, version, subject, body }, mail);
    }
    assert!(database.look(|pages| Ok(cursor.next(pages)?.is_none())));
}

fn carry_out(database: &mut Database, list: Vec<TreeOperation>) {
    for operation in list {
        let tree = operation.tree;
        let key = operation.sort_key();
        match operation.kind {
            OperationKind::Insert => {
                let outcome =
                    database.run(|change| tree::insert(change, tree, &key, &operation.data));
                assert_eq!(outcome, tree::InsertOutcome::Inserted);
            }
            OperationKind::Replace => {
                let outcome =
                    database.run(|change| tree::replace(change, tree, &key, &operation.data));
                assert_eq!(outcome, tree::ReplaceOutcome::Replaced);
            }
            OperationKind::Delete => {
                let marked =
                    database.run(|change| tree::mark_deleted(change, tree, &key).map(Step::Done));
                assert_eq!(marked, tree::MarkOutcome::Changed);
                let removed = database.run(|change| tree::remove(change, tree, &key));
                if removed == (tree::RemoveOutcome::Removed { sparse: true }) {
                    database.run(|change| tree::shrink(change, tree, &key));
                }
            }
        }
    }
}

#[test]
fn a_loaded_database_is_whole_and_can_be_worked_on() {
    for size in PageSize::ALL {
        let mut draw = Streams::new(2).named("mail");
        let mut mails: BTreeMap<i64, Mail> =
            (0..400).map(|id| (id, draw_mail(&mut draw, id, 5000))).collect();
        let (mut database, loaded) = load(size, &mails, 20);
        let trees = database.look(|pages| match Messages::find(pages) {
            Ok(trees) => Ok(trees),
            Err(CatalogRead::Need(need)) => Err(need),
            Err(other) => panic!("{other}"),
        });
        assert_eq!((trees, loaded.messages), (loaded.trees, 400));
        database.check();
        agree(&mut database, &trees, &mails);
        let mut next_body = database.look(|pages| trees.last_body(pages)).unwrap().0;
        let mut next_id = 400;
        for round in 0..600 {
            let known: Vec<i64> = mails.keys().copied().collect();
            let id = known[usize::try_from(draw.below(known.len() as u64)).unwrap()];
            let mut record = Vec::new();
            let key = message::primary_key(id);
            database.look(|pages| {
                record = seek(pages, trees.records, &key)?.data(pages)?.to_vec();
                Ok(())
            });
            let old = Message::decode(&record, size).unwrap();
            let body_bytes = match old.body {
                Body::Apart(body) => body_of(&mut database, &trees, body).0,
                Body::Inside(_) => 0,
            };
            let old = Stored { message: old, body_bytes };
            next_body += 1;
            match draw.below(3) {
                0 => {
                    mails.remove(&id);
                    carry_out(&mut database, operations::delete(&trees, size, &old));
                }
                kind => {
                    let id = if kind == 1 { id } else { next_id };
                    let mut mail = draw_mail(&mut draw, id, 9000);
                    if draw.percent(10) {
                        mail.folder = FOLDERS;
                    }
                    let new = NewMessage {
                        id,
                        folder: mail.folder,
                        received: mail.received,
                        version: mail.version,
                        subject: &mail.subject,
                        body: &mail.body,
                        body_id: LongValueId(next_body),
                    };
                    let list = if kind == 1 {
                        operations::replace(&trees, size, &old, &new)
                    } else {
                        next_id += 1;
                        operations::insert(&trees, size, &new)
                    };
                    carry_out(&mut database, list);
                    mails.insert(id, mail);
                }
            }
            if round % 150 == 0 {
                database.pages.evict_all();
                database.check();
            }
        }
        database.check();
        agree(&mut database, &trees, &mails);
    }
}

#[test]
fn a_database_without_messages_is_whole() {
    for size in PageSize::ALL {
        let (mut database, loaded) = load(size, &BTreeMap::new(), 0);
        assert_eq!(loaded.used, 39);
        database.check();
        agree(&mut database, &loaded.trees, &BTreeMap::new());
    }
}
