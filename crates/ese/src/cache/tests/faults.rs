//! Pages that differ from what was written: each kind has an error of its own, and none enters the
//! cache.

use brunt_units::{PageNumber, Span};
use brunt_world::{Class, IoError, Op};

use super::bench::{BYTE_AT, Bench, page_of, run};
use super::same;
use crate::error::{EngineError, PageFault};
use crate::page::Pages;

/// The fault reported when reading a page.
async fn fault(bench: &Bench, page: u32) -> PageFault {
    let Err(EngineError::Page { database, page: number, offset, fault }) = bench.look(page).await
    else {
        panic!("page {page} was taken for sound");
    };
    assert_eq!(database.to_str(), Some("/data/bench.edb"));
    assert_eq!((number, offset), (PageNumber(page), u64::from(page + 1) * 4096));
    let cached = bench.cache.pages(0).resident(number).is_ok();
    assert!(!cached, "a bad page is not kept");
    fault
}

#[test]
fn a_flipped_bit_is_put_right_and_counted() {
    run(16, same, async |bench| {
        let mut flipped = page_of(PageNumber(4), 4);
        flipped[BYTE_AT] ^= 0x10;
        bench.put_on_disk(4, &flipped).await;
        assert_eq!(bench.look(4).await.unwrap(), 4);
        let corrected = |meters: &mut crate::meter::Meters| meters.corrected.close_interval();
        assert_eq!(bench.cache.meters().with(corrected), 1);
    });
}

#[test]
fn bad_pages_are_named_by_what_is_wrong() {
    run(16, same, async |bench| {
        let mut rotten = page_of(PageNumber(4), 4);
        rotten[500..520].fill(0xA5);
        bench.put_on_disk(4, &rotten).await;
        bench.put_on_disk(5, &page_of(PageNumber(6), 6)).await;
        bench.put_on_disk(6, &[0; 4096]).await;
        assert_eq!(fault(bench, 4).await.code(), -1018);
        assert_eq!(fault(bench, 5).await.code(), -1118);
        assert_eq!(fault(bench, 6).await.code(), -1019);
        bench.probe.fail_next(Class::Database, Op::Read);
        assert_eq!(fault(bench, 7).await, PageFault::Device(IoError::Device));
        assert_eq!(bench.look(7).await.unwrap(), 7, "it was the device");
        assert!(bench.cache.failure().is_none(), "a bad page ends nothing");
    });
}

#[test]
fn a_lost_write_is_found_when_the_page_is_read_again() {
    run(16, same, async |bench| {
        let mut former = bench.on_disk(4).await;
        for byte in 1..=4 {
            bench.change(4, byte).await;
            bench.write_all().await.unwrap();
            bench.world.sleep(Span::millis(200)).await;
            // The disk lost this write.
            let now = bench.on_disk(4).await;
            bench.put_on_disk(4, &former).await;
            bench.push_out(100).await;
            assert_eq!(fault(bench, 4).await.code(), -1119, "write {byte}");
            bench.put_on_disk(4, &now).await;
            assert_eq!(bench.look(4).await.unwrap(), byte);
            former = now;
        }
    });
}
