//! Everything the program says goes through here.
//!
//! * Data goes to stdout: what a script would read.
//! * Talk goes to stderr: progress, remarks, errors. `--quiet` silences all but errors.
//! * Colour helps on a terminal and never carries meaning alone; `NO_COLOR` turns it off.
//! * On a terminal progress stays in place; elsewhere it is a plain line every few seconds.
//!
//! A reader that goes away (`| head`) ends the talking, not the program. Data that is lost in any other way, such as to a full
//! disk, is an error of the command.
//!
//! What is said may hold names from outside. Control characters are written out, but for line breaks and the colours of this
//! file; one that must stay in its line goes through [`brunt_report::one_line`] besides.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use brunt_report::escaped;

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Passed, intact.
    Good,
    /// Failed, damaged, wrong.
    Bad,
    /// Worth a look.
    Doubt,
    /// Beside the point.
    Faint,
}

/// The program's two voices.
#[derive(Clone, Debug)]
pub struct Output {
    colour_data: bool,
    colour_talk: bool,
    in_place: bool,
    quiet: bool,
    /// Why data did not arrive, the first time.
    lost: Arc<OnceLock<String>>,
}

impl Output {
    /// Looks at the streams and the environment.
    pub fn new(quiet: bool) -> Self {
        let wanted = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let in_place = io::stderr().is_terminal();
        Self {
            colour_data: wanted && io::stdout().is_terminal(),
            colour_talk: wanted && in_place,
            in_place: in_place && env::var_os("TERM").is_none_or(|term| term != "dumb"),
            quiet,
            lost: Arc::default(),
        }
    }

    /// Quiet and without colour: for tests.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self {
            colour_data: false,
            colour_talk: false,
            in_place: false,
            quiet: true,
            lost: Arc::default(),
        }
    }

    /// The same voices with nothing to say but errors and results.
    pub(crate) fn hushed(&self) -> Self {
        Self {
            quiet: true,
            ..self.clone()
        }
    }

    /// One or more lines for stdout.
    pub fn data(&self, text: &str) {
        let text = harmless(text, self.colour_data);
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        if let Some(reason) = lost(written) {
            // Later ones fail for the same reason.
            let _ = self.lost.set(reason);
        }
    }

    /// Why data did not arrive, if it did not.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// One or more lines for stderr.
    pub fn talk(&self, text: &str) {
        if !self.quiet {
            let text = harmless(text, self.colour_talk);
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Says why the command cannot go on. `--quiet` does not silence it.
    pub fn error(&self, text: &str) {
        let word = painted(self.colour_talk, Tone::Bad, "error:");
        let text = harmless(text, self.colour_talk);
        let _ = writeln!(io::stderr().lock(), "{word} {text}");
    }

    /// `text` in the colour of `tone`, for stdout.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        painted(self.colour_data, tone, text)
    }

    /// Progress of one phase, called `label`.
    pub fn progress(&self, label: &str) -> Progress {
        Progress {
            output: self.clone(),
            label: label.to_owned(),
            begun: Instant::now(),
            shown: None,
            lines: 0,
        }
    }
}

/// Why `written` is lost; a reader that has gone away misses nothing.
pub(crate) fn lost(written: io::Result<()>) -> Option<String> {
    let error = written.err()?;
    (error.kind() != io::ErrorKind::BrokenPipe).then(|| format!("stdout: {error}"))
}

impl Tone {
    const ALL: [Self; 4] = [Self::Good, Self::Bad, Self::Doubt, Self::Faint];

    fn begin(self) -> &'static str {
        match self {
            Self::Good => "\x1b[1;32m",
            Self::Bad => "\x1b[1;31m",
            Self::Doubt => "\x1b[33m",
            Self::Faint => "\x1b[2m",
        }
    }
}

/// Ends every colour.
const END: &str = "\x1b[0m";

fn painted(colour: bool, tone: Tone, text: &str) -> String {
    if colour {
        format!("{}{text}{END}", tone.begin())
    } else {
        text.to_owned()
    }
}

/// `text` without anything that a terminal obeys but line breaks, tabs and, with `colour`, the colours above.
fn harmless(text: &str, colour: bool) -> Cow<'_, str> {
    let plain = |text| escaped(text, |c| matches!(c, '\n' | '\t'));
    if !colour {
        return plain(text);
    }
    let mut shown = String::with_capacity(text.len());
    // Every colour ends with an `m`, so it is the end of a piece.
    for piece in text.split_inclusive('m') {
        let mut colours = Tone::ALL.iter().map(|tone| tone.begin()).chain([END]);
        let colour = colours.find(|colour| piece.ends_with(colour));
        let colour = colour.unwrap_or_default();
        shown.push_str(&plain(&piece[..piece.len() - colour.len()]));
        shown.push_str(colour);
    }
    Cow::Owned(shown)
}

/// How far a phase is.
pub struct Progress {
    output: Output,
    label: String,
    begun: Instant,
    shown: Option<Instant>,
    /// Lines that stand on the terminal and can be replaced.
    lines: usize,
}

/// The share that is done of something of which nobody knows how long it is.
pub const UNKNOWN: f64 = f64::NAN;

const EVERY_IN_PLACE: Duration = Duration::from_millis(100);
const EVERY_PLAIN: Duration = Duration::from_secs(5);
/// A rate is told after so long.
const RATE_SECONDS_MIN: f64 = 0.5;
const BAR: usize = 28;
const LABEL: usize = 13;
/// Where the text after a label begins.
const INDENT: usize = LABEL + 1;

impl Progress {
    /// Shows that `share` (0 to 1, or [`UNKNOWN`]) is done, unless something was shown a moment ago. `detail` is asked only when needed;
    /// its further lines stand below the bar.
    pub fn show(&mut self, share: f64, detail: impl FnOnce() -> String) {
        let every = if self.output.in_place {
            EVERY_IN_PLACE
        } else {
            EVERY_PLAIN
        };
        let now = Instant::now();
        // The first plain line comes after a while, too: short phases say only how they ended.
        let last = *self.shown.get_or_insert(if self.output.in_place {
            now - every
        } else {
            now
        });
        if now - last >= every {
            self.shown = Some(now);
            self.draw(share, &detail());
        }
    }

    /// The same for a step that goes on at about the same pace: how fast it is, and how long it will still take, stand
    /// behind. `rate` says how fast, given the seconds since its begin.
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
    pub fn finish(mut self, detail: &str) {
        self.draw(1.0, detail);
    }

    /// Takes the progress away, as if the phase had not been shown.
    pub fn vanish(&mut self) {
        self.erase();
    }

    fn draw(&mut self, share: f64, detail: &str) {
        if self.output.quiet {
            return;
        }
        self.erase();
        let text = if self.output.in_place {
            let text = drawn(&self.label, share, detail);
            let text = folded(&text, width());
            self.lines = text.lines().count();
            text
        } else {
            plain(&self.label, share, detail)
        };
        let text = harmless(&text, self.output.colour_talk);
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    fn erase(&mut self) {
        if self.lines > 0 {
            let _ = write!(io::stderr().lock(), "\x1b[{}A\x1b[J", self.lines);
            self.lines = 0;
        }
    }
}

/// How long a step will still take when `share` of it took `elapsed` seconds; nothing when that is a guess.
fn left(share: f64, elapsed: f64) -> String {
    const SHARE_MIN: f64 = 0.01;
    const SECONDS_MIN: f64 = 2.0;
    if share.is_nan() || share < SHARE_MIN || elapsed < SECONDS_MIN {
        return String::new();
    }
    let left = (elapsed * (1.0 - share) / share).max(0.0);
    format!("{} left", rough(left))
}

/// A time as people say it: `40 s`, `12 min`, `3.5 h`.
fn rough(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Columns of the terminal; nothing when it does not say.
fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// `text` with no line longer than `width`: a line that the terminal wraps would count as two when it is replaced. Lines are
/// folded where three blanks part their pieces, and the rest stands below, indented; a piece that is too long is cut.
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
    #[expect(
        clippy::cast_possible_truncation,
        reason = "between zero and the bar's length"
    )]
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
        assert_eq!(
            drawn("create", 0.0, "x"),
            format!("create        {}   x", ".".repeat(28))
        );
        assert_eq!(
            drawn("test", 0.5, "41 s of 60 s\n21,480 IOPS"),
            format!(
                "test          {}{}   41 s of 60 s\n              21,480 IOPS",
                "#".repeat(14),
                ".".repeat(14)
            )
        );
        assert_eq!(
            drawn("verify", 7.0, ""),
            format!("verify        {}   ", "#".repeat(28))
        );
        assert_eq!(plain("test", 0.683, "a\nb"), "test: 68 %, a, b");
        assert_eq!(plain("tune", UNKNOWN, "a\nb"), "tune: a, b");
        assert_eq!(
            drawn("tune", UNKNOWN, "a\nb"),
            "tune          a\n              b"
        );
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

    #[test]
    fn colour_is_an_addition() {
        assert_eq!(painted(false, Tone::Bad, "FAIL"), "FAIL");
        assert_eq!(painted(true, Tone::Bad, "FAIL"), "\x1b[1;31mFAIL\x1b[0m");
    }

    #[test]
    fn a_terminal_obeys_our_colours_and_nothing_else() {
        let said = format!(
            "{}: a\x1b[2Jm\r\x1b[31m",
            painted(true, Tone::Bad, "FAIL\n")
        );
        let rest = ": a\\u{1b}[2Jm\\r\\u{1b}[31m";
        assert_eq!(
            harmless(&said, true),
            format!("\x1b[1;31mFAIL\n\x1b[0m{rest}")
        );
        let plain = harmless(&said, false);
        assert_eq!(plain, format!("\\u{{1b}}[1;31mFAIL\n\\u{{1b}}[0m{rest}"));
    }
}
