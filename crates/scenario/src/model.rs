//! A test as a scenario describes it: what its sections say together.

use std::path::{Path, PathBuf};

use brunt_qualify::goal::Tune;
use brunt_qualify::kinds::Work;
use brunt_qualify::plan::{CopyPlan, DatabasePlan, InstancePlan, Limits, Plan};
use brunt_units::ByteSize;
use brunt_workload::mix::Kind;
use brunt_workload::profile::SessionScope;
use brunt_world::fault::Fault;
use brunt_world_real::Choice;

use super::base::Origin;
use super::copies;
use super::design;
use super::engine::{self, ENGINE, Engine};
use super::events::{Entry, read_faults, write_faults};
use super::format::{path, quoted};
use super::instances::{self, FilePlaces, INSTANCE, Written};
use super::limits::{self, LIMITS};
use super::mailboxes::{MAILBOXES, Mailboxes};
use super::place::Placed;
use super::profile::Profile;
use super::records::{self, RECORDS};
use super::section;
use super::site::Site;
use super::solution::Solution;
use super::storage::{self, STORAGE};
use super::test::Test;
use super::throughput::Shares;
use super::top::Top;

/// A test, with every default filled in and every path absolute.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What the run folder is called after.
    pub name: String,
    /// Free text.
    pub description: String,
    /// The files that say all this.
    pub(super) origin: Origin,
    /// What a paper says about the storage.
    pub solution: Solution,
    /// The organisation that it was sized for, as TOML, if it says so.
    pub design: Option<toml::Table>,
    /// The folder that may be made, with everything below it; without one, folders have to be
    /// there.
    pub scratch: Option<Placed<PathBuf>>,
    pub test: Test,
    /// The engine's sizes, what the sessions do, and what records are like.
    pub profile: Profile,
    /// The cache of the profile, and where its size was written.
    pub cache_max: Placed<ByteSize>,
    /// What the storage must hold.
    pub limits: Limits,
    /// The mailboxes that sizes and target come from, if they do.
    pub mailboxes: Option<Mailboxes>,
    /// The share of each volume that databases are to fill, in percent, until they have been sized
    /// by it.
    pub capacity_percent: Option<Placed<u64>>,
    /// The share of each volume that databases have been sized by, in percent, if they have.
    pub sized_percent: Option<u32>,
    /// The share of the most I/O that passes, in percent, when the scenario is about that.
    pub throughput_percent: Option<u32>,
    /// How much the storage itself caches, if that is known.
    pub array_cache: Option<ByteSize>,
    /// What is known of the site.
    pub site: Site,
    /// How I/O is to reach the kernel.
    pub backend: Choice,
    /// Threads that share the instances in tests on real storage, at least one.
    pub shards: Placed<u32>,
    /// The log streams and their databases, at least one.
    pub instances: Vec<InstancePlan>,
    /// Passive copies that follow them.
    pub copies: Vec<CopyPlan>,
    /// Where the files of these were written: those of the instances, then those of the copies.
    pub places: Vec<FilePlaces>,
    /// What is to go wrong on purpose.
    pub faults: Vec<Fault>,
}

impl Scenario {
    /// Reads the sections of a test with these `faults`. Relative paths are relative to `folder`,
    /// which is absolute. No file is looked at.
    pub(super) fn read(top: Top, faults: Vec<Entry>, folder: &Path) -> Self {
        let Top { name, description, origin, sections: mut top } = top;
        let scratch = top.read("scratch", |node| section::absolute(node, folder));
        let folder = scratch.as_ref().map_or(folder, |scratch| &scratch.value);
        let solution = Solution::take(&mut top);
        let design = design::take(&mut top);
        let mut test = Test::read(&mut top, folder);
        let nodes = instances::nodes(&mut top);
        let (mut profile, cache_max) = Profile::read(&mut top, nodes.len() as u64);
        let limits = Limits {
            strict_tail: test.strict_tail,
            restore_within: test.restore_within,
            ..limits::read(&mut top, profile.version, test.kind)
        };
        profile.load.shape = records::read(&mut top, profile.version);
        let preconditions = test.precondition.value > 0.0 && test.kind.work() == Work::Load;
        if preconditions && profile.load.mix.percent(Kind::Read) == 100 {
            let what = "writes before the test, but its sessions only read";
            let refusal = test.precondition.place.refuse(what);
            top.refuse(refusal.hint("0, or a profile with inserts, deletes or replaces"));
        }
        let mailboxes = Mailboxes::read(&mut top, &mut test);
        let (shares, has_capacity) = Shares::read(&mut top, mailboxes.as_ref(), &test);
        let array_cache = storage::read(&mut top);
        let Engine { backend, shards } = engine::read(&mut top);
        let site = Site::read(&mut top);
        let mut scenario = Self {
            name,
            description,
            origin,
            solution,
            design,
            scratch: scratch.clone(),
            test,
            profile,
            cache_max,
            limits,
            mailboxes,
            capacity_percent: shares.capacity,
            sized_percent: None,
            throughput_percent: shares.throughput,
            array_cache,
            site,
            backend,
            shards,
            instances: Vec::new(),
            copies: Vec::new(),
            places: Vec::new(),
            faults: Vec::new(),
        };
        scenario.read_instances(nodes, folder, has_capacity, top.sink());
        top.sink().catch(engine::check_shards(&scenario));
        scenario.read_copies(&mut top, folder);
        let page = scenario.profile.engine.page;
        scenario.faults = read_faults(faults, &scenario.instances, page);
        scenario
    }

    /// The scenario with every default written out and every path absolute. Reading it gives this
    /// scenario again.
    pub fn to_toml(&self) -> String {
        let mut text = self.origin.head();
        self.write(&mut text);
        text
    }

    pub(super) fn write(&self, out: &mut String) {
        *out += &format!("name = {}\n", quoted(&self.name));
        *out += &format!("description = {}\n", quoted(&self.description));
        if let Some(scratch) = &self.scratch {
            *out += &format!("scratch = {}\n", path(&scratch.value));
        }
        self.test.write(self.mailboxes.is_some(), out);
        self.mailboxes.iter().for_each(|mailboxes| MAILBOXES.write(mailboxes, out));
        // Sizes that were made from the capacity are written as such, and the share is not.
        let (capacity, throughput) = (self.capacity_percent.clone(), self.throughput_percent);
        Shares { capacity, throughput }.write(out);
        self.profile.write(out);
        LIMITS.write(&self.limits, out);
        RECORDS.write(&self.profile.load.shape, out);
        if self.array_cache.is_some() {
            STORAGE.write(&self.array_cache, out);
        }
        ENGINE.write(&Engine { backend: self.backend, shards: self.shards.clone() }, out);
        self.site.write(out);
        self.solution.write(out);
        if let Some(design) = &self.design {
            design::write_design(design, out);
        }
        for (instance, places) in self.instances.iter().zip(&self.places) {
            INSTANCE.write(&Written::of(instance, places), out);
        }
        copies::write(self, out);
        write_faults(&self.faults, out);
    }

    /// The plan of this test, on storage whose sectors have 512 bytes. What belongs to a single
    /// run, such as its id and when it began, is that of [`Plan::new`].
    pub fn plan(&self) -> Plan {
        self.test.planned(Plan {
            name: self.name.clone(),
            description: self.description.clone(),
            sessions: self.pool(),
            tune: self.tune(),
            capacity_percent: self.sized_percent,
            throughput_percent: self.throughput_percent,
            session_scope: self.session_scope(),
            mailboxes: self.mailboxes.as_ref().map(|mailboxes| mailboxes.count),
            engine: self.profile.engine,
            load: self.profile.load,
            limits: self.limits,
            array_cache: self.array_cache,
            shards: self.shards.value,
            passive: self.copies.clone(),
            faults: self.faults.clone(),
            ..Plan::new(self.profile.version, self.instances.clone())
        })
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

    pub fn databases(&self) -> impl Iterator<Item = &DatabasePlan> {
        self.instances.iter().flat_map(|instance| &instance.databases)
    }
}
