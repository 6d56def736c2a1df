//! Drills and tests of mail servers that did not end, by what their journals have.
//!
//! Their rules need what only an end knows, such as what a survivor lacks or what mailboxes show.
//! So nothing is judged, and the verdict is *interrupted*; what was seen and done until then is there.

use brunt_drill::samples;
use brunt_report::result::{Drill, DrillEvent, DrillSample, Mail, Verdict};
use brunt_report::{NewsLine, RunResult, counted, grouped};
use brunt_run::{Folded, News};

/// The stream of deliveries that servers have accepted.
pub(crate) const ACCEPTED: &str = "deliveries-accepted";

/// The result of work with this `outline` that did not end.
pub(crate) fn interrupted(outline: &RunResult, folded: &Folded) -> RunResult {
    let mut result = outline.clone();
    result.verdict = Verdict::Interrupted;
    result.qualifies = false;
    result.rules.clear();
    result.times.ended = None;
    result.times.collection_s = folded.length.as_seconds();
    let (sentence, hint) = match (&mut result.drill, &mut result.mail) {
        (Some(drill), _) => {
            fill_drill(drill, folded);
            let samples = counted(drill.samples.len() as u64, "sample");
            let events = counted(drill.events.len() as u64, "event");
            let sentence = format!("The drill did not end: {events} and {samples} are known.");
            (sentence, "what a survivor would have lost is not known")
        }
        (None, Some(mail)) => {
            fill_mail(mail, folded);
            let accepted = grouped(mail.ledger.accepted);
            let sentence = format!("The test did not end: deliveries accepted so far: {accepted}.");
            (sentence, "whether they are there is said by: brunt load --audit, with this folder")
        }
        (None, None) => ("The work did not end.".to_owned(), "nothing was judged"),
    };
    result.storage.details.sentence = sentence;
    result.reasons = vec!["it was interrupted, or its host died".to_owned(), hint.to_owned()];
    result.reasons.extend(folded.cut.map(|cut| cut.to_string()));
    result
}

fn fill_drill(drill: &mut Drill, folded: &Folded) {
    drill.outcome = Verdict::Interrupted;
    let news = news(folded);
    drill.events = news
        .filter_map(|news| match news {
            News::Happened { at_s, what } => Some(DrillEvent { at_s, what }),
            _ => None,
        })
        .collect();
    let samples = folded.samples.iter().map(samples::of);
    drill.samples = samples.collect::<Vec<DrillSample>>();
}

/// Rates are those of the samples: they begin with sending, after mailboxes were filled.
fn fill_mail(mail: &mut Mail, folded: &Folded) {
    let sent = folded.streams.get(ACCEPTED).map_or(0, |stream| stream.count);
    let (mut filled, mut newest) = (0, 0);
    for news in news(folded) {
        if let News::Sending { accepted, filling, .. } = news {
            newest = accepted;
            filled = if filling { accepted } else { filled };
        }
    }
    // Both may be the newer one.
    mail.ledger.accepted = newest.max(filled.saturating_add(sent));
    mail.sending_s = folded.length.as_seconds();
    mail.accepted_per_min = (mail.sending_s > 0.0).then(|| 60.0 * sent as f64 / mail.sending_s);
}

fn news(folded: &Folded) -> impl Iterator<Item = News> {
    folded.news.iter().filter_map(|line| Some(NewsLine::from_json(line)?.news))
}

#[cfg(test)]
mod tests {
    use brunt_report::Timestamp;
    use brunt_report::result::DrillSample;
    use brunt_run::{Ended, FORMAT, Head, Journal, Record, Row, Sample, Value, Writer, fold};
    use brunt_units::{Span, Time};

    use super::*;

    /// Of a test that passed: what is left of it would be seen.
    fn passed() -> RunResult {
        let json = include_str!("../../report/tests/report/result_v2.json");
        RunResult { verdict: Verdict::Pass, ..RunResult::from_json(json).unwrap() }
    }

    fn news(second: u64, news: News) -> Record {
        let at = Timestamp { unix_seconds: second };
        Record::News(NewsLine { at, news }.to_json())
    }

    /// A journal with this outline and `records`.
    fn journal(outline: &RunResult, records: Vec<Record>) -> Vec<Vec<u8>> {
        let head = Head { outline: outline.to_json(), ..Head::default() };
        let all = std::iter::once(Record::Head(Box::new(head))).chain(records);
        let mut writer = Writer::new("1");
        all.map(|record| writer.bytes(Time::ZERO, &record)).collect()
    }

    /// What is said of the first `count` records.
    fn cut(records: &[Vec<u8>], count: usize) -> RunResult {
        let bytes = [FORMAT.as_bytes().to_vec(), records[..count].concat()].concat();
        let folded = fold(&mut Journal::open(bytes.as_slice()).unwrap()).unwrap();
        let outline = RunResult::from_json(&folded.heads[0].outline).unwrap();
        interrupted(&outline, &folded)
    }

    fn is_interrupted(result: &RunResult) {
        assert_eq!(result.verdict, Verdict::Interrupted);
        assert!(!result.is_finished() && !result.qualifies && result.rules.is_empty());
    }

    #[test]
    fn a_drill_that_is_cut_anywhere_is_interrupted_and_has_what_was_seen() {
        let happened = |at_s, what: &str| news(1, News::Happened { at_s, what: what.to_owned() });
        let sample = DrillSample { at_s: 2.0, length_s: 2.0, reads: 9, ..DrillSample::default() };
        let records = journal(
            &brunt_drill::outline(passed()),
            vec![
                happened(1.0, "the link is lost"),
                Record::Sample(samples::recorded(&sample)),
                news(2, News::Rehearsing { at_s: 2.0, share: 0.5 }),
                happened(3.0, "mail is served again"),
                Record::Ended(Ended { verdict: "pass".to_owned() }),
            ],
        );
        for count in 1..=records.len() {
            let result = cut(&records, count);
            is_interrupted(&result);
            let drill = result.drill.unwrap();
            assert_eq!(drill.outcome, Verdict::Interrupted);
            assert_eq!(drill.events.len(), usize::from(count > 1) + usize::from(count > 4));
            assert_eq!(drill.samples, [sample][..usize::from(count > 2)]);
        }
    }

    #[test]
    fn mail_that_is_cut_anywhere_is_interrupted_and_has_what_was_accepted() {
        let told = |second, accepted, filling| {
            news(second, News::Sending { share: 0.5, accepted, filling })
        };
        let row = |stream, count| Row::new(stream, Value::Count(count));
        let sample = Sample {
            length: Span::seconds(5),
            rows: vec![row(ACCEPTED, 70)],
            is_whole: true,
            ..Sample::default()
        };
        let mail = Some(Mail { users: 50, ..Mail::default() });
        let records = journal(
            &RunResult { mail, ..passed() },
            vec![
                told(10, 400, true),
                told(100, 401, false),
                Record::Sample(sample),
                told(106, 490, false),
                Record::Ended(Ended { verdict: "pass".to_owned() }),
            ],
        );
        let accepted = (1..=records.len()).map(|count| {
            let result = cut(&records, count);
            is_interrupted(&result);
            result.mail.unwrap().ledger.accepted
        });
        assert_eq!(accepted.collect::<Vec<_>>(), [0, 400, 401, 470, 490, 490]);
        let mail = cut(&records, records.len()).mail.unwrap();
        // Filling took a minute and a half, and is no sending.
        assert_eq!((mail.users, mail.sending_s), (50, 5.0));
        assert_eq!(mail.accepted_per_min, Some(840.0));
        assert_eq!(cut(&records, 3).mail.unwrap().accepted_per_min, None);
    }
}
