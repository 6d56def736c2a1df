//! Everything that is wrong with a scenario, in one message.

use std::fmt;

use brunt_scenario::{Checked, Refusal};

/// What keeps a scenario from being run, at least one sentence with its place and a way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(Vec<String>);

/// More than this are only counted.
const SHOWN_MAX: usize = 20;

impl Mistakes {
    /// What was read, if there are no mistakes.
    ///
    /// # Errors
    /// The mistakes.
    pub fn none_or<T>(Checked { mistakes, value }: Checked<T>) -> Result<T, Self> {
        match mistakes.is_empty() {
            true => Ok(value),
            false => Err(Self(mistakes.iter().map(ToString::to_string).collect())),
        }
    }

    /// Mistakes that are already in words.
    pub fn of(said: Vec<String>) -> Self {
        Self(said)
    }
}

impl From<Refusal> for Mistakes {
    fn from(refusal: Refusal) -> Self {
        Self(vec![refusal.to_string()])
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return f.write_str(only);
        }
        write!(f, "{} mistakes", self.0.len())?;
        for said in self.0.iter().take(SHOWN_MAX) {
            write!(f, "\n\n{said}")?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(count: usize) -> String {
        Mistakes::of((1..=count).map(|at| format!("m{at}")).collect()).to_string()
    }

    #[test]
    fn one_stands_alone_and_many_are_bounded() {
        assert_eq!(mistakes(1), "m1");
        assert_eq!(mistakes(2), "2 mistakes\n\nm1\n\nm2");
        assert!(mistakes(20).ends_with("\n\nm20"));
        assert!(mistakes(23).starts_with("23 mistakes\n"));
        assert!(mistakes(23).ends_with("\n\nm20\n\nand 3 more"));
    }
}
