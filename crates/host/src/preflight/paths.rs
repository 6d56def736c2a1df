//! Paths: where they lead, what is there, and whether two of them are one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use brunt_scenario::{Placed, Refusal};
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Files of a test in the root of the system are a slip of the pen, and a mess to clean up.
pub(super) fn refuse_root(path: &Placed<PathBuf>) -> Result<(), Refusal> {
    let real = resolved(&path.value);
    let is_database = real.extension().is_some_and(|extension| extension == "edb");
    let folder = match is_database {
        true => real.parent().unwrap_or(&real),
        false => &real,
    };
    match folder == Path::new("/") {
        true => Err(path
            .place
            .refuse("puts files into the root of the file system")
            .hint("name a folder, such as \"/data/db1\"")),
        false => Ok(()),
    }
}

pub(super) fn refuse_block_device(path: &Placed<PathBuf>) -> Result<(), Refusal> {
    // What lies below a device is meant as the device, too.
    let device = path.value.ancestors().find(|ancestor| {
        fs::metadata(ancestor).is_ok_and(|status| status.file_type().is_block_device())
    });
    let Some(device) = device else { return Ok(()) };
    let (device, name) = (device.display(), device.file_name().unwrap_or_default());
    let mount = format!("/mnt/{}", name.to_string_lossy());
    let refusal =
        path.place.refuse(format!("{device} is a block device, and brunt works on file systems"));
    Err(refusal
        .hint(format!(
            "if nothing on {device} is needed any more, make one, mount it, and name a path on it:"
        ))
        .hint(format!("  mkfs.xfs {device}"))
        .hint(format!("  mkdir -p {mount} && mount {device} {mount}")))
}

/// Links are followed to a folder that the scenario names, and not below it.
pub(super) fn refuse_link(
    path: &Placed<PathBuf>,
    scratch: Option<&Placed<PathBuf>>,
) -> Result<(), Refusal> {
    let scratch = scratch.map(|scratch| scratch.value.as_path());
    let scratch = scratch.filter(|scratch| path.value.starts_with(scratch));
    let mut below =
        path.value.ancestors().take_while(|at| scratch.is_some_and(|scratch| *at != scratch));
    match below.find(|at| at.is_symlink()) {
        Some(link) => {
            let refusal = path.place.refuse(format!("{} is a symbolic link", link.display()));
            Err(refusal.hint("the scratch folder itself may be one, and nothing in it"))
        }
        None => Ok(()),
    }
}

/// A database is a file with one name.
pub(super) fn refuse_names(path: &Placed<PathBuf>) -> Result<(), Refusal> {
    let Ok(status) = fs::symlink_metadata(&path.value) else {
        return Ok(());
    };
    let shown = path.value.display();
    if status.is_symlink() {
        let refusal = path.place.refuse(format!("{shown} is a symbolic link"));
        return Err(refusal.hint("name the file that it leads to"));
    }
    if status.is_file() && status.nlink() > 1 {
        let names = status.nlink();
        let refusal = path.place.refuse(format!("{shown} has {names} names (hard links)"));
        return Err(refusal
            .hint("another test or a backup may own it: make a copy, or remove the other names"));
    }
    Ok(())
}

/// What two paths have in common when they are one file: device and inode, or the place where it
/// would be made.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    File(u64, u64),
    Name(PathBuf),
}

fn identity(path: &Path) -> Identity {
    if let Ok(status) = fs::metadata(path) {
        return Identity::File(status.dev(), status.ino());
    }
    Identity::Name(resolved(path))
}

/// Where the absolute `path` leads once its folders are made: through links as far as there are
/// any, and `..` goes back from where they lead to.
fn resolved(path: &Path) -> PathBuf {
    let mut real = PathBuf::from("/");
    for step in path.components() {
        match step {
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                real.push(name);
                real = fs::canonicalize(&real).unwrap_or(real);
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    real
}

pub(super) fn refuse_twins<'a>(
    paths: impl Iterator<Item = &'a Placed<PathBuf>>,
    what: &str,
) -> Result<(), Refusal> {
    let mut seen = BTreeMap::new();
    for path in paths {
        if let Some(twin) = seen.insert(identity(&path.value), path) {
            let refusal = path.place.refuse(what);
            let shown = path.value.display();
            return Err(if twin.value == path.value {
                refusal.hint(format!("{shown} is named twice"))
            } else {
                refusal.hint(format!("{shown} and {} are the same", twin.value.display()))
            });
        }
    }
    Ok(())
}

/// Whether files can be made in `folder`, or the folder itself in the scratch folder.
pub(super) fn check_folder(
    path: &Placed<PathBuf>,
    folder: &Path,
    scratch: Option<&Placed<PathBuf>>,
) -> Result<(), Refusal> {
    let shown = folder.display();
    let in_scratch = scratch.is_some_and(|scratch| folder.starts_with(&scratch.value));
    match fs::metadata(folder) {
        Ok(status) if !status.is_dir() => {
            Err(path.place.refuse(format!("{shown} is a file, not a folder")))
        }
        Ok(_) => match access(folder, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Ok(()),
            Err(Errno::ROFS) => {
                let refusal = format!("{shown} is on a file system that is mounted read-only");
                Err(path.place.refuse(refusal))
            }
            Err(_) => Err(path.place.refuse(format!("this user may not write to {shown}"))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && in_scratch => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let refusal = path.place.refuse(format!("there is no folder {shown}"));
            Err(refusal.hint(format!("if it is the right one: mkdir -p {shown}")))
        }
        Err(error) => Err(path.place.refuse(format!("{shown}: {error}"))),
    }
}
