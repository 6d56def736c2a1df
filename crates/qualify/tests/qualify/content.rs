//! What storage that reduces data sees of the databases after a test.

use crate::growth::busy;
use crate::small::Small;
use brunt_report::result::ContentNumbers;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::content::Shape;

/// What is seen after a short test with records of `shape`.
fn seen(page: PageSize, shape: Shape) -> Vec<ContentNumbers> {
    // Some twenty pages of the catalog are blank for the most part.
    let size = ByteSize::bytes(4096 * page.bytes_u64());
    let mut plan = busy(page, size, 4);
    plan.instances.truncate(1);
    plan.duration = Span::seconds(2);
    plan.load.shape = shape;
    let test = Small::new(1).run(&plan);
    let seen = test.run.unwrap().content;
    assert_eq!(seen.len(), 3);
    seen
}

/// Regression: half of the bytes came to 44.7 % with pages of 4 KiB, because a compressor has to
/// say where a copy is.
#[test]
fn what_compression_saves_is_what_was_asked_for() {
    for page in [PageSize::KIB_4, PageSize::KIB_8, PageSize::KIB_32] {
        for percent in [0, 50] {
            let seen = seen(page, Shape { compressible_percent: percent, ..Shape::JETSTRESS });
            for blocks in seen {
                let off = blocks.compressible_percent - f64::from(percent);
                assert!(off.abs() < 5.0, "{percent} % in pages of {page}: {blocks:?}");
                assert!(blocks.duplicate_percent < 3.0, "{blocks:?}");
            }
        }
    }
}

#[test]
fn only_blocks_inside_a_record_are_copies() {
    let large = Shape {
        large_one_in: 1,
        large_min: 256 << 10,
        large_max: 256 << 10,
        duplicate_percent: 50,
        ..Shape::JETSTRESS
    };
    for (page, inside) in [
        (PageSize::KIB_4, [0.0, 0.0, 0.0]),
        (PageSize::KIB_8, [0.0, 0.0, 0.0]),
        (PageSize::KIB_16, [50.0, 0.0, 0.0]),
        (PageSize::KIB_32, [75.0, 50.0, 0.0]),
    ] {
        for (blocks, inside) in seen(page, large).into_iter().zip(inside) {
            // Not every page holds a whole chunk.
            let least = inside * 0.7;
            assert!((least..=inside).contains(&blocks.inside_percent), "{page}: {blocks:?}");
            // Half of them, without the first of each in the sample; blank ends of small pages are
            // alike, too.
            let copies = inside * 0.1..=inside * 0.55 + 3.0;
            assert!(copies.contains(&blocks.duplicate_percent), "{page}: {blocks:?}");
        }
    }
    // Bodies of mail cover no block.
    let mail = seen(PageSize::KIB_32, Shape { duplicate_percent: 50, ..Shape::JETSTRESS });
    assert!(mail[0].duplicate_percent <= mail[0].inside_percent, "{mail:?}");
    assert!(mail[0].inside_percent < 10.0, "{mail:?}");
}
