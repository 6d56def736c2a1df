//! Test types, rules and verdict: drives a workload through the engine in a world.
//!
//! The same test runs on real storage and in virtual time: it is given a world, a plan, and somebody to tell.
//!
//! ```text
//!   plan --> places --> creation --> server --> sessions, sampling --> server closed --> verification --> result
//!            (run: the order of all this, and what becomes of a test that ends early)
//! ```
//!
//! * [`goal`]: kinds of tests, targets; [`plan`]: what is to be tested, and what that means for the engine.
//! * [`run`]: the phases of a test (`warm_up`, `collection`), and tests of other kinds (`backup`, `soft_recovery`); [`test_run`]: what it leaves behind; [`progress`]: what it tells,
//!   and how it is stopped; `telling`: while something takes long; [`live`]: how it goes.
//! * [`places`]: what lies there already, and whether it may be touched, `unfinished`: and what an interrupted run has left; [`error`]: why there is no test.
//! * [`creation`], [`sizing`]: new databases, and how many records make one of a given size; `growth`: how large they become.
//! * [`records`]: what a record holds, from its number and the database it is in; [`survey`]: which records there are.
//! * `tuning`: how many sessions the test takes, when that is to be found out.
//! * [`server`]: the engine of one server; [`sessions`]: the loop of operations on it; `load`: the pace they keep; `replication`: logs read
//!   for copies elsewhere.
//! * [`witness`]: somebody outside who remembers what was acknowledged when the program is killed.
//! * [`injection`]: faults on purpose; [`found`]: what was wrong with the storage, in words.
//! * [`sampling`]: what was counted, over time; [`hanging`]: I/O that does not come back, `naming`: and names; `punctuality`: whether the program
//!   itself keeps up.
//! * [`simulation`]: a test of the engine's twin, whose databases have no content.
//! * [`verification`]: is every page and log segment whole? [`integrity`]: is every record there? [`oracle`]: what was committed; [`counting`]: how far it has come.
//! * [`rules`]: the rules and the verdict; [`qualifies`]: whether the result may be shown as a qualification.
//! * [`result`]: all of it as it is written down.

mod backup;
mod collection;
pub mod counting;
pub mod creation;
pub mod error;
pub mod found;
pub mod goal;
mod growth;
pub mod hanging;
pub mod injection;
pub mod integrity;
mod listed;
pub mod live;
mod load;
mod naming;
pub mod oracle;
pub mod places;
pub mod plan;
pub mod progress;
mod punctuality;
pub mod qualifies;
pub mod records;
mod replication;
pub mod result;
pub mod rules;
pub mod run;
pub mod sampling;
pub mod server;
pub mod sessions;
pub mod simulation;
pub mod sizing;
mod soft_recovery;
pub mod survey;
mod telling;
pub mod test_run;
mod tuning;
mod unfinished;
pub mod verification;
mod warm_up;
pub mod witness;
