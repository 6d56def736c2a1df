//! The user's own commands in a drill on storage that is replicated by something else than brunt.
//!
//! An event `what = "exec"` has `name`, `run` and `timeout` as well. Nothing is run without consent
//! on the command line.

use std::path::Path;

use brunt_units::Span;

use super::keys::{At, Word, keys, list, own, time};
use super::place::{Cause, Place, Placed, Refusal};
use super::section::{self, Section};
use super::tree::{Node, Value};

keys! {
    STEP of PairStep = "[[step]]";
    /// At which point of the drill.
    when: StepTime = [when], Word(&WHEN), needs "when = \"prepare\"";
    /// What it does, in one line of up to 60 characters.
    name: String = [exec.name], own(read_name, "text"), needs "name = \"take a snapshot\"";
    /// The program and its arguments, without a shell; one with a slash lies beside the scenario.
    run: Placed<Vec<String>> = [exec.run], At(list(read_run, "list of texts")), needs "run = [\"./pair.sh\", \"snapshot\"]";
    /// How long it may take, up to a day.
    timeout: Span = [exec.timeout], time(read_timeout, "time above 0"), "`\"1min\"`";
}

/// The keys of a command.
pub(super) const KEYS: [&str; 3] = ["name", "run", "timeout"];
static WHEN: [(&str, StepTime); 4] = [
    ("prepare", StepTime::Prepare),
    ("cut", StepTime::Cut),
    ("failover", StepTime::Failover),
    ("clean up", StepTime::CleanUp),
];
const TIMEOUT: Span = Span::seconds(60);
/// A longer step is forgotten rather than waited for.
const TIMEOUT_MAX: Span = Span::seconds(24 * 3600);
/// Characters of a name, which stands in tables.
const NAME_MAX: usize = 60;

/// A command of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Exec {
    /// What it does, in the user's words.
    pub name: String,
    /// The program and its arguments.
    pub run: Placed<Vec<String>>,
    /// How long it may take.
    pub timeout: Span,
}

/// When a step is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepTime {
    /// Before anything is written.
    Prepare,
    /// After the source was killed: its storage is taken away, as by what the drill rehearses.
    Cut,
    /// After that; what it takes is a part of the recovery time.
    Failover,
    /// At the end, however the drill ends.
    CleanUp,
}

impl StepTime {
    pub fn word(self) -> &'static str {
        let own = WHEN.iter().find(|(_, when)| *when == self);
        own.expect("every time has a word").0
    }
}

/// A command that is run at a fixed point of a drill.
#[derive(Clone, Debug, PartialEq)]
pub struct PairStep {
    pub when: StepTime,
    pub exec: Exec,
}

impl PairStep {
    /// One before it is read.
    fn usual() -> Self {
        let run = Placed { value: Vec::new(), place: Place::unwritten() };
        let exec = Exec { name: String::new(), run, timeout: TIMEOUT };
        Self { when: StepTime::Prepare, exec }
    }
}

/// Reads all `[[step]]`s, in their order.
pub(super) fn read(top: &mut Section, folder: &Path) -> Vec<PairStep> {
    let steps = top.tables("step").into_iter().map(|node| {
        let mut step = PairStep::usual();
        STEP.read(node, &mut step);
        step.exec.find(folder);
        step
    });
    steps.collect()
}

/// Reads the keys of a command.
pub(super) fn read_exec(section: &mut Section, folder: &Path) -> Exec {
    let mut step = PairStep::usual();
    STEP.without(&["when"]).read_keys(section, &mut step);
    step.exec.find(folder);
    step.exec
}

impl Exec {
    fn find(&mut self, folder: &Path) {
        in_folder(&mut self.run.value, folder);
    }
}

/// Makes a program with a slash one of `folder`; others are looked for where programs are.
pub(super) fn in_folder(command: &mut [String], folder: &Path) {
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        let path = section::joined(folder, Path::new(program));
        *program = path.to_string_lossy().into_owned();
    }
}

fn read_timeout(node: &Node) -> Result<Span, Refusal> {
    match section::some_time(node)? {
        timeout if timeout <= TIMEOUT_MAX => Ok(timeout),
        _ => Err(node.place.refuse("is longer than a day").hint("for example \"10min\"")),
    }
}

fn read_name(node: &Node) -> Result<String, Refusal> {
    let name = section::text(node)?;
    let refuse = |what: &str| Err(node.place.refuse(what).hint("for example \"take a snapshot\""));
    if name.trim().is_empty() {
        return refuse("is empty, and tables and messages call the command by it");
    }
    if name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
        return refuse("is not one line of up to 60 characters");
    }
    Ok(name)
}

pub(super) fn read_run(node: &Node) -> Result<Vec<String>, Refusal> {
    const EXAMPLE: &str =
        "a program and its arguments, without a shell: for example [\"./pair.sh\", \"mount\"]";
    let refuse = |place: &Place, what: &str| Err(place.refuse(what).hint(EXAMPLE));
    let Value::List(nodes) = &node.value else {
        return refuse(&node.place, "is not a list of texts");
    };
    let mut words = Vec::new();
    for one in nodes {
        match &one.value {
            Value::Text(text) if text.contains('\0') => {
                return refuse(&one.place, "an argument cannot contain a NUL byte");
            }
            Value::Text(text) => words.push(text.clone()),
            _ => return refuse(&one.place, "is not a list of texts"),
        }
    }
    match words.first().is_none_or(String::is_empty) {
        true => refuse(&node.place, "names no program"),
        false => Ok(words),
    }
}

/// Refuses `exec` keys in an event that runs nothing.
pub(super) fn refuse_in(section: &mut Section, what: &str) -> Result<(), Refusal> {
    for key in KEYS {
        if let Some(node) = section.take(key) {
            let refusal =
                node.place.refuse(format!("`{key}` is for \"exec\", and this is \"{what}\""));
            return Err(refusal.because(Cause::Value).hint("what = \"exec\", or leave it out"));
        }
    }
    Ok(())
}

/// Writes what [`read_exec`] reads.
pub(super) fn write_exec(exec: &Exec, out: &mut String) {
    let step = PairStep { when: StepTime::Prepare, exec: exec.clone() };
    STEP.without(&["when"]).write_keys(&step, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real_drill::tests::{EVENTS, SITES, TEST, read};
    use crate::{SiteIncident, SiteReplication};

    const EXTERNAL: &str = "[replication]\nmode = \"external\"\n";
    const STEP: &str =
        "[[step]]\nwhen = \"failover\"\nname = \"mount\"\nrun = [\"./pair.sh\", \"a b\"]\n";
    const EXEC: &str = "[[event]]\nat = \"5s\"\nwhat = \"exec\"\nname = \"snap\"\nrun = [\"zfs\"]\ntimeout = \"2min\"\n";

    #[test]
    fn a_pair_of_the_user_is_read_and_written_again() {
        let sites = SITES.replace("\"a\"\n", "\"a\"\ndevice = \"/dev/sdb\"\n");
        let drill = read(&format!("{TEST}{sites}{EVENTS}{EXEC}{EXTERNAL}{STEP}")).unwrap();
        assert_eq!(drill.replication, SiteReplication::External);
        let device = drill.devices[0].as_ref().unwrap();
        assert_eq!(device.value, Path::new("/dev/sdb"));
        // A program with a slash is relative to the scenario; its arguments are its own business.
        let step = &drill.steps[0];
        assert_eq!(step.exec.run.value, ["/srv/pair.sh", "a b"]);
        assert_eq!(step.exec.timeout, Span::seconds(60));
        let SiteIncident::Exec(exec) = &drill.timeline[0].what else {
            panic!("{:?}", drill.timeline);
        };
        assert_eq!((exec.name.as_str(), exec.timeout), ("snap", Span::seconds(120)));
        assert_eq!(read(&drill.to_toml()).unwrap(), drill);
    }

    #[test]
    fn commands_that_cannot_be_are_refused_with_a_way_out() {
        let refused = |text: &str, said: &str| {
            let whole = read(&format!("{TEST}{SITES}{EVENTS}{text}")).unwrap_err();
            assert!(whole.contains(said) && whole.contains("\n  "), "{whole}");
            assert!(whole.starts_with("t.toml:"), "{whole}");
        };
        let step = |from: &str, to: &str| format!("{EXTERNAL}{}", STEP.replace(from, to));
        for own in [STEP, EXEC] {
            refused(own, "brunt itself replicates here");
        }
        refused(&step("failover", "fail over"), "did you mean \"failover\"?");
        refused(&step("when = \"failover\"\n", ""), "lacks `when`");
        refused(&step("name = \"mount\"\n", ""), "lacks `name`");
        refused(&step("\"mount\"", "\" \""), "is empty");
        refused(&step("run", "rum"), "did you mean `run`?");
        refused(&step("[\"./pair.sh\", \"a b\"]", "[]"), "names no program");
        refused(&step("[\"./pair.sh\", \"a b\"]", "\"sh -c\""), "is not a list of texts");
        refused(&step("\"a b\"", "7"), "is not a list of texts");
        refused(&format!("{EXTERNAL}{STEP}timeout = \"2days\"\n"), "not a length of time");
        refused(&format!("{EXTERNAL}{STEP}timeout = \"25h\"\n"), "is longer than a day");
        refused(&format!("{EXTERNAL}[link]\nrtt = \"1ms\"\n"), "needs brunt's own link");
        let planned = "[[event]]\nat = \"20s\"\nwhat = \"failover\"\nplanned = true\n";
        let whole = format!("{TEST}{SITES}{planned}{}", step("failover", "cut"));
        let whole = read(&whole).unwrap_err();
        assert!(whole.contains("cuts the source off") && whole.contains("\n  "), "{whole}");
        let lost = "[[event]]\nat = \"9s\"\nwhat = \"link lost\"\n";
        let whole =
            format!("{TEST}{SITES}[[event]]\nat = \"20s\"\nwhat = \"failover\"\n{lost}{EXTERNAL}");
        let whole = read(&whole).unwrap_err();
        assert!(whole.contains("needs brunt's own link") && whole.contains("\"exec\""), "{whole}");
        refused(
            &format!("{EXTERNAL}[[event]]\nat = \"9s\"\nwhat = \"source lost\"\nrun = [\"x\"]\n"),
            "`run` is for \"exec\", and this is \"source lost\"",
        );
    }
}
