//! A scenario file: all its sections, and what they describe together.
//!
//! | sections | describe |
//! | --- | --- |
//! | `[test]`, `[[instance]]` | a test on real storage |
//! | the same, and `[array]` | a test on modelled arrays |
//! | the same, and `[site.source]` | a drill on real storage |
//! | `[[load]]` or `[simulate]`, and `[array]` | raw load on a modelled array |
//! | `[org]`, `[[tier]]` | an organisation to be sized |
//! | `[mail]`, `[target]`, `[[event]]` | a test of mail servers |
//! | `servers`, `[fleet]`, `[test]`, `[[instance]]` | a test on several hosts |
//!
//! [`SECTIONS`] says which section belongs to which of them; one that does not belong is refused.

use std::fmt;
use std::io;
use std::path::Path;

use super::arrays::{self, ArrayScenario};
use super::base::{self, Origin};
use super::design;
use super::events::Events;
use super::files::{Files, Texts};
use super::keys::Page;
use super::limits::LIMITS;
use super::mail::MailScenario;
use super::mistakes::{Checked, Sink};
use super::model::Scenario;
use super::modelled::ModelledScenario;
use super::nearest::nearest;
use super::org::{FigureKey, Organisation};
use super::overrides::Override;
use super::place::{Cause, Place, Refusal};
use super::profile::PROFILE;
use super::real_drill::RealDrill;
use super::section::{self, Section};
use super::sites::names_folders;
use super::solution::Solution;
use super::test::TEST;
use super::top::Top;
use super::tree::{self, Node, Value};

/// What a scenario describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A test on real storage.
    Test,
    /// A test on modelled arrays.
    ModelledTest,
    /// A drill on real storage.
    RealDrill,
    /// Raw load on a modelled array.
    Load,
    /// An organisation to be sized.
    Organisation,
    /// A test of mail servers.
    Mail,
    /// A test on several hosts.
    Fleet,
}

use Subject::{Fleet, Load, Mail, ModelledTest, Organisation as Org, RealDrill as Real, Test};

/// Every key at the top, and the subjects that have it.
pub(super) const SECTIONS: [(&str, &[Subject]); 39] = [
    ("base", &[Test, ModelledTest, Real, Load, Org, Mail]),
    ("name", &[Test, ModelledTest, Real, Load, Org, Mail]),
    ("description", &[Test, ModelledTest, Real, Load, Org, Mail]),
    ("solution", &[Test, ModelledTest, Real]),
    ("design", &[Test, ModelledTest, Real]),
    ("scratch", &[Test, ModelledTest]),
    ("servers", &[ModelledTest, Fleet]),
    ("fleet", &[ModelledTest, Fleet]),
    ("test", &[Test, ModelledTest, Real]),
    ("profile", &[Test, ModelledTest, Real, Org]),
    ("limits", &[Test, ModelledTest, Real]),
    ("records", &[Test, ModelledTest, Real]),
    ("mailboxes", &[Test, ModelledTest, Real, Org]),
    ("throughput", &[Test, ModelledTest]),
    ("storage", &[Test, ModelledTest, Real, Org]),
    ("site", &[Test, ModelledTest, Real]),
    ("engine", &[Test, ModelledTest, Real]),
    ("instance", &[Test, ModelledTest, Real]),
    ("copy", &[Test, ModelledTest]),
    ("event", &[Test, ModelledTest, Real, Load, Mail]),
    ("twin", &[ModelledTest]),
    ("simulate", &[Load]),
    ("array", &[ModelledTest, Load, Org]),
    ("link", &[ModelledTest, Real, Load]),
    ("replication", &[ModelledTest, Real, Load]),
    ("replica", &[ModelledTest, Load]),
    ("drill", &[ModelledTest, Real]),
    ("step", &[Real]),
    ("replicate", &[ModelledTest, Load]),
    ("partner", &[ModelledTest, Load]),
    ("volumes", &[ModelledTest]),
    ("load", &[Load]),
    ("org", &[Org]),
    ("tier", &[Org]),
    ("figures", &[Org]),
    ("search", &[Org]),
    ("price", &[Org]),
    ("mail", &[Mail]),
    ("target", &[Mail]),
];

impl Subject {
    /// What a scenario with these sections describes.
    fn of(root: &Node) -> Self {
        let has = |key| root.entries().iter().any(|(own, _)| own == key);
        let is_test = has("test") || has("instance");
        let mut sites = root.entries().iter().filter(|(own, _)| own == "site");
        let has_folders = sites.any(|(_, node)| names_folders(node));
        match has("array") {
            _ if has("mail") || has("target") => Mail,
            _ if has("org") || has("tier") => Org,
            _ if has("load") => Load,
            true if is_test => ModelledTest,
            false if has_folders => Real,
            is_array if !is_test && (is_array || has("simulate")) => Load,
            _ if has("servers") || has("fleet") => Fleet,
            _ => Test,
        }
    }

    /// The keys at the top of a scenario that describes this.
    pub(super) fn keys(self) -> Vec<&'static str> {
        let own = SECTIONS.iter().filter(|(_, of)| of.contains(&self));
        own.map(|(key, _)| *key).collect()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Test => "a test on real storage",
            ModelledTest => "a test on modelled arrays",
            Real => "a drill on real storage",
            Load => "raw load on a modelled array",
            Org => "an organisation to be sized",
            Mail => "a test of mail servers",
            Fleet => "a test on several hosts",
        })
    }
}

/// A scenario file that is TOML; its sections have not been read.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    files: Files,
    root: Node,
    origin: Origin,
}

impl Document {
    /// The document `text`, called `file` in messages. Relative paths in it are relative to
    /// `folder`, which is absolute.
    ///
    /// # Errors
    /// [`Refusal`] of a text that is not TOML.
    pub fn new(file: &str, text: &str, folder: &Path) -> Result<Self, Refusal> {
        let (file, files, root) = (file.to_owned(), Files::of(folder), tree::parse(file, text)?);
        Ok(Self { file, files, root, origin: Origin::default() })
    }

    /// The same, laid over the scenarios that it names as its `base`. `read` gives the text of a
    /// file in `folder` or below.
    ///
    /// # Errors
    /// [`Refusal`] of a text that is not TOML, or of a `base` that is no such file.
    pub fn open(
        file: &str,
        text: &str,
        folder: &Path,
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, Refusal> {
        Self::new(file, text, folder)?.over_bases(Some(read))
    }

    /// The same, where `texts` are all other files that it reads: those that [`Self::texts`] gave
    /// where it was opened first. No file of this machine is looked at.
    ///
    /// # Errors
    /// [`Refusal`] of a text that is not TOML, or of a `base` that is not among them.
    pub fn of_texts(file: &str, text: &str, folder: &Path, texts: Texts) -> Result<Self, Refusal> {
        let own = Self::new(file, text, folder)?;
        Self { files: Files::known(folder, texts), ..own }.over_bases(None)
    }

    fn over_bases(self, read: Option<base::Read<'_>>) -> Result<Self, Refusal> {
        let (root, names) = base::merged(&self.file, self.root, &self.files, read)?;
        Ok(Self { root, origin: Origin::of(&names), ..self })
    }

    /// The files besides its own that were read so far.
    pub fn texts(&self) -> Texts {
        self.files.texts()
    }

    /// What it describes.
    pub fn subject(&self) -> Subject {
        Subject::of(&self.root)
    }

    /// What it says about the storage; no other section is looked at.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing in `[solution]` that is wrong.
    pub fn solution(&self) -> Result<Solution, Refusal> {
        let mut root = self.root.clone();
        let sink = Sink::of(&mut root);
        let mut found = root.entries().iter().filter(|(key, _)| key == "solution");
        let solution = found.next().map(|(_, node)| Solution::read(node.clone()));
        let first = sink.take().into_iter().next();
        first.map_or_else(|| Ok(solution.unwrap_or_default()), Err)
    }

    /// The organisation that it was sized for, if it says so; no other section is looked at. `known`
    /// are the figures that it can give.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing in `[design]` that is wrong.
    pub fn design(&self, known: &[FigureKey]) -> Result<Option<Organisation>, Refusal> {
        let mut root = self.root.clone();
        let sink = Sink::of(&mut root);
        let mut found = root.entries().iter().filter(|(key, _)| key == "design");
        let design = found.next().map(|(_, node)| design::read(node.clone(), known));
        let first = sink.take().into_iter().next();
        first.map_or(Ok(design), Err)
    }

    /// The test on real storage that it describes, with `overrides` in their order. No file is
    /// looked at.
    ///
    /// # Errors
    /// [`Refusal`] for the first thing that is wrong, or when it describes something else.
    pub fn test(&self, overrides: &[Override]) -> Result<Scenario, Refusal> {
        self.read(overrides, Test, |document, top| document.read_test(top, false))
    }

    /// The same with every mistake instead of the first. Call it for a document of that
    /// [`Subject`].
    pub fn check_test(&self, overrides: &[Override]) -> Checked<Scenario> {
        self.check(overrides, Test, |document, top| document.read_test(top, false))
    }

    /// The test on modelled arrays that it describes, with `overrides` in their order. Drive models
    /// that it names are read.
    pub fn modelled_test(&self, overrides: &[Override]) -> Result<ModelledScenario, Refusal> {
        self.read(overrides, ModelledTest, Self::read_modelled)
    }

    /// The same with every mistake instead of the first. Call it for a document of that
    /// [`Subject`].
    pub fn check_modelled_test(&self, overrides: &[Override]) -> Checked<ModelledScenario> {
        self.check(overrides, ModelledTest, Self::read_modelled)
    }

    fn read_modelled(&self, top: Top) -> ModelledScenario {
        ModelledScenario::read(top, &self.files)
    }

    /// What each server does in the test that it describes, on real storage or on modelled arrays.
    /// No file is looked at, so the document may come from anywhere.
    pub fn server(&self) -> Result<Scenario, Refusal> {
        match self.subject() {
            ModelledTest => self.read(&[], ModelledTest, |_, mut top| {
                let faults = Events::take(&mut top.sections).faults;
                top.sections.split(is_of_storage);
                Scenario::read(top, faults, Path::new("/"))
            }),
            _ => self.test(&[]),
        }
    }

    /// The drill on real storage that it describes, with `overrides` in their order. No file is
    /// looked at.
    pub fn real_drill(&self, overrides: &[Override]) -> Result<RealDrill, Refusal> {
        self.read(overrides, Real, Self::read_real)
    }

    /// The same with every mistake instead of the first. Call it for a document of that
    /// [`Subject`].
    pub fn check_real_drill(&self, overrides: &[Override]) -> Checked<RealDrill> {
        self.check(overrides, Real, Self::read_real)
    }

    fn read_real(&self, top: Top) -> RealDrill {
        RealDrill::read(top, &self.files.folder)
    }

    /// The raw load that it describes, with `overrides` in their order. Drive models and traces
    /// that it names are read.
    pub fn load(&self, overrides: &[Override]) -> Result<ArrayScenario, Refusal> {
        self.read(overrides, Load, Self::read_load)
    }

    /// The same with every mistake instead of the first. Call it for a document of that
    /// [`Subject`].
    pub fn check_load(&self, overrides: &[Override]) -> Checked<ArrayScenario> {
        self.check(overrides, Load, Self::read_load)
    }

    fn read_load(&self, top: Top) -> ArrayScenario {
        ArrayScenario::read(top, &self.files)
    }

    /// The organisation that it describes, with `overrides` in their order. `known` are the figures
    /// that it can give.
    pub fn organisation(
        &self,
        overrides: &[Override],
        known: &[FigureKey],
    ) -> Result<Organisation, Refusal> {
        self.read(overrides, Org, |document, top| {
            Organisation::read(top, &document.files.folder, known)
        })
    }

    /// The same with every mistake instead of the first. Call it for a document of that
    /// [`Subject`].
    pub fn check_organisation(
        &self,
        overrides: &[Override],
        known: &[FigureKey],
    ) -> Checked<Organisation> {
        self.check(overrides, Org, |document, top| {
            Organisation::read(top, &document.files.folder, known)
        })
    }

    /// The test of mail servers that it describes, with `overrides` in their order. No file is
    /// looked at.
    pub fn mail(&self, overrides: &[Override]) -> Result<MailScenario, Refusal> {
        self.read(overrides, Mail, Self::read_mail)
    }

    /// The same with every mistake instead of the first. Call it for a document of that
    /// [`Subject`].
    pub fn check_mail(&self, overrides: &[Override]) -> Checked<MailScenario> {
        self.check(overrides, Mail, Self::read_mail)
    }

    fn read_mail(&self, top: Top) -> MailScenario {
        MailScenario::read(top, &self.files.folder)
    }

    fn read<T>(
        &self,
        overrides: &[Override],
        wanted: Subject,
        read: impl Fn(&Self, Top) -> T,
    ) -> Result<T, Refusal> {
        if self.subject() != wanted {
            return Err(self.is_not(wanted));
        }
        let mut root = self.root.clone();
        for change in overrides {
            change.apply(&mut root)?;
        }
        let Checked { mistakes, value } = self.look(root, wanted, read);
        let first = mistakes.into_iter().next();
        first.map_or(Ok(value), Err)
    }

    fn check<T>(
        &self,
        overrides: &[Override],
        subject: Subject,
        read: impl Fn(&Self, Top) -> T,
    ) -> Checked<T> {
        let (root, refused) = self.overridden(overrides);
        let mut checked = self.look(root, subject, read);
        checked.mistakes.splice(..0, refused);
        checked.mistakes.sort_by(|one, other| one.place().order().cmp(&other.place().order()));
        checked
    }

    /// The document with `overrides`, and those that cannot be applied.
    pub(super) fn overridden(&self, overrides: &[Override]) -> (Node, Vec<Refusal>) {
        let mut root = self.root.clone();
        let mut refused = Vec::new();
        for change in overrides {
            let mut changed = root.clone();
            match change.apply(&mut changed) {
                Ok(()) => root = changed,
                Err(refusal) => refused.push(refusal),
            }
        }
        (root, refused)
    }

    /// What `root` says of a host; `has_arrays` tells whether events of arrays are in it.
    pub(super) fn look_at_host(&self, root: Node, has_arrays: bool) -> Checked<Scenario> {
        self.look(root, Test, |document, top| document.read_test(top, has_arrays))
    }

    fn read_test(&self, mut top: Top, has_arrays: bool) -> Scenario {
        let events = Events::take(&mut top.sections);
        let faults = if has_arrays { events.faults } else { events.of_files() };
        Scenario::read(top, faults, &self.files.folder)
    }

    /// What `root` describes, and its mistakes in the order of reading.
    fn look<T>(
        &self,
        mut root: Node,
        wanted: Subject,
        read: impl Fn(&Self, Top) -> T,
    ) -> Checked<T> {
        let sink = Sink::of(&mut root);
        let value = read(self, self.top(root, wanted));
        Checked { mistakes: sink.take(), value }
    }

    /// The sections of `wanted` in `root`.
    fn top(&self, mut root: Node, wanted: Subject) -> Top {
        take_misfits(&mut root, wanted);
        take_strays(&mut root, wanted);
        let mut sections = Section::new(root, "the scenario", &wanted.keys());
        if let Some(node) = sections.take("base") {
            let refusal = node.place.refuse("is only followed in the file of a scenario");
            let refusal = refusal.hint("write it there, not in a flag").because(Cause::Value);
            sections.refuse(refusal);
        }
        let stem = Path::new(&self.file).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let name = sections.read_or("name", stem, section::name).value;
        let description = sections.read_or("description", String::new(), section::text);
        let (description, origin) = (description.value, self.origin.clone());
        Top { name, description, origin, sections }
    }

    /// The refusal of a document that does not describe `wanted`.
    pub(super) fn is_not(&self, wanted: Subject) -> Refusal {
        let place = Place::file(&self.file);
        match (wanted, self.subject()) {
            (ModelledTest, Test) => place
                .refuse("the scenario lacks `array`")
                .hint(format!("for example: {}", arrays::EXAMPLE))
                .hint("storage of this machine is tested by `brunt run`; a drill on it has a table [site.source]"),
            (_, Org) => place
                .refuse("describes an organisation to be sized, not a test")
                .hint(format!(
                    "to size it: brunt size {} --write design.toml",
                    self.file
                )),
            (Org, _) => place
                .refuse("the scenario lacks `org`")
                .hint("for example: [org] with servers = 4; examples/org.toml has every section"),
            (wanted, Mail) => place
                .refuse(format!("describes a test of mail servers, not {wanted}"))
                .hint(format!("that is for: brunt load {}", self.file)),
            (Mail, _) => place
                .refuse("the scenario lacks `mail`")
                .hint("for example: [mail] with users = 50; examples/mail.toml has more"),
            (wanted, Fleet) => place
                .refuse(format!("describes a test on several hosts, not {wanted}"))
                .hint(format!("that is for: brunt fleet run {}", self.file)),
            (Fleet, Test) => place
                .refuse("the scenario names no `servers`")
                .hint("for example: servers = [\"MAIL1\", \"MAIL2\"]")
                .hint(format!("one host is tested by: brunt run {}", self.file)),
            (wanted, Real) => place
                .refuse(format!("describes a drill on real storage, not {wanted}"))
                .hint(format!("that is for: brunt drill {}", self.file)),
            (_, subject) => place.refuse(format!("describes {subject}, not {wanted}")),
        }
    }
}

/// Refuses the sections that belong to other subjects, and takes them out.
fn take_misfits(root: &mut Node, subject: Subject) {
    let Value::Table(entries) = &mut root.value else {
        return;
    };
    entries.retain(|(key, node)| {
        let section = SECTIONS.iter().find(|(own, _)| own == key);
        let Some((_, of)) = section.filter(|(_, of)| !of.contains(&subject)) else {
            return true;
        };
        let refusal = node.place.refuse(format!("`{key}` has no place in {subject}"));
        let refusal = refusal.because(Cause::Value);
        node.sink.refuse(match subject {
            Real => refusal.hint("a drill on real storage has [test], [[instance]], [site.source], [site.destination] and [[event]]"),
            Test if of.contains(&ModelledTest) => {
                refusal.hint("modelled arrays are for `brunt simulate`, and need a table [array]")
            }
            Org => {
                refusal.hint("an organisation has [org], [mailboxes] or [[tier]], and [storage]")
            }
            Mail => refusal.hint("a test of mail servers has [mail] and [target]"),
            _ if *of == [Mail] => refusal.hint("that is for `brunt load`, and needs [mail]"),
            _ if *of == [Org] => refusal.hint("that is for `brunt size`, and needs a table [org]"),
            _ => refusal.hint("keep [test] and [[instance]], or [simulate] and [[load]]"),
        });
        false
    });
}

/// Tables whose keys are set most often.
static OFTEN_SET: [&dyn Page; 3] = [&TEST, &PROFILE, &LIMITS];

/// Refuses keys that stand beside their table, names them whole, and takes them out.
fn take_strays(root: &mut Node, subject: Subject) {
    let known = subject.keys();
    let Value::Table(entries) = &mut root.value else {
        return;
    };
    entries.retain(|(key, node)| {
        let is_unknown = !known.contains(&key.as_str()) && nearest(key, &known).is_none();
        let has_key = |table: &&&dyn Page| table.all().iter().any(|own| own.name() == key);
        let Some(table) = OFTEN_SET.iter().filter(|_| is_unknown).find(has_key) else {
            return true;
        };
        let table = table.title().trim_matches(['[', ']']);
        let refusal = node.place.refuse(format!("unknown key `{key}` in the scenario"));
        let refusal = refusal.hint(format!("did you mean `{table}.{key}`?"));
        node.sink.refuse(refusal.because(Cause::Unknown));
        false
    });
}

impl Node {
    /// The keys of a table and their values; none of anything else.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }
}

/// Whether `key` describes storage that is modelled.
pub(super) fn is_of_storage(key: &str) -> bool {
    let own = SECTIONS.iter().find(|(own, _)| *own == key);
    own.is_some_and(|(_, of)| of.contains(&ModelledTest) && !of.contains(&Test))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new("t.toml", text, Path::new("/")).unwrap()
    }

    #[test]
    fn a_key_without_its_table_is_named_whole() {
        let refused = |set: &str| {
            let set = Override::of_set(set).unwrap();
            document("[test]").test(&[set]).unwrap_err().to_string()
        };
        assert_eq!(
            refused("sessions=3"),
            "`--set sessions=3`: unknown key `sessions` in the scenario\n  did you mean `test.sessions`?"
        );
        assert!(refused("cache_max=1GiB").ends_with("did you mean `profile.cache_max`?"));
        assert!(refused("nam=x").ends_with("did you mean `name`?"));
    }

    #[test]
    fn the_sections_say_what_is_described() {
        for (text, subject) in [
            ("", Test),
            ("[test]", Test),
            ("[[instance]]", Test),
            ("[test]\n[array]", ModelledTest),
            ("[[instance]]\n[[array]]", ModelledTest),
            ("[test]\n[site]\nneighbours = true", Test),
            ("[test]\n[site.source]", Real),
            ("[test]\n[site.source]\n[array]", ModelledTest),
            ("[array]", Load),
            ("[simulate]", Load),
            ("[[load]]", Load),
            ("[array]\n[[load]]\n[test]", Load),
            ("[org]\n[array]", Org),
            ("[[tier]]", Org),
            ("[mail]", Mail),
            ("[target]\n[test]", Mail),
            ("servers = []\n[test]", Fleet),
            ("[fleet]\n[test]\n[array]", ModelledTest),
        ] {
            assert_eq!(document(text).subject(), subject, "{text}");
        }
    }

    #[test]
    fn a_section_that_does_not_fit_the_others_is_refused_where_it_stands() {
        let refused = |text: &str| {
            let document = document(text);
            let refusal = match document.subject() {
                Test => document.test(&[]).err(),
                ModelledTest => document.modelled_test(&[]).err(),
                Real => document.real_drill(&[]).err(),
                Load => document.load(&[]).err(),
                Org => document.organisation(&[], &[]).err(),
                Mail => document.mail(&[]).err(),
                Fleet => document.check_fleet(&[]).unwrap().mistakes.into_iter().next(),
            };
            refusal.unwrap().to_string()
        };
        let either = "\n  keep [test] and [[instance]], or [simulate] and [[load]]";
        assert_eq!(
            refused("[test]\n[volumes]"),
            "t.toml:2: `[volumes]`: `volumes` has no place in a test on real storage\n  modelled arrays are for `brunt simulate`, and need a table [array]"
        );
        assert_eq!(
            refused("[test]\n[array]\n[simulate]"),
            format!(
                "t.toml:3: `[simulate]`: `simulate` has no place in a test on modelled arrays{either}"
            )
        );
        assert_eq!(
            refused("[array]\n[[load]]\n[test]"),
            format!(
                "t.toml:3: `[test]`: `test` has no place in raw load on a modelled array{either}"
            )
        );
    }

    #[test]
    fn another_subject_than_the_wanted_is_refused() {
        let said = |refusal: Option<Refusal>| refusal.unwrap().to_string();
        let modelled = document("[test]\n[array]");
        assert_eq!(
            said(modelled.test(&[]).err()),
            "t.toml: describes a test on modelled arrays, not a test on real storage"
        );
        let real = document("[test]").modelled_test(&[]).err();
        assert!(said(real).starts_with("t.toml: the scenario lacks `array`\n  for example: "));
    }

    #[test]
    fn a_section_that_a_flag_brings_has_to_fit() {
        for set in ["volumes./db=x", "array.cache.write=1GiB", "load.0.kind=random"] {
            let overrides = [Override::of_set(set).unwrap()];
            let refusal = document("[test]").test(&overrides).err().unwrap();
            let key = set.split_once('.').unwrap().0;
            let start = format!("`--set {set}`: `{key}` has no place in a test on real storage\n");
            assert!(refusal.to_string().starts_with(&start), "{refusal}");
        }
    }
}
