//! Hosts that drive a whole array through scheduled incidents, and the results.

use brunt_array::drive::library;
use brunt_array::{
    Array, ArrayDesign, Extent, Finished, HostIo, Incident, Level, NoteKind, Priority, Verb,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

/// Request size where the exact size does not matter: 8 KiB.
pub(crate) const SECTORS: u64 = 16;

/// A design whose groups use so little of their drives that a rebuild takes seconds.
pub(crate) fn small(drives: u16, spares: u16, level: Level) -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, drives, level);
    design.drives = vec![model; usize::from(drives + spares)];
    design.spares = (drives..drives + spares).collect();
    design.groups[0].drive_size = Some(ByteSize::mib(256));
    design.groups[0].repair.priority = Priority::Highest;
    design
}

/// Submits a request to the first LUN of `array`, now.
pub(crate) fn ask(array: &mut Array, verb: Verb, extent: Extent, tag: u64) {
    let now = array.now();
    array.submit(now, HostIo { lun: 0, verb, extent, tag });
}

/// Requests answered since the last call. Checks that the parts of each breakdown add up to the
/// response time.
pub(crate) fn answers(array: &mut Array) -> Vec<Finished> {
    let answers: Vec<Finished> = array.finished().collect();
    for one in &answers {
        assert_eq!(one.breakdown.total(), one.at - one.submitted_at, "{one:?}");
    }
    answers
}

/// The time `seconds` after the start.
pub(crate) fn second(seconds: u64) -> Time {
    Time(Span::seconds(seconds).0)
}

/// The result of some load.
pub(crate) struct Run {
    pub(crate) notes: Vec<(Time, NoteKind)>,
    pub(crate) done: Vec<Finished>,
}

impl Run {
    /// Number of failed requests.
    pub(crate) fn failed(&self) -> usize {
        self.done.iter().filter(|done| done.result.is_err()).count()
    }

    /// The event log, without the durations of repairs.
    pub(crate) fn texts(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|(_, what)| what);
        notes.map(without_times).collect()
    }

    /// The first data loss and its time.
    pub(crate) fn loss(&self) -> Option<(Time, String)> {
        let lost = self.notes.iter().find(|(_, what)| what.is_loss())?;
        Some((lost.0, lost.1.to_string()))
    }
}

/// The text of a note without durations.
pub(crate) fn without_times(what: &NoteKind) -> String {
    let text = what.to_string();
    let cut = text.split(", after").next();
    cut.unwrap_or(&text).to_owned()
}

/// Random reads and writes, queue depth eight, for `seconds`, with incidents at milliseconds.
pub(crate) fn run(design: &ArrayDesign, seconds: u64, incidents: &[(u64, Incident)]) -> Run {
    let streams = Streams::new(5);
    let mut array = Array::new(design, streams).unwrap();
    for (at, incident) in incidents {
        array.schedule_incident(Time(Span::millis(*at).0), incident.clone()).unwrap();
    }
    let mut stream = streams.named("load");
    let sectors = array.lun_size(0).get().div_euclid(512);
    let mut ask_anywhere = |array: &mut Array, tag| {
        let verb = if stream.percent(50) { Verb::Read } else { Verb::Write };
        let start = stream.below(sectors.div_euclid(SECTORS)) * SECTORS;
        ask(array, verb, Extent::new(start, SECTORS), tag);
    };
    for tag in 0..8 {
        ask_anywhere(&mut array, tag);
    }
    let (end, mut done) = (second(seconds), Vec::new());
    while let Some(now) = array.next_at().filter(|at| *at <= end) {
        array.advance(now);
        for one in answers(&mut array) {
            done.push(one);
            if one.result.is_ok() || one.at > one.submitted_at {
                ask_anywhere(&mut array, one.tag);
            }
        }
    }
    let notes = array.notes().iter();
    Run { notes: notes.map(|note| (note.at, note.what.clone())).collect(), done }
}

/// The same where nothing may be lost or refused: returns the event log without durations.
pub(crate) fn survived(
    design: &ArrayDesign,
    seconds: u64,
    incidents: &[(u64, Incident)],
) -> Vec<String> {
    let run = run(design, seconds, incidents);
    assert_eq!(run.loss(), None, "{:?}", run.texts());
    assert_eq!(run.failed(), 0, "{:?}", run.texts());
    run.texts()
}
