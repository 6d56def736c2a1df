//! Background database maintenance: reads every page of a database again and again, slowly.
//!
//! The scan reads a batch, checks it and sleeps before the next. So its rate is batch / (sleep +
//! read time): 256 KiB and 100 ms give at most 2.6 MB/s. A pass that ends early waits for the end
//! of its interval; after a longer pass the next starts at once.
//!
//! Sources: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/dbscan.cxx and sysparamtable.g.cxx
//! (sleep 20 ms, pass at most once a day); 256 KiB and 100 ms, the `DBMThrottling` of Jetstress
//! 2013 and the reads printed in its reports (262,144 bytes, 9.84 per second).

use brunt_units::{PageNumber, PageSize, Span, Time};

use super::coalesce::Run;

/// The parameters of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Bytes per batch, rounded down to whole pages but at least one.
    pub batch_bytes: u64,
    /// From the end of one batch to the start of the next.
    pub sleep: Span,
    /// From the start of one pass to the earliest start of the next.
    pub interval: Span,
}

impl Throttle {
    /// Jetstress 2013.
    pub const JETSTRESS: Self =
        Self { batch_bytes: 256 << 10, sleep: Span::millis(100), interval: Span::seconds(86_400) };
    /// The engine's own defaults.
    pub const ESE: Self = Self { sleep: Span::millis(20), ..Self::JETSTRESS };
}

/// The scan of one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    throttle: Throttle,
    batch_pages: u32,
    next: PageNumber,
    /// Start of the pass that `next` belongs to.
    began: Time,
    due: Time,
    passes: u64,
}

impl Scan {
    /// A scan whose first pass starts now.
    pub fn new(throttle: Throttle, size: PageSize, now: Time) -> Self {
        let pages = throttle.batch_bytes.div_euclid(size.bytes_u64()).max(1);
        Self {
            throttle,
            batch_pages: u32::try_from(pages).unwrap_or(u32::MAX),
            next: PageNumber(1),
            began: now,
            due: now,
            passes: 0,
        }
    }

    /// When the next batch may be read.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Passes completed.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// The batch to read now from a database with pages 1 to `pages`; `None` before it is due, or
    /// if the file is empty.
    ///
    /// Cached pages need not be read. Call [`Self::finished`] at the end.
    pub fn take(&mut self, now: Time, pages: u32) -> Option<Run> {
        if now < self.due || pages == 0 {
            return None;
        }
        if self.next == PageNumber(1) {
            self.began = now;
        }
        // If the file shrank, the pass ends with its last page.
        let first = PageNumber(self.next.0.min(pages));
        let count = self.batch_pages.min(pages - first.0 + 1);
        self.next = if first.0 - 1 + count == pages {
            self.passes += 1;
            PageNumber(1)
        } else {
            first.after(count)
        };
        self.due = Time::MAX;
        Some(Run { first, count })
    }

    /// The batch has been read and checked.
    pub fn finished(&mut self, now: Time) {
        self.due = now + self.throttle.sleep;
        if self.next == PageNumber(1) {
            self.due = self.due.max(self.began + self.throttle.interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn the_rate_is_that_of_the_reports() {
        // 256 KiB every 100 ms + 1.6 ms: 9.84 reads per second, as printed for a 2013 test.
        let mut scan = Scan::new(Throttle::JETSTRESS, PageSize::KIB_32, Time::ZERO);
        let mut batches = 0;
        while scan.due() < Time::ZERO + Span::seconds(100) {
            let due = scan.due();
            let run = scan.take(due, 10_000_000).unwrap();
            assert_eq!(run.bytes(PageSize::KIB_32), 262_144);
            scan.finished(due + Span::micros(1_600));
            batches += 1;
        }
        assert_eq!(batches, 985);
    }

    #[test]
    fn each_pass_reads_every_page_once_in_order() {
        let mut random = Streams::new(12).named("scan");
        for _ in 0..300 {
            let pages = 1 + u32::try_from(random.below(100)).unwrap();
            let throttle = Throttle {
                batch_bytes: random.below(40_000),
                sleep: Span::millis(random.below(30)),
                interval: Span::millis(random.below(2_000)),
            };
            let mut now = Time(random.below(1_000));
            let mut scan = Scan::new(throttle, PageSize::KIB_4, now);
            for pass in 0..3 {
                let began = now;
                let mut next = 1;
                while scan.passes() == pass {
                    assert_eq!(scan.due(), now);
                    let run = scan.take(now, pages).unwrap();
                    assert_eq!(run.first.0, next);
                    assert!(run.bytes(PageSize::KIB_4) <= throttle.batch_bytes.max(4096));
                    next = run.last().0 + 1;
                    assert!(scan.take(now, pages).is_none(), "one batch at a time");
                    now += Span::millis(random.below(5));
                    scan.finished(now);
                    assert!(scan.due() - now >= throttle.sleep);
                    now = scan.due();
                }
                assert_eq!(next, pages + 1);
                assert!(now - began >= throttle.interval);
            }
        }
    }

    #[test]
    fn a_file_that_shrinks_or_is_empty_is_no_trouble() {
        let mut scan = Scan::new(Throttle::ESE, PageSize::KIB_32, Time::ZERO);
        assert_eq!(scan.take(Time::ZERO, 0), None);
        scan.take(Time::ZERO, 100).unwrap();
        scan.finished(Time::ZERO);
        let run = scan.take(scan.due(), 5).unwrap();
        assert_eq!((run.first.0, run.count), (5, 1));
        assert_eq!(scan.passes(), 1);
    }
}
