//! Which failures no time can mend.
//!
//! A mean that is over its limit may come down again; a lost record stays lost. Whoever waits for
//! the end of a test that has failed for good, waits for nothing: `--abort-on-fail` ends it, and the
//! alarm *rule failed* tells it.
//!
//! | rule | cannot be mended once |
//! | --- | --- |
//! | I/O errors, hung I/O, records, pages, logs | one was counted: these counts only grow |
//! | longest stop, with a strict tail | it was too long: a maximum does not come down |
//! | database read and log write, worst sample | one stream has more excursions than a test of the planned length tolerates |
//! | database read and log write, average | the latencies so far, divided by all I/Os that can still come, are above the limit |
//!
//! The last two need counts, [`Ahead`]. Percentiles, rates and everything else may recover, or
//! could not be proven not to.

use brunt_report::result::{Outcome, Rule};

use super::RuleId;

/// Rules whose measured value never comes back to its limit.
const FOR_GOOD: [RuleId; 6] = [
    RuleId::IoErrors,
    RuleId::HungIo,
    RuleId::RecordsVerified,
    RuleId::PagesVerified,
    RuleId::LogsVerified,
    RuleId::LongestStop,
];

/// Whether `rule` has failed, and by what it says itself it has for good.
pub fn is_for_good(rule: &Rule) -> bool {
    rule.outcome == Outcome::Failed && FOR_GOOD.iter().any(|id| id.is(rule))
}
