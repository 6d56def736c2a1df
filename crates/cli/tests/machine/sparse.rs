//! Room that was allocated and never written: the file system knows that it is zero, and asks no
//! device for it.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;

use brunt_qualify::rules::RuleId;
use brunt_world_real::facts;

use super::{brunt, result_of, rule, scenario, skip, turn};

/// Bytes in a page of the scenario's databases.
const PAGE: usize = 32 << 10;

/// Rewrites the file without its blank pages; returns their bytes.
fn make_sparse(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    let aside = path.with_extension("sparse");
    let mut file = File::create(&aside).unwrap();
    let mut blank = 0;
    for page in bytes.chunks(PAGE) {
        if page.iter().all(|byte| *byte == 0) {
            blank += page.len() as u64;
            file.seek_relative(i64::try_from(page.len()).unwrap()).unwrap();
        } else {
            file.write_all(page).unwrap();
        }
    }
    let end = file.stream_position().unwrap();
    file.set_len(end).unwrap();
    file.sync_all().unwrap();
    fs::rename(aside, path).unwrap();
    blank
}

#[test]
fn room_that_was_never_written_does_not_fail_the_storage() {
    const NAME: &str = "room_that_was_never_written_does_not_fail_the_storage";
    let _turn = turn();
    // Where the build is there is a disk; the folder for temporary files is often in memory.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let device = facts::place(home.path()).ok().and_then(|place| place.device);
    if device.is_none() {
        return skip(NAME, "the build is not on a block device");
    }
    let scratch = home.path().join("scratch");
    // A file grows by 16 MiB, most of a small one's.
    let text = scenario(&scratch, "sessions = 2").replace("128 MiB", "24 MiB");
    result_of(brunt(), home.path(), &text);
    let database = scratch.join("one.edb");
    let blank = make_sparse(&database);
    let all = fs::metadata(&database).unwrap().len();
    assert!(blank * 5 > all, "{blank} of {all} bytes are blank");
    let backup = text.replace("[test]", "[test]\nkind = \"database-backup\"");
    let result = result_of(brunt(), home.path(), &backup);
    let agrees = rule(&result, RuleId::DeviceAgrees);
    // Others may read there as well; nothing makes the device read less.
    assert_ne!(agrees["outcome"], "failed", "{agrees}");
    assert_ne!(agrees["outcome"], "not measured", "{agrees}");
}
