//! `[[instance]]`: log streams and their databases.

use std::path::{Path, PathBuf};

use brunt_ese::format::attachment::ATTACHMENTS_MAX;
use brunt_qualify::plan::{DatabasePlan, EnginePlan, InstancePlan};
use brunt_report::streams::tag;
use brunt_units::{ByteSize, Span, counted};

use super::keys::{At, Maybe, NAME, PATH, SIZE, keys, list};
use super::mailboxes::Mailboxes;
use super::mistakes::Sink;
use super::model::Scenario;
use super::place::{Cause, Place, Placed, Refusal};
use super::section::{self, Section};
use super::test::SESSIONS_MAX;
use super::tree::{Node, Value};

/// Where the files of an instance or a copy were written. Any two are equal, as with [`Placed`].
#[derive(Clone, Debug)]
pub struct FilePlaces {
    /// Its log folder.
    pub log: Place,
    /// The paths of its databases.
    pub databases: Place,
    /// How large they are.
    pub size: Place,
}

impl PartialEq for FilePlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A table of an instance or a copy as it is written.
pub(crate) struct Written {
    pub(super) name: String,
    pub(super) of: Option<Placed<String>>,
    pub(super) log: Placed<PathBuf>,
    pub(super) databases: Placed<Vec<PathBuf>>,
    pub(super) database_size: Option<Placed<ByteSize>>,
    pub(super) lag: Span,
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

impl Written {
    /// What is called `name` and has no files yet.
    pub(super) fn called(name: String) -> Self {
        Self {
            name,
            of: None,
            log: Placed::unwritten(PathBuf::new()),
            databases: Placed::unwritten(Vec::new()),
            database_size: None,
            lag: Span::ZERO,
        }
    }

    /// The table of `files`.
    pub(super) fn of(files: &InstancePlan, places: &FilePlaces) -> Self {
        let paths = files.databases.iter().map(|database| database.path.clone());
        let size = Placed { value: files.databases[0].size, place: places.size.clone() };
        Self {
            name: files.name.clone(),
            of: None,
            log: Placed { value: files.log.clone(), place: places.log.clone() },
            databases: Placed { value: paths.collect(), place: places.databases.clone() },
            database_size: Some(size).filter(|size| size.value.get() > 0),
            lag: Span::ZERO,
        }
    }

    /// Its files, with the names and sizes of `databases`, and where they were written. A relative
    /// path is relative to `folder`.
    pub(super) fn files(
        self,
        folder: &Path,
        databases: impl Iterator<Item = (String, ByteSize)>,
    ) -> (InstancePlan, FilePlaces) {
        let paths = self.databases.value.iter().zip(databases);
        let databases = paths.map(|(path, (name, size))| DatabasePlan {
            name,
            path: section::joined(folder, path),
            size,
        });
        let log = section::joined(folder, &self.log.value);
        let plan = InstancePlan { name: self.name, log, databases: databases.collect() };
        let databases = self.databases.place;
        let size = self.database_size.map_or(databases.clone(), |size| size.place);
        (plan, FilePlaces { log: self.log.place, databases, size })
    }
}

impl Scenario {
    /// The files of every instance, and then of every copy, with where they were written.
    pub fn files(&self) -> impl Iterator<Item = (&InstancePlan, &FilePlaces)> {
        let copies = self.copies.iter().map(|copy| &copy.files);
        self.instances.iter().chain(copies).zip(&self.places)
    }

    /// The databases of instances and copies.
    pub fn database_files(&self) -> impl Iterator<Item = (&DatabasePlan, &FilePlaces)> {
        self.files().flat_map(|(own, places)| own.databases.iter().map(move |one| (one, places)))
    }

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
            let mut written = Written::called(format!("Instance {number}"));
            INSTANCE.read(node, &mut written);
            sizes.push(written.database_size.clone());
            let size = written.database_size.as_ref().map_or(ByteSize::bytes(0), |size| size.value);
            let named = (databases + 1..).map(|number: usize| (format!("DB{number}"), size));
            let (instance, places) = written.files(folder, named);
            databases += instance.databases.len();
            self.instances.push(instance);
            self.places.push(places);
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
            self.check_size(size.value, &size.place)?;
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
            self.places[at].size = places[at].clone();
            self.instances[at].databases.iter_mut().for_each(|database| database.size = value);
        }
        let sized = self.database_files().filter(|(database, _)| database.size.get() > 0);
        let sizes = sized.map(|(one, places)| (one.size, &places.size));
        sizes.into_iter().try_for_each(|(size, place)| self.check_size(size, place))
    }

    /// Every log stream has the same number of databases, or sessions would not be spread evenly
    /// over them.
    fn check_shape(&self) -> Result<(), Refusal> {
        let first = self.instances[0].databases.len();
        for (instance, places) in self.files() {
            let own = instance.databases.len();
            let place = &places.databases;
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
            return Err(self.places[0].log.refuse(format!(
                "{all} sessions in all, more than {SESSIONS_MAX}: {} counts `sessions` {}",
                self.profile.version,
                self.scope_in_words()
            )));
        }
        Ok(())
    }

    /// Whether a database can have that size.
    pub(super) fn check_size(&self, size: ByteSize, place: &Place) -> Result<(), Refusal> {
        check_size(size, place, &self.profile.engine)
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

fn check_size(size: ByteSize, place: &Place, engine: &EnginePlan) -> Result<(), Refusal> {
    let pages = engine.page.pages_in(size);
    if let Some(small) = too_small(size, engine) {
        let refusal = place.refuse(format!("is {small}"));
        return Err(refusal.hint("for example: database_size = \"512 MiB\""));
    }
    if pages > DATABASE_PAGES_MAX {
        let most = ByteSize::bytes((DATABASE_PAGES_MAX + 1) * engine.page.bytes_u64());
        let what = format!("a database with pages of {} stays below {most}", engine.page);
        return Err(place.refuse(what));
    }
    Ok(())
}
