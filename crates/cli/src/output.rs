//! Everything the program says goes through here.
//!
//! * Data goes to stdout: what a script would read.
//! * Talk goes to stderr: progress, remarks, errors. `--quiet` silences all but errors.
//! * Colour helps on a terminal and never carries meaning alone. `--color` decides, then `NO_COLOR`,
//!   then `CLICOLOR_FORCE`.
//! * On a terminal no line is wider than it, and progress stays in place (`progress.rs`).
//!
//! A reader that goes away (`| head`) ends the talking, not the program. Data that is lost in any
//! other way, such as to a full disk, is an error of the command.
//!
//! What is said may hold names from outside. Control characters are written out, but for line
//! breaks and the colours of this file; one that must stay in its line goes through
//! [`brunt_report::one_line`] besides.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use brunt_report::escaped;
use brunt_report::result::Colour;
use clap::ValueEnum;

use crate::exit::Exit;
use crate::progress::Progress;
use crate::progress::standing::Standing;
use crate::wrap::wrapped;

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

impl From<Colour> for Tone {
    fn from(colour: Colour) -> Self {
        match colour {
            Colour::Green => Self::Good,
            Colour::Amber => Self::Doubt,
            Colour::Red => Self::Bad,
            Colour::Grey => Self::Faint,
        }
    }
}

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// On a terminal; NO_COLOR and CLICOLOR_FORCE say otherwise
    #[default]
    Auto,
    /// Also in a file or a pipe
    Always,
    /// Nowhere
    Never,
}

impl Colours {
    /// Whether text has colours where it is read on a terminal, or is not.
    fn wanted(self, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let is_forced =
            || is_set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE") != Some("0".into());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if is_set("NO_COLOR") => false,
            Self::Auto if is_forced() => true,
            Self::Auto => is_terminal && variable("TERM").is_none_or(|term| term != "dumb"),
        }
    }
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
    standing: Standing,
}

impl Output {
    /// Looks at the streams and the environment.
    pub fn new(quiet: bool, colours: Colours) -> Self {
        let wanted = |is_terminal| colours.wanted(is_terminal, |name| env::var_os(name));
        let in_place = io::stderr().is_terminal();
        Self {
            colour_data: wanted(io::stdout().is_terminal()),
            colour_talk: wanted(in_place),
            in_place: in_place && env::var_os("TERM").is_none_or(|term| term != "dumb"),
            quiet,
            lost: Arc::default(),
            standing: Standing::default(),
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
            standing: Standing::default(),
        }
    }

    /// The same voices with nothing to say but errors and results.
    pub(crate) fn hushed(&self) -> Self {
        Self { quiet: true, ..self.clone() }
    }

    /// One or more lines for a script that reads stdout.
    pub fn data(&self, text: &str) {
        self.erase();
        let text = harmless(text, self.colour_data);
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        if let Some(reason) = lost(written) {
            // Later ones fail for the same reason.
            let _ = self.lost.set(reason);
        }
    }

    /// One or more lines for a reader of stdout: no wider than the terminal.
    pub fn show(&self, text: &str) {
        self.data(&wrapped(text, self.width()));
    }

    /// Why data did not arrive, if it did not.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// One or more lines for stderr.
    pub fn talk(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Says why the command cannot go on. `--quiet` does not silence it.
    pub fn error(&self, text: &str) {
        let word = painted(self.colour_talk, Tone::Bad, "error:");
        self.say(&format!("{word} {}", without_numbers(text)));
    }

    fn say(&self, text: &str) {
        let text = harmless(text, self.colour_talk);
        let text = wrapped(&text, self.talk_width());
        let _ = write!(io::stderr().lock(), "{}", self.standing.say(&text, self.talk_width()));
    }

    /// The answer of the person at the terminal to `question`; `None` where stdin is no terminal, or
    /// has ended.
    pub(crate) fn ask(&self, question: &str) -> io::Result<Option<String>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let question = harmless(question, self.colour_talk);
        let _ =
            write!(io::stderr().lock(), "{}{question} ", self.standing.erase(self.talk_width()));
        let mut answer = String::new();
        let is_there = io::stdin().lock().read_line(&mut answer)? > 0;
        Ok(is_there.then(|| answer.trim().to_owned()))
    }

    /// Lines that the next ones replace.
    pub(crate) fn stand(&self, text: &str) {
        if !self.quiet {
            let text = harmless(text, self.colour_talk);
            let _ =
                write!(io::stderr().lock(), "{}", self.standing.stand(&text, self.talk_width()));
        }
    }

    /// Takes away what stands.
    pub(crate) fn erase(&self) {
        let _ = write!(io::stderr().lock(), "{}", self.standing.erase(self.talk_width()));
    }

    /// Whether progress stays in place.
    pub(crate) fn in_place(&self) -> bool {
        self.in_place
    }

    /// Columns of the terminal behind stdout; nothing when there is none.
    pub(crate) fn width(&self) -> Option<usize> {
        columns(io::stdout())
    }

    /// Columns of the terminal behind stderr.
    pub(crate) fn talk_width(&self) -> Option<usize> {
        columns(io::stderr())
    }

    /// Lines of the terminal behind stderr.
    pub(crate) fn talk_height(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
        (size.ws_row > 0).then_some(usize::from(size.ws_row))
    }

    /// Whether the terminal shows more than ASCII, by the locale.
    pub(crate) fn is_unicode(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
        let mut locale = locale.filter_map(env::var_os).filter(|value| !value.is_empty());
        let locale = locale.next().unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    }

    /// `text` in the colour of `tone`, for stdout.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        painted(self.colour_data, tone, text)
    }

    /// The first words of what a check without a test ends with, in their colour, for stdout.
    pub fn answer(&self, exit: Exit) -> String {
        let (word, colour) = exit.shown();
        self.paint(colour.into(), &word)
    }

    /// `text` in the colour of `tone`, for stderr.
    pub fn paint_talk(&self, tone: Tone, text: &str) -> String {
        painted(self.colour_talk, tone, text)
    }

    /// Progress of one phase, called `label`.
    pub fn progress(&self, label: &str) -> Progress {
        Progress::new(self, label)
    }
}

/// `text` without the numbers of the system's errors, whose words stand before them.
fn without_numbers(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = " (os error ";
    let mut parts = text.split(BEGIN);
    let Some(first) = parts.next().filter(|first| first.len() < text.len()) else {
        return Cow::Borrowed(text);
    };
    let rest = parts.map(|part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest.to_owned(),
        _ => format!("{BEGIN}{part}"),
    });
    Cow::Owned(first.to_owned() + &rest.collect::<String>())
}

/// Columns of a terminal; nothing when it is none, or does not say.
fn columns(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
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
    if colour { format!("{}{text}{END}", tone.begin()) } else { text.to_owned() }
}

/// `text` without anything that a terminal obeys but line breaks, tabs and, with `colour`, the
/// colours above.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_an_addition() {
        assert_eq!(painted(false, Tone::Bad, "FAIL"), "FAIL");
        assert_eq!(painted(true, Tone::Bad, "FAIL"), "\x1b[1;31mFAIL\x1b[0m");
    }

    #[test]
    fn the_flag_decides_then_the_environment_then_the_terminal() {
        let wanted = |colours: Colours, is_terminal, set: &[(&str, &str)]| {
            colours.wanted(is_terminal, |name| {
                let found = set.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let auto = Colours::Auto;
        assert!(wanted(auto, true, &[]) && !wanted(auto, false, &[]));
        assert!(!wanted(auto, true, &[("TERM", "dumb")]));
        assert!(
            !wanted(auto, true, &[("NO_COLOR", "1")]) && wanted(auto, true, &[("NO_COLOR", "")])
        );
        assert!(wanted(auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!wanted(auto, false, &[("CLICOLOR_FORCE", "0")]));
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert!(!wanted(auto, true, &both) && wanted(Colours::Always, false, &both));
        assert!(!wanted(Colours::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn numbers_of_errors_are_left_out() {
        let said = "a: No such file or directory (os error 2)\nb: Is a directory (os error 21)!";
        assert_eq!(without_numbers(said), "a: No such file or directory\nb: Is a directory!");
        assert_eq!(without_numbers("a (os error x)"), "a (os error x)");
    }

    #[test]
    fn a_terminal_obeys_our_colours_and_nothing_else() {
        let said = format!("{}: a\x1b[2Jm\r\x1b[31m", painted(true, Tone::Bad, "FAIL\n"));
        let rest = ": a\\u{1b}[2Jm\\r\\u{1b}[31m";
        assert_eq!(harmless(&said, true), format!("\x1b[1;31mFAIL\n\x1b[0m{rest}"));
        let plain = harmless(&said, false);
        assert_eq!(plain, format!("\\u{{1b}}[1;31mFAIL\n\\u{{1b}}[0m{rest}"));
    }
}
