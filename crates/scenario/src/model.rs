//! What a scenario says.

use std::path::{Path, PathBuf};

use brunt_ese::format::attachment::ATTACHMENTS_MAX;
use brunt_qualify::goal::Tune;
use brunt_qualify::plan::Limits;
use brunt_units::ByteSize;
use brunt_workload::content::Shape;
use brunt_workload::profile::SessionScope;
use brunt_world::fault::Fault;
use brunt_world_real::{Choice, Kind};

use super::document::Top;
use super::place::{Placed, Refusal};
use super::profile::{self, Profile};
use super::section::{self, Section};
use super::sizes::{self, Mailboxes, Shares};
use super::test::{self, SESSIONS_MAX, Test};
use super::tree::{Node, Value};
use super::{faults, limits, records};

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
    /// The engine's sizes, and what the sessions do.
    pub profile: Profile,
    /// What the storage must hold.
    pub limits: Limits,
    /// What records are like.
    pub records: Shape,
    /// The mailboxes that sizes and target come from, if they do.
    pub mailboxes: Option<Mailboxes>,
    /// The share of each volume that databases are to fill, in percent, until they have been sized by it.
    pub capacity_percent: Option<Placed<u64>>,
    /// The share of each volume that databases have been sized by, in percent, if they have.
    pub sized_percent: Option<u32>,
    /// The share of the most I/O that passes, in percent, when the scenario is about that.
    pub throughput_percent: Option<u32>,
    /// How much the storage itself caches, if that is known.
    pub array_cache: Option<ByteSize>,
    /// How I/O is to reach the kernel.
    pub backend: Choice,
    /// The log streams and their databases, at least one.
    pub instances: Vec<InstancePlan>,
    /// What is to go wrong on purpose.
    pub faults: Vec<Fault>,
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

const STORAGE_KEYS: [&str; 1] = ["cache"];
const INSTANCE_KEYS: [&str; 4] = ["name", "log", "databases", "database_size"];
const ENGINE_KEYS: [&str; 1] = ["backend"];

/// Words for ways to the kernel; the first is the usual one.
pub(super) const BACKENDS: [(&str, Choice); 4] = [
    ("auto", Choice::Best),
    ("registered", Choice::Only(Kind::Registered)),
    ("unregistered", Choice::Only(Kind::Unregistered)),
    ("threads", Choice::Only(Kind::Threads)),
];

const INSTANCES_MAX: usize = 200;
/// Databases of one server are numbered in eight bits.
const DATABASES_MAX: usize = 255;
/// Pages of the smallest database that holds a tree worth working.
const DATABASE_PAGES_MIN: u64 = 256;
/// Page numbers are 31 bits wide.
const DATABASE_PAGES_MAX: u64 = (1 << 31) - 1;

impl Scenario {
    /// Reads the sections of a test. Relative paths are relative to `folder`, which is absolute.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong. No file has been looked at.
    pub(super) fn read(top: Top, folder: &Path) -> Result<Self, Refusal> {
        let Top {
            name,
            description,
            sections: mut top,
        } = top;
        let scratch = top.read("scratch", |node| Ok(absolute(folder, section::path(node)?)))?;
        let folder = scratch.as_ref().map_or(folder, |scratch| &scratch.value);
        let mut test = Test::read(&mut section(&mut top, "test", &test::KEYS)?)?;
        if let Some(copy_to) = &mut test.copy_to {
            copy_to.value = absolute(folder, std::mem::take(&mut copy_to.value));
        }
        let nodes = instance_nodes(&mut top)?;
        let instances = nodes.len() as u64;
        let profile = Profile::read(
            &mut section(&mut top, "profile", &profile::KEYS)?,
            instances,
        )?;
        let version = profile.version;
        let strict_tail = test.strict_tail;
        let mut own = section(&mut top, "limits", &limits::KEYS)?;
        let limits = limits::read(&mut own, version, test.kind)?;
        let records = records::read(&mut section(&mut top, "records", &records::KEYS)?, version)?;
        let mailboxes = read_mailboxes(&mut top, &mut test)?;
        let shares = read_shares(&mut top, mailboxes.as_ref(), &test)?;
        let mut storage = section(&mut top, "storage", &STORAGE_KEYS)?;
        let array_cache = storage.read("cache", section::size)?;
        let backend = read_backend(&mut top)?;
        let planned = top.take("faults");
        let mut scenario = Self {
            name,
            description,
            scratch: scratch.clone(),
            test,
            profile,
            limits: Limits {
                strict_tail,
                ..limits
            },
            records,
            mailboxes,
            capacity_percent: shares.as_ref().map(|shares| shares.capacity.clone()),
            sized_percent: None,
            throughput_percent: shares
                .as_ref()
                .map(|shares| percent(shares.throughput.value)),
            array_cache: array_cache.map(|cache| cache.value),
            backend,
            instances: Vec::new(),
            faults: Vec::new(),
        };
        let has_capacity = shares.is_some_and(|shares| shares.has_capacity);
        scenario.read_instances(nodes, folder, has_capacity)?;
        let page = scenario.profile.page;
        scenario.faults = faults::read(planned, &scenario.instances, page)?;
        Ok(scenario)
    }

    /// `has_capacity` tells whether a share of the capacity was written, and is not only the usual one.
    fn read_instances(
        &mut self,
        nodes: Vec<Node>,
        folder: &Path,
        has_capacity: bool,
    ) -> Result<(), Refusal> {
        let mut unsized_databases = Vec::new();
        let mut written = Vec::new();
        let mut databases = 0;
        for (number, node) in (1..).zip(nodes) {
            let place = node.place.clone();
            let (instance, size) = read_instance(node, number, databases, folder)?;
            databases += instance.databases.len();
            if databases > DATABASES_MAX {
                let what = format!("more than {DATABASES_MAX} databases in the scenario");
                return Err(place.refuse(what));
            }
            match size {
                Some(size) => written.push(size),
                None => unsized_databases.push((self.instances.len(), place)),
            }
            self.instances.push(instance);
        }
        // Databases that all have a size of their own keep it.
        if unsized_databases.is_empty() && !has_capacity {
            self.capacity_percent = None;
        }
        let mailboxes = self.mailboxes.as_ref();
        let each = mailboxes.map(|all| all.database_size(databases as u64));
        for size in &written {
            self.check_size(size)?;
            refuse_second_size(size, each, self.capacity_percent.as_ref())?;
        }
        for (at, place) in unsized_databases {
            let value = match (each, &self.capacity_percent) {
                (Some(each), _) => each,
                // Sized when the machine is looked at.
                (None, Some(_)) => continue,
                (None, None) => {
                    let refusal = place.refuse("[[instance]] lacks `database_size`");
                    return Err(refusal.hint(
                        "for example: database_size = \"512 MiB\", or a table [mailboxes] or [throughput]",
                    ));
                }
            };
            let size = Placed { value, place };
            for database in &mut self.instances[at].databases {
                database.size = size.clone();
            }
        }
        let sized = self
            .databases()
            .filter(|database| database.size.value.get() > 0);
        sized
            .map(|database| &database.size)
            .try_for_each(|size| self.check_size(size))?;
        self.check_shape()
    }

    /// Every log stream has the same number of databases, or sessions would not be spread evenly over them.
    fn check_shape(&self) -> Result<(), Refusal> {
        let first = self.instances[0].databases.len();
        for instance in &self.instances {
            let own = instance.databases.len();
            let place = &instance.databases[0].path.place;
            if own != first {
                let what = format!("{own} databases here, and {first} in the first instance");
                return Err(place
                    .refuse(what)
                    .hint("every instance has the same number"));
            }
            if own > ATTACHMENTS_MAX {
                let what = format!("more than {ATTACHMENTS_MAX} databases in one instance");
                return Err(place.refuse(what).hint("spread them over more instances"));
            }
        }
        let all = u64::from(self.pool());
        if all > SESSIONS_MAX {
            let place = &self.instances[0].log.place;
            return Err(place.refuse(format!(
                "{all} sessions in all, more than {SESSIONS_MAX}: {} counts `sessions` {}",
                self.profile.version,
                self.scope_in_words()
            )));
        }
        Ok(())
    }

    /// What the number of sessions of this version counts.
    pub fn session_scope(&self) -> SessionScope {
        self.profile.version.profile().session_scope.value
    }

    /// The same for messages.
    pub fn scope_in_words(&self) -> &'static str {
        match self.session_scope() {
            SessionScope::Instance => "for each instance",
            SessionScope::Database => "for each database",
            SessionScope::Server => "for the server",
        }
    }

    /// Sessions of all instances together.
    pub fn pool(&self) -> u32 {
        let count = match self.session_scope() {
            SessionScope::Instance => self.instances.len(),
            SessionScope::Database => self.databases().count(),
            SessionScope::Server => 1,
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.test.sessions.saturating_mul(count)
    }

    /// What the sessions are to be found for, if they are.
    pub fn tune(&self) -> Option<Tune> {
        let percent = self.throughput_percent.unwrap_or(100);
        match (self.test.tune, self.test.target_io_per_s.is_some()) {
            (true, true) => Some(Tune::Target),
            (tune, false) if tune || percent < 100 => Some(Tune::Maximum { percent }),
            _ => None,
        }
    }

    /// Whether a database can have that size.
    pub(super) fn check_size(&self, size: &Placed<ByteSize>) -> Result<(), Refusal> {
        check_size(size, &self.profile)
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

/// The table `key` of the scenario; an empty one where it is not written.
fn section(top: &mut Section, key: &str, known: &[&str]) -> Result<Section, Refusal> {
    let node = top.take(key).unwrap_or_else(|| Node {
        value: Value::Table(Vec::new()),
        place: top.place().clone(),
    });
    Section::new(node, &format!("[{key}]"), known)
}

/// Reads `[mailboxes]`, which say what the target is.
fn read_mailboxes(top: &mut Section, test: &mut Test) -> Result<Option<Mailboxes>, Refusal> {
    let Some(node) = top.take("mailboxes") else {
        return Ok(None);
    };
    let mut section = Section::new(node, "[mailboxes]", &sizes::MAILBOX_KEYS)?;
    let mailboxes = Mailboxes::read(&mut section)?;
    if let Some(target) = &test.target_io_per_s {
        let refusal = target
            .place
            .refuse("is a second target beside that of the mailboxes");
        return Err(refusal.hint("keep `target_io_per_s` or the table [mailboxes]"));
    }
    if test.operations_per_s.is_some() {
        let what = "the mailboxes pace the sessions, and so does `operations_per_s`";
        return Err(section.place().refuse(what));
    }
    test.target_io_per_s = Some(mailboxes.target());
    Ok(Some(mailboxes))
}

/// A size that is written down beside something else that sizes databases says the same (as a resolved scenario does), or one of the
/// two is not what was meant.
fn refuse_second_size(
    size: &Placed<ByteSize>,
    by_mailboxes: Option<ByteSize>,
    by_capacity: Option<&Placed<u64>>,
) -> Result<(), Refusal> {
    if let Some(each) = by_mailboxes.filter(|each| *each != size.value) {
        let what = format!("the mailboxes make databases of {each}");
        let hint = "keep `database_size` (with `target_io_per_s`) or the table [mailboxes]";
        return Err(size.place.refuse(what).hint(hint));
    }
    if by_capacity.is_some() {
        let refusal = size
            .place
            .refuse("`capacity_percent` sizes the databases already");
        return Err(refusal.hint("keep `database_size` or `capacity_percent`"));
    }
    Ok(())
}

/// Reads `[throughput]`.
fn read_shares(
    top: &mut Section,
    mailboxes: Option<&Mailboxes>,
    test: &Test,
) -> Result<Option<Shares>, Refusal> {
    let Some(node) = top.take("throughput") else {
        return Ok(None);
    };
    let mut section = Section::new(node, "[throughput]", &sizes::THROUGHPUT_KEYS)?;
    if mailboxes.is_some() {
        let refusal = section
            .place()
            .refuse("sizes come from the mailboxes already");
        return Err(refusal.hint("keep [mailboxes] or [throughput]"));
    }
    let shares = Shares::read(&mut section)?;
    let place = &shares.throughput.place;
    if shares.throughput.value < 100 {
        if !test.kind.has_limits() {
            return Err(place
                .refuse("only performance and stress tests are paced by a share of the maximum"));
        }
        if test.target_io_per_s.is_some() || test.operations_per_s.is_some() {
            let refusal = place.refuse("paces the sessions, and so does [test]");
            return Err(refusal
                .hint("keep `throughput_percent`, or `target_io_per_s` or `operations_per_s`"));
        }
    }
    Ok(Some(shares))
}

/// A share that was read as a percentage.
pub(super) fn percent(value: u64) -> u32 {
    u32::try_from(value).expect("at most 100")
}

fn read_backend(top: &mut Section) -> Result<Choice, Refusal> {
    let mut section = section(top, "engine", &ENGINE_KEYS)?;
    let usual = BACKENDS[0].1;
    let backend = section.read_or("backend", usual, |node| section::choice(node, &BACKENDS))?;
    Ok(backend.value)
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
) -> Result<(InstancePlan, Option<Placed<ByteSize>>), Refusal> {
    let mut section = Section::new(node, "[[instance]]", &INSTANCE_KEYS)?;
    let name = section
        .read_or("name", format!("Instance {number}"), section::name)?
        .value;
    let log = section.read("log", |node| Ok(absolute(folder, section::path(node)?)))?;
    let log = log.ok_or_else(|| section.lacks("log", "log = \"/data/log1\""))?;
    let size = section.read("database_size", section::size)?;
    let paths = section.read("databases", database_paths)?;
    let paths =
        paths.ok_or_else(|| section.lacks("databases", "databases = [\"/data/db1/one.edb\"]"))?;
    let plan = |(index, path): (usize, PathBuf)| DatabasePlan {
        name: format!("DB{}", databases_before + index + 1),
        path: Placed {
            value: absolute(folder, path),
            place: paths.place.clone(),
        },
        size: size.clone().unwrap_or_else(|| Placed {
            value: ByteSize::bytes(0),
            place: paths.place.clone(),
        }),
    };
    let instance = InstancePlan {
        name,
        log,
        databases: paths.value.into_iter().enumerate().map(plan).collect(),
    };
    Ok((instance, size))
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
        let refusal = size.place.refuse(what);
        return Err(refusal.hint("for example: database_size = \"512 MiB\""));
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
