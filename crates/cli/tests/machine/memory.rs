//! A file system in memory: it never waits, so the program is what takes the time, and there is no
//! device to agree with.

use std::path::Path;

use brunt_qualify::rules::RuleId;
use brunt_world_real::facts;
use serde_json::Value;

use super::{TRIES, blamed, brunt, fails, reasons, result_of, rule, scenario, skip, turn};

const MEMORY: &str = "/dev/shm";
/// Share of time in which any task waits for a processor, in percent: above this, others compete
/// for ours.
const CONTESTED: f64 = 20.0;

#[test]
fn a_program_that_is_the_bottleneck_says_so() {
    const NAME: &str = "a_program_that_is_the_bottleneck_says_so";
    let _turn = turn();
    let place = facts::place(Path::new(MEMORY)).ok();
    if place.and_then(|place| place.file_system).as_deref() != Some("tmpfs") {
        return skip(NAME, "no file system in memory at /dev/shm");
    }
    let home = tempfile::tempdir_in(MEMORY).unwrap();
    let text = scenario(&home.path().join("scratch"), "sessions = 16");
    let run = || result_of(brunt(), home.path(), &text);
    let mut results = Vec::new();
    let is_busy = |result: &Value| rule(result, RuleId::TesterProcessor)["outcome"] != "ok";
    while !results.last().is_some_and(is_busy) {
        if results.len() == TRIES {
            assert!(results.iter().all(is_contested), "{:#}", results[0]);
            return skip(NAME, "others want the processors all the time");
        }
        results.push(run());
    }
    let result = &results[results.len() - 1];
    let busy = fails(result, RuleId::TesterProcessor, blamed(result));
    assert!(busy["measured"].as_f64() > Some(90.0), "{busy}");
    let agrees = rule(result, RuleId::DeviceAgrees);
    assert_eq!(agrees["outcome"], "not measured", "{agrees}");
    assert_eq!(agrees["remark"], "no device is known under /dev/shm");
    assert!(reasons(result).contains("less than the machine's memory"), "{result}");
}

/// Whether others wanted the processors while it ran: of this machine, which is not known where the
/// kernel does not count it, or of its host.
fn is_contested(result: &Value) -> bool {
    if rule(result, RuleId::HostStolenTime)["outcome"] == "advisory" {
        return true;
    }
    let mut host = result["storage"]["servers"][0]["host"].as_array().unwrap().iter();
    let pressure = host.find(|counter| counter["counter"] == "pressure CPU (%)");
    let waited = pressure.and_then(|counter| counter["avg"].as_f64());
    waited.is_none_or(|percent| percent > CONTESTED)
}
