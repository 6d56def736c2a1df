//! Does the storage stay as it was? Compares the first third of the collection with the last one.
//!
//! A volume that lives on burst credits, an SSD whose fast cells fill up, a drive that gets hot, an
//! array whose write cache was empty at the start: all of them are good for a while. The mean over
//! a test hides this; a day of mail does not. So three series are checked: I/O rate, read latency
//! and log write latency.
//!
//! A series has worsened when both hold:
//!
//! ```text
//!   change    the mean of the last third is worse than that of the first by more than its limit
//!   trend     later samples are worse than earlier ones more often than by chance, over all of them
//!             (Mann 1945, Kendall 1975) or between the thirds (Mann and Whitney 1947): z of the number of
//!             ordered pairs, beyond 1.645
//! ```
//!
//! A single series of independent samples reaches that z by chance in one of twenty tests. But this
//! is the larger of two, and neighbouring samples are alike: steady tests reach it by chance in 6
//! of 100 with independent samples, and in 19 of 100 when neighbours correlate by 0.5.
//! docs/rules.md states how often both conditions hold on steady storage, by simulation.
//!
//! A difference without a trend is scatter, and a trend without a difference is small. Becoming
//! *better* is never a fault. The rule fails a stress test. A performance test of two hours may end
//! before a trend means anything, so there it only warns. The limits are our choice.

use brunt_report::decimals;
use brunt_report::result::{Outcome, Rule, Sample};

use super::RuleId;
use crate::kinds::{Kind, TestKind};

/// Allowed drop of the I/O rate, in percent.
const RATE_PERCENT: f64 = 10.0;
/// Allowed rise of a latency, in percent.
const LATENCY_PERCENT: f64 = 25.0;
/// Minimum number of samples: three for each third.
const SAMPLES_MIN: usize = 9;
/// Beyond this number, samples are merged into groups: neighbours say the same.
const GROUPS_MAX: usize = 240;
/// A single series of independent values reaches this by chance in one of twenty tests.
const Z_LIMIT: f64 = 1.645;

/// The value of a sample and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Weighed {
    value: f64,
    weight: f64,
}

/// The three rules. A rate that does not fall below `pace` is no decline: the test asked for no
/// more.
pub(super) fn rules(samples: &[Sample], kind: TestKind, pace: Option<f64>) -> [Rule; 3] {
    let rate = |sample: &Sample| {
        let io = sample.database_reads.per_s + sample.database_writes.per_s;
        Some(Weighed { value: io, weight: sample.length_s })
    };
    let latency = |flow: &brunt_report::result::Flow, length_s: f64| {
        Some(Weighed { value: flow.latency_ms_mean?, weight: flow.per_s * length_s })
    };
    let reads = |sample: &Sample| latency(&sample.database_reads, sample.length_s);
    let logs = |sample: &Sample| latency(&sample.log_writes, sample.length_s);
    let all = [
        paced(&series(samples, rate), pace),
        rule(RuleId::StationaryDatabaseRead, &series(samples, reads), Series::Latency),
        rule(RuleId::StationaryLogWrite, &series(samples, logs), Series::Latency),
    ];
    match Kind::of(kind).must_be_stationary {
        true => all,
        false => all.map(Rule::advisory),
    }
}

/// The direction that is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Series {
    Rate,
    Latency,
}

fn series(samples: &[Sample], of: impl Fn(&Sample) -> Option<Weighed>) -> Vec<Weighed> {
    let values: Vec<Weighed> = samples.iter().filter_map(of).collect();
    let size = values.len().div_ceil(GROUPS_MAX).max(1);
    values.chunks(size).map(together).collect()
}

fn together(values: &[Weighed]) -> Weighed {
    let weight: f64 = values.iter().map(|value| value.weight).sum();
    let sum: f64 = values.iter().map(|value| value.value * value.weight).sum();
    let value = if weight > 0.0 { sum / weight } else { 0.0 };
    Weighed { value, weight }
}

fn paced(rates: &[Weighed], pace: Option<f64>) -> Rule {
    let rule = rule(RuleId::StationaryIoRate, rates, Series::Rate);
    let third = rates.len().div_euclid(3);
    let last = together(&rates[rates.len() - third..]).value;
    if rule.outcome != Outcome::Failed || pace.is_none_or(|pace| last < pace) {
        return rule;
    }
    let remark = format!("{}, and still the pace that was asked for", rule.remark);
    Rule { outcome: Outcome::Ok, ..rule.with_remark(remark) }
}

fn rule(name: RuleId, values: &[Weighed], series: Series) -> Rule {
    let unit = "%";
    let limit = match series {
        Series::Rate => RATE_PERCENT,
        Series::Latency => LATENCY_PERCENT,
    };
    let third = values.len().div_euclid(3);
    if values.len() < SAMPLES_MIN {
        let rule = Rule::at_most(name, unit, limit, None);
        return rule.with_remark(format!("fewer than {SAMPLES_MIN} samples"));
    }
    let [first, last] = [&values[..third], &values[values.len() - third..]].map(together);
    if first.value <= 0.0 {
        return Rule::at_most(name, unit, limit, None).with_remark("there was none at first");
    }
    let sign = match series {
        Series::Rate => -1.0,
        Series::Latency => 1.0,
    };
    let worse = sign * (last.value / first.value - 1.0) * 100.0;
    let (first_third, last_third) = (&values[..third], &values[values.len() - third..]);
    let z = (sign * trend(values)).max(sign * apart(first_third, last_third));
    // An improvement counts as zero; the remark states its direction and size.
    let mut rule = Rule::at_most(name, unit, limit, Some(worse.max(0.0)));
    let is_chance = rule.outcome == Outcome::Failed && z < Z_LIMIT;
    if is_chance {
        rule.outcome = Outcome::Ok;
    }
    let change = last.value / first.value - 1.0;
    let way = if change < 0.0 { "lower" } else { "higher" };
    let percent = decimals(change.abs() * 100.0);
    let may_be = if is_chance { "; that may be chance" } else { "" };
    rule.with_remark(format!("{percent} % {way} in the last third than in the first{may_be}"))
}

/// How much later values are above earlier ones, in standard deviations.
fn trend(values: &[Weighed]) -> f64 {
    let mut pairs = 0.0;
    for (at, early) in values.iter().enumerate() {
        for late in &values[at + 1..] {
            pairs += f64::from(late.value > early.value);
            pairs -= f64::from(late.value < early.value);
        }
    }
    let n = values.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    (pairs - f64::signum(pairs)) / deviation
}

/// How much the values of `late` are above those of `early`, in standard deviations. Both have the
/// same number of values.
fn apart(early: &[Weighed], late: &[Weighed]) -> f64 {
    let mut pairs = 0.0;
    for (early, late) in early.iter().flat_map(|one| late.iter().map(move |other| (one, other))) {
        pairs += f64::from(late.value > early.value) - f64::from(late.value < early.value);
    }
    // Of n * n pairs: U is half their number plus half this difference.
    let n = early.len() as f64;
    let deviation = (n * n * (2.0 * n + 1.0) / 12.0).sqrt();
    (pairs / 2.0 - f64::signum(pairs) / 2.0) / deviation
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Flow;
    use brunt_world::random::Streams;

    use super::*;

    /// Samples whose rate and read latency are a function of the share of time passed.
    fn samples(count: u32, of: impl Fn(f64) -> (f64, f64)) -> Vec<Sample> {
        let mut noise = Streams::new(1).named("noise");
        let mut scattered = move |value: f64| value * (0.9 + 0.2 * noise.below(1_000) as f64 / 1e3);
        (0..count)
            .map(|number| {
                let (rate, latency) = of(f64::from(number) / f64::from(count));
                let flow = |per_s, latency| Flow {
                    per_s,
                    latency_ms_mean: Some(latency),
                    ..Flow::default()
                };
                Sample {
                    begin_s: f64::from(number) * 15.0,
                    length_s: 15.0,
                    database_reads: flow(scattered(rate), scattered(latency)),
                    database_writes: flow(0.0, 1.0),
                    log_writes: flow(scattered(100.0), scattered(1.0)),
                    page_fault_stalls_per_s: 0.0,
                    cache_bytes: 0,
                }
            })
            .collect()
    }

    fn outcomes(samples: &[Sample], kind: TestKind) -> [Outcome; 3] {
        rules(samples, kind, None).map(|rule| rule.outcome)
    }

    use Outcome::{Advisory, Failed, NotMeasured, Ok};

    #[test]
    fn steady_storage_is_stationary_however_it_scatters() {
        for count in [9, 10, 40, 480, 5_760] {
            let steady = samples(count, |_| (1_000.0, 5.0));
            assert_eq!(outcomes(&steady, TestKind::Stress), [Ok; 3], "{count} samples");
        }
    }

    #[test]
    fn credits_that_run_out_late_are_seen() {
        let burst = samples(480, |at| if at > 0.9 { (300.0, 20.0) } else { (1_000.0, 5.0) });
        assert_eq!(outcomes(&burst, TestKind::Stress), [Failed, Failed, Ok]);
        assert_eq!(outcomes(&burst, TestKind::Performance), [Advisory, Advisory, Ok]);
        let slow = samples(480, |at| (1_000.0, 5.0 * (1.0 + 0.5 * at)));
        assert_eq!(outcomes(&slow, TestKind::Stress), [Ok, Failed, Ok]);
    }

    #[test]
    fn becoming_better_or_hardly_worse_is_no_fault() {
        let better = samples(480, |at| (1_000.0 * (1.0 + at), 5.0 / (1.0 + at)));
        assert_eq!(outcomes(&better, TestKind::Stress), [Ok; 3]);
        let [rate, read, _] = rules(&better, TestKind::Stress, None);
        for (rule, way) in [(rate, "% higher in"), (read, "% lower in")] {
            assert_eq!(rule.measured.unwrap(), 0.0);
            assert!(rule.remark.contains(way), "{}", rule.remark);
        }
        let hardly = samples(480, |at| (1_000.0 * (1.0 - 0.1 * at), 5.0 * (1.0 + 0.2 * at)));
        assert_eq!(outcomes(&hardly, TestKind::Stress), [Ok; 3]);
    }

    #[test]
    fn a_rate_that_falls_to_its_pace_is_no_decline() {
        let falling = samples(480, |at| (1_000.0 - 300.0 * at, 5.0));
        let at_pace = |pace| {
            let [rate, ..] = rules(&falling, TestKind::Stress, Some(pace));
            (rate.outcome, rate.remark)
        };
        let (outcome, remark) = at_pace(700.0);
        assert_eq!(outcome, Ok, "{remark}");
        assert!(remark.ends_with("still the pace that was asked for"), "{remark}");
        assert_eq!(at_pace(900.0).0, Failed);
        assert_eq!(outcomes(&falling, TestKind::Stress), [Failed, Ok, Ok]);
    }

    #[test]
    fn one_bad_sample_at_the_end_is_scatter() {
        let mut once = samples(30, |_| (1_000.0, 5.0));
        once[29].database_reads.latency_ms_mean = Some(200.0);
        let rules = rules(&once, TestKind::Stress, None);
        assert_eq!(rules[1].outcome, Ok);
        assert!(
            rules[1]
                .remark
                .ends_with(" % higher in the last third than in the first; that may be chance"),
            "{}",
            rules[1].remark
        );
    }

    /// Latencies of steady storage that scatter by `scatter` of their mean; neighbours correlate by
    /// `like`.
    fn steady(like: f64, scatter: f64, seed: u64) -> Vec<Weighed> {
        let mut draw = Streams::new(seed).named("steady");
        // Twelve uniforms: a mean of 0, a deviation of 1.
        let mut normal = move || (0..12).map(|_| draw.below(1_000) as f64 / 1e3).sum::<f64>() - 6.0;
        let mut deviation = normal();
        let samples = std::iter::repeat_with(|| {
            deviation = like * deviation + (1.0 - like * like).sqrt() * normal();
            let value = 5.0 * (1.0 + scatter * deviation).max(0.05);
            let weight = 1_000.0;
            Weighed { value, weight }
        });
        samples.take(480).collect()
    }

    /// The share of two-hour tests on steady storage that fail the rule. docs/rules.md has this
    /// table, from 1,000 tests per cell; the seeds are fixed, so a fifth of them is enough here.
    #[test]
    fn steady_storage_fails_as_often_as_documented() {
        const TESTS: u64 = 200;
        for (series, like, scatter, expected) in [
            (Series::Rate, 0.0, 0.2, 0.0..=0.0),
            (Series::Rate, 0.9, 0.1, 0.0..=3.0),
            (Series::Rate, 0.9, 0.2, 10.0..=19.0),
            (Series::Latency, 0.5, 0.3, 0.0..=0.0),
            (Series::Latency, 0.9, 0.2, 0.0..=2.0),
            (Series::Latency, 0.9, 0.3, 2.0..=8.0),
        ] {
            let outcome = |seed| {
                let values = steady(like, scatter, seed);
                rule(RuleId::StationaryDatabaseRead, &values, series).outcome
            };
            let failed = (0..TESTS).filter(|seed| outcome(*seed) == Failed);
            let percent = failed.count() as f64 * 100.0 / TESTS as f64;
            assert!(expected.contains(&percent), "{series:?} {like} {scatter}: {percent} %");
        }
    }

    #[test]
    fn too_few_samples_say_nothing() {
        let few = samples(8, |at| (1_000.0, 1.0 + 100.0 * at));
        assert_eq!(outcomes(&few, TestKind::Stress), [NotMeasured; 3]);
    }
}
