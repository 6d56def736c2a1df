//! Databases grow ahead of need: a session that inserts continuously never waits for the file
//! system. If the volume is full, the operation that needs the room reports it.

use crate::common::{SIZE, TABLE, database_path, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::Commit;
use brunt_units::{ByteSize, Span};
use brunt_world::{IoError, VolumeError};
use brunt_world_virtual::{VirtualOptions, VirtualVolume, VirtualWorld};

/// Initial pages of the database.
const BEGIN_PAGES: u64 = 24;
const GROWTH_PAGES: u32 = 48;

/// A world with one tree database on a volume of `bytes`; its logs are on another.
fn world(bytes: ByteSize) -> VirtualWorld {
    VirtualWorld::new(VirtualOptions {
        store: tree_files(),
        volumes: vec![
            VirtualVolume { bytes: bytes.get(), ..VirtualVolume::everything() },
            VirtualVolume { path: "/log".into(), ..VirtualVolume::everything() },
        ],
        ..VirtualOptions::new(5)
    })
}

/// Inserts `count` records of half a page each.
async fn fill(instance: &Instance<Bytes>, count: u32) -> Result<(), EngineError> {
    for number in 0..count {
        let transaction = instance.begin();
        let key = number.to_be_bytes();
        transaction.insert(0, TABLE, &key, &[9; 1800]).await?;
        transaction.commit(Commit::Hard).await?;
    }
    Ok(())
}

#[test]
fn whoever_inserts_never_waits_for_growth() {
    let mut world = world(ByteSize::mib(64));
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let mut setup = options(1, 512);
        setup.growth_pages = GROWTH_PAGES;
        let (instance, _) = open(&inner, 32, setup).await.unwrap();
        inner.sleep(Span::millis(10)).await;
        fill(&instance, 1000).await.unwrap();
        let meters = instance.cache().meters();
        let (stalls, growth) = meters.with(|meters| {
            let database = &mut meters.databases[0];
            (database.growth_stalls.close_interval(), database.growth.close_interval())
        });
        assert_eq!(stalls, 0);
        let pages = instance.databases()[0].pages.get();
        assert!(pages.is_multiple_of(GROWTH_PAGES), "{pages} pages");
        assert!(pages > 500 && pages < 800, "{pages} pages");
        assert_eq!(growth.bytes, (u64::from(pages) - BEGIN_PAGES) * SIZE.bytes_u64());
        instance.close().await.unwrap();
    });
    let bytes = world.machine.store().get(&database_path(0)).unwrap();
    assert_eq!(bytes.len().div_euclid(SIZE.bytes()) - 2, 528 + 48);
}

#[test]
fn a_full_volume_is_reported_to_who_needs_the_room() {
    // Room for the database and its flush map, not for much growth.
    let mut world = world(ByteSize::mib(1));
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let mut setup = options(1, 512);
        setup.growth_pages = GROWTH_PAGES;
        let (instance, _) = open(&inner, 32, setup).await.unwrap();
        let error = fill(&instance, 1000).await.unwrap_err();
        let is_full = matches!(
            error,
            EngineError::Volume { error: VolumeError::NoSpace, .. }
                | EngineError::File { error: IoError::NoSpace, .. }
        );
        assert!(is_full, "{error}");
    });
}
