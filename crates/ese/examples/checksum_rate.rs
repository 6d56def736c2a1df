//! Measures the speed of page checks: `cargo run --release -p brunt-ese --example checksum_rate`.
//!
//! Prints one line of JSON for each page size, with medians of nine rounds: bytes per second and
//! core from the cache (one page, repeatedly) and from memory (256 MiB of pages, in order), and for
//! comparison a plain read of the same memory.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement of real time")]

use std::hint::black_box;
use std::time::Instant;

use brunt_ese::format::checksum::{is_sound, seal};
use brunt_units::{PageNumber, PageSize};

const MEMORY_BYTES: usize = 256 << 20;
const NUMBER: PageNumber = PageNumber(7);

fn main() {
    for size in PageSize::ALL {
        let mut page: Vec<u8> = (0..251).cycle().take(size.bytes()).collect();
        seal(&mut page, size, NUMBER);
        let rounds = (1_usize << 30).div_euclid(size.bytes());
        let cached = median(rounds * size.bytes(), || {
            for _ in 0..rounds {
                assert!(is_sound(black_box(&page), size, NUMBER));
            }
        });
        let memory = page.repeat(MEMORY_BYTES.div_euclid(size.bytes()));
        let checked = median(MEMORY_BYTES, || {
            for page in memory.chunks_exact(size.bytes()) {
                assert!(is_sound(page, size, NUMBER));
            }
        });
        let read = median(MEMORY_BYTES, || {
            let (words, _) = memory.as_chunks::<8>();
            let sum = words.iter().fold(0_u64, |sum, word| sum ^ u64::from_le_bytes(*word));
            black_box(sum);
        });
        let rates = serde_json::json!({
            "page_bytes": size.bytes(),
            "cached_gb_per_second": cached,
            "memory_gb_per_second": checked,
            "plain_gb_per_second": read,
        });
        println!("{rates}");
    }
}

/// The median rate of nine rounds, in 10⁹ bytes per second.
fn median(bytes: usize, mut round: impl FnMut()) -> f64 {
    let mut rates: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            round();
            bytes as f64 / start.elapsed().as_secs_f64() / 1e9
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[4]
}
