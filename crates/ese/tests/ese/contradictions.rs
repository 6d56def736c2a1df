//! Inconsistent records and long values on pages with valid checksums: the result is an error that
//! names the page, no panic, and no more memory than the file could fill.
//!
//! Found by the fuzz target `messages`: replacing a record stored under another record's key
//! crashed the process.

use crate::common::{SIZE, database_path, message_database, open, options};
use brunt_ese::content::Bytes;
use brunt_ese::create::MessageSource;
use brunt_ese::error::EngineError;
use brunt_ese::format::checksum::seal;
use brunt_ese::format::page::{Page, PageFlags};
use brunt_ese::instance::Instance;
use brunt_ese::instance::messages::NewContent;
use brunt_ese::instance::transaction::Commit;
use brunt_units::PageNumber;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

/// Ten messages; every body is separate.
struct Ten;

impl MessageSource for Ten {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(0..10)
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(0..10)
    }

    fn keys(&self, number: u64) -> (i64, i32, i64) {
        let id = i64::try_from(number).unwrap();
        (id, 1, id)
    }

    fn body_bytes(&self, _: u64) -> usize {
        5000
    }

    fn subject(&self, _: u64, subject: &mut Vec<u8>) {
        *subject = vec![3; 100];
    }

    fn body(&self, _: u64, body: &mut Vec<u8>) {
        *body = vec![4; 5000];
    }
}

fn world(store: Store) -> VirtualWorld {
    VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::default() })
}

fn files() -> Store {
    let mut made = world(Store::new());
    let inner = made.world.clone();
    made.executor.block_on(async move {
        message_database(&inner, SIZE, 0, 20, &Ten).await.unwrap();
    });
    made.machine.store()
}

/// Overwrites bytes of a node's data on the first leaf of `kind` that has a node with such a key,
/// and corrects the checksum.
fn damage(
    store: &mut Store,
    kind: PageFlags,
    is_wanted: impl Fn(&[u8]) -> bool,
    at: usize,
    new: &[u8],
) -> PageNumber {
    let file = store.find(&database_path(0)).unwrap();
    for number in (4..200).map(PageNumber) {
        let mut bytes = vec![0; SIZE.bytes()];
        store.read(file, number.offset(SIZE), &mut bytes);
        let page = Page::new(&bytes, SIZE);
        // The catalog's trees have smaller object ids.
        let is_ours = page.flags().kind() == kind && page.object().0 > 4;
        if !page.flags().has(PageFlags::LEAF) || !is_ours {
            continue;
        }
        let node = (0..page.node_count()).map(|index| page.node(index).unwrap());
        let Some(node) = node.into_iter().find(|node| is_wanted(&node.key.to_vec())) else {
            continue;
        };
        let start = node.data.as_ptr().addr() - bytes.as_ptr().addr() + at;
        bytes[start..start + new.len()].copy_from_slice(new);
        seal(&mut bytes, SIZE, number);
        store.write(file, number.offset(SIZE), &bytes);
        return number;
    }
    panic!("no such leaf");
}

fn on(store: Store, work: impl AsyncFnOnce(&Instance<Bytes>) + 'static) {
    let mut made = world(store);
    let inner = made.world.clone();
    made.executor.block_on(async move {
        let (instance, _) = open(&inner, 64, options(1, 512)).await.unwrap();
        work(&instance).await;
        instance.close().await.unwrap();
    });
}

const NEW: NewContent<'_> =
    NewContent { id: 0, folder: 1, received: 99, version: 1, subject: &[8; 50], body: &[9; 6000] };

/// Reading, replacing and deleting message `id` must report page `wanted` as damaged; message 5
/// still works.
async fn is_refused(instance: &Instance<Bytes>, id: i64, wanted: PageNumber, why: &str) {
    let table = instance.messages(0).await.unwrap();
    let is_told = |error: EngineError| match &error {
        EngineError::Record { page, offset, what, .. } => {
            assert_eq!((*page, *what), (wanted, why));
            assert_eq!(*offset, wanted.offset(SIZE));
            assert!(error.to_string().ends_with("(ESE -1206)"), "{error}");
        }
        other => panic!("{other}"),
    };
    is_told(instance.read_message(&table, id, true).await.unwrap_err());
    let transaction = instance.begin();
    let new = NewContent { id, ..NEW };
    is_told(transaction.replace_message(&table, &new).await.unwrap_err());
    is_told(transaction.delete_message(&table, id).await.unwrap_err());
    transaction.take_back().await.unwrap();
    let transaction = instance.begin();
    let new = NewContent { id: 5, ..NEW };
    transaction.replace_message(&table, &new).await.unwrap();
    transaction.commit(Commit::Hard).await.unwrap();
    let five = instance.read_message(&table, 5, true).await.unwrap();
    assert_eq!(five.unwrap().body.as_deref(), Some(NEW.body));
}

#[test]
fn a_record_under_the_key_of_another_is_no_record() {
    let mut store = files();
    let first = |key: &[u8]| key.ends_with(&[0; 7]);
    let page = damage(&mut store, PageFlags(0), first, 4, &77_i64.to_le_bytes());
    on(store, async move |instance| {
        is_refused(instance, 0, page, "a record has the id of another").await;
    });
}

#[test]
fn a_record_without_sense_is_no_record() {
    let mut store = files();
    let first = |key: &[u8]| key.ends_with(&[0; 7]);
    let page = damage(&mut store, PageFlags(0), first, 2, &[0xFF; 2]);
    on(store, async move |instance| {
        is_refused(instance, 0, page, "a record makes no sense").await;
    });
}

#[test]
fn no_long_value_is_longer_than_its_file() {
    let mut store = files();
    let root = |key: &[u8]| key.len() == 4;
    let page = damage(&mut store, PageFlags::LONG_VALUE, root, 4, &[0xFF; 4]);
    on(store, async move |instance| {
        is_refused(instance, 0, page, "a long value longer than its file").await;
    });
}
