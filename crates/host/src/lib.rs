//! A test on this machine: whether it fits, what it needs before it begins, and what is seen and
//! kept while it runs.
//!
//! ```text
//!   scenario -> preflight, handles -> folders -> plan -> qualify -> result
//!                                                 |  listener: recorder (tables, test log, news), machine
//!                                           surroundings ------------^
//! ```
//!
//! * [`preflight`]: paths and room, before anything is written; [`handles`]: open files.
//! * [`advice`]: what could be better, though nothing stands in the way.
//! * [`configuration`]: how machine, volumes and devices are set up, for a review.
//! * [`consent`]: what only the person at the machine can allow.
//! * [`folders`]: made where the scenario allows it, and locked.
//! * [`plan`]: from the scenario to what is tested here and now.
//! * [`schedule`]: the steps of a run, and how long each takes.
//! * [`surroundings`]: the machine, and the devices beneath the databases.
//! * [`system_log`]: what the kernel says about these devices meanwhile.
//! * [`shards`]: the threads of a test that is shared among several.
//! * [`recorder`]: the journal and the tables of the run folder, written by a thread of its own;
//!   `machine` is what it sees of the machine, and `yardstick` how fast its processor is.
//! * [`keeping`]: the journal of work other than storage tests; [`computing`]: that of sweeps and
//!   searches.
//! * [`runs`]: runs read back from their folders, whatever became of them.
//! * [`test_log`]: the words of the test log.
//! * [`interrupted`]: a run that was interrupted, to be carried on.
//! * [`drill`]: drills on two folders or two hosts, with processes that are really killed;
//!   [`distance`]: a link of packets between them.
//! * [`exec`]: commands of the user, for drills and alarms.
//! * [`load`]: mail servers that are started, sent mail, killed, and held to their word.
//! * [`shell`]: words of command lines.
//! * [`worker`]: a test that begins with those of other hosts.
//! * [`witness`]: the journal of commits for a test that kills the program.
//!
//! It prints nothing: the program hands in a listener, and an agent would, too.

pub mod advice;
pub mod computing;
pub mod configuration;
pub mod consent;
pub mod distance;
pub mod drill;
pub mod exec;
pub mod folders;
pub mod handles;
pub mod interrupted;
pub mod keeping;
pub mod load;
mod machine;
pub mod own_file;
pub mod plan;
pub mod preflight;
pub mod recorder;
pub mod runs;
pub mod schedule;
pub mod shards;
pub mod shell;
pub mod surroundings;
pub mod system_log;
pub mod test_log;
mod unfinished;
pub mod witness;
pub mod worker;
mod yardstick;
