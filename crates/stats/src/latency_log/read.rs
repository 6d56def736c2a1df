//! Reads a latency log line by line, so that a log of any length needs little memory.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use crate::Latencies;

/// Sums the histograms of a log by stream. Malformed lines are skipped: a killed program may leave one at the end.
///
/// Percentiles are those of the log's buckets. Mean and maximum are also computed from bucket ends; the exact values are in the
/// counters.
///
/// # Errors
/// When the log cannot be read.
pub fn read_latency_log(mut log: impl BufRead) -> io::Result<BTreeMap<String, Latencies>> {
    let mut streams = BTreeMap::<String, Latencies>::new();
    let mut deserializer = Deserializer::new();
    let mut line = Vec::new();
    loop {
        read_line(&mut log, &mut line)?;
        if line.pop() != Some(b'\n') {
            break;
        }
        let Some((stream, encoded)) = interval(&line) else {
            continue;
        };
        let bytes = base64(encoded);
        let histogram: Result<Histogram<u64>, _> = deserializer.deserialize(&mut bytes.as_slice());
        if let Ok(histogram) = histogram {
            streams
                .entry(stream.to_owned())
                .or_default()
                .add(&histogram);
        }
    }
    Ok(streams)
}

/// A histogram is less than a tenth of this.
const LINE_MAX: u64 = 16 << 20;

/// Reads the next line into `line`, with its line break; the last line may lack one.
///
/// # Errors
/// When it cannot be read, or is longer than 16 MiB: a file without line breaks might be endless.
pub fn read_line(text: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    let length = text.take(LINE_MAX).read_until(b'\n', line)?;
    match length as u64 == LINE_MAX {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "has a line of more than 16 MiB",
        )),
        false => Ok(()),
    }
}

/// `Tag=stream,begin,length,max,histogram`
fn interval(line: &[u8]) -> Option<(&str, &[u8])> {
    let line = line.strip_prefix(b"Tag=")?;
    let tag = line.iter().position(|byte| *byte == b',')?;
    let last = line.iter().rposition(|byte| *byte == b',')?;
    let stream = std::str::from_utf8(&line[..tag]).ok()?;
    Some((stream, &line[last + 1..]))
}

/// Decodes up to the first character that is not base64.
fn base64(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut held) = (0_u32, 0_u32);
    for letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held).to_le_bytes()[0]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use brunt_units::{Span, Time};

    use super::*;
    use crate::{LatencyLog, Percentile};

    #[test]
    fn what_was_written_is_added_up_by_stream() {
        let mut log = LatencyLog::new(1_700_000_000);
        let mut all = Latencies::new();
        for interval in 0..3 {
            let mut latencies = Latencies::new();
            for at in 1..=100 {
                latencies.record(Span::micros(at * (interval + 1)));
            }
            all.merge(&latencies);
            let begin = Time::ZERO + Span::seconds(interval);
            log.add("DB1.read", begin, Span::seconds(1), &latencies);
            log.add("database-read", begin, Span::seconds(1), &latencies);
        }
        let mut text = log.take();
        text.extend_from_slice(b"Tag=DB1.read,3.0,1.0,0.1,HISTFAAAAC94Xpxd");
        let streams = read_latency_log(text.as_slice()).unwrap();
        assert_eq!(
            streams.keys().collect::<Vec<_>>(),
            ["DB1.read", "database-read"]
        );
        let read = &streams["DB1.read"];
        assert_eq!(read.count(), 300);
        for percentile in [Percentile::P50, Percentile::P99] {
            assert_eq!(read.percentile(percentile), all.percentile(percentile));
        }
        let mean = |latencies: &Latencies| latencies.mean().unwrap().as_millis();
        assert!((mean(read) / mean(&all) - 1.0).abs() < 0.008);
    }

    #[test]
    fn rubbish_is_no_stream() {
        let text = b"#[comment]\n\"head\"\nTag=x,1,2,3,!!!\nTag=y\n0.1,2,3,AAAA\n";
        assert!(read_latency_log(text.as_slice()).unwrap().is_empty());
        let endless = io::BufReader::new(io::repeat(0));
        assert!(read_latency_log(endless).is_err());
    }
}
