//! Before the collection: the cache fills, and initial effects wear off.
//!
//! The collection begins when all of these hold:
//!
//! * the cache is as full as Jetstress requires, or does not fill any further;
//! * with a target, the pace has settled: a cold cache has nothing to write;
//! * sessions have run for the time in the scenario, so that the first burst is over;
//! * as much has been written as the scenario requires, as a multiple of the size of the databases. A fresh SSD is faster than it
//!   will ever be again; the usual practice is to overwrite it twice (SNIA Solid State Storage Performance Test Specification,
//!   workload independent preconditioning). Meanwhile as many records are deleted as inserted, so that this does not use up the
//!   reserve.

use brunt_report::decimals;
use brunt_units::{ByteSize, Span, Time};

use crate::load::Load;
use crate::phases::run::{Director, TICK};
use crate::plan::Plan;
use crate::progress::News;
use crate::server::{Server, Table};

/// How long to wait for a cache that does not fill any further.
const PATIENCE: Span = Span::seconds(10);
/// The share of the cache that must be full before collection starts. Source: `PreloadJetCache` of Jetstress 2013.
const PRELOAD_PERCENT: u64 = 90;

/// How long to wait for the pace to settle once the cache is full; at most the length of the test.
const PACE_PATIENCE: Span = Span::seconds(120);

/// How long the warm-up of `plan` goes on at most once the cache is full, without preconditioning.
pub fn warm_up_max(plan: &Plan) -> Span {
    match plan.target {
        Some(_) => plan.warm_up_min.max(PACE_PATIENCE.min(plan.duration)),
        None => plan.warm_up_min,
    }
}

/// The state of the warm-up.
struct WarmUp {
    begun: Time,
    /// Pages wanted in the cache.
    wanted: u64,
    /// The largest number of pages seen in the cache, and when it was first seen.
    fullest: (u64, Time),
    /// When the cache became full enough.
    full_since: Option<Time>,
    /// Bytes of database writes wanted.
    writes: ByteSize,
}

impl Director<'_> {
    /// Whether it came to its end. It does not when an I/O hangs for so long that the test gives up.
    pub(crate) async fn warm_up<T: Table>(&self, server: &Server<T>, load: &mut Load<T>) -> bool {
        let page = self.plan.engine.page.bytes_u64();
        let frames = u64::from(server.resident().1);
        let mut state = self.begin_warm_up(server);
        self.tell(News::Dispatching);
        let balances = state.writes > ByteSize::bytes(0);
        if balances {
            load.hold();
        }
        let (mut look_at, mut is_stuck) = (self.now(), false);
        while !is_stuck && !self.is_warm(&mut state, server, load) && !self.is_over(load) {
            self.wait_until(self.now() + TICK).await;
            self.tend(load);
            is_stuck = self.is_stuck(&mut look_at);
        }
        if balances {
            load.let_go();
        }
        self.tell(News::WarmedUp {
            // Pages being written out count as resident, and may briefly exceed the share of frames.
            filled: ByteSize::bytes(u64::from(server.resident().0).min(frames) * page),
            cache: ByteSize::bytes(frames * page),
            took: self.now() - state.begun,
        });
        !is_stuck
    }

    fn begin_warm_up<T: Table>(&self, server: &Server<T>) -> WarmUp {
        let page = self.plan.engine.page.bytes_u64();
        let bytes: u64 = server.file_sizes().iter().map(|size| size.get()).sum();
        let frames = u64::from(server.resident().1);
        let wanted = frames.min(bytes.div_euclid(page)) * PRELOAD_PERCENT;
        let begun = self.now();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float cast saturates, and is not below zero"
        )]
        let writes = (bytes as f64 * self.plan.precondition) as u64;
        WarmUp {
            begun,
            wanted: wanted.div_euclid(100),
            fullest: (0, begun),
            full_since: None,
            writes: ByteSize::bytes(writes),
        }
    }

    fn is_warm<T: Table>(&self, state: &mut WarmUp, server: &Server<T>, load: &Load<T>) -> bool {
        let now = self.now();
        let page = self.plan.engine.page.bytes_u64();
        let resident = u64::from(server.resident().0);
        if resident > state.fullest.0 {
            state.fullest = (resident, now);
        }
        let is_full = resident >= state.wanted || now - state.fullest.1 > PATIENCE;
        if !is_full {
            let [filled, wanted] = [resident, state.wanted];
            let [filled, wanted] = [filled, wanted].map(|pages| ByteSize::bytes(pages * page));
            self.tell(News::WarmingUp { filled, wanted });
            return false;
        }
        let full_since = *state.full_since.get_or_insert(now);
        let written = written(server);
        if written < state.writes {
            let share = written.get() as f64 / state.writes.get() as f64;
            self.settling(
                share,
                format!("{written} of {} written", state.writes),
                None,
            );
            return false;
        }
        let lasted = now - state.begun;
        if lasted < self.plan.warm_up_min {
            let (lasted, wanted) = (lasted.as_seconds(), self.plan.warm_up_min.as_seconds());
            let share = lasted / wanted;
            self.settling(
                share,
                format!("settling, {lasted:.0} of {} s", decimals(wanted)),
                None,
            );
            return false;
        }
        let patience = PACE_PATIENCE.min(self.plan.duration);
        let lasted = now - full_since;
        if !load.is_settled() && lasted < patience {
            let share = lasted.as_seconds() / patience.as_seconds();
            let left = Span::nanos(patience.0 - lasted.0);
            let what = "finding the pace for the target".to_owned();
            self.settling(share, what, Some(left));
            return false;
        }
        true
    }

    fn settling(&self, share: f64, what: String, at_most: Option<Span>) {
        self.tell(News::Settling {
            share,
            what,
            at_most,
        });
    }
}

/// Bytes of database pages written since the server was opened.
fn written<T: Table>(server: &Server<T>) -> ByteSize {
    let bytes = server.board().with(|meters| {
        let databases = meters.databases.iter();
        databases.map(|database| database.writes.bytes()).sum()
    });
    ByteSize::bytes(bytes)
}
