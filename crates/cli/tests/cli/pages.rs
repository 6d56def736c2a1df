//! Pages for users are true: their commands run, in order and as written, but shorter and on small
//! databases; and links lead somewhere.
//!
//! A command that names a flag, key or file that does not exist ends with `error:`, and so does one
//! whose scenario is refused. Verdicts are not looked at: they depend on the machine.

mod examples;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::program::root;

/// Makes any test small.
const SMALL: [&str; 4] =
    ["test.min_warmup=0s", "test.logs=2", "profile.cache_min=1MiB", "profile.cache_max=4MiB"];
/// Load for real storage: little room, and enough work to fill logs at once.
const REAL: [&str; 2] = ["mailboxes.quota=8KiB", "mailboxes.io_per_s=1"];
/// Load for modelled storage: so little that a search ends for want of room.
const MODELLED: [&str; 2] = ["mailboxes.quota=1MiB", "mailboxes.io_per_s=0.01"];

/// A fenced block: its language, and its lines.
struct Block {
    language: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut parts = page.split("\n```");
    parts.next();
    let mut blocks = Vec::new();
    while let (Some(block), _) = (parts.next(), parts.next()) {
        let (language, text) = block.split_once('\n').unwrap_or((block, ""));
        blocks.push(Block { language: language.to_owned(), text: text.to_owned() });
    }
    blocks
}

/// A folder in which the commands of a page run: `/mnt` of the page lies in it, and so do the
/// examples.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        symlink(root().join("examples"), home.path().join("examples")).unwrap();
        Self(home)
    }

    /// The same with the volumes of the tutorial.
    fn with_volumes() -> Self {
        let scratch = Self::new();
        for volume in ["mnt/mail1", "mnt/mail2"] {
            fs::create_dir_all(scratch.path().join(volume)).unwrap();
        }
        scratch
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The text with places of the page put into this folder.
    fn here(&self, text: &str) -> String {
        text.replace("/mnt/", &format!("{}/mnt/", self.path().display()))
    }

    /// Runs `line` by a shell that finds this build of brunt.
    fn run(&self, line: &str) -> Output {
        let programs = Path::new(env!("CARGO_BIN_EXE_brunt")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .current_dir(self.path())
            .env("NO_COLOR", "1")
            .env("PATH", format!("{}:{path}", programs.display()));
        shell.args(["-c", line]).output().unwrap()
    }
}

/// The command of a page, on small databases and for a second.
fn shortened(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        match words[at - 1].as_str() {
            "--duration" => words[at] = "1s".to_owned(),
            "--quota" => words[at] = "8KiB".to_owned(),
            "--steps" => words[at] = "20".to_owned(),
            // Which one passes is a matter of minutes.
            _ if words[at] == "--search" => words[at].push_str(" --no-simulation"),
            _ => {}
        }
    }
    let load = match words[1].as_str() {
        "run" => Some(REAL),
        "simulate" => Some(MODELLED),
        _ => None,
    };
    if let Some(load) = load {
        let settings = SMALL.iter().chain(&load);
        let mut flags: Vec<String> = settings.map(|key| format!("--set {key}")).collect();
        if !line.contains("--duration") {
            flags.push("--duration 1s".to_owned());
        }
        // Its drive fails after five minutes.
        if line.starts_with("brunt simulate examples/two-servers.toml") {
            flags.push("--set event.0.at=500ms".to_owned());
        }
        words.splice(2..2, flags);
    }
    words.join(" ").replace("at = \"10min\"", "at = \"500ms\"")
}

/// Runs what a page says to type.
fn follow(page: &str, scratch: &Scratch) {
    let text = fs::read_to_string(root().join("docs").join(page)).unwrap();
    let has_jq = scratch.run("command -v jq").status.success();
    let mut commands = 0;
    for block in blocks(&text) {
        if block.language != "console" {
            continue;
        }
        for line in block.text.lines() {
            let line = match line.split(' ').next() {
                Some("brunt") => shortened(&scratch.here(line)),
                Some("jq") if has_jq => line.to_owned(),
                _ => continue,
            };
            let output = scratch.run(&line);
            let said = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            let is_fine = match line.split(' ').next() {
                Some("brunt") => matches!(code, Some(0..=2)) && !said.contains("error:"),
                // 1 is what `jq -e` says of `false`.
                _ => matches!(code, Some(0 | 1)) && said.is_empty(),
            };
            assert!(is_fine, "{page}: {line}\n{code:?}\n{said}");
            commands += 1;
        }
    }
    assert!(commands > 3, "{page} has {commands} commands");
}

#[test]
fn who_follows_the_tutorial_gets_through() {
    follow("qualify.md", &Scratch::with_volumes());
}

#[test]
fn an_array_can_be_described_as_the_page_says() {
    follow("describe-an-array.md", &Scratch::new());
}

#[test]
fn a_sweep_is_computed_in_parts_as_the_page_says() {
    follow("fleet.md", &Scratch::new());
}

#[test]
fn an_organisation_is_sized_as_the_page_says() {
    follow("size.md", &Scratch::new());
}

#[test]
fn best_practice_is_checked_as_the_page_says() {
    follow("check.md", &Scratch::new());
}

#[test]
fn scripts_find_what_the_page_promises() {
    let scratch = Scratch::with_volumes();
    let tutorial = fs::read_to_string(root().join("docs/qualify.md")).unwrap();
    let init = tutorial.lines().find(|line| line.starts_with("brunt init "));
    let output = scratch.run(&shortened(&scratch.here(init.unwrap())));
    assert!(output.status.success(), "{output:?}");
    follow("scripts.md", &scratch);
}

#[test]
fn every_flag_that_a_page_names_exists() {
    let scratch = Scratch::new();
    let commands = [
        "run", "init", "clean", "simulate", "drill", "size", "check", "compare", "report",
        "verify", "prove", "explain", "models", "paper", "import",
    ];
    let help = commands.map(|command| {
        let output = scratch.run(&format!("brunt {command} --help"));
        String::from_utf8(output.stdout).unwrap()
    });
    let known: BTreeSet<&str> = help.iter().flat_map(|help| flags(help)).collect();
    for page in [
        "qualify",
        "jetstress",
        "describe-an-array",
        "guide",
        "size",
        "check",
        "scripts",
        "compare",
        "dr",
        "faq",
    ] {
        let text = fs::read_to_string(root().join("docs").join(page).with_extension("md")).unwrap();
        let in_code = text.split('`').skip(1).step_by(2);
        let ours = in_code.filter(|code| code.starts_with("brunt ") || code.starts_with("--"));
        for flag in ours.flat_map(flags) {
            assert!(known.contains(flag), "{page}.md: {flag}");
        }
    }
}

fn flags(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.len() > 2 && word.starts_with("--"))
}

#[test]
fn every_key_and_drive_model_is_on_the_page_of_arrays() {
    const SECTIONS: [(&str, &str); 17] = [
        ("two-servers", "array"),
        ("two-servers", "array.drives.0"),
        ("two-servers", "array.group.0"),
        ("two-servers", "array.lun.0"),
        ("two-servers", "array.front"),
        ("two-servers", "array.controller"),
        ("two-servers", "array.cache"),
        ("two-servers", "array.scan"),
        ("two-servers", "array.tier"),
        ("two-servers", "twin"),
        ("arrays/two-sites", "link"),
        ("arrays/two-sites", "replication"),
        ("arrays/two-sites", "replication.group.0"),
        ("two-sites", "drill"),
        ("arrays/thin-snapshots", "array.pages"),
        ("arrays/thin-snapshots", "load.0"),
        ("arrays/thin-snapshots", "simulate"),
    ];
    let scratch = Scratch::new();
    let refused = |example: &str, setting: &str| {
        let line = format!("brunt simulate examples/{example}.toml --set {setting}");
        let output = scratch.run(&line);
        String::from_utf8(output.stderr).unwrap()
    };
    let pages = ["docs/describe-an-array.md", "docs/keys.md"];
    let page = pages.map(|page| fs::read_to_string(root().join(page)).unwrap()).concat();
    let in_code: BTreeSet<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split([' ', '[', ']', '.']))
        .collect();
    let mut missing = Vec::new();
    for (example, section) in SECTIONS {
        let said = refused(example, &format!("{section}.quite_another_thing=1"));
        let (_, keys) = said.split_once("its keys are ").expect(&said);
        missing.extend(keys.trim().split(", ").map(str::to_owned));
    }
    let said = refused("two-servers", "array.drives.0.model=quite-another-thing");
    let (_, models) = said.split_once("models are ").expect(&said);
    let models = models.split("; ").next().unwrap_or_default();
    missing.extend(models.split(", ").map(str::to_owned));
    missing.retain(|word| !in_code.contains(word.as_str()));
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let root = root();
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/models"] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|kind| kind == "md")));
    }
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        let links = text.split("](").skip(1);
        for link in links.filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let leads = match heading {
                "" => target.exists(),
                heading => fs::read_to_string(&target)
                    .is_ok_and(|text| anchors(&text).any(|anchor| anchor == heading)),
            };
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

/// Headings as web pages address them: lower case, blanks as dashes, no other marks.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        });
        kept.collect()
    })
}
