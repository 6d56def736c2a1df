//! Whether a database of an earlier run fits the scenario.

use brunt_ese::format::header::DatabaseState;
use brunt_ese::verify;
use brunt_units::ByteSize;
use brunt_world::World;

use super::ours::Found;
use crate::error::RunError;
use crate::phases::growth;
use crate::plan::{DatabasePlan, InstancePlan, Plan};

/// A database this close to the scenario's size is large enough: the size of a number of records is
/// an estimate.
const SIZE_PERCENT_MIN: u128 = 90;

/// Checks that a database is as long as it claims. One that was not closed may claim more until it
/// is recovered, so it is checked only if it would be refused anyway.
pub(super) async fn check_whole(
    world: &World,
    database: &DatabasePlan,
    found: &Found,
) -> Result<(), RunError> {
    let Found::Ours { state, length, .. } = *found else {
        return Ok(());
    };
    if state != DatabaseState::Clean && !is_too_small(length, database.size) {
        return Ok(());
    }
    match verify::claimed_length(world, &database.path).await {
        Ok(Some(owned)) if owned > length.get() => Err(RunError::CutShort {
            path: database.path.clone(),
            found: length,
            owned: ByteSize::bytes(owned),
        }),
        _ => Ok(()),
    }
}

fn is_too_small(length: ByteSize, wanted: ByteSize) -> bool {
    u128::from(length.get()) * 100 < u128::from(wanted.get()) * SIZE_PERCENT_MIN
}

/// Checks that a database can be used as it is. `missing` is a missing database of the same
/// instance.
pub(super) fn check_kept(
    plan: &Plan,
    instance: &InstancePlan,
    index: usize,
    found: &Found,
    missing: Option<&usize>,
) -> Result<(), RunError> {
    let Found::Ours { state, page, length, made: _ } = *found else {
        return Ok(());
    };
    let database = &instance.databases[index];
    let path = database.path.clone();
    if page != plan.engine.page {
        let wanted = plan.engine.page;
        return Err(RunError::PageSize { path, found: page, wanted });
    }
    if is_too_small(length, database.size) {
        let (found, wanted) = (length, database.size);
        return Err(RunError::TooSmall { path, found, wanted });
    }
    let most = growth::size_max(plan, database.size);
    if length > most {
        return Err(RunError::TooLarge {
            path,
            found: length,
            wanted: database.size,
            percent: plan.limits.reserve_percent,
        });
    }
    match missing {
        Some(missing) if state != DatabaseState::Clean => Err(RunError::Incomplete {
            missing: instance.databases[*missing].path.clone(),
            dirty: path,
        }),
        _ => Ok(()),
    }
}
