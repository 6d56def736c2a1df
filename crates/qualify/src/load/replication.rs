//! The reads of log shipping to copies that are not modelled: each log file is read once for every
//! copy of the databases elsewhere, as soon as it is complete. Copies that a scenario names are
//! followed in [`crate::copies`].
//!
//! A server with copies ships its log, which adds reads to its log volume, in the pieces of
//! [`brunt_copies::files::LogReader`].
//!
//! Source: in published tests with copies each file is read once for every copy beyond the server's
//! own (Dell PowerVault MD3820f, 500 users, Exchange 2013, ESRP-Storage 4.0).

use std::rc::Rc;

use brunt_copies::files::LogReader;
use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_units::Span;
use brunt_world::{Class, World};

use crate::plan::{CopyPlan, Plan};
use crate::server::{Server, Table};

/// How often a reader checks whether the next log file is complete.
const LOOK: Span = Span::millis(50);

/// Starts reading the logs of all instances for the copies of `plan` beyond the server's own that
/// are not there as passive copies. A reader ends with its instance.
pub(crate) fn ship_logs<T: Table>(world: &World, plan: &Plan, server: &Rc<Server<T>>) {
    for (number, instance) in server.instances().iter().enumerate() {
        let is_own = |copy: &&CopyPlan| copy.of == number;
        let passive = plan.passive.iter().filter(is_own).count();
        let others = (plan.copies as usize).saturating_sub(1 + passive);
        for _ in 0..others {
            let (world, server) = (world.clone(), Rc::clone(server));
            let instance = instance.clone();
            drop(world.clone().spawner.spawn(async move {
                let shipped = ship(&world, &server, &instance).await;
                // A log that cannot be read is an error of the log volume, reported like any other.
                if let Err(error) = shipped {
                    server.note_replication_error(error);
                }
            }));
        }
    }
}

async fn ship<T: Table>(
    world: &World,
    server: &Server<T>,
    instance: &Instance<T::Content>,
) -> Result<(), EngineError> {
    let length = instance.log().shape().file_bytes() as u64;
    let mut next = instance.log().tail().generation;
    while !server.is_closing() && instance.failure().is_none() {
        // The current file may still be written to, and the one before it may still be waiting for
        // its rename.
        if instance.log().durable().generation > next {
            let path = instance.log().files().archived_path(next);
            // Circular logging may have removed it already.
            let opened = LogReader::open_sized(world, Class::Replication, &path, length).await?;
            if let Some(reader) = opened {
                read_shipped(instance, reader).await?;
            }
            next += 1;
        } else {
            world.sleep(LOOK).await;
        }
    }
    Ok(())
}

/// Reads a log file of `instance` to its end, as log shipping does.
pub(crate) async fn read_shipped<C: Content>(
    instance: &Instance<C>,
    reader: LogReader<C>,
) -> Result<(), EngineError> {
    let (meters, number) = (instance.cache().meters(), instance.options().number);
    let each = reader.each(|_, bytes, latency| {
        meters.log(number, |log| &mut log.replication, bytes, latency);
    });
    each.await
}
