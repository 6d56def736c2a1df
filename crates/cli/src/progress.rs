//! How far a phase is: a bar that stays in place on a terminal, elsewhere a plain line now and
//! then.

pub(crate) mod standing;

use std::time::{Duration, Instant};

use brunt_units::Span;

use crate::output::Output;
use crate::wrap::INDENT;

/// The share of work whose length is unknown.
pub const UNKNOWN: f64 = f64::NAN;

const EVERY_IN_PLACE: Duration = Duration::from_millis(100);
/// A rate is shown after this time.
const RATE_SECONDS_MIN: f64 = 0.5;
const BAR: usize = 28;
/// Lines of a terminal that does not say.
const HEIGHT: usize = 24;
const LABEL: usize = INDENT - 1;

/// How far a phase is.
pub struct Progress {
    output: Output,
    label: String,
    then: String,
    begun: Instant,
    shown: Option<Instant>,
}

impl Progress {
    /// Of a phase called `label`, which begins now.
    pub(crate) fn new(output: &Output, label: &str) -> Self {
        Self {
            output: output.clone(),
            label: label.to_owned(),
            then: String::new(),
            begun: Instant::now(),
            shown: None,
        }
    }

    /// The same, with what comes after it.
    pub(crate) fn then(self, then: String) -> Self {
        Self { then, ..self }
    }

    /// Shows that `share` (0 to 1, or [`UNKNOWN`]) is done, unless something was shown a moment
    /// ago. `detail` is asked only when needed; its further lines stand below the bar.
    pub fn show(&mut self, share: f64, detail: impl FnOnce() -> String) {
        self.show_frame(share, detail, |_| Vec::new());
    }

    /// The same, with `rows` below on a terminal: at most as many as they are asked for.
    pub fn show_frame(
        &mut self,
        share: f64,
        detail: impl FnOnce() -> String,
        rows: impl Fn(usize) -> Vec<String>,
    ) {
        if self.is_due(Instant::now()) {
            let in_place = self.output.in_place();
            let text = self.text(share, &followed(&detail(), &self.then, in_place), rows);
            match in_place {
                true => self.output.stand(&text),
                false => self.output.talk(&text),
            }
        }
    }

    /// Whether something is to be shown at `now`; then the next time is later.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = match self.output.in_place() {
            true => self.shown.is_none_or(|shown| now - shown >= EVERY_IN_PLACE),
            // The first plain line comes after a while, too: short phases say only how they ended.
            false => {
                let last = self.shown.unwrap_or(self.begun);
                now - last >= every_plain(now - self.begun)
            }
        };
        if is_due {
            self.shown = Some(now);
        }
        is_due
    }

    /// The same for a step that goes on at about the same pace: how fast it is, and how long it
    /// will still take, stand behind. `rate` says how fast, given the seconds since its begin.
    pub fn show_paced(
        &mut self,
        share: f64,
        detail: impl FnOnce() -> String,
        rate: impl FnOnce(f64) -> String,
    ) {
        let elapsed = self.begun.elapsed().as_secs_f64();
        self.show(share, || {
            // Over a moment it would be anything.
            let rate = match elapsed >= RATE_SECONDS_MIN {
                true => rate(elapsed),
                false => String::new(),
            };
            let pieces = [detail(), rate, left(share, elapsed)];
            let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
            pieces.collect::<Vec<_>>().join("   ")
        });
    }

    /// Ends the phase with `detail` and leaves it standing.
    pub fn finish(self, detail: &str) {
        self.finish_frame(1.0, detail, |_| Vec::new());
    }

    /// The same, with the `rows` of the last frame.
    pub fn finish_frame(self, share: f64, detail: &str, rows: impl Fn(usize) -> Vec<String>) {
        self.output.talk(&self.text(share, detail, rows));
    }

    /// Takes the progress away, as if the phase had not been shown.
    pub fn vanish(&mut self) {
        self.output.erase();
    }

    fn text(&self, share: f64, detail: &str, rows: impl Fn(usize) -> Vec<String>) -> String {
        if !self.output.in_place() {
            return plain(&self.label, share, detail);
        }
        let width = self.output.talk_width();
        let text = folded(&drawn(&self.label, share, detail), width);
        framed(text, self.output.talk_height(), width, rows)
    }
}

/// `text` with `rows` below it, all of them on a terminal of `height`: its last line is the
/// cursor's.
fn framed(
    text: String,
    height: Option<usize>,
    width: Option<usize>,
    rows: impl Fn(usize) -> Vec<String>,
) -> String {
    let height = height.unwrap_or(HEIGHT).saturating_sub(1);
    let room = height.saturating_sub(text.lines().count());
    // Rows that are folded take several lines.
    let folded = |count| folded(&rows(count).join("\n"), width);
    let fits = |rows: &String| rows.lines().count() <= room;
    let rows = (0..=room).rev().map(folded).find(fits);
    let rows = rows.unwrap_or_default();
    std::iter::once(text.as_str()).chain(rows.lines()).collect::<Vec<_>>().join("\n")
}

/// `detail` with what comes after the phase: at the end of its first line where each has a line of
/// its own, else at the end of all.
fn followed(detail: &str, then: &str, in_place: bool) -> String {
    let (first, rest) = match in_place {
        true => detail.split_once('\n').unwrap_or((detail, "")),
        false => (detail, ""),
    };
    let pieces = [first, then].into_iter().filter(|piece| !piece.is_empty());
    let first = pieces.collect::<Vec<_>>().join("   ");
    [first.as_str(), rest].join("\n").trim_end().to_owned()
}

/// How far plain lines of a phase are apart when it has gone on for `lasted`: a day's log stays
/// readable.
fn every_plain(lasted: Duration) -> Duration {
    let minute = Duration::from_secs(60);
    match lasted {
        lasted if lasted < minute => Duration::from_secs(5),
        lasted if lasted < 10 * minute => minute,
        _ => 10 * minute,
    }
}

/// How long a step will still take when `share` of it took `elapsed` seconds; nothing when that is
/// a guess.
fn left(share: f64, elapsed: f64) -> String {
    const SHARE_MIN: f64 = 0.01;
    const SECONDS_MIN: f64 = 2.0;
    if share.is_nan() || share < SHARE_MIN || elapsed < SECONDS_MIN {
        return String::new();
    }
    let left = (elapsed * (1.0 - share) / share).max(0.0);
    format!("{} left", rough(left))
}

/// A time to the second, to be read beside another one: `40 s`, `2 min 05 s`, `1 h 40 min` from two
/// hours on.
pub(crate) fn exact(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s => Span::from_seconds(s.round()).to_string(),
    }
}

/// A time as people say it: `40 s`, `12 min`, `3.5 h`.
pub(crate) fn rough(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// `text` with no line longer than `width`: a line that the terminal wraps would count as two when
/// it is replaced. Lines are folded where three blanks part their pieces, and the rest stands
/// below, indented; a piece that is too long is cut.
fn folded(text: &str, width: Option<usize>) -> String {
    const GAP: &str = "   ";
    let Some(width) = width else {
        return text.to_owned();
    };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let body = line.trim_start();
        let mut folded = " ".repeat(line.len() - body.len());
        for piece in body.split(GAP) {
            let room = width.saturating_sub(folded.chars().count() + GAP.len());
            if folded.trim().is_empty() {
                folded.push_str(piece);
            } else if piece.chars().count() <= room {
                folded.push_str(GAP);
                folded.push_str(piece);
            } else {
                lines.push(folded);
                folded = format!("{:INDENT$}{}", "", piece.trim_start());
            }
        }
        lines.push(folded);
    }
    let cut = |line: &String| line.chars().take(width).collect::<String>();
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

fn drawn(label: &str, share: f64, detail: &str) -> String {
    let indent = format!("\n{:LABEL$} ", "");
    let detail = detail.replace('\n', &indent);
    if share.is_nan() {
        return format!("{label:LABEL$} {detail}");
    }
    #[expect(clippy::cast_possible_truncation, reason = "between zero and the bar's length")]
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(BAR - full));
    format!("{label:LABEL$} {bar}   {detail}")
}

fn plain(label: &str, share: f64, detail: &str) -> String {
    let detail = detail.replace('\n', ", ");
    if share.is_nan() {
        return format!("{label}: {detail}");
    }
    format!("{label}: {:.0} %, {detail}", share.clamp(0.0, 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_length() {
        assert_eq!(drawn("create", 0.0, "x"), format!("create        {}   x", ".".repeat(28)));
        assert_eq!(
            drawn("test", 0.5, "41 s of 60 s\n21,480 IOPS"),
            format!(
                "test          {}{}   41 s of 60 s\n              21,480 IOPS",
                "#".repeat(14),
                ".".repeat(14)
            )
        );
        assert_eq!(drawn("verify", 7.0, ""), format!("verify        {}   ", "#".repeat(28)));
        assert_eq!(plain("test", 0.683, "a\nb"), "test: 68 %, a, b");
        assert_eq!(plain("tune", UNKNOWN, "a\nb"), "tune: a, b");
        assert_eq!(drawn("tune", UNKNOWN, "a\nb"), "tune          a\n              b");
        assert_eq!(left(UNKNOWN, 100.0), "");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let text = "test          ####   7 s of 8 s\n              \u{e4}\u{f6}\u{fc}   read 1 ms   log 2 ms";
        assert_eq!(folded(text, None), text);
        assert_eq!(folded(text, Some(80)), text);
        let narrow = [
            "test          ####",
            "              7 s of 8 s",
            "              \u{e4}\u{f6}\u{fc}   read 1 ms",
            "              log 2 ms",
        ];
        assert_eq!(folded(text, Some(30)), narrow.join("\n"));
        assert_eq!(folded("abcdef", Some(3)), "abc");
    }

    #[test]
    fn what_is_left_follows_from_what_was_done() {
        assert_eq!(left(0.25, 100.0), "5 min left");
        assert_eq!(left(0.5, 40.0), "40 s left");
        assert_eq!(left(0.1, 3600.0), "9.0 h left");
        assert_eq!(left(1.0, 40.0), "0 s left");
        assert_eq!(left(0.001, 40.0), "", "too little was done");
        assert_eq!(left(0.9, 0.5), "", "it will be over before it is read");
    }

    /// Plain lines of a phase that lasts this number of seconds.
    fn plain_lines(seconds: u64) -> usize {
        let mut progress = Progress::new(&Output::plain(), "test");
        let begun = progress.begun;
        let at = |tenths: &u64| begun + Duration::from_millis(100 * tenths);
        let asked = (0..seconds * 10).map(|tenths| at(&tenths));
        asked.filter(|now| progress.is_due(*now)).count()
    }

    #[test]
    fn plain_lines_become_rarer() {
        assert_eq!(plain_lines(5), 0, "a short phase says only how it ended");
        assert_eq!(plain_lines(60), 11);
        assert_eq!(plain_lines(10 * 60), 11 + 9);
        assert_eq!(plain_lines(2 * 3600), 11 + 9 + 11);
        assert_eq!(plain_lines(24 * 3600), 11 + 9 + 143);
    }

    #[test]
    fn what_comes_next_stands_behind_the_first_line() {
        assert_eq!(followed("a\nb", "then c", true), "a   then c\nb");
        assert_eq!(followed("a\nb", "then c", false), "a\nb   then c");
        assert_eq!(followed("", "then c", true), "then c");
        assert_eq!(followed("a", "", true), "a");
    }

    #[test]
    fn a_frame_is_never_higher_than_the_terminal() {
        let rows = |room: usize| (0..room).map(|row| format!("row {row}")).collect();
        let frame = |height| framed("a\nb".to_owned(), height, Some(80), rows);
        assert_eq!(frame(Some(5)), "a\nb\nrow 0\nrow 1");
        assert_eq!(frame(Some(1)), "a\nb");
        assert_eq!(frame(None).lines().count(), 23);
        let wide = |room| vec!["limits ok   integrity ok".to_owned(); room];
        let frame = framed("a".to_owned(), Some(5), Some(26), wide);
        assert_eq!(frame.lines().count(), 4, "one line each: {frame}");
        let frame = framed("a".to_owned(), Some(5), Some(16), wide);
        assert_eq!(frame.lines().count(), 3, "two lines each: {frame}");
    }
}
