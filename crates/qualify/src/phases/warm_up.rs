//! Before the collection: the cache fills, and initial effects wear off.
//!
//! The collection begins when all of these hold:
//!
//! * the cache is as full as Jetstress requires, or does not fill any further;
//! * with a target, the pace has settled;
//! * the log of every instance has gone through the checkpoint depth. A page is written when its
//!   change is that far behind, so before there are no database writes, and an operation costs less
//!   than it will: the pace is then found anew, with writes in it. The wait is bounded
//!   ([`DEPTH_PATIENCE`]); a result that begins before says so;
//! * sessions have run for the time in the scenario, so that the first burst is over;
//! * as much has been written as the scenario requires, as a multiple of the size of the databases.
//!   A fresh SSD is faster than it will ever be again; the usual practice is to overwrite it twice
//!   (SNIA Solid State Storage Performance Test Specification, workload independent
//!   preconditioning). Meanwhile as many records are deleted as inserted, so that this does not use
//!   up the reserve.

use brunt_report::decimals;
use brunt_run::News;
use brunt_units::{ByteSize, LogPosition, Span, Time};

use crate::load::Load;
use crate::phases::run::{Director, TICK};
use crate::plan::Plan;
use crate::server::{Server, Table};

/// How long to wait for a cache that does not fill any further.
const PATIENCE: Span = Span::seconds(10);
/// The share of the cache that must be full before collection starts. Source: `PreloadJetCache` of
/// Jetstress 2013.
const PRELOAD_PERCENT: u64 = 90;

/// How long to wait for the pace to settle once the cache is full; at most the length of the test.
const PACE_PATIENCE: Span = Span::seconds(120);

/// How long to wait for the checkpoint depth: in lengths of the test, and at most. Our choice: a
/// short test has to end soon.
const DEPTH_PATIENCE: (u64, Span) = (4, Span::seconds(3_600));
/// After this long the wait ends when it would take more than twice as long as there is patience.
const DEPTH_OUTLOOK: Span = Span::seconds(1);

/// How long the warm-up of `plan` goes on at most once the cache is full, without preconditioning.
pub fn warm_up_max(plan: &Plan) -> Span {
    let pace = match plan.target {
        Some(_) => PACE_PATIENCE.min(plan.duration),
        None => Span::ZERO,
    };
    let before = plan.warm_up_min.max(pace);
    match plan.load.writes() {
        true => before + depth_patience(plan) + pace,
        false => before,
    }
}

fn depth_patience(plan: &Plan) -> Span {
    let (lengths, most) = DEPTH_PATIENCE;
    most.min(plan.duration * lengths)
}

/// How a warm-up ended.
pub(crate) struct WarmedUp {
    /// Whether an I/O hung for so long that the test gives up.
    pub(crate) is_stuck: bool,
    /// Which log has not gone through the checkpoint depth, in words.
    pub(crate) short_of: Option<String>,
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
    /// Where the log of each instance was.
    logs: Vec<LogPosition>,
    /// Since when nothing but the checkpoint depth is missing.
    waits_since: Option<Time>,
    /// When every log had gone through it, if that was waited for.
    deep_since: Option<Time>,
    short_of: Option<String>,
}

/// The instance whose log is farthest from the checkpoint depth.
struct Shallow {
    share: f64,
    words: String,
}

impl Director<'_> {
    pub(crate) async fn warm_up<T: Table>(
        &self,
        server: &Server<T>,
        load: &mut Load<T>,
    ) -> WarmedUp {
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
            // Pages being written out count as resident, and may briefly exceed the share of
            // frames.
            filled: ByteSize::bytes(u64::from(server.resident().0).min(frames) * page),
            cache: ByteSize::bytes(frames * page),
            took: self.now() - state.begun,
        });
        if let Some(short_of) = &state.short_of {
            self.note(format!(
                "measuring begins before the load is complete: {short_of}; database writes come afterwards"
            ));
        }
        WarmedUp { is_stuck, short_of: state.short_of }
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
            logs: tails(server),
            waits_since: None,
            deep_since: None,
            short_of: None,
        }
    }

    fn is_warm<T: Table>(
        &self,
        state: &mut WarmUp,
        server: &Server<T>,
        load: &mut Load<T>,
    ) -> bool {
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
            self.settling(share, format!("{written} of {} written", state.writes), None);
            return false;
        }
        let lasted = now - state.begun;
        if lasted < self.plan.warm_up_min {
            let (lasted, wanted) = (lasted.as_seconds(), self.plan.warm_up_min.as_seconds());
            let share = lasted / wanted;
            self.settling(share, format!("settling, {lasted:.0} of {} s", decimals(wanted)), None);
            return false;
        }
        let patience = PACE_PATIENCE.min(self.plan.duration);
        let lasted = now - state.deep_since.unwrap_or(full_since);
        if !load.is_settled() && lasted < patience {
            let share = lasted.as_seconds() / patience.as_seconds();
            let left = Span::nanos(patience.0 - lasted.0);
            let what = "finding the pace for the target".to_owned();
            self.settling(share, what, Some(left));
            return false;
        }
        state.deep_since.is_some() || self.is_deep(state, server, load)
    }

    /// Whether the collection need not wait for the checkpoint depth.
    fn is_deep<T: Table>(
        &self,
        state: &mut WarmUp,
        server: &Server<T>,
        load: &mut Load<T>,
    ) -> bool {
        let now = self.now();
        let shallow = match self.plan.load.writes() {
            true => self.shallowest(state, server),
            false => None,
        };
        let Some(shallow) = shallow else {
            if state.waits_since.is_some() {
                load.forget_pace();
                state.deep_since = Some(now);
            }
            return state.waits_since.is_none();
        };
        let waits_since = *state.waits_since.get_or_insert(now);
        let patience = depth_patience(self.plan);
        let (waited, ran) = (now - waits_since, (now - state.begun).as_seconds());
        let takes = ran / shallow.share * (1.0 - shallow.share);
        let is_hopeless = waited >= DEPTH_OUTLOOK && takes > 2.0 * patience.as_seconds();
        if waited >= patience || is_hopeless {
            state.short_of = Some(shallow.words);
            return true;
        }
        let left = Span(patience.0 - waited.0);
        self.settling(
            shallow.share,
            format!("{}: no database writes before", shallow.words),
            Some(left.min(Span::from_seconds(2.0 * takes))),
        );
        false
    }

    /// The instance whose log has come least far; `None` when all have gone through the checkpoint
    /// depth.
    fn shallowest<T: Table>(&self, state: &WarmUp, server: &Server<T>) -> Option<Shallow> {
        let depth = self.plan.engine.checkpoint_depth;
        let logs = server.instances().iter().zip(&state.logs);
        let written = logs.map(|(instance, begun)| {
            let shape = instance.options().log;
            shape.distance(*begun, instance.log().tail())
        });
        let (at, written) = written.enumerate().min_by_key(|(_, written)| *written)?;
        (written < depth.get()).then(|| Shallow {
            share: written as f64 / depth.get() as f64,
            words: format!(
                "{} has logged {} of {depth} (checkpoint depth)",
                self.plan.instances[at].name,
                ByteSize::bytes(written)
            ),
        })
    }

    fn settling(&self, share: f64, what: String, at_most: Option<Span>) {
        self.tell(News::Settling { share, what, at_most });
    }
}

fn tails<T: Table>(server: &Server<T>) -> Vec<LogPosition> {
    let instances = server.instances().iter();
    instances.map(|instance| instance.log().tail()).collect()
}

/// Bytes of database pages written since the server was opened.
fn written<T: Table>(server: &Server<T>) -> ByteSize {
    let bytes = server.board().with(|meters| {
        let databases = meters.databases.iter();
        databases.map(|database| database.writes.bytes()).sum()
    });
    ByteSize::bytes(bytes)
}
