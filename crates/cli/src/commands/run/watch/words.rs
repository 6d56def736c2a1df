//! Words of the phases of a test.

use brunt_units::{ByteSize, Span};

pub(super) fn share(done: ByteSize, total: ByteSize) -> f64 {
    done.get() as f64 / total.get().max(1) as f64
}

pub(super) fn seconds(span: Span) -> String {
    let seconds = span.as_seconds();
    match seconds {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds => format!("{seconds:.0} s"),
    }
}

/// Rows are printed one by one, so their columns have fixed widths.
pub(super) fn trial_row(
    label: &str,
    [sessions, rate, read, log]: &[String; 4],
    outcome: &str,
) -> String {
    let row = format!("{label:13} {sessions:>8}  {rate:>8}  {read:>8}  {log:>8}  {outcome}");
    row.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_stand_below_their_heading() {
        let row =
            |label, cells: [&str; 4], outcome| trial_row(label, &cells.map(str::to_owned), outcome);
        let head = row("tune", ["sessions", "I/O /s", "read ms", "log ms"], "");
        let first = row("", ["8", "2,431", "0.18", "0.95"], "behind its pace");
        assert_eq!(head, "tune          sessions    I/O /s   read ms    log ms");
        assert_eq!(first, "                     8     2,431      0.18      0.95  behind its pace");
    }
}
