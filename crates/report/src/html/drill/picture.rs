//! The timeline of a drill: load, latency, write history log and writes at risk, above one another.

use brunt_units::Span;

use crate::plot::{Axis, Band, Curve, Drawn, Moment, Panel, Panels};
use crate::result::{Drill, DrillEvent, DrillSample};

/// More samples than this are drawn together: there are no more pixels.
const POINTS_MAX: usize = 480;
/// An axis that would be taller than this many times what most samples need ends before its peaks.
const TALL: f64 = 4.0;
/// The name that drills give to the time between a failure and the first operation.
const NO_SERVICE: &str = "no service";

/// The picture; none without samples. Drills on folders have no write history logs, and know only
/// at the failure what is at risk.
pub(super) fn panels(drill: &Drill, has_history: bool) -> Option<Panels> {
    let end = drill.samples.last()?.at_s;
    let each = drill.samples.len().div_ceil(POINTS_MAX);
    let points = drill.samples.chunks(each);
    let points: Vec<DrillSample> =
        points.filter_map(|chunk| chunk.iter().copied().reduce(then)).collect();
    let outages = outages(drill);
    let points = with_outages(points, &outages);
    Some(Panels {
        title: "Timeline of the drill",
        x: Axis::time(end).of("the drill"),
        panels: [interrupted(load(&points), &outages), interrupted(latency(&points), &outages)]
            .into_iter()
            .chain(has_history.then(|| [log(&points), at_risk(&points)]).into_iter().flatten())
            .collect(),
        phases: phases(drill, end),
        outages,
        events: moments(&drill.events).into_iter().map(|(moment, _)| moment).collect(),
    })
}

/// Two neighbours as one: means by their I/Os, and the larger of what both held.
fn then(one: DrillSample, next: DrillSample) -> DrillSample {
    let mean = |(count, ms): (u64, Option<f64>), (more, other): (u64, Option<f64>)| {
        let total = ms.unwrap_or_default() * count as f64 + other.unwrap_or_default() * more as f64;
        ms.or(other).map(|_| total / (count + more).max(1) as f64)
    };
    DrillSample {
        at_s: next.at_s,
        length_s: one.length_s + next.length_s,
        reads: one.reads + next.reads,
        read_ms: mean((one.reads, one.read_ms), (next.reads, next.read_ms)),
        writes: one.writes + next.writes,
        write_ms: mean((one.writes, one.write_ms), (next.writes, next.write_ms)),
        log_writes: one.log_writes + next.log_writes,
        log_ms: mean((one.log_writes, one.log_ms), (next.log_writes, next.log_ms)),
        log_bytes: one.log_bytes.max(next.log_bytes),
        at_risk_writes: one
            .at_risk_writes
            .zip(next.at_risk_writes)
            .map(|(one, next)| one.max(next)),
        full_in_s: match (one.full_in_s, next.full_in_s) {
            (Some(one), Some(next)) => Some(one.min(next)),
            (one, next) => one.or(next),
        },
    }
}

fn curve(
    points: &[DrillSample],
    name: &'static str,
    drawn: Drawn,
    of: impl Fn(&DrillSample) -> Option<f64>,
) -> Curve {
    let point = |one: &DrillSample| (middle(one), of(one).unwrap_or(f64::NAN));
    Curve { name: name.into(), points: points.iter().map(point).collect(), drawn }
}

/// `points` with one in each outage, so that no curve runs through it: what logs hold stays as it
/// was.
fn with_outages(points: Vec<DrillSample>, outages: &[Band]) -> Vec<DrillSample> {
    let mut all = points;
    for out in outages {
        if all.iter().any(|one| is_within(out, middle(one))) {
            continue;
        }
        let at_s = (out.from_s + out.until_s) / 2.0;
        let next = all.partition_point(|one| middle(one) < at_s);
        let before = next.checked_sub(1).map(|before| all[before]);
        let before = before.unwrap_or_default();
        let silent = DrillSample {
            at_s,
            log_bytes: before.log_bytes,
            at_risk_writes: before.at_risk_writes,
            ..DrillSample::default()
        };
        all.insert(next, silent);
    }
    all
}

fn middle(one: &DrillSample) -> f64 {
    one.at_s - one.length_s / 2.0
}

fn is_within(out: &Band, at_s: f64) -> bool {
    out.from_s < at_s && at_s < out.until_s
}

/// The curves of `panel`, interrupted while there was no service.
fn interrupted(mut panel: Panel, outages: &[Band]) -> Panel {
    let points = panel.curves.iter_mut().flat_map(|(curve, _)| &mut curve.points);
    for (at_s, value) in points {
        if outages.iter().any(|out| is_within(out, *at_s)) {
            *value = f64::NAN;
        }
    }
    panel
}

fn load(points: &[DrillSample]) -> Panel {
    let rate = |of: fn(&DrillSample) -> u64| {
        move |one: &DrillSample| Some(of(one) as f64 / one.length_s.max(1e-9))
    };
    let curves = vec![
        (curve(points, "database reads", Drawn::Area, rate(|one| one.reads)), 0),
        (curve(points, "database writes", Drawn::Line, rate(|one| one.writes)), 1),
    ];
    Panel {
        title: "Database I/Os",
        y: Axis::from_zero(tall_enough(&curves), "per second"),
        curves,
        absent: Vec::new(),
    }
}

/// The end of an axis on which most samples can be told apart, though the cache of a server that
/// has just begun is filled at many times the usual rate.
fn tall_enough(curves: &[(Curve, usize)]) -> f64 {
    let mut all: Vec<f64> = values(curves).filter(|value| *value > 0.0).collect();
    all.sort_by(f64::total_cmp);
    let most = all.last().copied().unwrap_or(0.0);
    let usual = all.get((all.len() * 95).div_euclid(100)).copied().unwrap_or(most);
    if most > TALL * usual { 1.3 * usual } else { most }
}

fn values(curves: &[(Curve, usize)]) -> impl Iterator<Item = f64> {
    let points = curves.iter().flat_map(|(curve, _)| &curve.points);
    points.map(|(_, value)| *value).filter(|value| value.is_finite())
}

fn latency(points: &[DrillSample]) -> Panel {
    let curves = vec![
        (curve(points, "read", Drawn::Line, |one| one.read_ms), 0),
        (curve(points, "database write", Drawn::Line, |one| one.write_ms), 1),
        (curve(points, "log write", Drawn::Line, |one| one.log_ms), 2),
    ];
    let ends = values(&curves).filter(|value| *value > 0.0);
    let (low, high) = ends.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
        (low.min(value), high.max(value))
    });
    Panel {
        title: "Mean latency",
        y: Axis::powers(low.min(high.max(1.0)), high, "ms"),
        curves,
        absent: Vec::new(),
    }
}

fn log(points: &[DrillSample]) -> Panel {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let most = points.iter().map(|one| one.log_bytes).max().unwrap_or(0);
    let fits = |(size, _): &&(u64, &str)| most >= *size;
    let (size, unit) = UNITS.iter().find(fits).copied().unwrap_or((1 << 20, "MiB"));
    let fill = curve(points, "held", Drawn::Area, |one| Some(one.log_bytes as f64 / size as f64));
    Panel {
        title: "Write history logs, all groups",
        y: Axis::from_zero(most as f64 / size as f64, unit),
        curves: vec![(fill, 3)],
        absent: Vec::new(),
    }
}

fn at_risk(points: &[DrillSample]) -> Panel {
    let risk =
        curve(points, "at risk", Drawn::Area, |one| one.at_risk_writes.map(|writes| writes as f64));
    let mut absent: Vec<Band> = Vec::new();
    for one in points.iter().filter(|one| one.at_risk_writes.is_none()) {
        let begin = one.at_s - one.length_s;
        match absent.last_mut() {
            Some(band) if begin <= band.until_s + 1e-6 => band.until_s = one.at_s,
            _ => absent.push(Band {
                from_s: begin,
                until_s: one.at_s,
                text: "inconsistent: full copy".to_owned(),
            }),
        }
    }
    let curves = vec![(risk, 4)];
    Panel {
        title: "At risk: not at the other site",
        y: Axis::from_zero(values(&curves).fold(0.0, f64::max), "writes"),
        curves,
        absent,
    }
}

/// The phases, each until the next one begins.
fn phases(drill: &Drill, end: f64) -> Vec<Band> {
    let ends = drill.phases.iter().skip(1).map(|phase| phase.from_s).chain([end]);
    let phases = drill.phases.iter().zip(ends).map(|(phase, until_s)| Band {
        from_s: phase.from_s,
        until_s,
        text: phase.name.clone(),
    });
    phases.collect()
}

/// When users had no service: every failover, and every time that is called so and ended without
/// one.
pub(super) fn outages(drill: &Drill) -> Vec<Band> {
    let band = |from_s: f64, seconds: f64| Band {
        from_s,
        until_s: from_s + seconds,
        text: format!("no service {}", Span::from_seconds(seconds)),
    };
    let mut outages: Vec<Band> =
        drill.failovers.iter().map(|one| band(one.at_s, one.rto_s)).collect();
    let end = drill.samples.last().map_or(0.0, |sample| sample.at_s);
    let last = drill.out_of_service_s.map(|seconds| band(end - seconds, seconds));
    outages.extend(last);
    let silent = drill.phases.iter().filter(|phase| phase.name == NO_SERVICE);
    for phase in silent {
        let is_new = |known: &Band| phase.to_s <= known.from_s || known.until_s <= phase.from_s;
        if outages.iter().all(is_new) {
            outages.push(band(phase.from_s, phase.to_s - phase.from_s));
        }
    }
    outages.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    outages
}

/// The events of the picture, each with how many it stands for: what happened to several groups at
/// once is one of them.
pub(super) fn moments(events: &[DrillEvent]) -> Vec<(Moment, usize)> {
    const NAMES_MAX: usize = 3;
    let parts = |what: &'_ str| {
        what.split_once(": ").map(|(name, what)| (name.to_owned(), what.to_owned()))
    };
    let mut moments: Vec<(f64, Vec<String>, String)> = Vec::new();
    for event in events {
        let (name, what) = parts(&event.what)
            .map_or((None, event.what.clone()), |(name, what)| (Some(name), what));
        match (moments.last_mut(), name) {
            (Some((at_s, names, text)), Some(name))
                if *at_s == event.at_s && *text == what && !names.is_empty() =>
            {
                names.push(name);
            }
            (_, name) => moments.push((event.at_s, name.into_iter().collect(), what)),
        }
    }
    let shown = moments.into_iter().map(|(at_s, names, what)| {
        let count = names.len().max(1);
        let named = match names.len() {
            0 => what,
            few if few <= NAMES_MAX => format!("{}: {what}", names.join(", ")),
            many => format!(
                "{} and {} more: {what}",
                names[..NAMES_MAX - 1].join(", "),
                many + 1 - NAMES_MAX
            ),
        };
        (Moment { at_s, text: named }, count)
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_s: f64, what: &str) -> DrillEvent {
        DrillEvent { at_s, what: what.to_owned() }
    }

    #[test]
    fn what_happens_to_several_groups_at_once_is_one_event() {
        let mut events = vec![event(5.0, "link lost")];
        events.extend((1..=5).map(|group| event(9.0, &format!("SG{group}: serves"))));
        events.extend([event(9.0, "SG6: copied in full"), event(9.5, "SG7: serves")]);
        let moments = moments(&events);
        let shown: Vec<_> =
            moments.iter().map(|(moment, count)| (moment.text.as_str(), *count)).collect();
        assert_eq!(
            shown,
            [
                ("link lost", 1),
                ("SG1, SG2 and 3 more: serves", 5),
                ("SG6: copied in full", 1),
                ("SG7: serves", 1)
            ]
        );
    }

    #[test]
    fn neighbours_are_drawn_as_one() {
        let sample = |at_s, reads, read_ms, risk| DrillSample {
            at_s,
            length_s: 5.0,
            reads,
            read_ms,
            at_risk_writes: risk,
            log_bytes: reads,
            ..DrillSample::default()
        };
        let both = then(sample(5.0, 100, Some(4.0), Some(3)), sample(10.0, 300, Some(8.0), None));
        assert_eq!((both.at_s, both.length_s, both.reads), (10.0, 10.0, 400));
        assert_eq!((both.read_ms, both.at_risk_writes, both.log_bytes), (Some(7.0), None, 300));
        assert_eq!((both.write_ms, both.log_ms), (None, None));
    }

    #[test]
    fn curves_end_where_service_ends() {
        let sample = |at_s, reads| DrillSample {
            at_s,
            length_s: 1.0,
            reads,
            log_bytes: 7,
            ..DrillSample::default()
        };
        let drawn = |from_s, until_s| {
            let outages = [Band { from_s, until_s, text: String::new() }];
            let points = [1.0, 2.0, 3.0, 4.0, 5.0].map(|at| sample(at, 140)).to_vec();
            let points = with_outages(points, &outages);
            assert!(points.iter().all(|one| one.log_bytes == 7));
            let panel = interrupted(load(&points), &outages);
            let values = panel.curves[0].0.points.iter();
            values.map(|(_, value)| value.is_finite()).collect::<Vec<_>>()
        };
        // One sample lies in the outage; then none does, and there is a gap all the same.
        assert_eq!(drawn(2.0, 3.4), [true, true, false, true, true]);
        assert_eq!(drawn(1.6, 2.4), [true, true, false, true, true, true]);
    }

    #[test]
    fn a_burst_does_not_flatten_the_rest() {
        let rates = |burst: f64| {
            let mut points: Vec<_> = (0..100).map(|at| (f64::from(at), 100.0)).collect();
            points[0].1 = burst;
            tall_enough(&[(Curve { name: "".into(), points, drawn: Drawn::Line }, 0)])
        };
        assert_eq!([rates(399.0), rates(1_600.0)], [399.0, 130.0]);
        assert_eq!(tall_enough(&[]), 0.0);
    }
}
