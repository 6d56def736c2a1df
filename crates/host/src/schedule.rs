//! What a run does one after the other, and how long each step takes: data, which others say in
//! words or on a clock.

use brunt_qualify::kinds::Work;
use brunt_qualify::phases::places::Decision;
use brunt_qualify::phases::warm_up_max;
use brunt_qualify::plan::Plan;
use brunt_units::{ByteSize, Span};

/// How fast databases are assumed to be written and read from end to end. Our choice: one hard disk
/// does as much, arrays and flash do more.
pub const ASSUMED_MB_PER_S: u64 = 200;

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Databases are created, of this size in all.
    Create(ByteSize),
    /// Passive copies get their first content.
    Seed(ByteSize),
    /// This much is written before the test, during the warm-up.
    Precondition(ByteSize),
    /// At most this long.
    WarmUp(Span),
    /// Trials until the sessions are found: nobody knows how many.
    Tune,
    /// Load for this time.
    Load(Span),
    /// Every database is read, or also written to a backup, or restored from it as well.
    BackUp {
        /// All databases.
        read: ByteSize,
        writes: bool,
        restores: bool,
    },
    /// Logs are written for at most this time, and replayed.
    Replay(Span),
    /// Every database is read and checked.
    Verify(ByteSize),
}

impl Step {
    /// How long it takes, or at most; `None` where that cannot be known.
    pub fn takes(self) -> Option<Span> {
        match self {
            Self::Create(size) | Self::Seed(size) | Self::Verify(size) => Some(moved(size)),
            // The warm-up lasts until it is written.
            Self::Precondition(_) => Some(Span::ZERO),
            Self::WarmUp(time) | Self::Load(time) | Self::Replay(time) => Some(time),
            Self::BackUp { read, writes, restores } => {
                let passes = 1 + u64::from(writes) + u64::from(restores);
                Some(Span::from_seconds(moved(read).as_seconds() * passes as f64))
            }
            Self::Tune => None,
        }
    }
}

/// All steps of a run of `plan`, whose files are dealt with as `decisions` say.
pub fn steps(plan: &Plan, decisions: &[Decision]) -> Vec<Step> {
    let instances = plan.instances.iter().zip(decisions);
    let created = sum(instances.flat_map(|(instance, decision)| {
        let databases = decision.create.iter();
        databases.map(|index| instance.databases[*index].size)
    }));
    let copied = plan.passive.iter().flat_map(|copy| &copy.files.databases);
    let copied = sum(copied.map(|database| database.size));
    let all = sum([databases(plan), copied].into_iter());
    let before = [Step::Create(created), Step::Seed(copied)];
    let before = before.into_iter().filter(|step| step.takes() != Some(Span::ZERO));
    before.chain(phases(plan)).chain([Step::Verify(all)]).collect()
}

/// The steps between those that make databases and the one that verifies them.
pub fn phases(plan: &Plan) -> Vec<Step> {
    let mut steps = Vec::new();
    match plan.kind.work() {
        Work::Load => {
            if plan.precondition > 0.0 {
                #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
                let written = (databases(plan).get() as f64 * plan.precondition) as u64;
                steps.push(Step::Precondition(ByteSize::bytes(written)));
            }
            steps.push(Step::WarmUp(warm_up_max(plan)));
            steps.extend(plan.tune.map(|_| Step::Tune));
            steps.push(Step::Load(plan.duration));
        }
        Work::BackUp => steps.push(Step::BackUp {
            read: databases(plan),
            writes: plan.copy_to.is_some(),
            restores: plan.copy_to.is_some() && plan.restores,
        }),
        Work::Replay => steps.push(Step::Replay(plan.duration)),
    }
    steps
}

/// How long `steps` take in all, at most; `None` where that cannot be known.
pub fn in_all(steps: &[Step]) -> Option<Span> {
    let times: Option<Vec<Span>> = steps.iter().map(|step| step.takes()).collect();
    Some(times?.into_iter().fold(Span::ZERO, |all, one| all + one))
}

fn databases(plan: &Plan) -> ByteSize {
    sum(plan.databases().map(|database| database.size))
}

fn sum(sizes: impl Iterator<Item = ByteSize>) -> ByteSize {
    ByteSize::bytes(sizes.map(ByteSize::get).fold(0, u64::saturating_add))
}

/// How long it takes to write or read that from end to end.
pub fn moved(size: ByteSize) -> Span {
    Span::seconds(size.get().div_ceil(ASSUMED_MB_PER_S * 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_unless_one_is_not_known() {
        let backup =
            Step::BackUp { read: ByteSize::bytes(2_000_000_000), writes: true, restores: false };
        let steps =
            [Step::Create(ByteSize::bytes(400_000_000_000)), Step::Load(Span::seconds(60)), backup];
        assert_eq!(in_all(&steps), Some(Span::seconds(2_000 + 60 + 20)));
        assert_eq!(in_all(&[Step::Load(Span::seconds(60)), Step::Tune]), None);
        assert_eq!(in_all(&[]), Some(Span::ZERO));
    }
}
