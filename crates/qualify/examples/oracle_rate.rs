//! The cost of the oracle: `oracle_rate [OPERATIONS]` performs the operations of an Exchange 2013
//! profile on an oracle alone, with a full window, and compares every record read, as sessions do.
//!
//! Prints one line of JSON: nanoseconds of processor time per operation, and resident memory.

use std::error::Error;
use std::fs;
use std::io::{self, Write};

use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_qualify::truth::oracle::Oracle;
use brunt_qualify::truth::records::{Compared, Contents, Pads, StoredFields};
use brunt_workload::content::Shape;
use brunt_workload::keys::Record;
use brunt_world::random::{Stream, Streams};

/// Initial records: a database of about 2.4 TB.
const RECORDS: u64 = 1 << 30;
/// Replaces that fill both sets of the window and the sample.
const FILLING: u64 = 2 << 20;
/// In percent, as in the profile; the rest are reads.
const MIX: [u64; 3] = [40, 20, 5];

fn main() -> Result<(), Box<dyn Error>> {
    let operations = std::env::args().nth(1).map_or(Ok(2_000_000), |n| n.parse())?;
    let signature = Signature::ours(1, Stamp::from_unix_millis(7), RunId(9));
    let contents = Contents::new(&signature, Shape::JETSTRESS);
    let mut draw = Streams::new(1).named("oracle");
    let mut load =
        Load { contents, oracle: Oracle::fresh(1), low: 0, next: RECORDS, pads: Pads::default() };
    for _ in 0..FILLING {
        load.replace(&mut draw);
    }
    // Making the bytes of the storage is not a cost of the oracle.
    let record = load.draw(&mut draw);
    load.contents.fill(record, 0, &mut load.pads);
    let before = processor_seconds()?;
    let mut judged = 0_u64;
    for _ in 0..operations {
        judged += u64::from(load.operate(record, &mut draw));
    }
    let seconds = processor_seconds()? - before;
    let nanos = seconds * 1e9 / operations as f64;
    let resident = resident_bytes()?;
    writeln!(
        io::stdout(),
        r#"{{"operations": {operations}, "ns_per_operation": {nanos:.1}, "records_judged": {judged}, "resident_bytes": {resident}}}"#
    )?;
    Ok(())
}

struct Load {
    contents: Contents,
    oracle: Oracle,
    low: u64,
    next: u64,
    pads: Pads,
}

impl Load {
    fn draw(&self, draw: &mut Stream) -> Record {
        let number = self.low + draw.below(self.next - self.low);
        self.contents.mixer().record(number)
    }

    fn replace(&mut self, draw: &mut Stream) {
        let record = self.draw(draw);
        let version = self.oracle.version(record).unwrap_or(0) + 1;
        self.oracle.replaced(record, version);
    }

    /// Performs an operation; returns whether a record was judged. `stored` is the record whose
    /// bytes are at hand.
    fn operate(&mut self, stored: Record, draw: &mut Stream) -> bool {
        let [insert, delete, replace] = MIX;
        match draw.below(100) {
            kind if kind < insert => {
                self.oracle.inserted(self.contents.mixer().record(self.next));
                self.next += 1;
                false
            }
            kind if kind < insert + delete => {
                self.oracle.deleted(self.contents.mixer().record(self.low));
                self.low += 1;
                false
            }
            kind => {
                let fields = StoredFields {
                    folder: Contents::folder(stored),
                    received: Contents::received(stored),
                    version: 0,
                    subject: &self.pads.subject,
                    body: None,
                };
                let compared = self.contents.compare(stored, &fields);
                assert_eq!(compared, Compared::Version(0), "the bytes are right");
                let record = self.draw(draw);
                let version = self.oracle.version(record).unwrap_or(0);
                assert_eq!(self.oracle.judge(record, version), Ok(()));
                if kind < insert + delete + replace {
                    self.oracle.replaced(record, version + 1);
                }
                true
            }
        }
    }
}

/// User and system time of this process so far.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/schedstat")?;
    let nanos: f64 = stat.split(' ').next().ok_or("no schedstat")?.parse()?;
    Ok(nanos / 1e9)
}

fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 =
        line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?.parse()?;
    Ok(kib * 1024)
}
