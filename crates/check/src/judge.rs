//! From a subject to judgements: one for each rule.

use crate::rules::{self, Gap, Item, Rule};
use crate::subject::Subject;

/// What a rule says of a subject.
pub struct Judgement {
    pub rule: &'static Rule,
    /// What it says.
    pub outcome: Outcome,
}

/// What a rule can say.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// All values are as they should be.
    Kept(Vec<Item>),
    /// These are not.
    Broken(Vec<Item>),
    /// It cannot be said, and why.
    NotJudged(String),
    /// There is nothing that it is about, and why.
    DoesNotApply(String),
}

/// Judges every rule.
pub fn judge(subject: &Subject<'_>) -> Vec<Judgement> {
    let judge = |rule: &'static Rule| Judgement { rule, outcome: rule.judge(subject) };
    rules::all().map(judge).collect()
}

impl Rule {
    /// What it says of `subject`.
    pub fn judge(&self, subject: &Subject<'_>) -> Outcome {
        let (first, last) = self.versions;
        if let Some(version) = subject.version()
            && !(first..=last).contains(&version)
        {
            return Outcome::DoesNotApply(match first == last {
                true => format!("it is for {first} only"),
                false => format!("it is for {first} to {last}"),
            });
        }
        let items = match (self.measure)(subject) {
            Ok(items) => items,
            Err(Gap::Unknown(why)) => return Outcome::NotJudged(why),
            Err(Gap::Nothing(why)) => return Outcome::DoesNotApply(why),
        };
        let (kept, broken): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| self.wanted.accepts(item));
        match broken.is_empty() {
            true => Outcome::Kept(kept),
            false => Outcome::Broken(broken),
        }
    }
}
