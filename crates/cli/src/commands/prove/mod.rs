//! `brunt prove`: is anything that was committed ever lost? The crash search, in virtual time.
//!
//! With `--pair`, both sites of a replicated array stop instead ([`pair`]).
//!
//! Nothing on this machine is read or written. Equal seeds find the same, to the last bit of the
//! digest; only how fast it went differs. See [`brunt_testkit::crash`] for what is searched.

mod guard;
mod json;
mod pair;
mod words;

use std::io;
use std::time::Instant;

use brunt_host::computing::{Computing, head};
use brunt_report::result::Verdict;
use brunt_run::Silence;
use brunt_testkit::crash::{Coverage, Proof};
use clap::Args;
use serde_json::json;

use crate::clock::now;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::records::Lines;
use crate::test_args::{Printed, one_or_more, whole};
use guard::Guard;

/// Arguments of `prove`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt prove                                   two thousand crashes, a few seconds
  brunt prove --seed 7 --steps 1000000          a long search
  brunt prove --seed \"$(git rev-parse HEAD)\"     a different search for each commit
  brunt prove --json | jq .crash_points_per_s
  brunt prove --pair                            both sites of a replicated array stop at one instant

The exit code is 0 when nothing was lost, 1 when something was; the last line then repeats it.")]
pub struct ProveArgs {
    /// Random seed: a number or a commit hash
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub seed: u64,

    /// Stop both sites of a replicated array at one instant, instead of a server
    #[arg(long)]
    pub pair: bool,

    /// First step; a failure names its step
    #[arg(long, value_name = "STEP", default_value_t = 0, value_parser = whole)]
    pub first: u64,

    /// Number of crash points [default: 2000; 100 with --pair]
    #[arg(long, value_name = "M", value_parser = one_or_more)]
    pub steps: Option<u64>,

    #[command(flatten)]
    pub printed: Printed,

    /// Print only the result and errors
    #[arg(long)]
    pub quiet: bool,
}

impl ProveArgs {
    /// Number of crash points.
    fn steps(&self) -> u64 {
        self.steps.unwrap_or(if self.pair { 100 } else { 2000 })
    }
}

/// A number below 2^64, or the first sixteen digits of a hash.
fn seed(text: &str) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let is_hash = text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = text.get(..16).unwrap_or(text);
    match u64::from_str_radix(digits, 16) {
        Ok(number) if is_hash => Ok(number),
        _ => Err("neither a number below 2^64 nor a commit's hash".to_owned()),
    }
}

/// Searches, and says what was found: [`Exit::Failed`] when something was lost.
///
/// # Errors
/// When the system refuses to tell of Ctrl-C.
pub fn run(args: &ProveArgs, output: &Output) -> io::Result<Exit> {
    let interrupt = Interrupt::listen()?;
    output.talk(&words::opening(args));
    let lines = Lines::of(&args.printed, output);
    let outline = json!({
        "version": if args.pair { pair::VERSION } else { json::VERSION },
        "seed": args.seed,
        "first": args.first,
        "steps": args.steps(),
    });
    let head = head(None, now(), "prove", String::new(), &outline);
    let computing =
        Computing::begin(head, None, lines.heard(), Silence).map_err(io::Error::other)?;
    let watching = Watching { args, interrupt: &interrupt, computing: &computing, output };
    let (verdict, json, words) = match args.pair {
        true => pair::run(&watching),
        false => {
            let proof = Proof { first: args.first, ..Proof::new(args.seed, args.steps()) };
            let (searched, seconds) =
                watching.search(|watch| proof.run(|coverage: &Coverage| watch(coverage.steps)));
            let json = json::result(args, &searched, seconds);
            let words = words::result(&searched, seconds, output);
            (ended(searched.map(|proven| proven.is_complete)), json, words)
        }
    };
    computing.ended(verdict).map_err(io::Error::other)?;
    lines.tell((verdict.word(), &json), output, || output.show(&words));
    Ok(verdict.into())
}

/// Who watches a search.
struct Watching<'a> {
    args: &'a ProveArgs,
    interrupt: &'a Interrupt,
    computing: &'a Computing<Silence>,
    output: &'a Output,
}

impl Watching<'_> {
    /// Searches with progress and a guard against loops without end; the search tells `watch` how
    /// many steps are done, and ends when that says `false`. Also how many seconds it took.
    fn search<T>(&self, search: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T) -> (T, f64) {
        let args = self.args;
        let (seed, first, steps) = (args.seed, args.first, args.steps());
        let command = if args.pair { "prove --pair" } else { "prove" };
        let guard = Guard::watch(guard::PATIENCE, move |done| {
            guard::end(&words::hangs(command, seed, first + done, guard::PATIENCE));
        });
        let begun = Instant::now();
        let mut progress = self.output.progress("prove");
        let searched = search(&mut |done| {
            let share = done as f64 / steps as f64;
            let detail = || words::so_far(done, steps);
            progress.show_paced(share, detail, |seconds| words::rate(done, seconds));
            self.computing.so_far(done, steps);
            guard.note(done);
            !self.interrupt.is_asked()
        });
        drop(guard);
        progress.vanish();
        (searched, begun.elapsed().as_secs_f64())
    }
}

/// How a search ended: `is_complete` for one without a loss.
fn ended<E>(is_complete: Result<bool, E>) -> Verdict {
    match is_complete {
        Err(_) => Verdict::Fail,
        Ok(true) => Verdict::Pass,
        Ok(false) => Verdict::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_a_hash() {
        assert_eq!(seed("7"), Ok(7));
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        let hash = "ba64b60c0ffee0123456789abcdef0123456789a";
        assert_eq!(seed(hash), Ok(0xBA64_B60C_0FFE_E012));
        assert_eq!(seed("ba64b60"), Ok(0x0BA6_4B60));
        for text in ["", "-1", "seed", "beef", "12345678901234567890123g"] {
            assert!(seed(text).is_err(), "{text}");
        }
    }
}
