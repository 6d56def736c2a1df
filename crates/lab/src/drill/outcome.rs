//! The result of a drill in its written form.

use brunt_array::Mode;
use brunt_drill::{Objectives, Rehearsed, Words};
use brunt_qualify::phases::test_run::TestRun;
use brunt_report::result::RunResult;
use brunt_scenario::ModelledScenario;
use brunt_units::Time;

use super::sites::pair_of;
use super::{DrillOptions, Engine};
use crate::server::Server;

/// Drills of models are about procedures and order, not about hardware.
const PREDICTED: &str = "a rehearsal on modelled arrays: times of hosts and operators are those of [drill], and no published test of this kind was met yet";

/// The result of `scenario`, rehearsed with `engine`.
pub(super) fn result(
    scenario: &ModelledScenario,
    options: &DrillOptions,
    engine: Engine,
    rehearsed: Rehearsed,
) -> RunResult {
    let mut result = untested(scenario, options);
    let words = Words {
        by: match engine {
            Engine::Bytes => "every record was read at the survivor",
            Engine::Twin => "by where the logs end at the survivor",
        },
        remark: PREDICTED,
    };
    rehearsed.put_into(&mut result, &objectives(scenario), &words);
    result
}

/// What the head of a journal says of such a drill.
pub fn outline(scenario: &ModelledScenario, options: &DrillOptions) -> RunResult {
    brunt_drill::outline(untested(scenario, options))
}

/// The result of servers that were not tested.
fn untested(scenario: &ModelledScenario, options: &DrillOptions) -> RunResult {
    let server = Server::new(scenario, 0, false, (scenario.scenario.test.seed, 1));
    let nothing = TestRun::unfinished(&server.plan, Time::ZERO);
    let mut result = server.result(scenario, &options.program, None, &[], &nothing);
    // The servers are alike.
    let setup = &mut result.storage.details.setup;
    let servers = scenario.servers.len();
    setup.sessions *= u32::try_from(servers).expect("few servers");
    setup.mailboxes = setup.mailboxes.map(|own| own * servers as u64);
    result
}

fn objectives(scenario: &ModelledScenario) -> Objectives {
    let pair = pair_of(scenario).expect("it was rehearsed");
    let is_synchronous = pair.groups.iter().all(|group| group.mode == Mode::Synchronous);
    Objectives::of(&scenario.drill, is_synchronous)
}
