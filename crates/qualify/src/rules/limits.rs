//! Latencies, stalls and the rate.
//!
//! **Excursions.** Some samples may be over the limit: as many as Jetstress tolerates
//! (`MaximumLatencyErrors`, 6), but at most 1.25 % of the samples, so that a short test has none to
//! spare (6 of the 480 samples of two hours).

use brunt_report::decimals;
use brunt_report::result::{Direction, Outcome, Rule, Tuning};
use brunt_units::Span;

use super::{Evidence, RuleId, StreamLatency, Writes, batch_means};
use crate::goal::Target;
use crate::plan::Limits;

/// Tolerated samples over the limit among `samples`; `most` is the version's own number.
pub fn tolerated(samples: u64, most: u32) -> u64 {
    u64::from(most).min((samples.saturating_mul(125)).div_euclid(10_000))
}

/// Latencies, stalls and the rate.
pub(super) fn performance(evidence: &Evidence, limits: &Limits) -> Vec<Rule> {
    let latency = &limits.latency;
    let (reads, logs) = (&evidence.reads, &evidence.log_writes);
    let mut rules = vec![
        average(RuleId::DatabaseReadAverage, reads, latency.read_mean),
        worst(RuleId::DatabaseReadWorst, reads, latency.read_sample, limits),
        average(RuleId::LogWriteAverage, logs, latency.log_mean),
        worst(RuleId::LogWriteWorst, logs, latency.log_sample, limits),
        stalls(evidence, limits),
    ];
    rules.extend(evidence.writes.as_ref().map(writes));
    if let Some(target) = evidence.target {
        let known = batch_means::io_rate(&evidence.samples);
        let achieved_io = evidence.achieved_io_per_s;
        let rates =
            [Some(achieved(target, achieved_io, limits)), headroom(target, achieved_io, limits)];
        rules.extend(rates.into_iter().flatten().map(|rule| rule.known(known)));
    }
    rules
}

/// Whether databases could be used in time after a restore.
pub(super) fn restore(took: Option<Span>, limit: Span) -> Rule {
    let rule =
        Rule::at_most(RuleId::RestoreTime, "s", limit.as_seconds(), took.map(Span::as_seconds));
    match took {
        Some(_) => rule.with_remark("copied, compared, moved into place, logs replayed"),
        None => rule.with_remark("the test ended before"),
    }
}

/// Whether tuning found sessions. Without any the test was not begun, which is the storage's fault
/// unless trials contradict one another.
pub(super) fn tuned(tuning: &Tuning) -> Rule {
    Rule {
        measured: tuning.io_per_s,
        unit: "/s".to_owned(),
        outcome: match tuning.sessions {
            Some(_) => Outcome::Ok,
            None if tuning.is_contradictory || tuning.outcome.is_empty() => Outcome::NotMeasured,
            None => Outcome::Failed,
        },
        remark: match tuning.outcome.as_str() {
            "" => "the test ended before".to_owned(),
            outcome => outcome.to_owned(),
        },
        ..Rule::not_measured(RuleId::SessionsFound)
    }
}

fn average(name: RuleId, streams: &[StreamLatency], limit: Span) -> Rule {
    let slowest = streams
        .iter()
        .filter_map(|stream| Some((stream.mean?, stream)))
        .max_by_key(|(mean, _)| *mean);
    let measured = slowest.map(|(mean, _)| mean.as_millis());
    let rule = Rule::at_most(name, "ms", limit.as_millis(), measured);
    match slowest {
        None => rule.with_remark("there was none"),
        Some((_, stream)) if streams.len() == 1 => rule.about(&stream.name),
        Some((_, stream)) => rule.about(&stream.name).with_remark(&stream.name),
    }
}

fn stalls(evidence: &Evidence, limits: &Limits) -> Rule {
    let (limit, measured) = (limits.stalls_per_s, evidence.stalls_per_s);
    let rule = Rule::at_most(RuleId::PageFaultStalls, "/s", limit, measured);
    match rule.outcome {
        // The remedy comes from Jetstress users: fewer threads (exchangemaster.wordpress.com, July
        // 2017).
        Outcome::Failed => rule.with_remark(
            "operations waited for a free page in the cache: fewer sessions, a target, or a larger cache",
        ),
        _ => rule,
    }
}

/// Before the log has gone through the checkpoint depth there are no database writes, and less is
/// asked of the storage than later.
fn writes(writes: &Writes) -> Rule {
    let rule = Rule {
        direction: Direction::AtLeast,
        unit: "/s".to_owned(),
        ..Rule::not_measured(RuleId::DatabaseWrites)
    };
    let short_of = writes.short_of.clone();
    match (writes.per_s, short_of) {
        (None, _) => rule.with_remark("the test ended before"),
        (Some(0.0), short_of) => rule.with_remark(short_of.unwrap_or("there was none".to_owned())),
        (measured, short_of) => Rule {
            measured,
            outcome: match short_of {
                Some(_) => Outcome::Advisory,
                None => Outcome::Ok,
            },
            remark: short_of
                .map_or_else(String::new, |short_of| format!("when measuring began, {short_of}")),
            ..rule
        },
    }
}

/// Whether sessions asked for more than they should.
pub(super) fn pace(evidence: &Evidence, limits: &Limits) -> Option<Rule> {
    let offered = evidence.target?.offered();
    let above = |rate: f64| (100.0 * (rate / offered - 1.0)).max(0.0);
    let measured = evidence.achieved_io_per_s;
    let limit = f64::from(limits.margin_percent);
    let rule = Rule::at_most(RuleId::LoadPace, "%", limit, measured.map(above)).advisory();
    Some(match (rule.outcome, measured) {
        (Outcome::Advisory, Some(rate)) => {
            let [rate, offered] = [rate, offered].map(decimals);
            rule.with_remark(format!("{rate} /s, and {offered} /s were asked for"))
        }
        _ => rule,
    })
}

/// How far the load was above its pace, in words, if that was too far.
pub(crate) fn above_pace(evidence: &Evidence, limits: &Limits) -> Option<String> {
    let rule = pace(evidence, limits).filter(|rule| rule.outcome == Outcome::Advisory)?;
    Some(format!("{} % above its pace ({})", decimals(rule.measured?), rule.remark))
}

fn worst(name: RuleId, streams: &[StreamLatency], limit: Span, limits: &Limits) -> Rule {
    let worst = streams
        .iter()
        .filter_map(|stream| Some((stream.samples.worst?, stream)))
        .max_by_key(|((mean, _), stream)| {
            let samples = stream.samples;
            // A stream with too many excursions decides, even next to a single longer one that is
            // tolerated.
            let over = samples.over > tolerated(samples.count, limits.excursions);
            (over, *mean)
        });
    let measured = worst.map(|((mean, _), _)| mean.as_millis());
    let mut rule = Rule::at_most(name, "ms", limit.as_millis(), measured);
    let Some(((_, at), stream)) = worst else {
        return rule.with_remark("there was none");
    };
    let samples = stream.samples;
    let allowed = tolerated(samples.count, limits.excursions);
    if rule.outcome == Outcome::Failed && samples.over <= allowed {
        rule.outcome = Outcome::Ok;
    }
    let mut remark = format!("{}, {:.0} s after the start", stream.name, at.as_seconds());
    if let Some(first) = samples.first_over {
        remark += &format!(
            "; {} of {} samples over the limit, {allowed} tolerated, the first after {:.0} s",
            samples.over,
            samples.count,
            first.as_seconds()
        );
    }
    rule.about(&stream.name).with_remark(remark)
}

fn achieved(target: Target, achieved: Option<f64>, limits: &Limits) -> Rule {
    let least = less_margin(target.io_per_s, limits);
    let rule = Rule::at_least(RuleId::AchievedIo, "/s", least, achieved);
    rule.with_remark(format!(
        "target {} /s less {} %",
        decimals(target.io_per_s),
        limits.margin_percent
    ))
}

/// The offered rate above the target: not reaching it is an advisory, and the result does not
/// qualify.
fn headroom(target: Target, achieved: Option<f64>, limits: &Limits) -> Option<Rule> {
    let least = less_margin(target.offered(), limits);
    let rule = Rule::at_least(RuleId::AchievedHeadroom, "/s", least, achieved);
    let rule = rule.with_remark(format!(
        "{} /s with {} % headroom, less {} %",
        decimals(target.offered()),
        target.headroom_percent,
        limits.margin_percent
    ));
    (target.headroom_percent > 0).then(|| rule.advisory())
}

/// Whether the storage achieved the target with its headroom.
pub(crate) fn shows_headroom(target: Target, achieved: Option<f64>, limits: &Limits) -> bool {
    let rule = headroom(target, achieved, limits);
    rule.is_none_or(|rule| rule.outcome == Outcome::Ok)
}

/// `rate` less the margin of the limits.
pub(crate) fn less_margin(rate: f64, limits: &Limits) -> f64 {
    rate * f64::from(100 - limits.margin_percent.min(100)) / 100.0
}
