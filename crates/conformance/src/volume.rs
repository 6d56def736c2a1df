//! Names, lengths and space.

use crate::Probe;
use brunt_world::{FileId, IoError, Op, OpenMode, Segment, VolumeError};

pub(super) async fn open_modes_are_kept(probe: Probe) {
    let volume = &probe.world.volume;
    let path = probe.path("file");
    for mode in [OpenMode::Read, OpenMode::Write] {
        let missing = volume.open(&path, mode).await;
        probe.equal(missing, Err(VolumeError::NotFound), "opening no file");
    }
    let file = probe.create("file").await;
    probe.equal(probe.length(file).await, 0, "length of a new file");
    let again = volume.open(&path, OpenMode::CreateNew).await;
    probe.equal(again, Err(VolumeError::Exists), "creating it again");
    probe.write_fill(file, 0, 4096, 1).await;
    probe.close(file).await;
    let file = probe.open("file", OpenMode::Read).await;
    probe.ensure(probe.is_filled(file, 0, 4096, 1).await, "its bytes are gone");
    probe.close(file).await;
    let file = probe.open("file", OpenMode::Write).await;
    probe.equal(probe.length(file).await, 4096, "length when opened again");
    probe.close(file).await;
}

async fn names(probe: &Probe) -> Vec<String> {
    let listed = probe.world.volume.list(&probe.directory).await;
    let mut names = probe.good(listed, "list");
    probe.ensure(names.is_sorted(), "names are not sorted");
    names.retain(|name| name.starts_with(probe.check));
    names.iter().map(|name| name[probe.check.len() + 1..].to_owned()).collect()
}

pub(super) async fn names_are_listed_sorted(probe: Probe) {
    probe.equal(names(&probe).await, Vec::new(), "names at first");
    for name in ["b", "a", "c", "B", "a.b"] {
        let file = probe.create(name).await;
        probe.close(file).await;
    }
    let all = ["B", "a", "a.b", "b", "c"].map(String::from).to_vec();
    probe.equal(names(&probe).await, all, "names of five files");
    let volume = &probe.world.volume;
    probe.good(volume.remove(&probe.path("b")).await, "remove");
    let gone = volume.remove(&probe.path("b")).await;
    probe.equal(gone, Err(VolumeError::NotFound), "removing it again");
    let left = ["B", "a", "a.b", "c"].map(String::from).to_vec();
    probe.equal(names(&probe).await, left, "names of four files");
    let synced = volume.sync_directory(&probe.directory).await;
    probe.good(synced, "sync of the directory");
}

pub(super) async fn renaming_replaces(probe: Probe) {
    let volume = &probe.world.volume;
    let (old, new) = (probe.path("old"), probe.path("new"));
    let file = probe.create("old").await;
    probe.write_fill(file, 0, 4096, 1).await;
    probe.good(volume.rename(&old, &new).await, "rename");
    let gone = volume.open(&old, OpenMode::Read).await;
    probe.equal(gone, Err(VolumeError::NotFound), "opening the old name");
    let other = probe.create("old").await;
    probe.write_fill(other, 0, 4096, 2).await;
    probe.good(volume.rename(&old, &new).await, "rename over a file");
    let found = probe.open("new", OpenMode::Read).await;
    probe.ensure(probe.is_filled(found, 0, 4096, 2).await, "not the new file");
    let kept = probe.is_filled(file, 0, 4096, 1).await;
    probe.ensure(kept, "a replaced file lives while it is open");
    for file in [file, other, found] {
        probe.close(file).await;
    }
    let nothing = volume.rename(&old, &new).await;
    probe.equal(nothing, Err(VolumeError::NotFound), "renaming no file");
    probe.equal(names(&probe).await, vec!["new".into()], "names at last");
}

pub(super) async fn removed_files_live_while_open(probe: Probe) {
    let path = probe.path("file");
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 4096, 1).await;
    let removed = probe.world.volume.remove(&path).await;
    probe.good(removed, "remove of an open file");
    probe.write_fill(file, 4096, 4096, 2).await;
    let successor = probe.create("file").await;
    probe.equal(probe.length(successor).await, 0, "length of its successor");
    probe.ensure(probe.is_filled(file, 0, 4096, 1).await, "old bytes");
    probe.ensure(probe.is_filled(file, 4096, 4096, 2).await, "new bytes");
    probe.close(file).await;
    probe.close(successor).await;
}

pub(super) async fn allocation_reads_as_zero(probe: Probe) {
    let volume = &probe.world.volume;
    let file = probe.create("file").await;
    probe.write_fill(file, 0, 8192, 1).await;
    let grown = volume.allocate(file, 1 << 20).await;
    probe.good(grown, "allocate of 1 MiB");
    probe.equal(probe.length(file).await, 1 << 20, "length when grown");
    probe.ensure(probe.is_filled(file, 0, 8192, 1).await, "old bytes");
    let rest = (1 << 20) - 8192;
    let zero = probe.is_filled(file, 8192, rest, 0).await;
    probe.ensure(zero, "allocated bytes are not zero");
    probe.write_fill(file, (1 << 20) - 4096, 4096, 3).await;
    probe.equal(probe.length(file).await, 1 << 20, "length when written");
    // The exact length: shorter too, and what was cut off does not come back.
    probe.good(volume.allocate(file, 4096).await, "allocate of less");
    probe.equal(probe.length(file).await, 4096, "length when cut");
    let segments = [Segment::Fill(probe.world.frames.take(4096))];
    let read = probe.submit(Op::Read, file, 4096, segments.into_iter().collect());
    probe.equal(read.await.result, Err(IoError::PastEnd), "reading the rest");
    probe.good(volume.allocate(file, 8192).await, "allocate of more again");
    probe.ensure(probe.is_filled(file, 0, 4096, 1).await, "first bytes");
    probe.ensure(probe.is_filled(file, 4096, 4096, 0).await, "cut bytes");
    probe.close(file).await;
    for answer in [volume.allocate(file, 1), volume.close(file)] {
        probe.ensure(answer.await.is_err(), "a closed file answers");
    }
    let nobody = volume.length(FileId(u32::MAX)).await;
    probe.ensure(nobody.is_err(), "a file that never was answers");
}

pub(super) async fn space_is_sane(probe: Probe) {
    let volume = &probe.world.volume;
    let file = probe.create("file").await;
    probe.close(file).await;
    let space = probe.good(volume.space(&probe.directory).await, "space");
    probe.ensure(space.total_bytes > 0, "a volume without room");
    let fits = space.free_bytes <= space.total_bytes;
    probe.ensure(fits, "more is free than there is");
    let beside = volume.space(&probe.path("file")).await;
    let beside = probe.good(beside, "space of a file");
    probe.equal(beside.volume, space.volume, "volume of a file and its directory");
    probe.equal(beside.total_bytes, space.total_bytes, "room of one volume");
}
