//! When a prediction knows enough: its figures with their intervals, and the rule that stops it.
//!
//! A prediction has two halves with seeds of their own. After ten minutes, and then after every
//! quarter more, its figures are estimated from ten batches, five of each half
//! ([`brunt_stats::batch_means`]). It stops when all of these hold twice in a row:
//!
//! ```text
//!   batches   a batch is longer than the cycles of the caches
//!   drift     the first and the second half of the time agree, in every figure
//!   seeds     and so do both seeds
//!   width     the 95 % intervals are as narrow as the scenario wants: rates, and three times as wide, latencies
//! ```
//!
//! A rule that stops as soon as intervals are narrow stops too often where they are narrow by
//! chance. It is judged seldom, and twice, so that the intervals hold.
//!
//! docs/models/precision.md says how often the intervals hold the true value.

use brunt_report::grouped;
use brunt_run::Recorded;
use brunt_stats::batch_means::{Part, batches, ratio};
use brunt_stats::{Interval, Latencies};
use brunt_units::{ByteSize, Span};

use crate::goal::{Growth, Precision};
use crate::kinds::{TestKind, Work};
use crate::plan::Plan;

/// Batches, over all halves.
const BATCHES: usize = 10;
/// What each half collects at least.
pub const LENGTH_MIN: Span = Span::seconds(600);

/// Why a test of `plan` is simulated in one piece; `None` when in two halves.
pub fn in_one_piece(plan: &Plan) -> Option<String> {
    if plan.kind.work() != Work::Load {
        return Some("it ends when its work is done".to_owned());
    }
    if plan.kind == TestKind::Stress {
        return Some("a stress test is about its length".to_owned());
    }
    if plan.tune.is_some() {
        return Some("`tune` looks for its sessions in one run".to_owned());
    }
    if plan.growth == Growth::Refuse {
        return Some("its databases grow".to_owned());
    }
    let least = Span(2 * LENGTH_MIN.0);
    (plan.duration < least).then(|| format!("it is shorter than {least}"))
}

/// I/O of one kind in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Io {
    count: f64,
    /// The sum of their latencies, in milliseconds.
    took_ms: f64,
}

/// A sample of all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    seconds: f64,
    reads: Io,
    writes: Io,
    log_writes: Io,
    /// Bytes of both kinds of writes.
    written: f64,
}

impl Moment {
    /// The sample of one server.
    pub fn of(recorded: &Recorded) -> Self {
        let io = |latencies: &Latencies| {
            let count = latencies.count() as f64;
            let mean = latencies.mean().map_or(0.0, Span::as_millis);
            Io { count, took_ms: count * mean }
        };
        let whole = &recorded.whole;
        Self {
            seconds: recorded.sample.length.as_seconds(),
            reads: io(&whole.reads),
            writes: io(&whole.writes),
            log_writes: io(&whole.log_writes),
            written: whole.written as f64,
        }
    }

    /// Adds the sample of another server at the same time.
    pub fn add(&mut self, other: &Self) {
        self.seconds = self.seconds.max(other.seconds);
        for (own, other) in [
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.log_writes, other.log_writes),
        ] {
            own.count += other.count;
            own.took_ms += other.took_ms;
        }
        self.written += other.written;
    }
}

/// A figure whose precision counts.
#[derive(Clone, Copy, Debug)]
struct Figure {
    name: &'static str,
    is_rate: bool,
    part: fn(&Moment) -> Part,
}

const fn rate(name: &'static str, part: fn(&Moment) -> Part) -> Figure {
    let is_rate = true;
    Figure { name, is_rate, part }
}

const fn latency(name: &'static str, part: fn(&Moment) -> Part) -> Figure {
    let is_rate = false;
    Figure { name, is_rate, part }
}

const fn per_second(moment: &Moment, count: f64) -> Part {
    Part { sum: count, weight: moment.seconds }
}

const fn mean(io: &Io) -> Part {
    Part { sum: io.took_ms, weight: io.count }
}

const FIGURES: [Figure; 7] = [
    rate("database I/O", |m| per_second(m, m.reads.count + m.writes.count)),
    rate("database reads", |m| per_second(m, m.reads.count)),
    rate("database writes", |m| per_second(m, m.writes.count)),
    rate("log writes", |m| per_second(m, m.log_writes.count)),
    latency("database read", |m| mean(&m.reads)),
    latency("database write", |m| mean(&m.writes)),
    latency("log write", |m| mean(&m.log_writes)),
];

/// A figure, and how well it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// `database reads`, `log write`.
    pub name: &'static str,
    /// Whether it is a rate per second; otherwise a mean latency in milliseconds.
    pub is_rate: bool,
    /// Over all halves.
    pub interval: Interval,
    /// By half; as many as have such I/O.
    pub of_halves: Vec<f64>,
    /// The second half of the time less the first, and its interval.
    drift: Interval,
    /// The second seed less the first, likewise; zero for a single seed.
    apart: Interval,
}

impl Known {
    /// Half-width of the interval as a share of the figure.
    pub fn relative(&self) -> f64 {
        self.interval.half / self.interval.mean
    }

    fn wanted(&self, precision: Precision) -> f64 {
        match self.is_rate {
            true => precision.rates,
            false => precision.latencies,
        }
    }

    /// A `difference` that is neither small nor chance, in percent of the figure.
    fn notable(&self, difference: Interval, precision: Precision) -> Option<f64> {
        let size = difference.mean.abs();
        let is_small = size <= self.wanted(precision) * self.interval.mean;
        let is_chance = size <= difference.half;
        (!is_small && !is_chance).then(|| 100.0 * difference.mean / self.interval.mean)
    }
}

/// All figures after some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Those with I/O.
    pub figures: Vec<Known>,
    /// The length of a batch.
    pub batch: Span,
    /// What each half has collected.
    pub length: Span,
}

impl Estimate {
    /// The estimate from `halves`, one or two; nothing when they are too short for batches.
    pub fn of(halves: &[&[Moment]]) -> Option<Self> {
        let shortest = halves.iter().map(|half| half.len()).min()?;
        let seconds: f64 = halves.first()?.iter().map(|moment| moment.seconds).sum();
        let count = BATCHES.checked_div(halves.len())?;
        (shortest >= count).then(|| Self {
            figures: FIGURES.iter().filter_map(|one| known(one, halves, count)).collect(),
            batch: Span::from_seconds(seconds / count as f64),
            length: Span::from_seconds(seconds),
        })
    }

    /// Why the prediction goes on, where batches must be longer than `cycle`; `None` when it knows
    /// enough.
    pub fn lacks(&self, precision: Precision, cycle: Span) -> Option<String> {
        if self.batch < cycle {
            let seconds = grouped(cycle.0.div_euclid(1_000_000_000));
            return Some(format!(
                "a tenth of the time is shorter than the caches' cycle of {seconds} s"
            ));
        }
        for one in &self.figures {
            if let Some(percent) = one.notable(one.drift, precision) {
                return Some(format!("{} drifts ({percent:+.1} %)", one.in_words()));
            }
            if let Some(percent) = one.notable(one.apart, precision) {
                let percent = percent.abs();
                return Some(format!("{} depends on the seed ({percent:.1} %)", one.in_words()));
            }
        }
        let wide = |one: &&Known| one.relative() > one.wanted(precision);
        self.figures.iter().find(wide).map(|wide| {
            let percent = wide.relative() * 100.0;
            format!("{} is known to {percent:.1} %", wide.in_words())
        })
    }
}

/// When a prediction is judged, and whether it stops.
#[derive(Clone, Copy, Debug)]
pub struct Stopping {
    /// In samples.
    due: usize,
    /// Whether it lacked nothing when it was judged last.
    held: bool,
}

impl Stopping {
    /// For samples of this length.
    pub fn new(interval: Span) -> Self {
        let samples = LENGTH_MIN.0.div_ceil(interval.0.max(1));
        Self { due: usize::try_from(samples).unwrap_or(usize::MAX), held: false }
    }

    /// Whether it is judged after this many samples.
    pub fn is_due(&self, samples: usize) -> bool {
        samples >= self.due
    }

    /// Judges it after this many samples, when it `lacks` something or nothing. Whether it stops.
    pub fn judge(&mut self, samples: usize, lacks: Option<&str>) -> bool {
        self.due = samples + samples.div_ceil(4);
        let held = std::mem::replace(&mut self.held, lacks.is_none());
        held && lacks.is_none()
    }
}

impl Known {
    fn in_words(&self) -> String {
        match self.is_rate {
            true => format!("the rate of {}", self.name),
            false => format!("the latency of a {}", self.name),
        }
    }
}

/// `count` batches of each half.
fn known(figure: &Figure, halves: &[&[Moment]], count: usize) -> Option<Known> {
    let parts = |half: &&[Moment]| half.iter().map(figure.part).collect::<Vec<_>>();
    let series: Vec<Vec<Part>> = halves.iter().map(parts).collect();
    let all: Vec<Vec<Part>> = series.iter().map(|one| batches(one, count)).collect();
    let spread = ratio(&all)?;
    // Those samples that fill no batch count, too.
    let mean = Part::of(&series.concat()).ratio().filter(|mean| *mean > 0.0)?;
    let part = |from: usize, to: usize| {
        let parts = all.iter().map(|one| one[from..to].to_vec());
        ratio(&parts.collect::<Vec<_>>())
    };
    let middle = count.div_euclid(2);
    let (early, late) = (part(0, middle)?, part(middle, count)?);
    let apart = match &all[..] {
        [first, second] => {
            less(ratio(std::slice::from_ref(second))?, ratio(std::slice::from_ref(first))?)
        }
        _ => Interval { mean: 0.0, half: 0.0 },
    };
    Some(Known {
        name: figure.name,
        is_rate: figure.is_rate,
        interval: Interval {
            mean,
            // It holds what each seed says.
            half: spread.half.max(apart.mean.abs() / 2.0),
        },
        of_halves: series.iter().filter_map(|one| Part::of(one).ratio()).collect(),
        drift: less(late, early),
        apart,
    })
}

/// The difference of two independent figures.
fn less(one: Interval, other: Interval) -> Interval {
    Interval { mean: one.mean - other.mean, half: one.half.hypot(other.half) }
}

/// The cycle of the engine's cache, from what was collected so far: how long it takes to use up the
/// frames that one freeing makes available.
pub fn engine_cycle(plan: &Plan, servers: usize, moments: &[Moment]) -> Span {
    let engine = &plan.engine;
    let freed = f64::from(plan.frames()) * f64::from(engine.stop_percent - engine.start_percent);
    let reads: f64 = moments.iter().map(|moment| moment.reads.count).sum();
    let each = reads / servers.max(1) as f64;
    cycle(freed / 100.0, each, moments)
}

/// The cycle of a write cache of an array that is flushed from its high mark to its low one,
/// `between` bytes apart, with all writes of all servers spread over `arrays` of them.
pub fn flush_cycle(between: ByteSize, arrays: usize, moments: &[Moment]) -> Span {
    let written: f64 = moments.iter().map(|moment| moment.written).sum();
    cycle(between.get() as f64, written / arrays.max(1) as f64, moments)
}

/// How long it takes to use up `amount`, when `used` of it were used during `moments`.
fn cycle(amount: f64, used: f64, moments: &[Moment]) -> Span {
    let seconds: f64 = moments.iter().map(|moment| moment.seconds).sum();
    let cycle = seconds * amount / used;
    match cycle.is_finite() {
        true => Span::from_seconds(cycle),
        false => Span::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    const INTERVAL: Span = Span::seconds(15);
    const RATE: f64 = 100.0;
    const LATENCY_MS: f64 = 8.0;

    /// A system whose load and latency scatter by `scatter`, each sample like the one before by
    /// `like`. Rate and latency are those of the constants; `drift` is added to the latency in each
    /// hour, as a share.
    struct System {
        normal: Box<dyn FnMut() -> f64>,
        deviation: [f64; 2],
        like: f64,
        scatter: f64,
        drift: f64,
        samples: f64,
    }

    impl System {
        fn new(seed: u64, like: f64, scatter: f64) -> Self {
            let mut draw = Streams::new(seed).named("system");
            // Twelve uniforms: a mean of 0, a deviation of 1.
            let mut normal =
                move || (0..12).map(|_| draw.below(1_000) as f64 / 1e3).sum::<f64>() - 5.994;
            Self {
                deviation: [normal(), normal()],
                normal: Box::new(normal),
                like,
                scatter,
                drift: 0.0,
                samples: 0.0,
            }
        }

        fn next(&mut self) -> Moment {
            let rest = (1.0 - self.like * self.like).sqrt();
            for deviation in &mut self.deviation {
                *deviation = self.like * *deviation + rest * (self.normal)();
            }
            let [rate, latency] = self.deviation.map(|deviation| 1.0 + self.scatter * deviation);
            self.samples += 1.0;
            let latency = latency + self.drift * self.samples / 240.0;
            let io = |rate_per_s: f64| Io {
                count: rate_per_s * rate * 15.0,
                took_ms: rate_per_s * rate * 15.0 * LATENCY_MS * latency,
            };
            Moment {
                seconds: 15.0,
                reads: io(RATE),
                writes: io(RATE / 2.0),
                log_writes: io(RATE / 4.0),
                written: 1e6,
            }
        }
    }

    /// Two halves until they stop, at most an hour each.
    fn stopped(halves: &mut [System; 2], cycle: Span) -> (Option<Estimate>, String) {
        let mut series = [Vec::new(), Vec::new()];
        let (mut lacked, mut stopping) = (String::new(), Stopping::new(INTERVAL));
        for sample in 1..=240 {
            for (series, half) in series.iter_mut().zip(halves.iter_mut()) {
                series.push(half.next());
            }
            if !stopping.is_due(sample) {
                continue;
            }
            let Some(estimate) = Estimate::of(&[&series[0], &series[1]]) else {
                continue;
            };
            let lacks = estimate.lacks(Precision::default(), cycle);
            if stopping.judge(sample, lacks.as_deref()) {
                return (Some(estimate), lacked);
            }
            lacked = lacks.unwrap_or(lacked);
        }
        (None, lacked)
    }

    fn halves(seed: u64, like: f64, scatter: f64) -> [System; 2] {
        [2 * seed, 2 * seed + 1].map(|seed| System::new(seed, like, scatter))
    }

    /// The seeds are fixed, so the counts are, too. docs/models/precision.md has this for a whole
    /// system.
    #[test]
    fn intervals_hold_the_true_value_under_the_stopping_rule() {
        for (like, scatter) in [(0.0, 0.04), (0.0, 0.05), (0.5, 0.03)] {
            let mut held = [0; 7];
            let mut stops = 0;
            for seed in 1..=400 {
                let (estimate, _) = stopped(&mut halves(seed, like, scatter), Span::ZERO);
                let Some(estimate) = estimate else { continue };
                stops += 1;
                let truths = [1.5, 1.0, 0.5, 0.25].map(|share| share * RATE);
                let truths = truths.into_iter().chain([LATENCY_MS; 3]);
                for ((held, known), truth) in held.iter_mut().zip(&estimate.figures).zip(truths) {
                    *held += i32::from((known.interval.mean - truth).abs() <= known.interval.half);
                }
            }
            assert!(stops >= 300, "{like}, {scatter}: {stops} stopped");
            let percent = held.map(|held| f64::from(held) * 100.0 / f64::from(stops));
            assert!(
                percent.iter().all(|held| (92.0..=98.0).contains(held)),
                "{like}, {scatter}: {percent:?} % of {stops}"
            );
        }
    }

    #[test]
    fn it_goes_on_until_every_condition_holds() {
        let steady = |cycle| stopped(&mut halves(1, 0.0, 0.01), cycle);
        let (estimate, lacked) = steady(Span::ZERO);
        assert_eq!(estimate.unwrap().length, Span::seconds(750), "twice in a row");
        assert_eq!(lacked, "");
        let (estimate, lacked) = steady(Span::seconds(360));
        assert!(estimate.unwrap().length >= Span::seconds(1_800));
        assert_eq!(lacked, "a tenth of the time is shorter than the caches' cycle of 360 s");
        let (none, lacked) = stopped(&mut halves(1, 0.9, 0.3), Span::ZERO);
        assert!(none.is_none() && lacked.contains(" is known to "), "{lacked}");
        let mut drifting = halves(1, 0.0, 0.01);
        drifting.iter_mut().for_each(|half| half.drift = 0.5);
        let (none, lacked) = stopped(&mut drifting, Span::ZERO);
        assert!(
            none.is_none() && lacked.contains("the latency of a database read drifts (+"),
            "{lacked}"
        );
    }

    #[test]
    fn seeds_that_disagree_do_not_stop_it() {
        let [first, _] = halves(1, 0.0, 0.01);
        let mut second = System::new(3, 0.0, 0.01);
        // Its latency is another one from the beginning.
        second.samples = 24_000.0;
        second.drift = 0.0005;
        let (none, lacked) = stopped(&mut [first, second], Span::ZERO);
        assert!(none.is_none() && lacked.contains("depends on the seed ("), "{lacked}");
    }

    #[test]
    fn cycles_follow_from_what_was_used() {
        let moments = [Moment { seconds: 100.0, written: 1e9, ..Moment::default() }];
        let cycle = flush_cycle(ByteSize::bytes(200_000_000), 2, &moments);
        assert_eq!(cycle, Span::seconds(40));
        assert_eq!(flush_cycle(ByteSize::bytes(0), 1, &moments), Span::ZERO);
        assert_eq!(flush_cycle(ByteSize::bytes(1), 1, &[]), Span::ZERO);
    }
}
