//! The command line.

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::ab::AbArgs;
use crate::commands::agent::AgentArgs;
use crate::commands::batch::merge::MergeArgs;
use crate::commands::batch::part::PartArgs;
use crate::commands::batch::plan::PlanArgs;
use crate::commands::check::CheckArgs;
use crate::commands::clean::CleanArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::completions::CompletionsArgs;
#[cfg(feature = "console")]
use crate::commands::console::ConsoleArgs;
use crate::commands::drill::DrillArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::fleet::FleetArgs;
use crate::commands::handover::HandoverArgs;
use crate::commands::import::ImportArgs;
use crate::commands::init::InitArgs;
use crate::commands::load::LoadArgs;
use crate::commands::man::ManArgs;
use crate::commands::models::ModelsArgs;
use crate::commands::paper::PaperArgs;
use crate::commands::prove::ProveArgs;
use crate::commands::report::ReportArgs;
use crate::commands::run::RunArgs;
use crate::commands::simulate::SimulateArgs;
use crate::commands::site::SiteArgs;
use crate::commands::size::SizeArgs;
use crate::commands::verify::VerifyArgs;
use crate::output::Colours;
use crate::version;

const EXAMPLES: &str = "\
Examples:
  brunt run                                  a small demo, in a minute and a half
  brunt init my-storage.toml                 a scenario to fill in with your own paths
  brunt run my-storage.toml --duration 2h    the test that counts
  brunt report runs/*                        what there is, what is missing, and links
  brunt paper RUN... --out mail.pdf          the paper about a storage solution, with its evidence
  brunt verify /srv/mail/*.edb               are these databases intact?";

/// Will this storage bear the brunt?
///
/// Exit codes: 0 pass, 1 fail, 2 no answer (error, invalid, inconclusive), 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "brunt", version = version::LONG, arg_required_else_help = true, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// When to use colours: auto, always or never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true
    )]
    pub color: Colours,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[cfg(feature = "console")]
const UNDERSTAND: &[&str] =
    &["report", "console", "compare", "explain", "paper", "handover", "verify"];
#[cfg(not(feature = "console"))]
const UNDERSTAND: &[&str] = &["report", "compare", "explain", "paper", "handover", "verify"];

/// The commands in groups, as help shows them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Prepare", &["init", "import", "size", "check", "models"]),
    ("Test, predict, rehearse", &["run", "ab", "fleet", "simulate", "drill", "load"]),
    ("Predict on a cluster", &["plan", "part", "merge"]),
    ("Understand and hand over", UNDERSTAND),
    ("Everything else", &["clean", "prove", "completions", "man", "help"]),
];

impl Arguments {
    /// The command line, with help in groups.
    pub fn grouped() -> clap::Command {
        let mut command = Self::command();
        command.build();
        let line = |name: &&str| {
            let about = command.find_subcommand(name).and_then(|one| one.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            format!("  {name:<12} {about}\n")
        };
        let groups = GROUPS.map(|(title, names)| {
            let lines: String = names.iter().map(line).collect();
            format!("{title}:\n{lines}\n")
        });
        let groups = groups.concat();
        Self::command().help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
        ))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Test this machine's storage; without a scenario, run a small demo in ./brunt-demo
    Run(RunArgs),
    /// Test two scenarios in turns (A B B A) on the same storage, and say whether B is better
    Ab(AbArgs),
    /// Predict a test on a modelled array, in virtual time
    Simulate(SimulateArgs),
    /// Print the script that computes a plan of `simulate --plan` on a cluster
    Plan(PlanArgs),
    /// Compute a part of a plan
    Part(PartArgs),
    /// Make the result of a plan from its parts, or say which are missing
    Merge(MergeArgs),
    /// Rehearse a failover: what is lost, and how long users wait; without a scenario, with two
    /// processes on this machine
    Drill(DrillArgs),
    /// Send mail to servers, kill them, and look for every message; without arguments, to those that
    /// are installed here
    Load(LoadArgs),
    /// Test several hosts at one instant, with one verdict; without a scenario, three servers on this
    /// machine
    Fleet(FleetArgs),
    /// Be one host of a fleet
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Be one site of a drill
    #[command(hide = true)]
    Site(SiteArgs),
    /// Size storage for an organisation
    Size(SizeArgs),
    /// Check a scenario and this machine against best practice
    Check(CheckArgs),
    /// Rebuild the report of a run, or combine the runs of several hosts
    Report(ReportArgs),
    /// Watch runs in a browser while they go on, and find the old ones
    #[cfg(feature = "console")]
    Console(ConsoleArgs),
    /// Compare runs: before and after, or over time
    Compare(CompareArgs),
    /// Write the paper about a storage solution from the runs of its tests
    Paper(PaperArgs),
    /// Write a page to sign from the newest test of each kind, with the paper behind it
    Handover(HandoverArgs),
    /// Check database and log files for damage, and papers for numbers that do not follow
    Verify(VerifyArgs),
    /// Crash and recover the engine thousands of times in virtual time, and check that nothing is
    /// lost
    Prove(ProveArgs),
    /// Explain a rule: what it measures, why its limit is what it is, what usually breaks it
    Explain(ExplainArgs),
    /// Write a commented scenario to start from
    Init(InitArgs),
    /// Write a scenario from a JetstressConfig.xml
    Import(ImportArgs),
    /// Remove the databases and logs that the tests of a scenario left, and nothing else
    Clean(CleanArgs),
    /// List the drive models for modelled arrays, and where their figures come from
    Models(ModelsArgs),
    /// Print what a shell reads to complete command lines of brunt
    Completions(CompletionsArgs),
    /// Write the man pages
    Man(ManArgs),
}

impl Command {
    /// Whether it says its result and errors alone.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Run(args) => args.test.shared.output.quiet,
            Self::Ab(args) => args.test.shared.output.quiet,
            Self::Simulate(args) => args.shared.output.quiet,
            Self::Drill(args) => args.shared.output.quiet,
            Self::Load(args) => args.output.quiet,
            Self::Report(args) => args.quiet,
            #[cfg(feature = "console")]
            Self::Console(args) => args.quiet,
            Self::Compare(args) => args.quiet,
            Self::Paper(args) => args.quiet,
            Self::Handover(args) => args.quiet,
            Self::Verify(args) => args.quiet,
            Self::Prove(args) => args.quiet,
            Self::Clean(args) => args.quiet,
            Self::Size(args) => args.quiet,
            Self::Init(args) => args.quiet,
            Self::Import(args) => args.quiet,
            Self::Part(args) => args.quiet,
            Self::Merge(args) => args.quiet,
            Self::Fleet(args) => args.is_quiet(),
            Self::Agent(args) => args.work,
            Self::Site(_)
            | Self::Plan(_)
            | Self::Check(_)
            | Self::Explain(_)
            | Self::Models(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_has_a_group() {
        let mut command = Arguments::command();
        command.build();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
