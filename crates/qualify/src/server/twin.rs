//! Databases without content: the engine's twin performing the same operations.
//!
//! They are created instantly whatever their size, and hold as many records as a bulk load would
//! put into them. They cannot be compared, because they hold no data; a backup is read before it is
//! restored, but not judged. Everything else in a test works as with records.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use brunt_ese::content::Ghost;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::Commit as EngineCommit;
use brunt_ese::twin::{Elsewhere, Journal, Layout, Left, Measure, TwinRecord, TwinTable};
use brunt_ese::verify::{CHUNK_BYTES, CPU_PER_CHUNK, READS_IN_FLIGHT};
use brunt_run::Listener;
use brunt_units::LogPosition;
use brunt_workload::keys::Population;
use brunt_workload::mix::{Commit, Kind};
use brunt_workload::operations::Operation;
use brunt_world::World;

use super::opening::open_all;
use super::{Server, Table};
use crate::kinds::Work;
use crate::phases::checksum::Reader;
use crate::phases::sizing::{self, FILL_PERCENT};
use crate::plan::{DatabasePlan, Plan};
use crate::truth::oracle::Finding;
use crate::truth::records::{Contents, FOLDERS};
use crate::truth::witness::{Change, Hearing};

/// One database of the twin.
pub struct Twin {
    instance: usize,
    table: TwinTable,
    contents: Contents,
    hearing: Hearing,
}

impl Table for Twin {
    type Content = Ghost;
    type BackedUp = Vec<Left>;

    fn instance_number(&self) -> usize {
        self.instance
    }

    fn database(&self) -> u8 {
        self.table.database()
    }

    async fn carry_out(
        &self,
        server: &Server<Self>,
        operation: &Operation,
    ) -> Result<Option<Finding>, EngineError> {
        let instance = server.instance_of(self);
        let record = TwinRecord {
            number: operation.record.number,
            key: operation.record.key,
            body: self.contents.body_length(operation.record),
        };
        let commit = match operation.commit {
            Commit::Hard => EngineCommit::Hard,
            Commit::Lazy => EngineCommit::Lazy,
        };
        let change = Change {
            instance: self.instance,
            database: self.database(),
            kind: operation.kind,
            number: operation.record.number,
            version: 0,
            commit: operation.commit,
            end: None,
        };
        let now = || server.world.clock.now();
        let asked = |end| {
            let end = Some(end);
            self.hearing.asked(now(), &Change { end, ..change });
        };
        match operation.kind {
            Kind::Read => return self.table.read(instance, record).await.map(|()| None),
            Kind::Insert => self.table.insert(instance, record, commit, asked).await?,
            Kind::Delete => self.table.delete(instance, record, commit, asked).await?,
            Kind::Replace => self.table.replace(instance, record, commit, asked).await?,
        }
        self.hearing.acknowledged(now(), &change);
        Ok(None)
    }

    async fn reopen(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        left: &Server<Self>,
    ) -> Result<Server<Self>, EngineError> {
        let of_instance = |(index, instance): (usize, &Instance<Ghost>)| {
            let own = left.databases.iter().find(|own| own.instance == index);
            let journal = own.map(|own| own.table.take_journal());
            instance.left(journal.unwrap_or_default())
        };
        let all = left.instances.iter().enumerate().map(of_instance);
        Server::begin_again(world, plan, listener, all.collect()).await
    }

    fn backed_up(server: &Server<Self>) -> Vec<Left> {
        server.instances.iter().map(Instance::backed_up).collect()
    }

    async fn judge_copy(world: &World, path: &Path) -> Result<(), EngineError> {
        let reader = Reader {
            cost: CPU_PER_CHUNK,
            ..Reader::new(world, CHUNK_BYTES as u64, READS_IN_FLIGHT)
        };
        reader.read(path).await.map(drop)
    }

    async fn open_restored(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        backed_up: Vec<Left>,
    ) -> Result<Server<Self>, EngineError> {
        Server::begin_again(world, plan, listener, backed_up).await
    }

    async fn close(instance: Instance<Ghost>) -> Result<(), EngineError> {
        instance.shut_down().await
    }
}

impl Server<Twin> {
    /// Forgets recorded changes of instance `instance` before `position`: no recovery will need
    /// them.
    pub fn forget_before(&self, instance: usize, position: LogPosition) {
        let mut tables = self.databases.iter();
        if let Some(table) = tables.find(|table| table.instance == instance) {
            table.table.forget_before(position);
        }
    }

    /// The journal of instance `instance`; an empty one when nothing is noted.
    pub(crate) fn journal(&self, instance: usize) -> Rc<RefCell<Journal>> {
        let mut tables = self.databases.iter();
        let table = tables.find(|table| table.instance == instance);
        table.and_then(|table| table.table.journal()).unwrap_or_default()
    }

    /// Opens and recovers at another site what `sites` say is there of each instance of a server
    /// that was killed. Its trees go on as the server had them.
    ///
    /// # Errors
    /// The first error of the engine.
    pub async fn take_over(
        self,
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        sites: Vec<Elsewhere>,
    ) -> Result<Self, EngineError> {
        let instances = self.instances.iter().enumerate().zip(sites);
        let left = instances.map(|((index, instance), site)| {
            let own = self.databases.iter().find(|own| own.instance == index);
            let journal = own.map(|own| own.table.take_journal());
            instance.left(journal.unwrap_or_default()).elsewhere(site)
        });
        let left = left.collect();
        let mut server = Self::begin_again(world, plan, listener, left).await?;
        server.databases = self.databases;
        Ok(server)
    }

    /// Opens and recovers what each instance has left.
    async fn begin_again(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        left: Vec<Left>,
    ) -> Result<Self, EngineError> {
        let mut server = Self::empty(world, plan);
        let instances = left.len();
        let mut left = left.into_iter();
        let begin = async |index: usize| {
            let options = plan.instance_options(index);
            let left = left.next().expect("one for every instance");
            let opening = Instance::begin_reopening(world, &server.cache, options, left).await?;
            Ok((opening.replayed(), opening.finish()))
        };
        let all = open_all(world, instances, listener, begin).await;
        for (index, opened) in all.into_iter().enumerate() {
            let opened = opened?;
            server.note_recovery(plan, index, &opened, listener);
            if plan.twin.no_flush_maps {
                opened.instance.leave_flush_maps();
            }
            server.instances.push(opened.instance);
        }
        Ok(server)
    }

    /// Creates and opens all databases of `plan`; returns them with their initial records.
    ///
    /// # Errors
    /// When one of the files exists already, or the volume is full.
    pub async fn make(world: &World, plan: &Plan) -> Result<(Self, Vec<Population>), EngineError> {
        let mut server = Self::empty(world, plan);
        let mut populations = Vec::new();
        for (index, instance) in plan.instances.iter().enumerate() {
            let databases = instance.databases.iter();
            let layouts: Vec<_> = databases.map(|database| layout(plan, database)).collect();
            let pages: Vec<_> = layouts.iter().map(Layout::pages).collect();
            let options = plan.instance_options(index);
            let opened = Instance::start_blank(world, &server.cache, options, &pages).await?;
            if plan.twin.no_flush_maps {
                opened.leave_flush_maps();
            }
            let journal = Rc::new(RefCell::new(Journal::default()));
            for (number, layout) in (0..).zip(layouts) {
                let mut table = TwinTable::new(world, &opened, number, layout);
                let is_replayed = plan.kind.work() == Work::Replay || !plan.passive.is_empty();
                if is_replayed || plan.hearing.is_there() {
                    table = table.noting(Rc::clone(&journal));
                }
                let signature = opened.databases()[usize::from(number)].header.borrow().signature;
                let contents = Contents::new(&signature, plan.load.shape);
                populations.push(Population::new(contents.mixer(), layout.records));
                server.databases.push(Twin {
                    instance: index,
                    table,
                    contents,
                    hearing: plan.hearing.clone(),
                });
            }
            server.instances.push(opened);
        }
        Ok((server, populations))
    }
}

/// The initial trees of a database of the plan.
fn layout(plan: &Plan, database: &DatabasePlan) -> Layout {
    let shape = &plan.load.shape;
    let amount = sizing::amount(database.size, plan.engine.page, shape);
    Layout {
        measure: Measure {
            page: plan.engine.page,
            fill_percent: FILL_PERCENT,
            short: shape.short as usize,
            long: shape.long as usize,
            log: plan.twin.log_records,
        },
        records: amount.records,
        body_pages: sizing::apart_pages_per_record(plan.engine.page, shape),
        folders: u32::try_from(FOLDERS).expect("few folders"),
        free_pages: amount.free_pages,
        reads_branches: !plan.twin.branches_in_memory,
    }
}
