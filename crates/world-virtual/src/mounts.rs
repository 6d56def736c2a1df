//! Volumes: which path is on which volume, and how full they are.
//!
//! Space is counted in file lengths: a file takes its length, written or not.

use std::path::Path;

use brunt_world::Space;

use crate::{Store, VirtualVolume};

struct Mount {
    volume: VirtualVolume,
    used_bytes: u64,
}

/// The volumes of a world.
pub(crate) struct Mounts(Vec<Mount>);

impl Mounts {
    /// # Panics
    /// When a volume names a missing device, or a file of `store` is on no volume.
    pub(crate) fn new(volumes: Vec<VirtualVolume>, devices: usize, store: &Store) -> Self {
        assert!(
            volumes.iter().all(|volume| volume.device < devices),
            "a volume lies on a device that is not there"
        );
        let mount = |volume| Mount { volume, used_bytes: 0 };
        let mut mounts = Self(volumes.into_iter().map(mount).collect());
        for (path, inode) in store.names() {
            let volume = mounts.find(path).expect("every file lies on a volume");
            let bytes = store.length(inode).expect("a named file is there");
            mounts.0[volume as usize].used_bytes += bytes;
        }
        mounts
    }

    /// The volume that holds `path`: the one with the longest matching path.
    pub(crate) fn find(&self, path: &Path) -> Option<u32> {
        let holding = self.0.iter().zip(0..).filter(|(mount, _)| {
            let prefix = &mount.volume.path;
            path.starts_with(prefix)
        });
        holding
            .max_by_key(|(mount, _)| mount.volume.path.components().count())
            .map(|(_, number)| number)
    }

    pub(crate) fn path(&self, volume: u32) -> &Path {
        &self.0[volume as usize].volume.path
    }

    /// `path` relative to the volume's own.
    pub(crate) fn below<'p>(&self, volume: u32, path: &'p Path) -> &'p Path {
        let own = &self.0[volume as usize].volume.path;
        path.strip_prefix(own).unwrap_or(path)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The device under a volume.
    pub(crate) fn device(&self, volume: u32) -> u32 {
        u32::try_from(self.0[volume as usize].volume.device).expect("few devices")
    }

    /// Latency of operations on names.
    pub(crate) fn names_latency(&self, volume: u32) -> brunt_units::Span {
        self.0[volume as usize].volume.names_latency
    }

    /// Claims space for `bytes`; returns `false`, without a claim, when there is not enough.
    pub(crate) fn grow(&mut self, volume: u32, bytes: u64) -> bool {
        let mount = &mut self.0[volume as usize];
        let fits = bytes <= mount.volume.bytes.saturating_sub(mount.used_bytes);
        if fits {
            mount.used_bytes += bytes;
        }
        fits
    }

    /// Returns space.
    pub(crate) fn shrink(&mut self, volume: u32, bytes: u64) {
        let mount = &mut self.0[volume as usize];
        assert!(mount.used_bytes >= bytes, "more room given back than taken");
        mount.used_bytes -= bytes;
    }

    pub(crate) fn space(&self, volume: u32) -> Space {
        let mount = &self.0[volume as usize];
        Space {
            free_bytes: mount.volume.bytes.saturating_sub(mount.used_bytes),
            total_bytes: mount.volume.bytes,
            volume: u64::from(volume),
        }
    }
}
