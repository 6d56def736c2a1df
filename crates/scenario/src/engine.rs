//! `[engine]`: how I/O reaches the kernel, and how many threads share the work.

use brunt_qualify::kinds::Work;
use brunt_report::counted;
use brunt_world_real::{Choice, Kind};

use super::keys::{At, Whole, Word, keys};
use super::model::Scenario;
use super::place::{Placed, Refusal};
use super::section::Section;

keys! {
    /// How I/O reaches the kernel, and the threads that share the work.
    pub(crate) struct Engine; ENGINE = "[engine]";
    /// How I/O reaches the kernel.
    backend: Choice = BACKENDS[0].1, Word(&BACKENDS), "`\"auto\"`";
    /// Threads that share the instances in tests on real storage.
    shards: Placed<u32> = Placed::unwritten(1), At(Whole(1..=SHARDS_MAX)), "1";
}

/// Words for ways to the kernel; the first is the default.
static BACKENDS: [(&str, Choice); 4] = [
    ("auto", Choice::Best),
    ("registered", Choice::Only(Kind::Registered)),
    ("unregistered", Choice::Only(Kind::Unregistered)),
    ("threads", Choice::Only(Kind::Threads)),
];

/// Each takes a core; more than this are a slip.
const SHARDS_MAX: u64 = 64;

/// Reads `[engine]`.
pub(super) fn read(top: &mut Section) -> Engine {
    let mut engine = Engine::default();
    ENGINE.read(top.table("engine"), &mut engine);
    engine
}

/// Refuses shards that cannot share the work of `scenario` evenly.
pub(super) fn check_shards(scenario: &Scenario) -> Result<(), Refusal> {
    let Placed { value: shards, place } = &scenario.shards;
    let instances = scenario.instances.len() as u64;
    if *shards == 1 {
        return Ok(());
    }
    let (what, way_out) = if scenario.test.kind.work() != Work::Load {
        let kind = scenario.test.kind.word();
        (format!("a {kind} test has one shard"), "shards = 1".into())
    } else if scenario.tune().is_some() {
        let what = "sessions are looked for in one shard";
        let way_out = "shards = 1, or state sessions and target instead of looking for them";
        (what.to_owned(), way_out.into())
    } else if !instances.is_multiple_of(u64::from(*shards)) {
        let even = (1..=SHARDS_MAX.min(instances)).filter(|count| instances.is_multiple_of(*count));
        let even: Vec<String> = even.map(|count| count.to_string()).collect();
        let what = format!(
            "a shard has whole instances, and each as many as the others, but there {} {}",
            if instances == 1 { "is" } else { "are" },
            counted(instances, "instance")
        );
        (what, format!("possible here: {}", even.join(", ")))
    } else if scenario.pool() < *shards {
        let what = format!(
            "every shard needs a session, but there {} {}",
            if scenario.pool() == 1 { "is" } else { "are" },
            counted(scenario.pool().into(), "session")
        );
        (what, "more sessions, or fewer shards".into())
    } else {
        return Ok(());
    };
    Err(place.refuse(what).hint(way_out))
}
