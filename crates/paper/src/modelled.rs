//! The storage of a prediction as its scenario has it: drives, groups, LUNs, controllers, cache.
//!
//! It is read from the text alone: drive models of the library are known by their names, and a file
//! that a scenario names is not opened, since evidence may come from anywhere. What such a drive is
//! stays unknown, and nothing is said of it.

use brunt_array::drive::library;
use brunt_report::result::RunResult;
use brunt_units::ByteSize;
use toml::{Table, Value};

/// Room of a cache to write and to read, where a scenario does not say.
const CACHE: [(&str, &str); 2] = [("write", "512 MiB"), ("read", "128 MiB")];

/// Everything that was modelled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Modelled {
    pub(crate) arrays: Vec<Array>,
    /// How many times the arrays are there: twice with a replica that is like them.
    sites: u64,
}

/// An array, with as many members as share its pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) members: u64,
    pub(crate) drives: Vec<(u64, Drive)>,
    pub(crate) spares: u64,
    pub(crate) groups: Vec<Group>,
    pub(crate) luns: Vec<Lun>,
    pub(crate) controllers: u64,
    pub(crate) ports: u64,
    pub(crate) transport: Option<String>,
    /// Room to write and to read.
    pub(crate) cache: Option<[String; 2]>,
}

/// A model of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drive {
    /// `Seagate Savvio 10K.6 ST900MM0006, 900 GB, SAS`.
    pub(crate) title: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) rpm: Option<u64>,
    pub(crate) is_solid_state: Option<bool>,
}

/// A group of drives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) drives: u64,
    /// Its drives are alike in nearly every scenario; this is the first.
    pub(crate) drive: Drive,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lun {
    pub(crate) name: String,
    /// Its group by number; `None` where it lies in pages of all.
    pub(crate) group: Option<usize>,
    /// `None` where it takes what is left.
    pub(crate) bytes: Option<u64>,
}

/// What lies on a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Databases,
    Logs,
}

impl Modelled {
    /// What `scenario` models; `None` where it has no array.
    pub(crate) fn of(scenario: &Table) -> Option<Self> {
        let arrays: Vec<&Table> = match scenario.get("array")? {
            Value::Array(arrays) => arrays.iter().filter_map(Value::as_table).collect(),
            Value::Table(array) => vec![array],
            _ => return None,
        };
        let is_copied = ["replication", "replicate"].map(|key| scenario.contains_key(key));
        Some(Self {
            arrays: arrays.into_iter().map(Array::of).collect(),
            sites: 1 + u64::from(is_copied.contains(&true)),
        })
    }

    /// How many drives were modelled: at the first site, and at all of them.
    pub(crate) fn drives(&self) -> [u64; 2] {
        let own = self.arrays.iter().map(Array::drive_count).sum();
        [own, own * self.sites]
    }

    /// The LUNs on which `result` had files of a kind, with the array of each.
    pub(crate) fn luns(&self, result: &RunResult, what: Use) -> Vec<(&Array, &Lun)> {
        let mut found: Vec<(&Array, &Lun)> = Vec::new();
        for server in &result.storage.servers {
            let paths: Vec<&str> = server
                .instances
                .iter()
                .flat_map(|instance| match what {
                    Use::Logs => vec![instance.details.log.path.as_str()],
                    Use::Databases => {
                        let databases = instance.details.databases.iter();
                        databases.map(|database| database.path.as_str()).collect()
                    }
                })
                .collect();
            for volume in &server.details.backend.volumes {
                let mount = volume.mount.trim_end_matches('/');
                let below = |path: &&&str| {
                    let rest = path.strip_prefix(mount);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                if paths.iter().any(|path| below(&path)) {
                    let lun = self.lun(&volume.device);
                    found.extend(lun.filter(|lun| !found.contains(lun)));
                }
            }
        }
        found
    }

    /// The LUN that results call `ARRAY, LUN`.
    fn lun(&self, device: &str) -> Option<(&Array, &Lun)> {
        self.arrays.iter().find_map(|array| {
            let name = device.strip_prefix(array.name.as_str())?;
            let name = name.strip_prefix(", ")?;
            let lun = array.luns.iter().find(|lun| lun.name == name)?;
            Some((array, lun))
        })
    }

    /// The groups below `luns`, each once, with how many times it is there.
    pub(crate) fn groups<'m>(luns: &[(&'m Array, &'m Lun)]) -> Vec<(u64, &'m Group)> {
        let mut found: Vec<(&Array, u64, &Group)> = Vec::new();
        for (array, lun) in luns {
            let own = array.groups.iter().enumerate();
            let own = own.filter(|(at, _)| lun.group.is_none_or(|group| group == *at));
            for (_, group) in own {
                let is_new = |known: &(&Array, u64, &Group)| known.0 != *array || known.2 != group;
                if found.iter().all(is_new) {
                    found.push((array, array.members, group));
                }
            }
        }
        let found = found.into_iter();
        found.map(|(_, members, group)| (members, group)).collect()
    }
}

impl Array {
    fn of(array: &Table) -> Self {
        let table = |key: &str| array.get(key).and_then(Value::as_table);
        let lists = |key: &str| {
            let list = array.get(key).and_then(Value::as_array);
            let list = list.into_iter().flatten();
            list.filter_map(Value::as_table).collect::<Vec<&Table>>()
        };
        let drives: Vec<(u64, Drive)> = lists("drives")
            .into_iter()
            .map(|drives| (count(drives, "count").unwrap_or(0), Drive::of(drives)))
            .collect();
        let groups = groups(&lists("group"), &drives);
        let luns = luns(&lists("lun"), &groups, table("pages").is_some());
        let controller = table("controller");
        let front = table("front");
        let cache = table("cache").map(|cache| {
            CACHE.map(|(key, usual)| text(cache, key).unwrap_or_else(|| usual.to_owned()))
        });
        Self {
            name: text(array, "name").unwrap_or_else(|| "array".to_owned()),
            members: table("pages").and_then(|pages| count(pages, "members")).unwrap_or(1),
            spares: count(array, "spares").unwrap_or(0),
            drives,
            groups,
            luns,
            controllers: controller.and_then(|own| count(own, "count")).unwrap_or(1),
            ports: front.and_then(|own| count(own, "ports")).unwrap_or(1),
            transport: front.and_then(|own| text(own, "transport")),
            cache,
        }
    }

    /// Its drives, those of all members.
    pub(crate) fn drive_count(&self) -> u64 {
        self.members * self.drives.iter().map(|(count, _)| count).sum::<u64>()
    }
}

impl Drive {
    fn of(drives: &Table) -> Self {
        if let Some(name) = text(drives, "model") {
            let Some(model) = library::find(&name) else {
                let title = name;
                return Self { title, ..Self::default() };
            };
            return Self {
                title: model.title().to_owned(),
                bytes: Some(model.sectors() * 512),
                rpm: model.rpm(),
                is_solid_state: Some(model.is_solid_state()),
            };
        }
        let file = text(drives, "file").unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or_default();
        Self { title: format!("the model of {name}"), ..Self::default() }
    }
}

/// A whole number.
fn count(table: &Table, key: &str) -> Option<u64> {
    u64::try_from(table.get(key)?.as_integer()?).ok()
}

fn text(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

/// The names that `{}` stands for: one that is empty where there is no list.
fn each(table: &Table) -> Vec<String> {
    let list = table.get("each").and_then(Value::as_array);
    list.map_or_else(
        || vec![String::new()],
        |names| {
            let names = names.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        },
    )
}

/// Groups take drives in the order in which they are written.
fn groups(written: &[&Table], drives: &[(u64, Drive)]) -> Vec<Group> {
    let drive_at = |mut number: u64| {
        for (count, drive) in drives {
            match number.checked_sub(*count) {
                None => return drive.clone(),
                Some(rest) => number = rest,
            }
        }
        Drive::default()
    };
    let mut groups = Vec::new();
    let mut next = 0;
    for (at, group) in written.iter().enumerate() {
        let name = text(group, "name").unwrap_or_else(|| format!("group {at}"));
        let own = count(group, "drives").unwrap_or(0);
        for each in each(group) {
            groups.push(Group {
                name: name.replace("{}", &each),
                level: text(group, "level").unwrap_or_default(),
                drives: own,
                drive: drive_at(next),
            });
            next += own;
        }
    }
    groups
}

fn luns(written: &[&Table], groups: &[Group], in_pages: bool) -> Vec<Lun> {
    let mut luns = Vec::new();
    for (at, lun) in written.iter().enumerate() {
        let name = text(lun, "name").unwrap_or_else(|| format!("lun {at}"));
        let size = text(lun, "size").and_then(|size| size.parse::<ByteSize>().ok());
        for each in each(lun) {
            let group = match text(lun, "group") {
                _ if in_pages => None,
                None => Some(0),
                Some(name) => {
                    let name = name.replace("{}", &each);
                    groups.iter().position(|group| group.name == name)
                }
            };
            luns.push(Lun {
                name: name.replace("{}", &each),
                group,
                bytes: size.map(ByteSize::get),
            });
        }
    }
    if luns.is_empty() {
        let whole = groups.iter().enumerate().map(|(at, group)| Lun {
            name: group.name.clone(),
            group: Some(at),
            bytes: None,
        });
        luns.extend(whole);
    }
    luns
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use brunt_scenario::Document;

    use super::*;

    fn of(text: &str) -> Modelled {
        Modelled::of(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn drives_groups_and_luns_are_those_of_the_scenario() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers");
        let read = |path: &Path| std::fs::read_to_string(path);
        let text = read(&folder.join("emc-cx3-20-performance.toml")).unwrap();
        let document = Document::open("performance.toml", &text, &folder, &read).unwrap();
        let text = document.modelled_test(&[]).unwrap().to_toml();
        let modelled = of(&text);
        assert_eq!(modelled.drives(), [14, 14]);
        let [array] = &modelled.arrays[..] else {
            panic!("one array: {modelled:?}");
        };
        assert_eq!((array.spares, array.controllers, array.ports), (1, 2, 2), "{array:?}");
        let [databases, logs, backup] = &array.groups[..] else {
            panic!("three groups: {array:?}");
        };
        assert_eq!((databases.drives, logs.drives, backup.drives), (4, 4, 5));
        assert_eq!(databases.level, "raid10");
        assert_eq!(databases.drive.rpm, Some(15_000));
        let lun = array.luns.iter().find(|lun| lun.name == "log 2").unwrap();
        assert_eq!((lun.group, lun.bytes), (Some(1), Some(12 << 30)));
        let on = modelled.lun("array, database 1").unwrap();
        assert_eq!(Modelled::groups(&[on]), [(1, databases)]);
    }

    #[test]
    fn members_and_sites_multiply_drives_and_unknown_models_have_no_figures() {
        let text = "[replication]\n[array.pages]\nmembers = 3\n[[array.drives]]\nfile = \"/x/ours.toml\"\ncount = 16\n\
                    [[array.group]]\nname = \"g {}\"\neach = [\"a\", \"b\"]\nlevel = \"raid10\"\ndrives = 6\n\
                    [[array.lun]]\nname = \"db\"\nsize = \"1 TiB\"\n";
        let modelled = of(text);
        assert_eq!(modelled.drives(), [48, 96]);
        let array = &modelled.arrays[0];
        let (_, drive) = &array.drives[0];
        assert_eq!(drive.title, "the model of ours.toml");
        assert_eq!((drive.bytes, drive.rpm), (None, None));
        assert_eq!(array.groups[1].name, "g b");
        let all = Modelled::groups(&[(array, &array.luns[0])]);
        assert_eq!(all.iter().map(|(m, g)| m * g.drives).sum::<u64>(), 36);
    }
}
