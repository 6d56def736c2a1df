//! A test that begins with those of other hosts: it meets them through the keeper of its host, over
//! stdin and stdout.
//!
//! ```text
//!   keeper --- prepare, begin at, collect at, cut; the end of stdin: stop ---> Worker <--> the test
//!          <-- checked, ready, warm, collecting, closing, news, gave up ------
//! ```
//!
//! Instants are of the machine's monotonic clock; the test has them on the clock of its world.

use std::fmt;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::SystemTime;

use brunt_agents::{FromWorker, ToWorker, monotonic};
use brunt_qualify::shards::{Border, Meeting};
use brunt_report::NewsLine;
use brunt_run::{Listener, News, Stop};
use brunt_units::{Span, Time};
use brunt_world_real::ClockZero;

/// How often news are passed on. An agent takes a test that says nothing for five seconds for one
/// that does nothing.
const SAY: Span = Span::seconds(1);

/// No time yet.
const UNSET: u64 = u64::MAX;

/// A test's way to its keeper.
pub struct Worker {
    out: Mutex<Box<dyn Write + Send>>,
    is_prepared: Mutex<bool>,
    prepared: Condvar,
    /// Instants on the machine's monotonic clock.
    begin: AtomicU64,
    collect: AtomicU64,
    is_cut: AtomicBool,
    stop: Arc<AtomicBool>,
    /// When the world's clock was at zero, on that of the machine.
    zero: AtomicU64,
    said: AtomicU64,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl Worker {
    /// One that hears `lines` and says its own on `out`. The end of `lines` sets `stop`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn over(
        lines: impl BufRead + Send + 'static,
        out: impl Write + Send + 'static,
        stop: Arc<AtomicBool>,
    ) -> std::io::Result<Arc<Self>> {
        let worker = Arc::new(Self {
            out: Mutex::new(Box::new(out)),
            is_prepared: Mutex::default(),
            prepared: Condvar::new(),
            begin: AtomicU64::new(UNSET),
            collect: AtomicU64::new(UNSET),
            is_cut: AtomicBool::default(),
            stop,
            zero: AtomicU64::default(),
            said: AtomicU64::default(),
        });
        let hearing = Arc::clone(&worker);
        thread::Builder::new().name("hears the keeper".to_owned()).spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                hearing.hear(&line);
            }
            hearing.stop.store(true, Ordering::SeqCst);
            hearing.prepared.notify_all();
        })?;
        Ok(worker)
    }

    fn hear(&self, line: &str) {
        // The keeper is of the same commit.
        let Ok(message) = serde_json::from_str(line) else { return };
        match message {
            ToWorker::Prepare => {
                *self.is_prepared() = true;
                self.prepared.notify_all();
            }
            ToWorker::Begin { at } => self.begin.store(at.0, Ordering::SeqCst),
            ToWorker::Collect { at } => self.collect.store(at.0, Ordering::SeqCst),
            ToWorker::Cut => self.is_cut.store(true, Ordering::SeqCst),
        }
    }

    fn is_prepared(&self) -> MutexGuard<'_, bool> {
        self.is_prepared.lock().expect("nobody panics with it")
    }

    /// Waits until databases may be made; `false` when the test is to stop instead.
    pub fn may_prepare(&self) -> bool {
        let mut is_prepared = self.is_prepared();
        while !*is_prepared && !self.is_stopped() {
            is_prepared = self.prepared.wait(is_prepared).expect("nobody panics with it");
        }
        *is_prepared && !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Asked for by the end of stdin.
    pub fn stop(&self) -> Stop {
        Stop::from(Arc::clone(&self.stop))
    }

    /// The clock of the test's world was at zero then.
    pub fn set_zero(&self, zero: ClockZero) {
        let zero = monotonic().0.saturating_sub(zero.elapsed().0);
        self.zero.store(zero, Ordering::SeqCst);
    }

    /// Says `message`. A keeper that is gone has closed stdin, too.
    pub fn say(&self, message: &FromWorker) {
        let line = serde_json::to_string(message).expect("it has no maps") + "\n";
        let mut out = self.out.lock().expect("nobody panics with it");
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }

    /// A point in time of the machine on the world's clock.
    fn inside(&self, instant: &AtomicU64) -> Option<Time> {
        let at = instant.load(Ordering::SeqCst);
        (at != UNSET).then(|| Time(at.saturating_sub(self.zero.load(Ordering::SeqCst))))
    }
}

impl Meeting for Worker {
    fn arrive(&self, border: Border) {
        match border {
            // What is kept was decided before it was told to prepare.
            Border::Decided => {}
            Border::Ready => self.say(&FromWorker::Ready),
        }
    }

    fn are_all_at(&self, border: Border) -> bool {
        match border {
            Border::Decided => true,
            Border::Ready => self.start().is_some(),
        }
    }

    fn start(&self) -> Option<Time> {
        self.inside(&self.begin)
    }

    fn arrive_warm(&self, _: Time) {
        self.say(&FromWorker::Warm);
    }

    fn begin(&self) -> Option<Time> {
        self.inside(&self.collect)
    }

    fn give_up(&self, why: &str) {
        if !self.has_given_up() && !self.is_stopped() {
            self.say(&FromWorker::GaveUp { why: why.to_owned() });
        }
    }

    fn has_given_up(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }
}

impl Listener for Worker {
    fn tell(&self, at: Time, news: &News) {
        match news {
            News::CollectionStarted => {
                let zero = Span(self.zero.load(Ordering::SeqCst));
                self.say(&FromWorker::Collecting { at: at + zero });
            }
            News::CollectionEnded => self.say(&FromWorker::Closing),
            _ => {}
        }
        let said = self.said.load(Ordering::SeqCst);
        if at.0 >= said || matches!(news, News::Note { .. }) {
            self.said.store((at + SAY).0, Ordering::SeqCst);
            let line = NewsLine { at: SystemTime::now().into(), news: news.clone() };
            self.say(&FromWorker::News { json: line.to_json() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, pipe};
    use std::time::{Duration, Instant};

    use super::*;

    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<u8>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Out {
        fn lines(&self) -> Vec<FromWorker> {
            let bytes = self.0.lock().unwrap().clone();
            let text = String::from_utf8(bytes).unwrap();
            text.lines().map(|line| FromWorker::parse(line).unwrap()).collect()
        }
    }

    fn until(what: impl Fn() -> bool) {
        let patience = Instant::now() + Duration::from_secs(20);
        while !what() {
            assert!(Instant::now() < patience);
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn instants_are_on_the_clock_of_the_world() {
        let (lines, mut keeper) = pipe().unwrap();
        let out = Out::default();
        let worker = Worker::over(BufReader::new(lines), out.clone(), Arc::default()).unwrap();
        worker.set_zero(ClockZero::now());
        let zero = worker.zero.load(Ordering::SeqCst);
        assert!(worker.are_all_at(Border::Decided) && !worker.are_all_at(Border::Ready));
        keeper.write_all(b"\"prepare\"\n").unwrap();
        assert!(worker.may_prepare());
        worker.arrive(Border::Ready);
        writeln!(keeper, "{{\"begin\":{{\"at\":{}}}}}", zero + 7).unwrap();
        until(|| worker.are_all_at(Border::Ready));
        assert_eq!(worker.start(), Some(Time(7)));
        worker.arrive_warm(Time(9));
        writeln!(keeper, "{{\"collect\":{{\"at\":{}}}}}", zero + 11).unwrap();
        until(|| worker.begin() == Some(Time(11)));
        worker.tell(Time(12), &News::CollectionStarted);
        let collecting = FromWorker::Collecting { at: Time(zero + 12) };
        assert_eq!(out.lines()[..3], [FromWorker::Ready, FromWorker::Warm, collecting]);
    }

    #[test]
    fn the_end_of_stdin_stops_it_and_is_no_early_end() {
        let (lines, keeper) = pipe().unwrap();
        let out = Out::default();
        let worker = Worker::over(BufReader::new(lines), out.clone(), Arc::default()).unwrap();
        drop(keeper);
        assert!(!worker.may_prepare());
        assert!(worker.stop().is_asked());
        worker.give_up("stopped");
        assert_eq!(out.lines(), []);
    }

    #[test]
    fn an_early_end_is_told_unless_another_host_was_first() {
        let (lines, mut keeper) = pipe().unwrap();
        let out = Out::default();
        let worker = Worker::over(BufReader::new(lines), out.clone(), Arc::default()).unwrap();
        worker.give_up("a database is full");
        keeper.write_all(b"what\n\"cut\"\n").unwrap();
        until(|| worker.has_given_up());
        worker.give_up("ended with the others");
        let why = "a database is full".to_owned();
        assert_eq!(out.lines(), [FromWorker::GaveUp { why }]);
    }

    #[test]
    fn news_are_passed_on_once_a_second() {
        let out = Out::default();
        let worker = Worker::over(std::io::empty(), out.clone(), Arc::default()).unwrap();
        for tenth in 0..25 {
            let at = Time::ZERO + Span::millis(100) * tenth;
            worker.tell(at, &News::Dispatching);
        }
        assert_eq!(out.lines().len(), 3);
    }
}
