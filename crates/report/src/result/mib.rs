//! Sizes and rates in MiB. `result.json` has them under the name of their unit, and for one release
//! under the names that they had before, `megabytes` and `mb_per_s`.

use serde::{Deserialize, Serialize};

/// A size in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "SizeNames", into = "SizeNames")]
pub struct Mib(pub f64);

/// A rate in MiB per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "RateNames", into = "RateNames")]
pub struct MibPerS(pub f64);

/// Two names of one number that disagree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0} is {1} and {2} is {3}, but they are two names of one number")]
pub(super) struct Disagree(&'static str, f64, &'static str, f64);

#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SizeNames {
    /// Size, in MiB.
    #[cfg_attr(test, schemars(with = "f64"))]
    mib: Option<f64>,
    /// As mib. This name goes with the next release.
    megabytes: f64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RateNames {
    /// MiB per second.
    #[cfg_attr(test, schemars(with = "f64"))]
    mib_per_s: Option<f64>,
    /// As mib_per_s. This name goes with the next release.
    mb_per_s: f64,
}

impl Mib {
    /// A number of bytes.
    pub fn of(bytes: u64) -> Self {
        Self(bytes as f64 / f64::from(1 << 20))
    }

    /// The mean rate over `seconds`.
    pub fn over(self, seconds: f64) -> MibPerS {
        MibPerS(self.0 / seconds)
    }
}

impl From<Mib> for SizeNames {
    fn from(Mib(size): Mib) -> Self {
        Self { mib: Some(size), megabytes: size }
    }
}

impl TryFrom<SizeNames> for Mib {
    type Error = Disagree;

    fn try_from(SizeNames { mib, megabytes }: SizeNames) -> Result<Self, Disagree> {
        one(("mib", mib), ("megabytes", megabytes)).map(Self)
    }
}

impl From<MibPerS> for RateNames {
    fn from(MibPerS(rate): MibPerS) -> Self {
        Self { mib_per_s: Some(rate), mb_per_s: rate }
    }
}

impl TryFrom<RateNames> for MibPerS {
    type Error = Disagree;

    fn try_from(RateNames { mib_per_s, mb_per_s }: RateNames) -> Result<Self, Disagree> {
        one(("mib_per_s", mib_per_s), ("mb_per_s", mb_per_s)).map(Self)
    }
}

fn one(now: (&'static str, Option<f64>), before: (&'static str, f64)) -> Result<f64, Disagree> {
    match now.1 {
        Some(number) if number != before.1 => Err(Disagree(now.0, number, before.0, before.1)),
        _ => Ok(before.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_two_names_that_agree() {
        let json = r#"{"mib":2.5,"megabytes":2.5}"#;
        assert_eq!(serde_json::to_string(&Mib(2.5)).unwrap(), json);
        assert_eq!(serde_json::from_str::<Mib>(json).unwrap(), Mib(2.5));
        let rate = serde_json::from_str::<MibPerS>(r#"{"mb_per_s":7.0}"#).unwrap();
        assert_eq!(rate, MibPerS(7.0), "written before there was another name");
        let error = serde_json::from_str::<Mib>(r#"{"mib":2.5,"megabytes":2.6}"#).unwrap_err();
        assert!(error.to_string().starts_with("mib is 2.5 and megabytes is 2.6"), "{error}");
    }
}
