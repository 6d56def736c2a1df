//! The free space of a volume.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::statvfs;

/// The free space of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The volume's device number: paths with the same number share the space.
    pub volume: u64,
    /// Bytes that this user can still write.
    pub free: u64,
}

/// The space on the volume that holds `path`, or would hold it; `None` when the system does not
/// report it.
pub fn room(path: &Path) -> Option<Room> {
    let mut ancestors = path.ancestors();
    let (there, status) = ancestors.find_map(|at| Some((at, fs::metadata(at).ok()?)))?;
    let space = statvfs(there).ok()?;
    Some(Room { volume: status.dev(), free: space.f_bavail.saturating_mul(space.f_frsize) })
}

/// Bytes occupied by the file at `path`; 0 if it does not exist.
pub fn bytes_there(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |status| status.blocks() * 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_has_the_room_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let (there, missing) = (room(folder.path()), room(&file.join("below")));
        assert_eq!(there.map(|room| room.volume), missing.map(|room| room.volume));
        assert!(there.is_some());
        assert_eq!(bytes_there(&file), 0);
        fs::write(&file, [1; 8192]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
        assert!(bytes_there(&file) >= 8192);
    }
}
