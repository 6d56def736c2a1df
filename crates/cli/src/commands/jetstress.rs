//! `brunt jetstress`: JetstressCmd's options, for scripts that have them. They become a scenario,
//! which is run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_jetstress::command::{Options, options};
use clap::{Args, Parser};

use super::import::{CommandError, map, read, said, warn_of_unused, write};
use super::report::{self, ReportArgs, newest_below};
use super::run as test;
use crate::args::{Arguments, Command};
use crate::exit::Exit;
use crate::output::Output;

/// Arguments of `jetstress`.
#[derive(Args, Clone, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  brunt jetstress /c JetstressConfig.xml /timeout 2H0M0S /output results
  brunt jetstress /dbpath /mnt/a/db /log /mnt/b/log /threads 4 --map 'C:\\Volumes=/mnt'"
)]
pub struct JetstressArgs {
    /// Options of JetstressCmd: /c FILE, /timeout 2H0M0S, /output FOLDER, /dbpath FOLDER, /log
    /// FOLDER, /pctcapacity N, /throughput N, /threads N, /new, /open, /g, /?
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

const HELP: &str = "\
Options of JetstressCmd that brunt takes:
  /c FILE             a JetstressConfig.xml (also /config)
  /g                  write a scenario with every key to jetstress.toml, instead of a sample XML
  /timeout 2H0M0S     how long to test [default: 2 hours]
  /output FOLDER      where results go [default: here]
  /dbpath FOLDER      databases of an instance; once for each
  /log FOLDER         its log, in the same order
  /pctcapacity N      size databases by N % of their volumes [default: 100]
  /throughput N       test at N % of the highest rate that passes
  /threads N          sessions; 0 finds their number
  /new                make databases anew
  /open               use databases that are there, where they fit (the default)
  --map FROM=TO       which folder of Windows is which one here";

/// Runs the test.
///
/// # Errors
/// [`CommandError`] when the options are wrong, or what the test or its report says in words.
pub fn run(args: &JetstressArgs, output: &Output) -> Result<Exit, CommandError> {
    let (mappings, words) = mappings(&args.words)?;
    let options = options(&words).map_err(CommandError::Option)?;
    if options.help || words.is_empty() {
        output.show(HELP);
        return Ok(Exit::Passed);
    }
    if options.sample {
        let path = Path::new("jetstress.toml");
        write(path, brunt_scenario::TEMPLATE)?;
        output.talk(&format!("{:14}{}", "scenario", path.display()));
        return Ok(Exit::Passed);
    }
    let folder = PathBuf::from(options.output.as_deref().unwrap_or("."));
    let (scenario, is_new) = scenario(&options, &mappings, &folder, output)?;
    carry_out(&scenario, &folder, is_new, output)
}

/// Our own flags, and the other words.
fn mappings(words: &[String]) -> Result<(Vec<String>, Vec<String>), CommandError> {
    let (mut mappings, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--map" => {
                let mapping = words.next().cloned();
                let missing = || CommandError::Option("--map: a value is missing".to_owned());
                mappings.push(mapping.ok_or_else(missing)?);
            }
            _ => others.push(word.clone()),
        }
    }
    Ok((mappings, others))
}

/// Writes the scenario into the folder of results; one that is there is not overwritten. Says too
/// whether databases are made anew.
fn scenario(
    options: &Options,
    mappings: &[String],
    folder: &Path,
    output: &Output,
) -> Result<(PathBuf, bool), CommandError> {
    let map = map(mappings)?;
    let config = options.config.as_ref().map(Path::new);
    let config = config.map(|path| read(path, &map)).transpose()?;
    let settings = options.settings(config, &map).map_err(CommandError::Option)?;
    let origin = options.config.as_deref().unwrap_or("options of JetstressCmd");
    let text = settings.to_toml(origin);
    fs::create_dir_all(folder)
        .map_err(|source| CommandError::File { path: folder.to_owned(), source })?;
    let names = (1..).map(|number| match number {
        1 => "jetstress.toml".to_owned(),
        number => format!("jetstress-{number}.toml"),
    });
    let free = names.map(|name| folder.join(name)).find(|path| !path.exists());
    let path = free.expect("there is always another number");
    write(&path, &text)?;
    output.talk(&said(&settings, &path, &text, output));
    warn_of_unused(&map, &settings, output);
    Ok((path, options.new.unwrap_or(settings.is_new)))
}

/// Runs the scenario and gives its report the name that Jetstress would.
fn carry_out(
    scenario: &Path,
    folder: &Path,
    is_new: bool,
    output: &Output,
) -> Result<Exit, CommandError> {
    let words: Vec<OsString> =
        vec!["brunt".into(), "run".into(), scenario.into(), "--out".into(), folder.into()];
    let new = is_new.then(|| OsString::from("--new"));
    let parsed = Arguments::try_parse_from(words.into_iter().chain(new));
    let parsed = parsed.map_err(|error| CommandError::Option(error.to_string()))?;
    let Command::Run(args) = parsed.command else {
        unreachable!("the words are those of `run`");
    };
    let said = |error: &dyn std::fmt::Display| CommandError::Option(error.to_string());
    let exit = test::run(&args, output).map_err(|error| said(&error))?;
    if let Some(run) = newest_below(folder) {
        let args = ReportArgs {
            runs: vec![run],
            out: None,
            jetstress_name: true,
            json: false,
            quiet: true,
        };
        report::run(&args, &output.hushed()).map_err(|error| said(&error))?;
    }
    Ok(exit)
}
