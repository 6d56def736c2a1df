//! Man pages and completions, made from the command line itself, so they cannot differ from it.

use clap::Command;
use clap::builder::Resettable;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// A man page for the program and one for each of its commands, by name: `brunt-run.1`, `brunt.1`.
pub fn pages(command: &Command) -> Vec<(String, String)> {
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    let mut files = Vec::new();
    page(&command, &mut files);
    files
}

fn page(command: &Command, files: &mut Vec<(String, String)>) {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    for one in shown {
        page(one, files);
    }
    let command_alone =
        command.clone().after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    let man = Man::new(command_alone).manual("brunt");
    let mut bytes = Vec::new();
    man.render(&mut bytes).expect("memory takes all");
    let closing = command.get_after_long_help().or(command.get_after_help());
    if let Some(closing) = closing {
        let closing = verbatim(&closing.to_string());
        closing.to_writer(&mut bytes).expect("memory takes all");
    }
    files.push((man.get_filename(), text(bytes)));
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("help is UTF-8")
}

/// What help ends with, line by line: `clap_mangen` would fill and justify it.
fn verbatim(text: &str) -> Roff {
    let mut lines = text.lines().peekable();
    let heading = match lines.next_if_eq(&"Examples:") {
        Some(_) => "EXAMPLES",
        None => "NOTES",
    };
    let mut roff = Roff::new();
    roff.control("SH", [heading]).control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

/// What `shell` reads to complete a command line.
pub fn completions(command: &Command, shell: Shell) -> String {
    let mut bytes = Vec::new();
    generate(shell, &mut command.clone(), "brunt", &mut bytes);
    text(bytes)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn command() -> Command {
        let run = Command::new("run").about("Test this machine");
        let run = run.arg(Arg::new("check").long("check").help("Write nothing"));
        let run = run.after_help("Examples:\n  brunt run     a demo\n  brunt run x");
        let hidden = Command::new("secret").hide(true);
        Command::new("brunt").version("1.2.3").subcommands([run, hidden])
    }

    #[test]
    fn every_command_that_is_shown_has_a_page() {
        let pages = pages(&command());
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["brunt-run.1", "brunt.1"]);
        let (_, run) = &pages[0];
        assert!(run.contains("brunt\\-run \\- Test this machine"), "{run}");
        assert!(run.contains("Write nothing"), "{run}");
        let examples = ".SH EXAMPLES\n.nf\n  brunt run     a demo\n  brunt run x\n.fi\n";
        assert!(run.ends_with(examples), "{run}");
        assert!(!run.contains("EXTRA"), "{run}");
    }

    #[test]
    fn every_shell_completes_commands_and_flags() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = completions(&command(), shell);
            for word in ["run", "check"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
        }
    }
}
