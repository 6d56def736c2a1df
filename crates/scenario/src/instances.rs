//! `[[instance]]`: log streams and their databases.

use std::path::{Path, PathBuf};

use brunt_ese::format::attachment::ATTACHMENTS_MAX;
use brunt_qualify::plan::{self, EnginePlan};
use brunt_report::streams::tag;
use brunt_units::{ByteSize, counted};

use super::keys::{At, Maybe, NAME, PATH, SIZE, keys, list};
use super::mailboxes::Mailboxes;
use super::mistakes::Sink;
use super::model::Scenario;
use super::place::{Cause, Place, Placed, Refusal};
use super::section::{self, Section};
use super::test::SESSIONS_MAX;
use super::tree::{Node, Value};

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

#[derive(Clone, Debug, PartialEq)]
pub struct DatabasePlan {
    /// What it is called in reports.
    pub name: String,
    /// Its file.
    pub path: Placed<PathBuf>,
    /// How large it is made.
    pub size: Placed<ByteSize>,
}

/// A table as it is written.
pub(crate) struct Written {
    name: String,
    log: Placed<PathBuf>,
    databases: Placed<Vec<PathBuf>>,
    database_size: Option<Placed<ByteSize>>,
}

keys! {
    INSTANCE of Written = "[[instance]]";
    /// What it is called in reports.
    name: String = [name], NAME, "`\"Instance 1\"` and so on";
    /// Folder of its logs and its checkpoint file.
    log: Placed<PathBuf> = [log], At(PATH), needs "log = \"/data/log1\"";
    /// Its databases.
    databases: Placed<Vec<PathBuf>> = [databases], At(list(database_paths, "list of files that end in `.edb`")), needs "databases = [\"/data/db1/one.edb\"]";
    /// How large each database is made.
    database_size: Option<Placed<ByteSize>> = [database_size], Maybe(At(SIZE)), "by [mailboxes] or [throughput]";
}

const INSTANCES_MAX: usize = 200;
/// Databases of one server are numbered in eight bits.
const DATABASES_MAX: usize = 255;
/// Pages of the smallest database that holds a tree worth working.
const DATABASE_PAGES_MIN: u64 = 256;
/// Page numbers are 31 bits wide.
const DATABASE_PAGES_MAX: u64 = (1 << 31) - 1;

impl InstancePlan {
    /// The same for a plan.
    pub(super) fn planned(&self) -> plan::InstancePlan {
        let databases = self.databases.iter();
        plan::InstancePlan {
            name: self.name.clone(),
            log: self.log.value.clone(),
            databases: databases
                .map(|database| plan::DatabasePlan {
                    name: database.name.clone(),
                    path: database.path.value.clone(),
                    size: database.size.value,
                })
                .collect(),
        }
    }
}

impl Scenario {
    /// `has_capacity` tells whether a share of the capacity was written, and is not only the usual
    /// one.
    pub(super) fn read_instances(
        &mut self,
        nodes: Vec<Node>,
        folder: &Path,
        has_capacity: bool,
        sink: &Sink,
    ) {
        let (mut places, mut sizes, mut databases) = (Vec::new(), Vec::new(), 0);
        for (number, node) in (1..).zip(nodes) {
            places.push(node.place.clone());
            let (instance, size) = read_instance(node, number, databases, folder);
            databases += instance.databases.len();
            self.instances.push(instance);
            sizes.push(size);
        }
        // Databases that all have a size of their own keep it.
        if sizes.iter().all(Option::is_some) && !has_capacity {
            self.capacity_percent = None;
        }
        let checked = self
            .check_names(&places)
            .and_then(|()| self.size_databases(&sizes, &places, databases as u64))
            .and_then(|()| self.check_shape());
        sink.catch(checked);
    }

    fn check_names(&self, places: &[Place]) -> Result<(), Refusal> {
        let mut databases = 0;
        for (number, (instance, place)) in self.instances.iter().zip(places).enumerate() {
            let mut others = self.instances[..number].iter();
            if let Some(other) = others.find(|other| tag(&other.name) == tag(&instance.name)) {
                let what = format!(
                    "\"{}\" and \"{}\" are one name in the results",
                    other.name, instance.name
                );
                let refusal = place.refuse(what);
                return Err(
                    refusal.hint("give each its own `name`; a blank or comma counts as `-`")
                );
            }
            databases += instance.databases.len();
            if databases > DATABASES_MAX {
                let what = format!("more than {DATABASES_MAX} databases in the scenario");
                return Err(place.refuse(what));
            }
        }
        Ok(())
    }

    /// Gives databases without a size the one that follows from the mailboxes.
    fn size_databases(
        &mut self,
        sizes: &[Option<Placed<ByteSize>>],
        places: &[Place],
        databases: u64,
    ) -> Result<(), Refusal> {
        let each = self.mailboxes.as_ref().map(|all| all.database_size(databases));
        for size in sizes.iter().flatten() {
            self.check_size(size)?;
            refuse_second_size(size, each, self.capacity_percent.as_ref())?;
        }
        for at in (0..sizes.len()).filter(|at| sizes[*at].is_none()) {
            if let Some((mailboxes, each)) = self.mailboxes.as_ref().zip(each) {
                refuse_small_quota(mailboxes, each, &self.profile.engine)?;
            }
            let value = match (each, &self.capacity_percent) {
                (Some(each), _) => each,
                // Sized when the machine is looked at.
                (None, Some(_)) => continue,
                (None, None) => {
                    let refusal = places[at].refuse("[[instance]] lacks `database_size`");
                    return Err(refusal.hint(
                        "for example: database_size = \"512 MiB\", or a table [mailboxes] or [throughput]",
                    ));
                }
            };
            let size = Placed { value, place: places[at].clone() };
            for database in &mut self.instances[at].databases {
                database.size = size.clone();
            }
        }
        let sized = self.databases().filter(|database| database.size.value.get() > 0);
        sized.map(|database| &database.size).try_for_each(|size| self.check_size(size))
    }

    /// Every log stream has the same number of databases, or sessions would not be spread evenly
    /// over them.
    fn check_shape(&self) -> Result<(), Refusal> {
        let first = self.instances[0].databases.len();
        for instance in &self.instances {
            let own = instance.databases.len();
            let place = &instance.databases[0].path.place;
            if own != first {
                let what = format!("{own} databases here, and {first} in the first instance");
                return Err(place.refuse(what).hint("every instance has the same number"));
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

    /// Whether a database can have that size.
    pub(super) fn check_size(&self, size: &Placed<ByteSize>) -> Result<(), Refusal> {
        check_size(size, &self.profile.engine)
    }
}

/// A size that is written down beside something else that sizes databases says the same (as a
/// resolved scenario does), or one of the two is not what was meant.
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
        let refusal = size.place.refuse("`capacity_percent` sizes the databases already");
        return Err(refusal.hint("keep `database_size` or `capacity_percent`"));
    }
    Ok(())
}

/// The tables of `[[instance]]`, at least one.
pub(super) fn nodes(top: &mut Section) -> Vec<Node> {
    const EXAMPLE: &str = "[[instance]] with `log`, `databases` and `database_size`";
    if !top.has("instance") {
        return vec![top.needed("instance", EXAMPLE)];
    }
    let mut node = top.table("instance");
    let place = node.place.clone();
    let refusal = match &mut node.value {
        Value::List(nodes) if !nodes.is_empty() => {
            if nodes.len() > INSTANCES_MAX {
                top.refuse(place.refuse(format!("more than {INSTANCES_MAX} instances")));
                nodes.truncate(INSTANCES_MAX);
            }
            return std::mem::take(nodes);
        }
        Value::Table(_) => {
            let refusal = place.refuse("is one table, but instances are a list");
            let refusal = refusal.hint("write [[instance]] with two brackets");
            top.refuse(refusal.because(Cause::Value));
            return vec![node];
        }
        _ => place.refuse("names no instance").hint(format!("for example: {EXAMPLE}")),
    };
    top.refuse(refusal.because(Cause::Value));
    // Nothing in it is missed.
    let mut one = top.table("instance");
    one.place = Place::unwritten();
    vec![one]
}

fn read_instance(
    node: Node,
    number: usize,
    databases_before: usize,
    folder: &Path,
) -> (InstancePlan, Option<Placed<ByteSize>>) {
    let unwritten = Place::unwritten;
    let mut written = Written {
        name: format!("Instance {number}"),
        log: Placed { value: PathBuf::new(), place: unwritten() },
        databases: Placed { value: Vec::new(), place: unwritten() },
        database_size: None,
    };
    INSTANCE.read(node, &mut written);
    let Written { name, mut log, databases: paths, database_size: size } = written;
    log.value = section::joined(folder, &log.value);
    let plan = |(index, path): (usize, PathBuf)| DatabasePlan {
        name: format!("DB{}", databases_before + index + 1),
        path: Placed { value: section::joined(folder, &path), place: paths.place.clone() },
        size: size
            .clone()
            .unwrap_or_else(|| Placed { value: ByteSize::bytes(0), place: paths.place.clone() }),
    };
    let databases = paths.value.into_iter().enumerate().map(plan).collect();
    (InstancePlan { name, log, databases }, size)
}

/// Paths of databases, at least one.
pub(super) fn database_paths(node: &Node) -> Result<Vec<PathBuf>, Refusal> {
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
    let refusal =
        node.place.refuse(format!("the name of a database ends in .edb ({})", path.display()));
    Err(refusal.hint(format!("for example \"{}\"", path.join("one.edb").display())))
}

/// `less than 256 pages of 32 KiB (8 MiB)`, if `size` is.
fn too_small(size: ByteSize, engine: &EnginePlan) -> Option<String> {
    let page = engine.page;
    let least = ByteSize::bytes(DATABASE_PAGES_MIN * page.bytes_u64());
    let is_small = page.pages_in(size) < DATABASE_PAGES_MIN;
    is_small.then(|| format!("less than {DATABASE_PAGES_MIN} pages of {page} ({least})"))
}

/// Mailboxes that make databases of size `each` hold enough for them.
fn refuse_small_quota(
    mailboxes: &Mailboxes,
    each: ByteSize,
    engine: &EnginePlan,
) -> Result<(), Refusal> {
    let Some(small) = too_small(each, engine) else {
        return Ok(());
    };
    let count = counted(mailboxes.count, "mailbox");
    let what = format!("{count} of it make databases of {each}, {small}");
    let refusal = mailboxes.quota.place.refuse(what);
    Err(refusal.hint("for example: quota = \"2 GiB\", or more mailboxes"))
}

fn check_size(size: &Placed<ByteSize>, engine: &EnginePlan) -> Result<(), Refusal> {
    let pages = engine.page.pages_in(size.value);
    if let Some(small) = too_small(size.value, engine) {
        let refusal = size.place.refuse(format!("is {small}"));
        return Err(refusal.hint("for example: database_size = \"512 MiB\""));
    }
    if pages > DATABASE_PAGES_MAX {
        let most = ByteSize::bytes((DATABASE_PAGES_MAX + 1) * engine.page.bytes_u64());
        let what = format!("a database with pages of {} stays below {most}", engine.page);
        return Err(size.place.refuse(what));
    }
    Ok(())
}

/// Writes `[[instance]]` for each.
pub(super) fn write(instances: &[InstancePlan], out: &mut String) {
    for instance in instances {
        let databases = &instance.databases;
        let paths = databases.iter().map(|database| database.path.value.clone());
        let first = &databases[0];
        let written = Written {
            name: instance.name.clone(),
            log: instance.log.clone(),
            databases: Placed { value: paths.collect(), place: first.path.place.clone() },
            database_size: Some(first.size.clone()).filter(|size| size.value.get() > 0),
        };
        INSTANCE.write(&written, out);
    }
}
