//! `[[copy]]`: passive copies that follow an instance during the test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brunt_qualify::kinds::Work;
use brunt_qualify::plan::CopyPlan;
use brunt_report::streams::tag;
use brunt_units::{Span, counted};

use super::instances::{FilePlaces, Written, database_paths};
use super::keys::{At, Maybe, NAME, PATH, TEXT, keys, list, time};
use super::model::Scenario;
use super::nearest::nearest;
use super::place::{Place, Placed, Refusal};
use super::section::{self, Section};
use super::tree::Node;

keys! {
    COPY of Written = "[[copy]]";
    /// What it is called in reports.
    name: String = [name], NAME, "`\"Copy 1\"` and so on";
    /// The instance that it follows.
    of: Option<Placed<String>> = [of], Maybe(At(TEXT)), "the only instance";
    /// Folder of its logs and its checkpoint file.
    log: Placed<PathBuf> = [log], At(PATH), needs "log = \"/copy/log1\"";
    /// Its databases, as many as the instance has and in the same order.
    databases: Placed<Vec<PathBuf>> = [databases], At(list(database_paths, "list of files that end in `.edb`")), needs "databases = [\"/copy/db1/one.edb\"]";
    /// How old a log is before the copy replays it, up to 14 days.
    lag: Span = [lag], time(read_lag, "time"), "0";
}

/// As many as an availability group has.
const COPIES_MAX: usize = 16;
/// What Exchange allows: `ReplayLagTime` of 14 days.
const LAG_MAX: Span = Span::seconds(14 * 24 * 3600);

impl Scenario {
    /// Reads `[[copy]]`, after the instances.
    pub(super) fn read_copies(&mut self, top: &mut Section, folder: &Path) {
        for (number, node) in (1..).zip(top.tables("copy")) {
            let place = node.place.clone();
            let copy = self.read_copy(node, number, folder);
            let checked = copy.and_then(|copy| self.check_copy(&copy.0, &place).map(|()| copy));
            if let Some((copy, places)) = top.sink().catch(checked) {
                self.copies.push(copy);
                self.places.push(places);
            }
        }
        top.sink().catch(self.refuse_shared_files());
    }

    fn check_copy(&self, copy: &CopyPlan, place: &Place) -> Result<(), Refusal> {
        let others = self.copies.iter().filter(|other| other.of == copy.of);
        if others.count() == COPIES_MAX {
            let of = &self.instances[copy.of].name;
            let what = format!("is copy number {} of \"{of}\"", COPIES_MAX + 1);
            let refusal = place.refuse(what);
            return Err(refusal.hint(format!("an instance has up to {COPIES_MAX} copies")));
        }
        let name = &copy.files.name;
        if self.copies.iter().any(|other| tag(&other.files.name) == tag(name)) {
            let what = format!("another copy is called \"{name}\", too");
            return Err(place.refuse(what).hint("give each its own `name`"));
        }
        self.check_copy_fits(place)
    }

    fn read_copy(
        &self,
        node: Node,
        number: usize,
        folder: &Path,
    ) -> Result<(CopyPlan, FilePlaces), Refusal> {
        let mut written = Written::called(format!("Copy {number}"));
        let section = COPY.read(node, &mut written);
        let of = match (&written.of, self.instances.len()) {
            (Some(of), _) => self.instance_called(of)?,
            (None, 1) => 0,
            (None, _) => {
                let example = format!("of = \"{}\"", self.instances[0].name);
                return Err(section.lacks("of", &example));
            }
        };
        let instance = &self.instances[of];
        let (own, wanted) = (written.databases.value.len(), instance.databases.len());
        if own != wanted {
            let own = counted(own as u64, "database");
            let what = format!("{own} here, and {wanted} in \"{}\"", instance.name);
            let refusal = written.databases.place.refuse(what);
            return Err(refusal.hint("name one for each, in the same order"));
        }
        let lag = written.lag;
        let alike = instance.databases.iter().map(|one| (one.name.clone(), one.size));
        let (files, places) = written.files(folder, alike);
        let places = FilePlaces { size: self.places[of].size.clone(), ..places };
        Ok((CopyPlan { of, lag, files }, places))
    }

    fn instance_called(&self, of: &Placed<String>) -> Result<usize, Refusal> {
        let Placed { value: name, place } = of;
        let names: Vec<&str> = self.instances.iter().map(|one| one.name.as_str()).collect();
        if let Some(at) = names.iter().position(|known| known == name) {
            return Ok(at);
        }
        let refusal = place.refuse(format!("there is no instance called \"{name}\""));
        Err(refusal.hint(match nearest(name, &names) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there is {}", names.join(", ")),
        }))
    }

    /// Whether a test like this one can have copies.
    fn check_copy_fits(&self, place: &Place) -> Result<(), Refusal> {
        if self.test.kind.work() != Work::Load {
            let kind = self.test.kind.word();
            let refusal = place.refuse(format!("a {kind} test has no copies that follow it"));
            return Err(refusal.hint("only performance and stress tests have"));
        }
        if self.shards.value > 1 {
            let refusal = place.refuse(format!(
                "copies follow a test of one shard, and this one has {}",
                self.shards.value
            ));
            return Err(refusal.hint("shards = 1, or no [[copy]]"));
        }
        Ok(())
    }

    /// Every log folder and every database belongs to one instance or one copy.
    fn refuse_shared_files(&self) -> Result<(), Refusal> {
        let logs = self.files().map(|(own, places)| (&own.name, &own.log, &places.log));
        let hint = match self.copies.is_empty() {
            true => "every instance has files of its own",
            false => "a copy has files of its own, best on another volume",
        };
        refuse_twins(logs, "its logs", hint)?;
        let databases = self.files().flat_map(|(own, places)| {
            let paths = own.databases.iter().map(|database| &database.path);
            paths.map(|path| (&own.name, path, &places.databases))
        });
        refuse_twins(databases, "a database", hint)
    }
}

fn refuse_twins<'s>(
    paths: impl Iterator<Item = (&'s String, &'s PathBuf, &'s Place)>,
    what: &str,
    hint: &str,
) -> Result<(), Refusal> {
    let mut seen = BTreeMap::new();
    for (owner, path, place) in paths {
        if let Some(other) = seen.insert(path, owner) {
            let refusal = place.refuse(format!("\"{other}\" already keeps {what} there"));
            return Err(refusal.hint(hint));
        }
    }
    Ok(())
}

/// Writes `[[copy]]` for each.
pub(super) fn write(scenario: &Scenario, out: &mut String) {
    let places = scenario.places.iter().skip(scenario.instances.len());
    for (copy, places) in scenario.copies.iter().zip(places) {
        let value = scenario.instances[copy.of].name.clone();
        let of = Some(Placed { value, place: places.log.clone() });
        let written = Written { of, lag: copy.lag, ..Written::of(&copy.files, places) };
        COPY.write(&written, out);
    }
}

fn read_lag(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        lag if lag > LAG_MAX => {
            Err(node.place.refuse("is longer than 14 days").hint("for example \"15min\""))
        }
        lag => Ok(lag),
    }
}

#[cfg(test)]
mod tests {
    use brunt_units::ByteSize;

    use super::super::document::Document;
    use super::*;

    const TEST: &str = "[test]\nduration = \"1s\"\nsessions = 1\n\
        [[instance]]\nname = \"SG1\"\nlog = \"log1\"\ndatabases = [\"1.edb\"]\ndatabase_size = \"8 MiB\"\n\
        [[instance]]\nname = \"SG2\"\nlog = \"log2\"\ndatabases = [\"2.edb\"]\ndatabase_size = \"8 MiB\"\n";

    fn read(rest: &str) -> Result<Scenario, String> {
        let text = format!("{TEST}{rest}").replace("sessions = 1", "sessions = 2");
        let document = Document::new("t.toml", &text, Path::new("/t"));
        let read = document.and_then(|document| document.test(&[]));
        read.map_err(|refusal| refusal.to_string())
    }

    fn copy(of: &str, number: usize) -> String {
        format!("[[copy]]\nof = \"{of}\"\nlog = \"c{number}\"\ndatabases = [\"c{number}.edb\"]\n")
    }

    #[test]
    fn copies_come_back_as_they_were_written() {
        let lagged = format!("{}lag = \"15min\"\n", copy("SG2", 2));
        let scenario = read(&format!("{}{lagged}", copy("SG1", 1))).unwrap();
        let [prompt, lagged] = &scenario.copies[..] else { panic!("{:?}", scenario.copies) };
        assert_eq!((prompt.of, prompt.lag, prompt.files.name.as_str()), (0, Span::ZERO, "Copy 1"));
        assert_eq!((lagged.of, lagged.lag), (1, Span::seconds(900)));
        let planned = &scenario.plan().passive[1];
        assert_eq!(planned.files.log, Path::new("/t/c2"));
        assert_eq!(planned.files.databases[0].size, ByteSize::mib(8));
        let text = scenario.to_toml();
        let again = Document::new("r.toml", &text, Path::new("/x")).unwrap();
        assert_eq!(again.test(&[]).unwrap(), scenario);
        // What is not written is not there.
        assert!(!read("").unwrap().to_toml().contains("[[copy]]"));
    }

    #[test]
    fn instances_share_no_file_and_no_name() {
        let read = |from: &str, to: &str| {
            let text = TEST.replace(from, to).replace("sessions = 1", "sessions = 2");
            let document = Document::new("t.toml", &text, Path::new("/t")).unwrap();
            document.test(&[]).unwrap_err().to_string()
        };
        let said = read("2.edb", "1.edb");
        let wanted = "`databases = [\"1.edb\"]`: \"SG1\" already keeps a database there\n  every instance has";
        assert!(said.contains(wanted), "{said}");
        let said = read("log2", "log1");
        assert!(said.contains("\"SG1\" already keeps its logs there"), "{said}");
        let text = TEST.replace("SG1", "SG 1").replace("SG2", "SG-1");
        let document = Document::new("t.toml", &text, Path::new("/t")).unwrap();
        let said = document.test(&[]).unwrap_err().to_string();
        let wanted = "\"SG 1\" and \"SG-1\" are one name in the results";
        assert!(said.contains(wanted), "{said}");
    }

    #[test]
    fn what_cannot_be_a_copy_is_refused_with_a_way_out() {
        let seventeen: String = (1..=17).map(|number| copy("SG1", number)).collect();
        let one = copy("SG1", 1);
        for (text, said) in [
            (
                copy("SG3", 1),
                "t.toml:15: `of = \"SG3\"`: there is no instance called \"SG3\"\n  did you mean",
            ),
            (one.replace("of = \"SG1\"\n", ""), "lacks `of`\n  for example: of = \"SG1\""),
            (
                one.replace("c1\"", "log1\""),
                "t.toml:16: `log = \"log1\"`: \"SG1\" already keeps its logs there\n  a copy has",
            ),
            (
                one.replace("c1.edb", "2.edb"),
                "t.toml:17: `databases = [\"2.edb\"]`: \"SG2\" already keeps a database there",
            ),
            (
                one.replace("[\"c1.edb\"]", "[\"c1.edb\", \"c2.edb\"]"),
                "2 databases here, and 1 in \"SG1\"",
            ),
            (one.replace("log = \"c1\"\n", ""), "lacks `log`"),
            (format!("{one}lag = \"15d\"\n"), "longer than 14 days"),
            (
                format!("{one}lags = \"1s\"\n"),
                "unknown key `lags` in [[copy]]\n  did you mean `lag`?",
            ),
            (seventeen, "is copy number 17 of \"SG1\"\n  an instance has up to 16 copies"),
            (format!("{one}[engine]\nshards = 2\n"), "copies follow a test of one shard"),
            (
                format!("{one}{}name = \"Copy 1\"\n", copy("SG1", 2)),
                "another copy is called \"Copy 1\", too",
            ),
            ("[copy]\nlog = \"x\"\n".to_owned(), "write [[copy]] with two brackets"),
        ] {
            let refused = read(&text).unwrap_err();
            assert!(refused.contains(said), "{refused}\nis not\n{said}");
        }
        let backup = TEST.replace("[test]\n", "[test]\nkind = \"database-backup\"\n");
        let document = Document::new("t.toml", &format!("{backup}{one}"), Path::new("/t"));
        let refused = document.unwrap().test(&[]).unwrap_err().to_string();
        assert!(
            refused.contains("a database-backup test has no copies that follow it"),
            "{refused}"
        );
    }
}
