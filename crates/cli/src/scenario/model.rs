//! What a scenario says.

use std::path::{Path, PathBuf};

use brunt_units::{ByteSize, Span};
use brunt_world_real::{Choice, Kind};

use super::overrides::Override;
use super::place::{Placed, Refusal};
use super::profile::{self, Profile};
use super::section::{self, Section};
use super::tree::{self, Node, Value};

/// A test, with every default filled in and every path absolute.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What the run folder is called after.
    pub name: String,
    /// Free text.
    pub description: String,
    /// The folder that may be made, with everything below it; without one, folders have to be there.
    pub scratch: Option<Placed<PathBuf>>,
    /// The test.
    pub test: Test,
    /// The engine's sizes.
    pub profile: Profile,
    /// How I/O is to reach the kernel.
    pub backend: Choice,
    /// The log streams and their databases, at least one.
    pub instances: Vec<InstancePlan>,
}

/// What kind of test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// Transactional load under strict limits.
    Performance,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What kind of test.
    pub kind: TestKind,
    /// How long is measured, once the cache is warm.
    pub duration: Span,
    /// Sessions in the pool.
    pub sessions: u32,
    /// The seed of all randomness.
    pub seed: u64,
    /// Database reads and writes per second that have to be reached, if any.
    pub target_io_per_s: Option<f64>,
}

/// One log stream and its databases.
#[derive(Clone, Debug, PartialEq)]
pub struct InstancePlan {
    /// What it is called in reports.
    pub name: String,
    /// Folder of its logs and its checkpoint file.
    pub log: Placed<PathBuf>,
    /// Its databases, at least one.
    pub databases: Vec<DatabasePlan>,
}

/// One database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabasePlan {
    /// What it is called in reports.
    pub name: String,
    /// Its file.
    pub path: Placed<PathBuf>,
    /// How large it is made.
    pub size: Placed<ByteSize>,
}

const TOP_KEYS: [&str; 7] = [
    "name",
    "description",
    "scratch",
    "test",
    "profile",
    "engine",
    "instance",
];
const TEST_KEYS: [&str; 5] = ["kind", "duration", "sessions", "seed", "target_io_per_s"];
const INSTANCE_KEYS: [&str; 4] = ["name", "log", "databases", "database_size"];
const ENGINE_KEYS: [&str; 1] = ["backend"];
const TEST_KINDS: [&str; 1] = ["performance"];

/// Words for ways to the kernel; the first is the usual one.
pub(super) const BACKENDS: [(&str, Choice); 4] = [
    ("auto", Choice::Best),
    ("registered", Choice::Only(Kind::Registered)),
    ("unregistered", Choice::Only(Kind::Unregistered)),
    ("threads", Choice::Only(Kind::Threads)),
];

const SESSIONS_MAX: u64 = 10_000;
/// The largest number of TOML.
const SEED_MAX: u64 = i64::MAX.unsigned_abs();
const INSTANCES_MAX: usize = 200;
const DURATION_MIN: Span = Span::seconds(1);
/// Pages of the smallest database that holds a tree worth working.
const DATABASE_PAGES_MIN: u64 = 256;
/// Page numbers are 31 bits wide.
const DATABASE_PAGES_MAX: u64 = (1 << 31) - 1;

impl TestKind {
    /// The word of scenarios.
    pub fn word(self) -> &'static str {
        match self {
            Self::Performance => TEST_KINDS[0],
        }
    }
}

impl Scenario {
    /// Reads the scenario `text`, called `file` in messages, with `overrides` in their order. Relative paths are
    /// relative to `folder`, which is absolute.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong. No file has been looked at.
    pub fn parse(
        file: &str,
        text: &str,
        folder: &Path,
        overrides: &[Override],
    ) -> Result<Self, Refusal> {
        let mut root = tree::parse(file, text)?;
        for change in overrides {
            change.apply(&mut root)?;
        }
        let mut top = Section::new(root, "the scenario", &TOP_KEYS)?;
        let stem = Path::new(file).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let name = top.read_or("name", stem, section::text)?.value;
        let description = top
            .read_or("description", String::new(), section::text)?
            .value;
        let scratch = top.read("scratch", |node| Ok(absolute(folder, section::path(node)?)))?;
        let folder = scratch.as_ref().map_or(folder, |scratch| &scratch.value);
        let test = read_test(&mut top)?;
        let nodes = instance_nodes(&mut top)?;
        let profile = read_profile(&mut top, nodes.len() as u64)?;
        let backend = read_backend(&mut top)?;
        let mut instances = Vec::new();
        let mut databases = 0;
        for (index, node) in nodes.into_iter().enumerate() {
            let instance = read_instance(node, index + 1, databases, folder, &profile)?;
            databases += instance.databases.len();
            instances.push(instance);
        }
        Ok(Self {
            name,
            description,
            scratch,
            test,
            profile,
            backend,
            instances,
        })
    }

    /// All databases.
    pub fn databases(&self) -> impl Iterator<Item = &DatabasePlan> {
        self.instances
            .iter()
            .flat_map(|instance| &instance.databases)
    }
}

fn absolute(folder: &Path, path: PathBuf) -> PathBuf {
    // Only dots that change nothing are taken out: `..` may follow a symbolic link.
    folder.join(path).components().collect()
}

fn empty_table(top: &Section) -> Node {
    Node {
        value: Value::Table(Vec::new()),
        place: top.place().clone(),
    }
}

fn read_test(top: &mut Section) -> Result<Test, Refusal> {
    let node = top.take("test").unwrap_or_else(|| empty_table(top));
    let mut section = Section::new(node, "[test]", &TEST_KEYS)?;
    section.read("kind", |node| section::word(node, &TEST_KINDS))?;
    let duration = section.read("duration", section::span)?;
    let duration = duration.ok_or_else(|| section.lacks("duration", "duration = \"2h\""))?;
    if duration.value < DURATION_MIN {
        return Err(duration.place.refuse("is less than a second"));
    }
    let sessions = section.read("sessions", |node| section::integer(node, 1..=SESSIONS_MAX))?;
    let sessions = sessions.ok_or_else(|| section.lacks("sessions", "sessions = 8"))?;
    let seed = section.read_or("seed", 1, |node| section::integer(node, 0..=SEED_MAX))?;
    let target = section.read("target_io_per_s", section::positive)?;
    Ok(Test {
        kind: TestKind::Performance,
        duration: duration.value,
        sessions: u32::try_from(sessions.value).expect("in range"),
        seed: seed.value,
        target_io_per_s: target.map(|target| target.value),
    })
}

fn read_profile(top: &mut Section, instances: u64) -> Result<Profile, Refusal> {
    let node = top.take("profile").unwrap_or_else(|| empty_table(top));
    let mut section = Section::new(node, "[profile]", &profile::KEYS)?;
    Profile::read(&mut section, instances)
}

fn read_backend(top: &mut Section) -> Result<Choice, Refusal> {
    let node = top.take("engine").unwrap_or_else(|| empty_table(top));
    let mut section = Section::new(node, "[engine]", &ENGINE_KEYS)?;
    let words = BACKENDS.map(|(word, _)| word);
    let at = section.read_or("backend", 0, |node| section::word(node, &words))?;
    Ok(BACKENDS[at.value].1)
}

fn instance_nodes(top: &mut Section) -> Result<Vec<Node>, Refusal> {
    const EXAMPLE: &str = "[[instance]] with `log`, `databases` and `database_size`";
    let Some(node) = top.take("instance") else {
        return Err(top.lacks("instance", EXAMPLE));
    };
    let place = node.place;
    match node.value {
        Value::List(nodes) if nodes.len() > INSTANCES_MAX => {
            Err(place.refuse(format!("more than {INSTANCES_MAX} instances")))
        }
        Value::List(nodes) if !nodes.is_empty() => Ok(nodes),
        Value::Table(_) => Err(place
            .refuse("is one table, but instances are a list")
            .hint("write [[instance]] with two brackets")),
        _ => Err(place
            .refuse("names no instance")
            .hint(format!("for example: {EXAMPLE}"))),
    }
}

fn read_instance(
    node: Node,
    number: usize,
    databases_before: usize,
    folder: &Path,
    profile: &Profile,
) -> Result<InstancePlan, Refusal> {
    let mut section = Section::new(node, "[[instance]]", &INSTANCE_KEYS)?;
    let name = section
        .read_or("name", format!("Instance {number}"), section::text)?
        .value;
    let log = section.read("log", |node| Ok(absolute(folder, section::path(node)?)))?;
    let log = log.ok_or_else(|| section.lacks("log", "log = \"/data/log1\""))?;
    let size = section.read("database_size", section::size)?;
    let size = size.ok_or_else(|| section.lacks("database_size", "database_size = \"512 MiB\""))?;
    check_size(&size, profile)?;
    let paths = section.read("databases", database_paths)?;
    let paths =
        paths.ok_or_else(|| section.lacks("databases", "databases = [\"/data/db1/one.edb\"]"))?;
    let plan = |(index, path): (usize, PathBuf)| DatabasePlan {
        name: format!("DB{}", databases_before + index + 1),
        path: Placed {
            value: absolute(folder, path),
            place: paths.place.clone(),
        },
        size: size.clone(),
    };
    Ok(InstancePlan {
        name,
        log,
        databases: paths.value.into_iter().enumerate().map(plan).collect(),
    })
}

fn database_paths(node: &Node) -> Result<Vec<PathBuf>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let what = format!("is {}, not a list of paths", node.value.kind());
        return Err(node.place.refuse(what));
    };
    if nodes.is_empty() {
        return Err(node.place.refuse("names no database"));
    }
    nodes.iter().map(database_path).collect()
}

fn database_path(node: &Node) -> Result<PathBuf, Refusal> {
    let path = section::path(node)?;
    // What lies under /dev gets its own message when the machine is looked at.
    if path.extension().is_some_and(|extension| extension == "edb") || path.starts_with("/dev") {
        return Ok(path);
    }
    let refusal = node.place.refuse(format!(
        "the name of a database ends in .edb ({})",
        path.display()
    ));
    Err(refusal.hint(format!(
        "for example \"{}\"",
        path.join("one.edb").display()
    )))
}

fn check_size(size: &Placed<ByteSize>, profile: &Profile) -> Result<(), Refusal> {
    let pages = profile.page.pages_in(size.value);
    if pages < DATABASE_PAGES_MIN {
        let least = ByteSize::bytes(DATABASE_PAGES_MIN * profile.page.bytes_u64());
        let what = format!(
            "is less than {DATABASE_PAGES_MIN} pages of {} ({least})",
            profile.page
        );
        return Err(size.place.refuse(what));
    }
    if pages > DATABASE_PAGES_MAX {
        let most = ByteSize::bytes((DATABASE_PAGES_MAX + 1) * profile.page.bytes_u64());
        let what = format!(
            "a database with pages of {} stays below {most}",
            profile.page
        );
        return Err(size.place.refuse(what));
    }
    Ok(())
}
