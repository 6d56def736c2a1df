//! Where a simulation waits: the parts of its arrays over time, below the pictures of every report.
//!
//! ```text
//!   drives             the busiest drive, and the groups that were the busiest at their worst
//!   in front of them   controllers, ports and the link between controllers
//!   queues             requests in a drive: the longest, and the mean of a group's
//!   cache              how much of it waits for drives; write history logs of replicated arrays
//!   I/Os               of hosts, and of drives
//!   a read             which part of its time went where; how long it took on each LUN
//! ```
//!
//! A picture has four curves at most, so not every part is shown: all are in `counters.csv`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{POINTS_MAX, Pictures, View, highest};
use crate::Run;
use crate::parts::{Part, Parts, What};
use crate::plot::{Axis, Curve, Drawn, Plot, Timeline};

/// As many as there are colours.
const CURVES_MAX: usize = 4;

/// `pictures` of `run` with those of its arrays after them, in the time that `view` chooses; none
/// for real storage, and beside one database or log.
pub(crate) fn added(mut pictures: Pictures, run: &Run, view: &View) -> Pictures {
    if run.parts.is_empty() || view.part.is_some() {
        return pictures;
    }
    let Some(first) = pictures.drawn.first() else { return pictures };
    let over = Over::of(&run.parts, first.x.clone(), first.timeline.clone());
    let busiest = over.busiest_drives();
    let plots = over.plots().map(|mut plot| {
        let time = &over.time;
        let points = plot.curves.iter_mut().map(|curve| &mut curve.points);
        points.for_each(|points| points.retain(|(at, _)| time.holds(*at)));
        plot
    });
    pictures.drawn.extend(plots);
    let notes = [std::mem::take(&mut pictures.note), busiest];
    pictures.note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ");
    pictures
}

/// Parts over time, with the axis that all pictures share.
struct Over<'a> {
    parts: &'a Parts,
    /// Samples of a point.
    each: usize,
    /// Where each point lies.
    middles: Vec<f64>,
    time: Axis,
    timeline: Timeline,
}

/// Numbers of samples, and what was measured in them.
type Measured<'a> = &'a [(usize, f64)];

/// Values of all points, not a number where nothing was measured.
type Values = Vec<f64>;

impl<'a> Over<'a> {
    fn of(parts: &'a Parts, time: Axis, timeline: Timeline) -> Self {
        let samples = parts.samples();
        let each = samples.len().div_ceil(POINTS_MAX).max(1);
        let middle = |point: &[(f64, f64)]| {
            let (first, last) = (point[0], point[point.len() - 1]);
            f64::midpoint(first.0, last.0 + last.1)
        };
        let middles = samples.chunks(each).map(middle).collect();
        Self { parts, each, middles, time, timeline }
    }

    /// Means over the samples of each point; `weight` of a sample is of how much it is a mean.
    fn means(
        &self,
        values: impl IntoIterator<Item = (usize, f64)>,
        weight: impl Fn(usize) -> f64,
    ) -> Values {
        let mut sums = vec![(0.0, 0.0); self.middles.len()];
        for (sample, value) in values {
            let weight = weight(sample);
            let (sum, weights) = &mut sums[sample.div_euclid(self.each)];
            *sum += weight * value;
            *weights += weight;
        }
        let mean = |(sum, weights)| if weights > 0.0 { sum / weights } else { f64::NAN };
        sums.into_iter().map(mean).collect()
    }

    fn length(&self, sample: usize) -> f64 {
        self.parts.samples()[sample].1
    }

    fn over_time(&self, values: Measured<'_>) -> Values {
        self.means(values.iter().copied(), |sample| self.length(sample))
    }

    /// One value of each sample, made of those of all parts; empty where there are none.
    fn together(&self, what: What, join: fn(f64, f64) -> f64) -> Vec<(usize, f64)> {
        let mut all = BTreeMap::<usize, f64>::new();
        for (sample, value) in self.parts.series(what).flat_map(|(_, values)| values) {
            all.entry(*sample).and_modify(|known| *known = join(*known, *value)).or_insert(*value);
        }
        all.into_iter().collect()
    }

    fn curve(&self, name: impl Into<Cow<'static, str>>, values: Values) -> Option<Curve> {
        let is_measured = values.iter().any(|value| value.is_finite());
        is_measured.then(|| Curve {
            name: name.into(),
            points: self.middles.iter().copied().zip(values).collect(),
            drawn: Drawn::Line,
        })
    }

    /// The busiest, or the sum, of all parts of a kind.
    fn joined(
        &self,
        name: &'static str,
        what: What,
        join: fn(f64, f64) -> f64,
        times: f64,
    ) -> Option<Curve> {
        let all = self.together(what, join);
        self.curve(name, self.over_time(&all).iter().map(|value| times * value).collect())
    }

    /// Curves of the parts with the highest points.
    fn highest(&self, what: What, most: usize, kind: &str, times: f64) -> Vec<Curve> {
        let parts = self.parts.series(what).map(|(part, values)| {
            let values: Values = self.over_time(values).iter().map(|v| times * v).collect();
            let peak = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
            (part, values, peak)
        });
        let mut parts: Vec<_> = parts.collect();
        parts.sort_by(|one, other| other.2.total_cmp(&one.2));
        let parts = parts.into_iter().take(most);
        parts.filter_map(|(part, values, _)| self.curve(named(part, kind), values)).collect()
    }

    fn plot(&self, title: &'static str, y: Axis, curves: Vec<Curve>) -> Option<Plot> {
        let plot = Plot::new(title, self.time.clone(), y, curves);
        (!plot.curves.is_empty()).then(|| Plot { timeline: self.timeline.clone(), ..plot })
    }

    fn plots(&self) -> impl Iterator<Item = Plot> {
        [
            self.drives(),
            self.fronts(),
            self.queues(),
            self.caches(),
            self.requests(),
            self.read_parts(),
            self.luns(),
        ]
        .into_iter()
        .flatten()
    }

    fn drives(&self) -> Option<Plot> {
        let busiest = self.joined("busiest drive", What::Drive, f64::max, 100.0);
        let mut curves: Vec<Curve> = busiest.into_iter().collect();
        curves.extend(self.highest(What::Group, CURVES_MAX - curves.len(), "group", 100.0));
        let y = Axis::percent(highest(&curves), "% of the time");
        self.plot("Utilisation of drives", y, curves)
    }

    fn fronts(&self) -> Option<Plot> {
        let mut curves = self.highest(What::Controller, 2, "controller", 100.0);
        curves.extend(self.joined("busiest port", What::Port, f64::max, 100.0));
        curves.extend(self.joined("link between controllers", What::Link, f64::max, 100.0));
        let y = Axis::percent(highest(&curves), "% of the time");
        self.plot("Utilisation of controllers and ports", y, curves)
    }

    fn queues(&self) -> Option<Plot> {
        let longest = self.joined("longest of the busiest drives", What::DriveQueue, f64::max, 1.0);
        let mut curves: Vec<Curve> = longest.into_iter().collect();
        let groups = CURVES_MAX - curves.len();
        curves.extend(self.highest(What::Queue, groups, "group", 1.0));
        let y = Axis::from_zero(highest(&curves), "requests in a drive");
        self.plot("Queues", y, curves)
    }

    fn caches(&self) -> Option<Plot> {
        let dirty = self.joined("write cache", What::Dirty, f64::max, 100.0);
        let mut curves: Vec<Curve> = dirty.into_iter().collect();
        let logs = CURVES_MAX - curves.len();
        curves.extend(self.highest(What::History, logs, "history log", 100.0));
        let y = Axis::percent(highest(&curves), "% full");
        let title = match curves.len() {
            0 | 1 => "Write cache",
            _ => "Write cache and history logs",
        };
        self.plot(title, y, curves)
    }

    fn requests(&self) -> Option<Plot> {
        let sum = |one: f64, other: f64| one + other;
        let kinds = [
            ("reads of hosts", What::FrontReads),
            ("writes of hosts", What::FrontWrites),
            ("reads of drives", What::BackReads),
            ("writes of drives", What::BackWrites),
        ];
        let curves = kinds.into_iter().filter_map(|(name, what)| self.joined(name, what, sum, 1.0));
        let curves: Vec<Curve> = curves.collect();
        let y = Axis::from_zero(highest(&curves), "per second");
        self.plot("I/Os of hosts and of drives", y, curves)
    }

    /// The mean over the reads of all arrays.
    fn read_parts(&self) -> Option<Plot> {
        const GROUPS: [(&str, &[&str]); CURVES_MAX] = [
            ("waiting in a drive", &["queue"]),
            ("seek and rotation", &["seek", "rotation"]),
            ("waiting for cache or stripe", &["wait"]),
            ("link, controller and transfer", &["link", "controller", "overhead", "transfer"]),
        ];
        let reads = self.parts.series(What::FrontReads);
        let reads: BTreeMap<(Option<&str>, usize), f64> = reads
            .flat_map(|(part, values)| {
                values.iter().map(|(sample, per_s)| ((part.array.as_deref(), *sample), *per_s))
            })
            .collect();
        let curves = GROUPS.into_iter().filter_map(|(name, names)| {
            let mut sums = vec![(0.0, 0.0); self.middles.len()];
            let series = self.parts.series(What::ReadPart);
            for (part, values) in series.filter(|(part, _)| names.contains(&part.name.as_str())) {
                for (sample, ms) in values {
                    let per_s = reads.get(&(part.array.as_deref(), *sample)).copied();
                    let count = per_s.unwrap_or(0.0) * self.length(*sample);
                    let (sum, counts) = &mut sums[sample.div_euclid(self.each)];
                    *sum += count * ms;
                    // Every read has every part.
                    *counts += count / names.len() as f64;
                }
            }
            let mean = |(sum, counts)| if counts > 0.0 { sum / counts } else { f64::NAN };
            self.curve(name, sums.into_iter().map(mean).collect())
        });
        let curves: Vec<Curve> = curves.collect();
        let y = Axis::from_zero(highest(&curves), "ms");
        self.plot("Where a database read's time goes", y, curves)
    }

    /// The LUNs on which hosts waited longest for all their reads together.
    fn luns(&self) -> Option<Plot> {
        let rates: BTreeMap<(Option<&str>, &str), Measured<'_>> = self
            .parts
            .series(What::Lun)
            .map(|(part, values)| ((part.array.as_deref(), part.name.as_str()), values))
            .collect();
        let series = self.parts.series(What::LunRead).map(|(part, values)| {
            let rates = rates.get(&(part.array.as_deref(), part.name.as_str())).copied();
            let rate = |sample: usize| {
                let rates = rates.unwrap_or_default();
                let found = rates.binary_search_by_key(&sample, |(sample, _)| *sample);
                found.map_or(0.0, |at| rates[at].1)
            };
            let waited = |(sample, ms): &(usize, f64)| ms * rate(*sample) * self.length(*sample);
            (part, values, values.iter().map(waited).sum::<f64>())
        });
        let mut series: Vec<_> = series.collect();
        series.sort_by(|one, other| other.2.total_cmp(&one.2));
        let series = series.into_iter().take(CURVES_MAX);
        let curves: Vec<Curve> = series
            .filter_map(|(part, values, _)| self.curve(named(part, ""), self.over_time(values)))
            .collect();
        let y = Axis::from_zero(highest(&curves), "ms");
        self.plot("Read latency by LUN, mean", y, curves)
    }

    /// In words: the busiest drives in each state of the groups. Samples have only a few drives, so
    /// one counts that was among them for more than half of the time.
    fn busiest_drives(&self) -> String {
        let mut sentences = Vec::new();
        let mut states: Vec<&str> = Vec::new();
        for state in &self.timeline.states {
            if !states.contains(&state.text.as_str()) {
                states.push(&state.text);
            }
        }
        for state in states {
            let is_in = |sample: usize| {
                let (begin, length) = self.parts.samples()[sample];
                let middle = begin + length / 2.0;
                let mut bands = self.timeline.states.iter().filter(|band| band.text == state);
                bands.any(|band| (band.from_s..band.until_s).contains(&middle))
            };
            let samples = (0..self.parts.samples().len()).filter(|sample| is_in(*sample));
            let total: f64 = samples.map(|sample| self.length(sample)).sum();
            let drives = self.parts.series(What::Drive).filter_map(|(part, values)| {
                let values = values.iter().filter(|(sample, _)| is_in(*sample));
                let busy = values.map(|(sample, busy)| (busy * self.length(*sample), *sample));
                let busy: Vec<(f64, usize)> = busy.collect();
                let sum: f64 = busy.iter().map(|(busy, _)| busy).sum();
                let length: f64 = busy.iter().map(|(_, sample)| self.length(*sample)).sum();
                (2.0 * length > total).then(|| (part, sum, 100.0 * sum / length))
            });
            let mut drives: Vec<_> = drives.collect();
            drives.sort_by(|one, other| other.1.total_cmp(&one.1));
            let names = drives.iter().take(NAMED_MAX);
            let names: Vec<String> = names
                .map(|(part, _, percent)| format!("{} ({percent:.0} %)", named(part, "")))
                .collect();
            if !names.is_empty() {
                let when = match state {
                    "data lost" => "after data was lost".to_owned(),
                    state => format!("while {state}"),
                };
                sentences.push(format!("Busiest drives {when}: {}.", names.join(", ")));
            }
        }
        sentences.join(" ")
    }
}

/// Drives that are named for each state.
const NAMED_MAX: usize = 3;

/// `group logs`; with several arrays, `san2: group logs`.
fn named(part: &Part, kind: &str) -> String {
    let kind = if kind.is_empty() { String::new() } else { format!("{kind} ") };
    match &part.array {
        None => format!("{kind}{}", part.name),
        Some(array) => format!("{array}: {kind}{}", part.name),
    }
}

#[cfg(test)]
mod tests {
    use brunt_run::{Row, Sample, Value};
    use brunt_units::{Span, Time};

    use super::*;
    use crate::RunResult;
    use crate::plot::Band;

    const RESULT: &str = include_str!("../../tests/report/result_v2.json");

    /// A run whose samples of ten seconds have these rows.
    fn run(samples: &[&[(&str, f64)]]) -> Run {
        let samples = (0..).zip(samples).map(|(number, rows)| Sample {
            begin: Time::ZERO + Span::seconds(10 * number),
            length: Span::seconds(10),
            rows: rows.iter().map(|(name, value)| Row::new(name, Value::Other(*value))).collect(),
            ..Sample::default()
        });
        Run {
            result: RunResult::from_json(RESULT).unwrap(),
            scenario: String::new(),
            events: Vec::new(),
            samples: Vec::new(),
            parts: Parts::of(samples),
        }
    }

    fn pictures(states: &[(f64, f64, &str)]) -> Pictures {
        let band = |(from_s, until_s, text): &(f64, f64, &str)| Band {
            from_s: *from_s,
            until_s: *until_s,
            text: (*text).to_owned(),
        };
        let timeline = Timeline { events: Vec::new(), states: states.iter().map(band).collect() };
        let plot = Plot::new("first", Axis::time(40.0), Axis::from_zero(1.0, ""), Vec::new());
        Pictures::new(vec![Plot { timeline, ..plot }], "Said before.".to_owned())
    }

    fn curves<'p>(pictures: &'p Pictures, title: &str) -> Vec<(&'p str, Vec<f64>)> {
        let plot = pictures.drawn.iter().find(|plot| plot.title == title).unwrap();
        let values = |curve: &Curve| curve.points.iter().map(|(_, y)| *y).collect();
        plot.curves.iter().map(|curve| (curve.name.as_ref(), values(curve))).collect()
    }

    #[test]
    fn real_storage_has_no_such_pictures() {
        let pictures = added(pictures(&[]), &run(&[&[("host: cpu", 5.0)]]), &View::default());
        assert_eq!((pictures.drawn.len(), pictures.note.as_str()), (1, "Said before."));
    }

    #[test]
    fn the_drives_that_were_busiest_in_a_state_are_named() {
        let run = run(&[
            &[("array: drive 1", 0.5), ("array: group a", 0.25)],
            &[("array: drive 1", 0.125), ("array: drive 8", 1.0), ("array: group a", 0.5)],
            &[("array: drive 8", 0.75)],
            &[("array: drive 8", 0.5), ("array: drive 1", 0.25)],
        ]);
        let pictures = added(pictures(&[(9.0, 40.0, "rebuilding")]), &run, &View::default());
        let note = "Said before. Busiest drives while rebuilding: 8 (75 %), 1 (19 %).";
        assert_eq!(pictures.note, note);
        let titles: Vec<&str> = pictures.drawn.iter().map(|plot| plot.title).collect();
        assert_eq!(titles, ["first", "Utilisation of drives"]);
        let curves = curves(&pictures, "Utilisation of drives");
        assert_eq!(curves[0], ("busiest drive", vec![50.0, 100.0, 75.0, 50.0]));
        assert_eq!((curves[1].0, &curves[1].1[..2]), ("group a", [25.0, 50.0].as_slice()));
        assert!(curves[1].1[2].is_nan(), "what was not measured is not drawn");
    }

    #[test]
    fn a_picture_has_no_more_curves_than_colours() {
        let names: Vec<String> = (0..40).map(|number| format!("array: queue {number}")).collect();
        let rows = (0_u8..).zip(&names).map(|(number, name)| (name.as_str(), f64::from(number)));
        let rows: Vec<(&str, f64)> = rows.collect();
        let pictures = added(pictures(&[]), &run(&[&rows]), &View::default());
        let names: Vec<&str> = curves(&pictures, "Queues").iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["group 39", "group 38", "group 37", "group 36"]);
    }

    #[test]
    fn a_read_of_several_arrays_is_one_of_all_reads() {
        let run = run(&[&[
            ("array: a: front reads", 30.0),
            ("array: a: read time in seek", 4.0),
            ("array: a: read time in rotation", 1.0),
            ("array: b: front reads", 10.0),
            ("array: b: read time in seek", 8.0),
            ("array: b: read time in rotation", 1.0),
        ]]);
        let pictures = added(pictures(&[]), &run, &View::default());
        let curves = curves(&pictures, "Where a database read's time goes");
        assert_eq!(curves, [("seek and rotation", vec![6.0])]);
    }
}
