//! Freeing frames: what waits for what, and how many writes are in flight for it.

use brunt_units::{PageNumber, Span, Time};
use brunt_world::Class;

use super::bench::{Bench, run};
use super::same;
use crate::cache::Trust;
use crate::policy::available::Freeing;

/// The coldest pages were just changed, and their log takes a second. Clean pages are evicted
/// meanwhile.
#[test]
fn a_slow_log_holds_up_nobody_while_there_are_clean_pages() {
    run(16, same, async |bench| {
        bench.push_out(100).await;
        bench.probe.set_latency_of(Class::Log, Span::seconds(1));
        for page in 1..=5 {
            bench.change(page, 100).await;
        }
        bench.stalls();
        let start = bench.world.clock.now();
        for page in 20..80 {
            bench.look(page).await.unwrap();
        }
        let took = bench.world.clock.now() - start;
        assert!(took < Span::millis(50), "{took:?}");
        assert_eq!(bench.stalls(), 0);
        // They are written once their log is durable.
        bench.world.sleep(Span::seconds(3)).await;
        bench.push_out(100).await;
        for page in 1..=5 {
            assert_eq!(bench.look(page).await.unwrap(), 100, "page {page}");
        }
    });
}

/// Ten readers want a frame at once and the pool has two: they evict clean pages themselves.
#[test]
fn an_empty_pool_is_no_stall_while_there_are_clean_pages() {
    run(16, same, async |bench| {
        bench.push_out(100).await;
        bench.stalls();
        let looks: Vec<_> = (1..=10)
            .map(|page| {
                let cache = bench.cache.clone();
                bench.world.spawner.spawn(async move {
                    let pin = cache.fetch(0, PageNumber(page), Trust::Verified).await;
                    pin.map(drop).unwrap();
                })
            })
            .collect();
        for look in looks {
            look.await;
        }
        assert_eq!(bench.stalls(), 0);
    });
}

/// Maximum writes in flight while dirty pages are evicted one by one.
async fn most_writes(bench: &Bench) -> u32 {
    // No two of them are adjacent, so each is one write.
    for page in (2..=200).step_by(2) {
        bench.change(page, 100).await;
    }
    bench.log.want(bench.log.tail(), crate::log::FlushReason::Page);
    bench.world.sleep(Span::millis(1)).await;
    let mut most = 0;
    for page in (1..=199).step_by(2) {
        bench.look(page).await.unwrap();
        most = most.max(bench.cache.writes_in_flight(0));
    }
    assert!(bench.world.clock.now() > Time::ZERO + Span::millis(10));
    most
}

#[test]
fn a_trickle_has_few_writes_in_flight_and_a_burst_many() {
    for (freeing, expected) in [(Freeing::TRICKLE, 1..=6), (Freeing::BURST, 12..=24)] {
        let adjust = move |options: &mut crate::cache::CacheOptions| {
            options.freeing = freeing;
            (options.start_percent, options.stop_percent) = (10, 20);
        };
        run(120, adjust, async move |bench| {
            let most = most_writes(bench).await;
            assert!(expected.contains(&most), "{most} with {freeing:?}");
            assert_eq!(bench.stalls(), 0);
        });
    }
}
