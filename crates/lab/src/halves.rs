//! A prediction in two halves: each simulates half of the duration with a seed of its own, in a
//! world and a thread of its own.
//!
//! ```text
//!   first      warm up | 10 min ...... | + 1/4 | + 1/4 |        each time, new samples go to the other half;
//!                      |               X       X       |        both judge the same samples by the same rule,
//!   second     warm up | 10 min ...... | + 1/4 | + 1/4 |        so both stop with the same sample
//! ```
//!
//! Halves that differ only by chance show how large chance is, and two cores take half as long.
//! What comes of it depends on nothing but the samples: on one core the halves take turns, with
//! equal results.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use brunt_array::FlushPolicy;
use brunt_qualify::goal::Precision;
use brunt_qualify::plan::Plan;
use brunt_qualify::precision::{self, Estimate, Moment, Stopping, engine_cycle, flush_cycle};
use brunt_report::result::{Interval, PreciseFigure, Precision as Numbers};
use brunt_run::{Listener, News, Recorded};
use brunt_scenario::{ArrayPlan, ModelledScenario};
use brunt_units::{ByteSize, Span};
use brunt_workload::keys::Mixer;

use crate::Options;

/// The seeds of the halves of `scenario`; its own if it is simulated in one piece.
pub(crate) fn seeds(scenario: &ModelledScenario, options: &Options) -> Vec<u64> {
    let seed = scenario.scenario.test.seed;
    match options.in_one_piece || in_one_piece(scenario, &scenario.scenario.plan()).is_some() {
        true => vec![seed],
        // TOML has no larger numbers.
        false => vec![seed, Mixer::new(seed).key(SECOND) & i64::MAX.unsigned_abs()],
    }
}

/// Distinguishes the seed of a second half from other numbers that are drawn from a seed.
const SECOND: u64 = 0x2D;

/// Why `scenario` is simulated in one piece; nothing when in two halves.
fn in_one_piece(scenario: &ModelledScenario, plan: &Plan) -> Option<String> {
    let mut arrays = scenario.arrays.iter();
    if !plan.faults.is_empty() || arrays.any(|array| !array.incidents.is_empty()) {
        return Some("it has events".to_owned());
    }
    precision::in_one_piece(plan)
}

/// The way to the other half.
pub(crate) struct Exchange {
    to: Sender<Vec<Moment>>,
    from: Receiver<Vec<Moment>>,
}

impl Exchange {
    /// Both ends.
    pub(crate) fn pair() -> (Self, Self) {
        let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
        let first = Self { to: to_second, from: from_second };
        let second = Self { to: to_first, from: from_first };
        (first, second)
    }
}

/// The samples of a half, and whether they are enough.
pub(crate) struct Series {
    /// 0 or 1: both halves are judged in the same order.
    number: usize,
    plan: Plan,
    /// Bytes between the marks of each array's write cache.
    marks: Vec<ByteSize>,
    /// Hears why the prediction goes on.
    listener: Rc<dyn Listener>,
    state: RefCell<State>,
}

struct State {
    /// Samples by server, as far as not all servers have them.
    ahead: Vec<Vec<Moment>>,
    /// Samples of all servers.
    own: Vec<Moment>,
    /// Those of the other half.
    other: Vec<Moment>,
    told: usize,
    stopping: Stopping,
    exchange: Option<Exchange>,
    is_enough: bool,
}

impl Series {
    /// The series of half `number` of `scenario`, which follows `plan`; a single half has no
    /// `exchange` and does not stop early.
    pub(crate) fn new(
        scenario: &ModelledScenario,
        plan: &Plan,
        number: usize,
        exchange: Option<Exchange>,
        listener: Rc<dyn Listener>,
    ) -> Self {
        Self {
            number,
            listener,
            plan: plan.clone(),
            marks: scenario.arrays.iter().map(between_marks).collect(),
            state: RefCell::new(State {
                ahead: vec![Vec::new(); scenario.servers.len()],
                own: Vec::new(),
                other: Vec::new(),
                told: 0,
                stopping: Stopping::new(plan.sample_interval()),
                exchange,
                is_enough: false,
            }),
        }
    }

    /// Handles a sample of a server. Waits for the other half when both are to be judged.
    pub(crate) fn sampled(&self, server: usize, recorded: &Recorded) {
        let mut state = self.state.borrow_mut();
        state.ahead[server].push(Moment::of(recorded));
        if state.ahead.iter().any(Vec::is_empty) {
            return;
        }
        let mut all = Moment::default();
        for server in &mut state.ahead {
            all.add(&server.remove(0));
        }
        state.own.push(all);
        let samples = state.own.len();
        if self.plan.precision.is_some() && state.stopping.is_due(samples) && state.swap() {
            let lacks = self.lacks(&state);
            state.is_enough |= state.stopping.judge(samples, lacks.as_deref());
            let after = Span(recorded.sample.length.0 * samples as u64);
            if let Some(lacks) = lacks.filter(|_| after < self.plan.duration) {
                let text = format!("goes on after {after}: {lacks}");
                let at = recorded.sample.begin + recorded.sample.length;
                self.listener.tell(at, &News::Note { text });
            }
        }
    }

    /// Whether the samples of both halves are enough.
    pub(crate) fn is_enough(&self) -> bool {
        self.state.borrow().is_enough
    }

    /// The collection of a server is over: the other half need not wait.
    pub(crate) fn ended(&self) {
        self.state.borrow_mut().exchange = None;
    }

    /// The samples of all servers.
    pub(crate) fn moments(&self) -> Vec<Moment> {
        self.state.borrow().own.clone()
    }

    fn lacks(&self, state: &State) -> Option<String> {
        let mut halves = [&state.own[..], &state.other[..]];
        halves.rotate_left(self.number);
        lacks(&self.plan, &halves, state.ahead.len(), &self.marks)
    }
}

impl State {
    /// Swaps new samples with the other half. Whether there is one.
    fn swap(&mut self) -> bool {
        let Some(exchange) = &self.exchange else {
            return false;
        };
        // A half that has ended neither takes nor gives.
        let _ = exchange.to.send(self.own[self.told..].to_vec());
        self.told = self.own.len();
        match exchange.from.recv() {
            Ok(news) => self.other.extend(news),
            Err(_) => self.exchange = None,
        }
        self.exchange.is_some()
    }
}

/// Why `halves` are not enough.
fn lacks(plan: &Plan, halves: &[&[Moment]], servers: usize, marks: &[ByteSize]) -> Option<String> {
    let Some((estimate, precision)) = Estimate::of(halves).zip(plan.precision) else {
        return Some("there are too few samples".to_owned());
    };
    let all = halves.concat();
    let flushes = marks.iter().map(|marks_of_one| flush_cycle(*marks_of_one, marks.len(), &all));
    let cycle = flushes.fold(engine_cycle(plan, servers, &all), Span::max);
    estimate.lacks(precision, cycle)
}

/// Bytes that an array's write cache takes from its low mark to its high one; nothing where it is
/// flushed steadily.
fn between_marks(array: &ArrayPlan) -> ByteSize {
    let arrays = array.design.arrays().into_iter();
    let caches = arrays.filter_map(|design| design.cache.as_ref());
    let swings = caches.filter(|cache| cache.marks.policy == FlushPolicy::Hysteresis);
    let between = swings.map(|cache| {
        let percent = u64::from(cache.marks.high - cache.marks.low);
        (cache.write.get() * percent).div_euclid(100)
    });
    ByteSize::bytes(between.sum())
}

/// What a prediction of `scenario` says about its precision; nothing when it was too short for
/// intervals.
pub(crate) fn numbers(
    scenario: &ModelledScenario,
    plan: &Plan,
    seeds: &[u64],
    halves: &[Vec<Moment>],
    (is_shortened, collected, steady_from): (bool, Span, Span),
) -> Option<Numbers> {
    let slices: Vec<&[Moment]> = halves.iter().map(Vec::as_slice).collect();
    let estimate = Estimate::of(&slices)?;
    if estimate.length < precision::LENGTH_MIN {
        return None;
    }
    let marks: Vec<ByteSize> = scenario.arrays.iter().map(between_marks).collect();
    let lacked = || match plan.precision {
        None => Some("the whole duration was asked for".to_owned()),
        Some(_) => in_one_piece(scenario, plan)
            .or_else(|| lacks(plan, &slices, scenario.servers.len(), &marks)),
    };
    let percent = |pick: fn(&Precision) -> f64| plan.precision.as_ref().map(|p| 100.0 * pick(p));
    Some(Numbers {
        stopped_early: is_shortened,
        lacked: match is_shortened {
            true => None,
            false => lacked().or(Some("its whole length was needed".to_owned())),
        },
        collected_s: collected.as_seconds(),
        duration_s: plan.duration.as_seconds(),
        steady_from_s: steady_from.as_seconds(),
        wanted_rates_percent: percent(|precision| precision.rates),
        wanted_latencies_percent: percent(|precision| precision.latencies),
        seeds: seeds.to_vec(),
        figures: estimate
            .figures
            .into_iter()
            .map(|known| PreciseFigure {
                figure: known.name.to_owned(),
                unit: if known.is_rate { "/s" } else { "ms" }.to_owned(),
                predicted: known.interval.mean,
                interval: Interval::from(known.interval),
                of_seeds: known.of_halves,
            })
            .collect(),
    })
}
