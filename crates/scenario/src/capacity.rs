//! Databases that are sized by the capacity of their volumes: `capacity_percent` of
//! [`super::throughput`].
//!
//! Capacity means what can be had: the free space and what the databases of this scenario already
//! take. With logs on the same volume, their room goes off first. Of the rest a share is taken, and
//! of that the initial size is share / (1 + reserve), as in Jetstress (hmlee, "capacity
//! percentage": 80 of 100 GB with a reserve of 25 %).

use std::collections::BTreeMap;
use std::path::Path;

use brunt_qualify::kinds::Work;
use brunt_units::ByteSize;
use brunt_world_real::facts::{bytes_there, room};

use super::model::Scenario;
use super::place::{Placed, Refusal};

/// Log files that may exist beside those that recovery needs: the current one, the one being
/// formatted, and some that wait to be removed.
const LOG_FILES_SPARE: u64 = 16;
/// Log that one server may write from one move of the checkpoint to the next, which gives logs up
/// at most once a second. Measured: on a file system in memory 80 MiB beside those of the depth.
const LOG_AHEAD: ByteSize = ByteSize::mib(128);

/// One volume and what of the scenario lies on it.
#[derive(Default)]
struct Share {
    available: u64,
    databases: Vec<(usize, usize)>,
    logs: u64,
}

impl Scenario {
    /// Sizes the databases by the capacity of their volumes, if the scenario says so.
    ///
    /// # Errors
    /// When a volume has no room, or cannot be asked.
    pub fn fit_capacity(&mut self) -> Result<(), Refusal> {
        let Some(percent) = self.capacity_percent.take() else {
            return Ok(());
        };
        self.sized_percent = u32::try_from(percent.value).ok();
        let logs = self.log_bytes();
        let mut shares = BTreeMap::<u64, Share>::new();
        for (number, instance) in self.instances.iter().enumerate() {
            let log = volume(&instance.log, &mut shares, &percent)?;
            log.logs += logs;
            for (at, database) in instance.databases.iter().enumerate() {
                let share = volume(&database.path, &mut shares, &percent)?;
                share.databases.push((number, at));
                share.available += bytes_there(&database.path);
            }
        }
        let reserve = u128::from(100 + self.limits.reserve_percent);
        for share in shares.values() {
            let room = share.available.saturating_sub(share.logs);
            let all = u128::from(room) * u128::from(percent.value);
            let count = share.databases.len().max(1) as u128;
            let each = all.div_euclid(reserve * count);
            let each = ByteSize::bytes(u64::try_from(each).unwrap_or(u64::MAX));
            for (number, at) in &share.databases {
                self.check_size(each, &percent.place)?;
                self.instances[*number].databases[*at].size = each;
            }
        }
        self.places.iter_mut().for_each(|places| places.size = percent.place.clone());
        for copy in &mut self.copies {
            let own = self.instances[copy.of].databases.iter();
            own.zip(&mut copy.files.databases).for_each(|(own, copy)| copy.size = own.size);
        }
        Ok(())
    }

    /// The key that says how large databases are.
    pub fn sized_by(&self) -> &'static str {
        match (&self.mailboxes, self.sized_percent) {
            (Some(_), _) => "`count` or `quota` of [mailboxes]",
            (None, Some(_)) => "`capacity_percent`",
            (None, None) => "`database_size`",
        }
    }

    /// Room for the logs of one instance.
    ///
    /// On storage that writes pages more slowly than the log grows, the checkpoint falls behind its
    /// depth. How far depends on the storage, which is what is to be found out; an instance's part
    /// of the cache is set aside for it. On fast storage the log runs ahead of the checkpoint
    /// instead.
    pub fn log_bytes(&self) -> u64 {
        let engine = &self.profile.engine;
        let file = engine.log_file.get();
        let replayed = match self.test.kind.work() {
            Work::Replay => (u64::from(self.test.logs) + LOG_FILES_SPARE) * file,
            Work::Load | Work::BackUp => 0,
        };
        let behind = engine.checkpoint_depth.get().saturating_mul(2);
        let instances = self.instances.len().max(1) as u64;
        let part = engine.cache_max.get().max(LOG_AHEAD.get()).div_euclid(instances);
        let behind = behind.saturating_add(part);
        behind.max(replayed).saturating_add(LOG_FILES_SPARE * file)
    }
}

/// The volume that holds `path`.
fn volume<'s>(
    path: &Path,
    shares: &'s mut BTreeMap<u64, Share>,
    percent: &Placed<u64>,
) -> Result<&'s mut Share, Refusal> {
    let refuse =
        || percent.place.refuse(format!("{} cannot be asked for its room", path.display()));
    let room = room(path).ok_or_else(refuse)?;
    let share = shares
        .entry(room.volume)
        .or_insert_with(|| Share { available: room.free, ..Share::default() });
    Ok(share)
}
