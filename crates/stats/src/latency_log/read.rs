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
pub fn read_latency_log(log: impl BufRead) -> io::Result<BTreeMap<String, Latencies>> {
    let mut streams = BTreeMap::<String, Latencies>::new();
    let mut deserializer = Deserializer::new();
    read_latency_lines(log, |line| {
        if let Some(histogram) = line.histogram(&mut deserializer) {
            let latencies = streams.entry(line.stream.to_owned()).or_default();
            latencies.add(&histogram);
        }
    })?;
    Ok(streams)
}

/// One line of a log: a stream in an interval.
#[derive(Clone, Copy, Debug)]
pub struct LatencyLine<'l> {
    /// The stream.
    pub stream: &'l str,
    /// End of the interval, in seconds from the log's base time.
    pub end_s: f64,
    /// The line without its line break.
    pub text: &'l [u8],
    encoded: &'l [u8],
}

impl LatencyLine<'_> {
    fn histogram(&self, deserializer: &mut Deserializer) -> Option<Histogram<u64>> {
        deserializer
            .deserialize(&mut base64(self.encoded).as_slice())
            .ok()
    }

    /// Adds its latencies to `all`, unless the line is malformed.
    pub fn add_to(&self, all: &mut Latencies) {
        if let Some(histogram) = self.histogram(&mut Deserializer::new()) {
            all.add(&histogram);
        }
    }
}

/// Calls `each` with every line of a stream, in the order of the log. Others, and a last line without its end, are skipped.
///
/// # Errors
/// When the log cannot be read.
pub fn read_latency_lines(
    mut log: impl BufRead,
    mut each: impl FnMut(LatencyLine<'_>),
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        read_line(&mut log, &mut line)?;
        if line.pop() != Some(b'\n') {
            return Ok(());
        }
        if let Some(line) = interval(&line) {
            each(line);
        }
    }
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
fn interval(text: &[u8]) -> Option<LatencyLine<'_>> {
    let mut fields = text.strip_prefix(b"Tag=")?.splitn(5, |byte| *byte == b',');
    let stream = str::from_utf8(fields.next()?).ok()?;
    let mut seconds = || str::from_utf8(fields.next()?).ok()?.parse::<f64>().ok();
    let end_s = seconds()? + seconds()?;
    Some(LatencyLine {
        stream,
        end_s,
        text,
        encoded: fields.nth(1)?,
    })
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
