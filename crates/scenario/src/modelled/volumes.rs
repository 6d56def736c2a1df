//! `[volumes]`: which folder of which server lies on which LUN, and whether everything fits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brunt_array::{PagedArray, System, SystemDesign};
use brunt_units::ByteSize;
use brunt_world::random::Streams;

use super::super::fleet::SERVER_NAME;
use super::super::model::Scenario;
use super::super::nearest::nearest;
use super::super::place::{Place, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::ArrayPlan;

/// A folder of one server, and the LUN that it lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// The server, by number.
    pub server: usize,
    /// The folder, as the server has it.
    pub path: PathBuf,
    /// The array, by number.
    pub array: usize,
    /// The LUN, by its number on the array.
    pub lun: usize,
    /// How large the LUN is.
    pub bytes: ByteSize,
}

/// A LUN with its array, and its size.
type Lun = (usize, usize, ByteSize);

pub(super) fn read(
    storage: &mut Section,
    scenario: &Scenario,
    servers: &[String],
    arrays: &[ArrayPlan],
) -> Vec<VolumePlan> {
    let built: Vec<Box<dyn System>> = arrays.iter().map(build).collect();
    let luns = luns(arrays, &built);
    const EXAMPLE: &str = "[volumes] with \"/db1\" = \"name of a LUN\"";
    let node = storage.needed("volumes", EXAMPLE);
    if !matches!(node.value, Value::Table(_)) {
        let refusal = node.place.refuse(format!("is {}, not a table", node.value.kind()));
        storage.refuse(refusal.hint(format!("for example: {EXAMPLE}")));
    }
    let mut volumes = Vec::new();
    for (path, node) in node.entries() {
        let Some(path) = node.sink.catch(absolute(path, &node.place)) else { continue };
        for (server, name) in servers.iter().enumerate() {
            let found = node.sink.catch(find(node, name, &luns));
            volumes.extend(found.map(|(array, lun, bytes)| {
                let path = path.clone();
                VolumePlan { server, path, array, lun, bytes }
            }));
        }
    }
    let checked = check(scenario, servers.len(), &volumes, arrays)
        .and_then(|()| check_thin(scenario, servers.len(), &volumes, arrays, &built));
    storage.sink().catch(checked);
    volumes
}

fn build(plan: &ArrayPlan) -> Box<dyn System> {
    let built = plan.design.build(Streams::new(1), &[]);
    built.expect("it was built when read")
}

/// Every LUN by its name. Its size is what the array makes of it.
fn luns<'p>(arrays: &'p [ArrayPlan], built: &[Box<dyn System>]) -> BTreeMap<&'p str, Lun> {
    let mut luns = BTreeMap::new();
    for (array, (plan, built)) in arrays.iter().zip(built).enumerate() {
        for (number, name) in (0..).zip(plan.design.lun_names()) {
            let at = usize::try_from(number).expect("few LUNs");
            luns.insert(name, (array, at, built.lun_size(number)));
        }
    }
    luns
}

fn absolute(path: &str, place: &Place) -> Result<PathBuf, Refusal> {
    let path = PathBuf::from(path);
    match path.is_absolute() {
        true => Ok(path.components().collect()),
        false => Err(place
            .refuse(format!("{} is not an absolute path", path.display()))
            .hint("folders of the modelled servers begin with a slash, such as \"/db1\"")),
    }
}

fn find(node: &Node, server: &str, luns: &BTreeMap<&str, Lun>) -> Result<Lun, Refusal> {
    let written = section::text(node)?.replace(SERVER_NAME, server);
    if let Some((_, _, size)) = luns.get(written.as_str())
        && size.get() == 0
    {
        let refusal =
            node.place.refuse(format!("\"{written}\" is a clone, and a test begins before it"));
        return Err(refusal.hint("raw load can be on a clone: [[load]] instead of [test]"));
    }
    luns.get(written.as_str()).copied().ok_or_else(|| {
        let names: Vec<&str> = luns.keys().copied().collect();
        let refusal = node.place.refuse(format!("there is no LUN called \"{written}\""));
        refusal.hint(match nearest(&written, &names) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there is {}", names.join(", ")),
        })
    })
}

/// The volume of `path` among those of `server`: the one with the longest path.
fn volume_of<'v>(volumes: &'v [VolumePlan], server: usize, path: &Path) -> Option<&'v VolumePlan> {
    let own = volumes.iter().filter(|volume| volume.server == server);
    own.filter(|volume| path.starts_with(&volume.path))
        .max_by_key(|volume| volume.path.components().count())
}

/// A file of a database: its path, how large it is made, and where both were written.
type File<'s> = (&'s Path, ByteSize, [&'s Place; 2]);

/// Every file of every database: a backup and its restore need another one each, and so does every
/// passive copy.
fn files(scenario: &Scenario) -> impl Iterator<Item = File<'_>> {
    let folder = scenario.test.copy_to.as_ref();
    let restores = scenario.test.restore == Some(true);
    let count = scenario.databases().count();
    scenario.database_files().enumerate().flat_map(move |(number, (database, places))| {
        let own = (database.path.as_path(), &places.databases);
        let copies = folder.map(|folder| (folder.value.as_path(), &folder.place));
        let copies = copies.into_iter().chain(restores.then_some(own));
        let copies = copies.filter(move |_| number < count);
        let all = std::iter::once(own).chain(copies);
        all.map(|(path, place)| (path, database.size, [place, &places.size]))
    })
}

fn what_lies_there(scenario: &Scenario) -> &'static str {
    match scenario.test.copy_to.is_some() || !scenario.copies.is_empty() {
        true => "databases and their copies",
        false => "databases",
    }
}

/// Whether every file has a place, and every LUN room for its databases.
fn check(
    scenario: &Scenario,
    servers: usize,
    volumes: &[VolumePlan],
    arrays: &[ArrayPlan],
) -> Result<(), Refusal> {
    let mut used = BTreeMap::<(usize, usize), u64>::new();
    for server in 0..servers {
        for (own, places) in scenario.files() {
            place(volumes, server, &own.log, &places.log)?;
        }
        for (path, size, [written, sized]) in files(scenario) {
            let volume = place(volumes, server, path, written)?;
            let bytes = used.entry((volume.array, volume.lun)).or_default();
            *bytes = bytes.saturating_add(size.get());
            if *bytes > volume.bytes.get() {
                let lun = arrays[volume.array].design.lun_names()[volume.lun];
                let what = format!(
                    "{} of {} do not fit on LUN \"{lun}\" of {}",
                    what_lies_there(scenario),
                    ByteSize::bytes(*bytes),
                    volume.bytes
                );
                return Err(sized
                    .refuse(what)
                    .hint("make them smaller, or the LUN larger, and leave room to grow")
                    .for_want_of_room());
            }
        }
    }
    Ok(())
}

/// Whether the pools beneath thin LUNs have room for the databases that a test begins with. Whether
/// what they grow by has some is the test's affair.
fn check_thin(
    scenario: &Scenario,
    servers: usize,
    volumes: &[VolumePlan],
    arrays: &[ArrayPlan],
    built: &[Box<dyn System>],
) -> Result<(), Refusal> {
    for (number, (array, built)) in arrays.iter().zip(built).enumerate() {
        let design = match &array.design {
            SystemDesign::Pair(pair) => &pair.source,
            design => design,
        };
        let pages = match design {
            SystemDesign::Paged(pages) => pages,
            SystemDesign::Sites(sites) => &sites.source,
            _ => continue,
        };
        let (mut bytes, mut last) = (0_u64, None);
        for server in 0..servers {
            for (path, size, [written, sized]) in files(scenario) {
                let volume = place(volumes, server, path, written)?;
                if volume.array == number && pages.luns[volume.lun].is_thin {
                    bytes = bytes.saturating_add(size.get());
                    last = Some(sized);
                }
            }
        }
        let room = built.pool().map(PagedArray::free_room).unwrap_or_default();
        if let Some(last) = last.filter(|_| bytes > room.get()) {
            let what = format!(
                "{} of {} lie on thin LUNs, and the pool of \"{}\" has room for {room}",
                what_lies_there(scenario),
                ByteSize::bytes(bytes),
                array.name,
            );
            return Err(last
                .refuse(what)
                .hint("make them smaller, or the pool larger")
                .for_want_of_room());
        }
    }
    Ok(())
}

fn place<'v>(
    volumes: &'v [VolumePlan],
    server: usize,
    path: &Path,
    written: &Place,
) -> Result<&'v VolumePlan, Refusal> {
    volume_of(volumes, server, path).ok_or_else(|| {
        let folder = path.parent().unwrap_or(path).display();
        let refusal = written.refuse(format!("{} lies on no LUN", path.display()));
        refusal.hint(format!("say so in [volumes]: \"{folder}\" = \"name of a LUN\""))
    })
}
