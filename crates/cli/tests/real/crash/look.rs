//! Recovering what a killed program left, and reading all of it.

use std::path::Path;
use std::time::SystemTime;

use brunt_ese::verify::verify;
use brunt_host::consent::Consent;
use brunt_host::plan::plan;
use brunt_qualify::plan::Plan;
use brunt_qualify::server::{Server, Table};
use brunt_qualify::truth::records::{Compared, Contents, StoredFields};
use brunt_qualify::truth::{survey, verification};
use brunt_run::Silence;
use brunt_scenario::Document;
use brunt_world::World;
use brunt_world_real::RealWorld;

use super::journal::State;

/// Small pages, logs and caches: many borders in little time.
pub(crate) const SCENARIO: &str = r#"
name = "crash"
scratch = "data"

[test]
duration = "10min"
sessions = 6
min_warmup = "0s"

[profile]
version = "exchange-2013"
page = "4 KiB"
log_file = "256 KiB"
log_buffer = "64 KiB"
cache_min = "1 MiB"
cache_max = "2 MiB"
checkpoint_depth = "1 MiB"

[[instance]]
log = "log1"
databases = ["one.edb"]
database_size = "6 MiB"

[[instance]]
log = "log2"
databases = ["two.edb"]
database_size = "6 MiB"
"#;

/// Recovers the databases in `folder`, reads every record, closes them, and judges every page.
pub(crate) fn look(real: &mut RealWorld, folder: &Path) -> Result<State, String> {
    let scenario = Document::new("crash.toml", SCENARIO, folder).unwrap().test(&[]).unwrap();
    let plan = plan(&scenario, Consent::default(), SystemTime::now());
    let world = real.world.clone();
    real.executor.block_on(async move {
        let state = read(&world, &plan).await?;
        for database in plan.databases() {
            let report = verify(&world, &database.path).await;
            let report = report.map_err(|error| error.to_string())?;
            if report.pages_bad > 0 {
                let path = database.path.display();
                return Err(format!("{path}: {:?}", report.findings));
            }
        }
        Ok(state)
    })
}

async fn read(world: &World, plan: &Plan) -> Result<State, String> {
    let opened = Server::open(world, plan, &Silence, None).await;
    let server = opened.map_err(|error| format!("cannot be recovered: {error}"))?;
    let server = std::rc::Rc::new(server);
    let populations = survey::survey(world, &server, &Silence).await;
    let populations = populations.map_err(|error| error.to_string())?;
    let mut state = State::new();
    for (table, extent) in server.tables().iter().zip(verification::extents(&populations)) {
        let live = extent.low..extent.next;
        for number in live.filter(|number| extent.gone.binary_search(number).is_err()) {
            let record = table.contents().mixer().record(number);
            let id = Contents::id(record);
            let instance = server.instance_of(table);
            let message = instance.read_message(table.messages(), id, true).await;
            let message = message.map_err(|error| error.to_string())?;
            let message = message.ok_or(format!("record {number} is in the tree and not found"))?;
            let stored = StoredFields::from(&message);
            match table.contents().compare(record, &stored) {
                Compared::Version(version) => {
                    state.insert((table.instance_number(), table.database(), number), version);
                }
                Compared::Wrong => return Err(format!("record {number} is torn")),
            }
        }
    }
    server.close().await.map_err(|error| error.to_string())?;
    Ok(state)
}
