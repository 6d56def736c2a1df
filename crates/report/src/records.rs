//! Records of a journal as lines of JSON: what `--json=records` prints, and `brunt report --follow
//! --json`.
//!
//! A line has `run` (the run's id), `part`, `seq`, `at_s` (on the clock of the part), `record` (its
//! kind) and the fields of that kind. Histograms are in `latency.hlog`.

use brunt_run::{Entry, Record, Row, Sample, Standing, Value};
use brunt_stats::Reading;
use brunt_units::{Span, Time};
use serde_json::{Value as Json, json};

use crate::Timestamp;

/// Name and version of the lines. Kinds of records and their fields are only added.
pub const RECORDS_SCHEMA: &str = "brunt.records/1";

/// Makes the lines of one journal.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The id of the run, as its head has it.
    run: String,
}

impl Records {
    /// `entry` as an object; one of the end gets its result later.
    pub fn line(&mut self, entry: &Entry<&Record>) -> Json {
        let mut line = json!({});
        if let Record::Head(head) = entry.record {
            self.run.clone_from(&head.run_id);
            line["schema"] = json!(RECORDS_SCHEMA);
        }
        line["run"] = json!(self.run);
        line["part"] = json!(entry.part);
        line["seq"] = json!(entry.seq);
        line["at_s"] = json!(seconds(entry.at));
        let (kind, fields) = fields(entry.record);
        line["record"] = json!(kind);
        if let (Some(line), Json::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        line
    }
}

fn fields(record: &Record) -> (&'static str, Json) {
    let time = |unix_seconds| Timestamp { unix_seconds };
    match record {
        Record::Head(head) => {
            // Of a journal from anywhere it may be anything.
            let outline: Json = serde_json::from_str(&head.outline).unwrap_or_default();
            let began = time(head.began_unix_s);
            ("head", json!({ "began": began, "scenario": head.scenario, "outline": outline }))
        }
        Record::Sample(sample) => ("sample", of_sample(sample)),
        Record::Standing(standing) => ("standing", of_standing(standing)),
        Record::Event(event) => {
            ("event", json!({ "time": time(event.unix_s), "text": event.text }))
        }
        Record::News(line) => {
            let news: Json = serde_json::from_str(line).unwrap_or_default();
            ("news", json!({ "news": news }))
        }
        Record::Ended(ended) => ("ended", json!({ "verdict": ended.verdict })),
    }
}

fn of_sample(sample: &Sample) -> Json {
    let rows: Vec<Json> = sample.rows.iter().map(of_row).collect();
    json!({
        "begin_s": seconds(sample.begin),
        "length_s": sample.length.as_seconds(),
        "rows": rows,
    })
}

fn of_row(Row { stream, value }: &Row) -> Json {
    match value {
        Value::Io(Reading { count, bytes, mean, p50, p99, p999, max }) => {
            let [mean, p50, p99, p999, max] =
                [mean, p50, p99, p999, max].map(|span| span.map(Span::as_millis));
            json!({
                "stream": stream,
                "count": count,
                "bytes": bytes,
                "ms_mean": mean,
                "ms_p50": p50,
                "ms_p99": p99,
                "ms_p999": p999,
                "ms_max": max,
            })
        }
        Value::Count(count) => json!({ "stream": stream, "count": count }),
        Value::Bytes(bytes) => json!({ "stream": stream, "bytes": bytes }),
        Value::Other(value) => json!({ "stream": stream, "value": value }),
    }
}

fn of_standing(standing: &Standing) -> Json {
    let findings = &standing.findings;
    json!({
        "sessions": standing.sessions,
        "database_bytes": standing.last_bytes,
        "findings": {
            "lost": findings.lost,
            "stale": findings.stale,
            "phantom": findings.phantom,
            "torn": findings.torn,
        },
        "errors": standing.errors.count,
        "first_error": standing.errors.first,
        "found": standing.found,
        "hung": standing.hung.count,
        "longest_stop_s": standing.stop.length.as_seconds(),
        "standstills": standing.standstill.count,
    })
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_seconds()
}

#[cfg(test)]
mod tests {
    use brunt_run::{Ended, Event, Head, Writer};

    use super::*;

    #[test]
    fn lines_have_their_place_and_the_fields_of_their_kind() {
        let head = Head { run_id: "1f".to_owned(), outline: "{}".to_owned(), ..Head::default() };
        let sample = Sample {
            rows: vec![Row::new("cache", Value::Bytes(4096))],
            length: Span::seconds(15),
            ..Sample::default()
        };
        let all = [
            Record::Head(Box::new(head)),
            Record::News(r#"{"at":"2026-11-23T04:05:09Z","news":"dispatching"}"#.to_owned()),
            Record::Event(Event { unix_s: 0, text: "a\nb".to_owned() }),
            Record::Standing(Box::default()),
            Record::Sample(sample),
            Record::Ended(Ended { verdict: "pass".to_owned() }),
        ];
        let (mut records, mut writer) = (Records::default(), Writer::new("1f"));
        let lines = all.iter().map(|record| {
            let line = records.line(&writer.place(Time::ZERO + Span::millis(1_500), record));
            writer.bytes(Time::ZERO, record);
            line
        });
        let lines: Vec<Json> = lines.collect();
        let kinds: Vec<&str> = lines.iter().map(|line| line["record"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["head", "news", "event", "standing", "sample", "ended"]);
        for (seq, line) in lines.iter().enumerate() {
            assert_eq!((&line["run"], &line["seq"]), (&json!("1f"), &json!(seq)));
            assert_eq!(line["at_s"], 1.5);
            assert!(!line.to_string().contains('\n'));
        }
        assert_eq!(lines[0]["schema"], RECORDS_SCHEMA);
        assert_eq!(lines[1]["news"]["news"], "dispatching");
        assert_eq!(lines[4]["rows"][0], json!({ "stream": "cache", "bytes": 4096 }));
        assert_eq!(lines[5]["verdict"], "pass");
    }
}
