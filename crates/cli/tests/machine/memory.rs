//! A file system in memory: it never waits, so the program is what takes the time, and there is no device to agree with.

use std::path::Path;

use brunt_world_real::facts;
use serde_json::Value;

use super::{brunt, reasons, result_of, rule, scenario, skip, turn};

const MEMORY: &str = "/dev/shm";
const TRIES: usize = 4;

#[test]
fn a_program_that_is_the_bottleneck_says_so() {
    let _turn = turn();
    let place = facts::place(Path::new(MEMORY)).ok();
    if place.and_then(|place| place.file_system).as_deref() != Some("tmpfs") {
        let why = "no file system in memory at /dev/shm";
        return skip("a_program_that_is_the_bottleneck_says_so", why);
    }
    let home = tempfile::tempdir_in(MEMORY).unwrap();
    let text = scenario(&home.path().join("scratch"), "sessions = 16");
    let run = || result_of(brunt(), home.path(), &text);
    // Somebody else on this machine may take our processor away; not always.
    let mut results = std::iter::repeat_with(run).take(TRIES);
    let is_busy = |result: &Value| rule(result, "tester, processor")["outcome"] == "advisory";
    let result = results.find(is_busy);
    let result = result.expect("nothing keeps the program from using a whole core");
    let busy = rule(&result, "tester, processor");
    assert!(busy["value"].as_f64() > Some(90.0), "{busy}");
    let agrees = rule(&result, "device agrees");
    assert_eq!(agrees["outcome"], "not measured", "{agrees}");
    assert_eq!(agrees["remark"], "no device is known under /dev/shm");
    assert!(
        reasons(&result).contains("less than the machine's memory"),
        "{result}"
    );
}
