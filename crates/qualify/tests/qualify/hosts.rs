//! A test that is a part of one on many hosts, in virtual time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use brunt_qualify::rules::Ending;
use brunt_qualify::shards::{Border, Meeting};
use brunt_run::News;
use brunt_units::{Span, Time};

use crate::small::{Small, plan};

/// Other hosts, which are asked every 50 ms, and let this one wait for a while.
#[derive(Debug, Default)]
struct Hosts {
    told: Mutex<Vec<&'static str>>,
    asked: [AtomicUsize; 2],
    begin: AtomicU64,
    begin_asked: AtomicUsize,
    /// After how many questions one of them gives up, once it is known when all begin; never when
    /// zero.
    gives_up_after: AtomicUsize,
}

/// How often they are asked in vain.
const IN_VAIN: usize = 40;

impl Hosts {
    fn told(&self) -> Vec<&'static str> {
        self.told.lock().unwrap().clone()
    }
}

impl Meeting for Hosts {
    fn arrive(&self, border: Border) {
        let word = match border {
            Border::Decided => "decided",
            Border::Ready => "ready",
        };
        self.told.lock().unwrap().push(word);
    }

    fn are_all_at(&self, border: Border) -> bool {
        self.asked[border as usize].fetch_add(1, Ordering::SeqCst) >= IN_VAIN
    }

    fn arrive_warm(&self, now: Time) {
        self.told.lock().unwrap().push("warm");
        // No round number of ticks.
        self.begin.store((now + Span::micros(7_654_321)).0, Ordering::SeqCst);
    }

    fn begin(&self) -> Option<Time> {
        let is_known = self.begin_asked.fetch_add(1, Ordering::SeqCst) >= IN_VAIN;
        is_known.then(|| Time(self.begin.load(Ordering::SeqCst)))
    }

    fn give_up(&self, _: &str) {
        self.told.lock().unwrap().push("given up");
    }

    fn has_given_up(&self) -> bool {
        let left = self.gives_up_after.load(Ordering::SeqCst);
        if left > 1 && self.begin_asked.load(Ordering::SeqCst) > IN_VAIN {
            self.gives_up_after.store(left - 1, Ordering::SeqCst);
        }
        left == 1
    }
}

fn among(hosts: &Arc<Hosts>) -> Small {
    Small { meeting: Some(Arc::<Hosts>::clone(hosts)), ..Small::new(1) }
}

#[test]
fn it_waits_at_each_border_and_collects_from_the_instant_on() {
    let hosts: Arc<Hosts> = Arc::default();
    let test = among(&hosts).run(&plan());
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    assert_eq!(hosts.told(), ["decided", "ready", "warm"]);
    let begin = Time(hosts.begin.load(Ordering::SeqCst));
    assert_eq!(run.collected.as_ref().unwrap().begin, begin);
    assert_eq!(run.collected.as_ref().unwrap().length, Span::seconds(20));
    let created = test.news.iter().position(|news| matches!(news, News::Creating { .. })).unwrap();
    let waited = Time::ZERO + Span::millis(50 * IN_VAIN as u64);
    assert!(test.told_at[created] >= waited, "nothing was written before");
}

#[test]
fn it_ends_with_the_others_and_verifies_what_it_has() {
    let hosts: Arc<Hosts> = Arc::default();
    hosts.gives_up_after.store(50, Ordering::SeqCst);
    let test = among(&hosts).run(&plan());
    let run = test.run.as_ref().unwrap();
    let collected = run.collected.as_ref().unwrap().length;
    assert!(collected > Span::ZERO && collected < Span::seconds(20), "{collected}");
    let records = run.records.as_ref().unwrap();
    assert_eq!((records.checked, records.findings.total()), (records.expected, 0));
    assert_eq!(hosts.told().last(), Some(&"given up"), "whatever the reason, it is over here");
}
