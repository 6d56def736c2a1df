//! Reads a latency log line by line, so that a log of any length needs little memory.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use crate::Latencies;

/// Sums the histograms of a log by stream. Malformed lines are skipped: a killed program may leave
/// one at the end.
///
/// Percentiles are those of the log's buckets. Mean and maximum are also computed from bucket ends;
/// the exact values are in the counters.
///
/// # Errors
/// When the log cannot be read, or has more histograms than any run.
pub fn read_latency_log(log: impl BufRead) -> io::Result<BTreeMap<String, Latencies>> {
    let mut streams = BTreeMap::<String, Latencies>::new();
    let mut deserializer = Deserializer::new();
    let mut buckets = 0;
    let mut lines = LatencyLines::of(log);
    while buckets <= BUCKETS_MAX
        && let Some(line) = lines.next_line()?
    {
        if let Some(histogram) = line.histogram(&mut deserializer) {
            let latencies = streams.entry(line.stream.to_owned()).or_default();
            let before = latencies.reached();
            latencies.add(&histogram);
            buckets += latencies.reached() - before;
        }
    }
    match buckets > BUCKETS_MAX {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "has more histograms than any run")),
        false => Ok(streams),
    }
}

/// Buckets of all histograms together, 256 MiB of them. A thousand databases have an eighth of
/// this.
const BUCKETS_MAX: usize = 64 << 20;

/// One line of a log: a stream in an interval.
#[derive(Clone, Copy, Debug)]
pub struct LatencyLine<'l> {
    pub stream: &'l str,
    /// End of the interval, in seconds from the log's base time.
    pub end_s: f64,
    encoded: &'l [u8],
}

impl LatencyLine<'_> {
    fn histogram(&self, deserializer: &mut Deserializer) -> Option<Histogram<u64>> {
        let plain = unpacked(&base64(self.encoded))?;
        deserializer.deserialize(&mut plain.as_slice()).ok()
    }

    /// Adds its latencies to `all`, unless the line is malformed.
    pub fn add_to(&self, all: &mut Latencies) {
        if let Some(histogram) = self.histogram(&mut Deserializer::new()) {
            all.add(&histogram);
        }
    }
}

/// The lines of a log, in its order. Others, and a last line without its end, are skipped.
pub struct LatencyLines<R> {
    log: R,
    line: Vec<u8>,
}

impl<R: BufRead> LatencyLines<R> {
    /// The lines of `log`.
    pub fn of(log: R) -> Self {
        Self { log, line: Vec::new() }
    }

    /// The next line of a stream; `None` at the end.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<LatencyLine<'_>>> {
        loop {
            read_line(&mut self.log, &mut self.line)?;
            if self.line.pop() != Some(b'\n') {
                return Ok(None);
            }
            if interval(&self.line).is_some() {
                return Ok(interval(&self.line));
            }
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
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "has a line of more than 16 MiB")),
        false => Ok(()),
    }
}

/// `Tag=stream,begin,length,max,histogram`
fn interval(text: &[u8]) -> Option<LatencyLine<'_>> {
    let mut fields = text.strip_prefix(b"Tag=")?.splitn(5, |byte| *byte == b',');
    let stream = str::from_utf8(fields.next()?).ok()?;
    let mut seconds = || str::from_utf8(fields.next()?).ok()?.parse::<f64>().ok();
    let end_s = seconds()? + seconds()?;
    Some(LatencyLine { stream, end_s, encoded: fields.nth(1)? })
}

/// An unpacked histogram begins with cookie, length, offset, digits (4 bytes each), bounds and
/// ratio (8 bytes each).
const HEAD: usize = 40;
const LENGTH_AT: usize = 4;
const DIGITS_AT: usize = 12;
/// Ours have two digits. More digits take more memory than a line is long.
const DIGITS_MAX: u32 = 3;
/// Nine bytes for each of the buckets that three digits have.
const PLAIN_MAX: usize = 1 << 19;

/// A histogram without its compression. `None` when it is not as long as it says: memory is taken
/// for the length, not for the bytes.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let most = PLAIN_MAX as u64 + 1;
    let mut content = ZlibDecoder::new(packed.get(2 * size_of::<u32>()..)?).take(most);
    content.read_to_end(&mut plain).ok()?;
    let field = |at: usize| {
        let bytes = plain.get(at..at + size_of::<u32>())?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let length = usize::try_from(field(LENGTH_AT)?).ok()?;
    let is_sound = plain.len() <= PLAIN_MAX
        && plain.len().checked_sub(HEAD) == Some(length)
        && field(DIGITS_AT)? <= DIGITS_MAX;
    is_sound.then_some(plain)
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
        assert_eq!(streams.keys().collect::<Vec<_>>(), ["DB1.read", "database-read"]);
        let read = &streams["DB1.read"];
        assert_eq!(read.count(), 300);
        for percentile in [Percentile::P50, Percentile::P99] {
            assert_eq!(read.percentile(percentile), all.percentile(percentile));
        }
        let mean = |latencies: &Latencies| latencies.mean().unwrap().as_millis();
        assert!((mean(read) / mean(&all) - 1.0).abs() < 0.008);
    }

    /// `HISTFAAAA...` of a length and digits, compressed again.
    fn packed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut latencies = Latencies::new();
        latencies.record(Span::micros(700));
        let mut log = LatencyLog::new(0);
        log.add("x", Time::ZERO, Span::seconds(1), &latencies);
        let text = log.take();
        let line = text.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"Tag="));
        let encoded = base64(interval(line.unwrap()).unwrap().encoded);
        let mut plain = unpacked(&encoded).unwrap();
        change(&mut plain);
        let mut all = encoded[..8].to_vec();
        let mut encoder = flate2::write::ZlibEncoder::new(&mut all, flate2::Compression::best());
        io::Write::write_all(&mut encoder, &plain).unwrap();
        encoder.finish().unwrap();
        all
    }

    #[test]
    fn a_histogram_takes_no_more_memory_than_its_bytes() {
        assert!(unpacked(&packed(|_| {})).is_some());
        let lengths = [u32::MAX, 1 << 31, 0];
        for length in lengths {
            let changed =
                packed(|plain| plain[LENGTH_AT..][..4].copy_from_slice(&length.to_be_bytes()));
            assert_eq!(unpacked(&changed), None, "{length}");
        }
        assert_eq!(unpacked(&packed(|plain| plain[DIGITS_AT + 3] = 5)), None);
        let long = packed(|plain| plain.resize(64 << 20, 0));
        assert!(long.len() < 1 << 17);
        assert_eq!(unpacked(&long), None);
        assert_eq!(unpacked(b"HIST"), None);
    }

    #[test]
    fn rubbish_is_no_stream() {
        let text = b"#[comment]\n\"head\"\nTag=x,1,2,3,!!!\nTag=y\n0.1,2,3,AAAA\n";
        assert!(read_latency_log(text.as_slice()).unwrap().is_empty());
        let endless = io::BufReader::new(io::repeat(0));
        assert!(read_latency_log(endless).is_err());
    }
}
