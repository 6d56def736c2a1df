//! `brunt import JetstressConfig.xml`: a scenario from a configuration of Jetstress.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use brunt_jetstress::{Fate, ImportError, PathMap, Settings, decoded, import};
use brunt_report::{counted, one_line};
use brunt_scenario::Document;
use clap::Args;

use crate::exit::Exit;
use crate::output::{Output, Tone};

/// Arguments of `import`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt import JetstressConfig.xml --map 'C:\\ExchangeVolumes=/mnt'   writes JetstressConfig.toml
  brunt import JetstressConfig.xml --out mail.toml
  brunt run mail.toml --check

Every element becomes a key, a comment of the scenario, or is named as not supported.")]
pub struct ImportArgs {
    /// A configuration of Jetstress 2007 to 2013, in UTF-8 or UTF-16
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Scenario to write; it must not exist [default: the file's name with .toml, here]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Which folder of Windows is which one here [default: C:\x is /mnt/c/x]
    #[arg(long, value_name = "FROM=TO")]
    pub map: Vec<String>,

    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}

/// Why there is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no text.
    #[error("{}: is neither UTF-8 nor UTF-16", .0.display())]
    Encoding(PathBuf),
    /// It is larger than any configuration.
    #[error("{}: is larger than 16 MiB, which no configuration is", .0.display())]
    TooLarge(PathBuf),
    /// It is no configuration.
    #[error("{}: {source}", path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ImportError,
    },
    /// A flag or an option is wrong.
    #[error("{0}")]
    Option(String),
    /// The scenario is there already.
    #[error("{}: exists, and is left alone\n  name another file with --out", .0.display())]
    Exists(PathBuf),
}

const BYTES_MAX: u64 = 16 << 20;

/// Writes the scenario.
///
/// # Errors
/// [`CommandError`] when there is none.
pub fn run(args: &ImportArgs, output: &Output) -> Result<Exit, CommandError> {
    let map = map(&args.map)?;
    let settings = read(&args.file, &map)?;
    let out = args.out.clone().unwrap_or_else(|| {
        let name = args.file.file_stem().unwrap_or_default();
        Path::new(name).with_extension("toml")
    });
    let origin = args.file.file_name().unwrap_or_default().to_string_lossy();
    let text = settings.to_toml(&origin);
    write(&out, &text)?;
    output.talk(&said(&settings, &out, &text, output));
    warn_of_unused(&map, &settings, output);
    Ok(Exit::Passed)
}

/// Names each `--map` of which no path lies below its folder.
fn warn_of_unused(map: &PathMap, settings: &Settings, output: &Output) {
    for folder in map.unused(&settings.paths) {
        let word = output.paint_talk(Tone::Doubt, "warning:");
        let folder = one_line(folder);
        output.talk(&format!(
            "{word} --map {folder}: no path lies there\n  there are {}",
            one_line(&settings.paths.join(", "))
        ));
    }
}

fn map(mappings: &[String]) -> Result<PathMap, CommandError> {
    let mut map = PathMap::default();
    for mapping in mappings {
        let added = map.add(mapping);
        added.map_err(|what| CommandError::Option(format!("--map: {what}")))?;
    }
    Ok(map)
}

/// The settings in the configuration at `path`.
fn read(path: &Path, map: &PathMap) -> Result<Settings, CommandError> {
    let refused = |source| CommandError::File { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = fs::OpenOptions::new().read(true).open(path).map_err(refused)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(CommandError::TooLarge(path.to_owned()));
    }
    let text = decoded(&bytes).ok_or_else(|| CommandError::Encoding(path.to_owned()))?;
    import(&text, map).map_err(|source| CommandError::Import { path: path.to_owned(), source })
}

/// Writes a file that is not there yet.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let mut options = fs::OpenOptions::new();
    let made = options.write(true).create_new(true).open(path);
    let written = made.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CommandError::Exists(path.to_owned()),
        _ => CommandError::File { path: path.to_owned(), source },
    })
}

/// What became of the elements, and what to look at before the first run.
fn said(settings: &Settings, out: &Path, text: &str, output: &Output) -> String {
    let count = |of: fn(&Fate) -> bool| {
        let noted = settings.noted.iter().filter(|noted| of(&noted.fate));
        noted.count() as u64
    };
    let keys = count(|fate| matches!(fate, Fate::Keys(_)));
    let comments = count(|fate| matches!(fate, Fate::Comment(_)));
    let mut said = format!(
        "{:14}{}\n{:14}{} became keys, {comments} are comments",
        "scenario",
        out.display(),
        "elements",
        counted(keys, "element")
    );
    for noted in settings.not_supported() {
        let Fate::NotSupported(why) = &noted.fate else {
            continue;
        };
        let place = format!("line {}: ", noted.line);
        let word = output.paint_talk(Tone::Doubt, "not supported");
        let value = one_line(&noted.value);
        said += &format!("\n{word} {place}{} = {value}: {why}", one_line(&noted.name));
    }
    for (line, warning) in &settings.warnings {
        let word = output.paint_talk(Tone::Doubt, "warning");
        said += &format!("\n{word} line {line}: {warning}");
    }
    if let Some(path) = settings.unmapped.first() {
        said += &format!(
            "\n{:14}{} of Windows lie below /mnt now, first {}; --map names their places",
            "paths",
            counted(settings.unmapped.len() as u64, "path"),
            one_line(path)
        );
    }
    let document = Document::new(&out.display().to_string(), text, Path::new("/"));
    if let Err(refusal) = document.and_then(|document| document.test(&[])) {
        said += &format!("\n{:14}{refusal}", "to repair");
    }
    said + &format!("\n{:14}brunt run {} --check", "check", out.display())
}
