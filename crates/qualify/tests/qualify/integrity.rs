//! Records that are changed behind the oracle's back are found, with the right finding.

use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_ese::instance::messages::NewContent;
use brunt_ese::instance::transaction::Commit;
use brunt_qualify::phases::{creation, places};
use brunt_qualify::plan::Plan;
use brunt_qualify::rules::RecordsVerified;
use brunt_qualify::server::{Records, Server, Table};
use brunt_qualify::truth::oracle::{Findings, Oracle};
use brunt_qualify::truth::records::{Contents, Pads};
use brunt_qualify::truth::{integrity, survey, verification};
use brunt_run::{Silence, Stop};
use brunt_units::Time;
use brunt_workload::keys::{Extent, Record};
use brunt_world::World;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

/// New databases, and what they must hold.
async fn fresh(world: &World, plan: &Plan) -> (Rc<Server>, Vec<Extent>) {
    let decisions = places::decide(world, plan).await.unwrap();
    let stop = Stop::default();
    let made = creation::create(world, plan, &decisions, &Silence, &stop).await;
    made.unwrap();
    let oracles = vec![Oracle::fresh(2); 2];
    let server = Server::open(world, plan, &Silence, Some(oracles)).await;
    let server = Rc::new(server.unwrap());
    let populations = survey::survey(world, &server, &Silence).await.unwrap();
    (server, verification::extents(&populations))
}

/// Changes records of the first database without the oracle.
struct Tamper<'a> {
    server: &'a Server,
    table: &'a Records,
}

impl Tamper<'_> {
    fn record(&self, number: u64) -> Record {
        self.table.contents().mixer().record(number)
    }

    /// Writes a record with one version and the bytes of another, inserting it if it is missing.
    async fn write(&self, number: u64, version: u32, bytes_of: u32) -> Result<(), EngineError> {
        let (record, mut pads) = (self.record(number), Pads::default());
        self.table.contents().fill(record, bytes_of, &mut pads);
        let content = NewContent {
            id: Contents::id(record),
            folder: Contents::folder(record),
            received: Contents::received(record),
            version: version.cast_signed(),
            subject: &pads.subject,
            body: &pads.body,
        };
        let transaction = self.server.instance_of(self.table).begin();
        let table = self.table.messages();
        match transaction.replace_message(table, &content).await {
            Err(EngineError::RecordNotFound) => {
                transaction.insert_message(table, &content).await?;
            }
            other => other?,
        }
        transaction.commit(Commit::Hard).await
    }

    async fn delete(&self, number: u64) -> Result<(), EngineError> {
        let transaction = self.server.instance_of(self.table).begin();
        let id = Contents::id(self.record(number));
        transaction.delete_message(self.table.messages(), id).await?;
        transaction.commit(Commit::Hard).await
    }
}

async fn look(world: &World, server: &Rc<Server>, extents: &[Extent]) -> RecordsVerified {
    let (until, stop) = (Time(u64::MAX), Stop::default());
    let found = integrity::records(world, server, extents, until, &Silence, &stop).await;
    found.unwrap()
}

#[test]
fn each_finding_is_what_was_done() {
    let mut machine = VirtualWorld::new(VirtualOptions::new(3));
    let world = machine.world.clone();
    machine.executor.block_on(async move {
        let plan = crate::small::plan();
        let (server, extents) = fresh(&world, &plan).await;
        let sound = look(&world, &server, &extents).await;
        assert!(sound.expected > 1_000, "{sound:?}");
        assert_eq!((sound.checked, sound.known), (sound.expected, sound.expected));
        assert_eq!(sound.findings, Findings::default());

        let tamper = Tamper { server: &server, table: &server.tables()[0] };
        assert_eq!(tamper.table.instance_number(), 0);
        tamper.write(10, 1, 1).await.unwrap();
        tamper.write(11, 0, 7).await.unwrap();
        tamper.delete(12).await.unwrap();
        tamper.delete(13).await.unwrap();
        tamper.write(extents[0].next + 5, 0, 0).await.unwrap();
        let found = look(&world, &server, &extents).await;
        let wanted = Findings {
            lost: 2,
            stale: 0,
            // A version that was never committed, and a record that was never inserted.
            phantom: 2,
            torn: 1,
        };
        assert_eq!(found.findings, wanted);

        // As if the storage had lost a replace.
        let mut oracles = server.oracles();
        let forgotten = server.tables()[0].contents().mixer().record(20);
        oracles[0].replaced(forgotten, 1);
        server.close().await.unwrap();
        let server = Server::open(&world, &plan, &Silence, Some(oracles)).await;
        let found = look(&world, &Rc::new(server.unwrap()), &extents).await;
        assert_eq!(found.findings, Findings { stale: 1, ..wanted });
    });
}
