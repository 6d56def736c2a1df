//! An engine over files with a few corrupted bytes: opening, recovery, reading, changing, closing
//! and verifying must end with a result or an error.
//!
//! Input: corruptions of eight bytes each.
//!
//! ```text
//!    0  file index, modulo the number of files   2  unit number: u16, modulo the units of the file
//!    1  bit 0: recompute the checksum            4  offset in the unit: u16, modulo its length
//!                                                6  the new bytes: u16
//! ```

use std::path::{Path, PathBuf};

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::checksum::{seal, seal_block, seal_header};
use brunt_ese::format::log_file::seal_segment;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::tree::Cursor;
use brunt_ese::verify::verify;
use brunt_testkit::tiny::{TABLE, open, options};
use brunt_testkit::worlds::bounded;
use brunt_units::PageNumber;
use brunt_world::World;
use brunt_world_virtual::Store;

use crate::seal::HEADER;
use crate::seeds::{self, FRAMES, PAGE, SEGMENT, key};

/// Maximum number of corruptions.
const CHANGES_MAX: usize = 16;
/// I/O limit: a run that exceeds it is assumed endless.
const IOS_MAX: u64 = 100_000;
/// Operations performed if the instance opens.
const OPERATIONS: u64 = 40;

/// One corruption of a file in each input; mutation adds more.
pub fn seeds() -> Vec<Vec<u8>> {
    let files = u8::try_from(seeds::engine_files().len()).expect("a few files");
    let mut seeds = Vec::new();
    for file in 0..files {
        for unit in 0..24_u8 {
            seeds.push(vec![file, 1, unit, 0, 10 * unit, unit % 16, 0x01, 0x80]);
        }
    }
    seeds
}

pub fn run(input: &[u8]) {
    let mut store = seeds::files();
    for change in input.chunks_exact(8).take(CHANGES_MAX) {
        damage(&mut store, change);
    }
    let names: Vec<PathBuf> = store.names().map(|(path, _)| path.to_owned()).collect();
    let mut made = seeds::world(store);
    let world = bounded(&made.world, IOS_MAX);
    made.executor.block_on(async move {
        for path in &names {
            // Any result is fine, but it must end.
            let _ = verify(&world, path).await;
        }
        // Likewise for the engine.
        let _ = work(&world).await;
    });
}

fn damage(store: &mut Store, change: &[u8]) {
    let names: Vec<_> = store.names().map(|(path, inode)| (path.to_owned(), inode)).collect();
    let (path, inode) = &names[usize::from(change[0]) % names.len()];
    let unit = unit_of(path);
    let length = store.length(*inode).expect("it has a name");
    let units = length.div_euclid(unit as u64);
    if units == 0 {
        return;
    }
    let word = |at: usize| u16::from_le_bytes([change[at], change[at + 1]]);
    let number = u64::from(word(2)) % units;
    let mut bytes = vec![0; unit];
    store.read(*inode, number * unit as u64, &mut bytes);
    let at = usize::from(word(4)) % (unit - 1);
    bytes[at..at + 2].copy_from_slice(&change[6..8]);
    if change[1] & 1 == 1 {
        let number = u32::try_from(number).expect("files are small");
        make_right(path, number, &mut bytes);
    }
    store.write(*inode, number * unit as u64, &bytes);
}

/// The size of the parts that have their own checksum.
fn unit_of(path: &Path) -> usize {
    match path.extension().and_then(|end| end.to_str()) {
        Some("log") => SEGMENT,
        Some("edb") => PAGE.bytes(),
        _ => HEADER,
    }
}

fn make_right(path: &Path, number: u32, unit: &mut [u8]) {
    match path.extension().and_then(|end| end.to_str()) {
        Some("edb") if number < 2 => seal_header(unit),
        Some("edb") => seal(unit, PAGE, PageNumber(number - 1)),
        // A log header spans eight segments; its checksum is not recomputed.
        Some("log") => {
            let number = u16::try_from(number).expect("segments have 16-bit numbers");
            seal_segment(unit, number);
        }
        Some("chk") => seal_header(unit),
        _ if number == 0 => seal_header(unit),
        _ => seal_block(unit, number),
    }
}

async fn work(world: &World) -> Result<(), EngineError> {
    let (instance, _) = open(world, FRAMES, options(1, SEGMENT)).await?;
    let mut worked = Ok(());
    for number in 0..OPERATIONS {
        // A bad page ends one operation; the next may use good pages.
        let done = operate(&instance, number).await;
        worked = worked.and(done);
        if instance.failure().is_some() {
            break;
        }
    }
    let scanned = scan(&instance).await;
    let closed = instance.close().await;
    worked.and(scanned).and(closed)
}

async fn operate(instance: &Instance<Bytes>, number: u64) -> Result<(), EngineError> {
    let key = key(number * 7 % 130);
    let transaction = instance.begin();
    let data = vec![9; usize::try_from(100 + number * 37 % 1500).expect("small")];
    let there = match instance.read(0, TABLE, &key).await {
        Ok(there) => there.is_some(),
        Err(error) => return transaction.take_back().await.and(Err(error)),
    };
    let done = match (there, number % 3) {
        (false, _) => transaction.insert(0, TABLE, &key, &data).await,
        (true, 0) => transaction.delete(0, TABLE, &key).await,
        (true, _) => transaction.replace(0, TABLE, &key, &data).await,
    };
    match done {
        Ok(()) if number.is_multiple_of(5) => transaction.take_back().await,
        Ok(()) => transaction.commit(Commit::Hard).await,
        Err(error) => transaction.take_back().await.and(Err(error)),
    }
}

async fn scan(instance: &Instance<Bytes>) -> Result<(), EngineError> {
    let mut cursor = Cursor::before(TABLE, &[]);
    let mut entries = 0;
    loop {
        let more = instance.look(0, |pages| cursor.next(pages).map(|entry| entry.is_some()));
        if !more.await? {
            return Ok(());
        }
        entries += 1;
        assert!(entries < 1_000_000, "a tree without end");
    }
}
