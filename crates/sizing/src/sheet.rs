//! A sheet of figures, each with its formula, what went into it, and how certain it is.
//!
//! [`figure!`](crate::sheet::figure) writes a figure down and keeps the text of its formula, so
//! what is explained is what was calculated. A figure that the user gives replaces the formula,
//! whichever it is.

use std::collections::BTreeMap;

use brunt_workload::profile::{Certainty, Figure};

/// Where the value of a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// The organisation says it.
    Written,
    /// It is known of the version, or usual.
    Known {
        /// How certain it is.
        certainty: Certainty,
        /// Where it was found, or why it is as it is.
        source: &'static str,
    },
    Calculated {
        formula: &'static str,
        /// Figures in it, all of which stand above it.
        inputs: &'static [&'static str],
    },
    /// The user gives it, in `[figures]`.
    Given {
        /// What would have been used, if it is known.
        instead_of: Option<f64>,
    },
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its name; [`crate::catalog`] says what it means.
    pub name: &'static str,
    /// Its value, in the unit of the catalog.
    pub value: f64,
    /// Where that comes from.
    pub origin: Origin,
}

/// Figures in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    entries: Vec<Entry>,
    given: BTreeMap<&'static str, f64>,
}

impl Sheet {
    /// An empty sheet, on which `given` figures replace others.
    pub fn new(given: BTreeMap<&'static str, f64>) -> Self {
        Self { entries: Vec::new(), given }
    }

    /// Every figure, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The value of `name`, if it is there.
    pub fn find(&self, name: &str) -> Option<f64> {
        let entry = self.entries.iter().rev().find(|entry| entry.name == name);
        entry.map(|entry| entry.value)
    }

    /// The value of `name`.
    ///
    /// # Panics
    /// When it is not there: figures are calculated after what they are made of.
    pub fn get(&self, name: &str) -> f64 {
        let value = self.find(name);
        value.unwrap_or_else(|| panic!("`{name}` is not calculated yet"))
    }

    /// The value of `name` as a whole number.
    pub fn count(&self, name: &str) -> u64 {
        whole(self.get(name))
    }

    /// What the organisation says.
    pub(crate) fn write(&mut self, name: &'static str, value: f64) {
        self.put(name, value, Origin::Written);
    }

    /// What is known.
    pub(crate) fn know(&mut self, name: &'static str, figure: Figure<f64>) {
        let origin = Origin::Known { certainty: figure.certainty, source: figure.source };
        self.put_unless_given(name, figure.value, origin);
    }

    /// What the user gives and nobody else knows.
    pub(crate) fn give(&mut self, name: &'static str) -> Option<f64> {
        let value = self.given.get(name).copied()?;
        self.put(name, value, Origin::Given { instead_of: None });
        Some(value)
    }

    pub(crate) fn calculate(
        &mut self,
        name: &'static str,
        value: f64,
        formula: &'static str,
        inputs: &'static [&'static str],
    ) -> f64 {
        let origin = Origin::Calculated { formula, inputs };
        self.put_unless_given(name, value, origin)
    }

    fn put_unless_given(&mut self, name: &'static str, value: f64, origin: Origin) -> f64 {
        match self.given.get(name).copied() {
            Some(given) => {
                let instead_of = Some(value);
                self.put(name, given, Origin::Given { instead_of });
                given
            }
            None => {
                self.put(name, value, origin);
                value
            }
        }
    }

    fn put(&mut self, name: &'static str, value: f64, origin: Origin) {
        self.entries.push(Entry { name, value, origin });
    }
}

/// Writes `name = formula` down on a sheet. The figures in the formula are listed after it.
macro_rules! figure {
    ($sheet:expr, $name:ident = $formula:expr; $($input:ident),+) => {{
        $(let $input = $sheet.get(stringify!($input));)+
        $sheet.calculate(
            stringify!($name),
            $formula,
            stringify!($formula),
            &[$(stringify!($input)),+],
        )
    }};
}
pub(crate) use figure;

/// The next whole number. What is a hair above one, by the rounding of floating point, is that one.
pub(crate) fn ceil(number: f64) -> f64 {
    let near = number.round();
    match (number - near).abs() < 1e-9 * near.abs().max(1.0) {
        true => near,
        false => number.ceil(),
    }
}

/// The whole number below; what is a hair below one is that one.
pub(crate) fn floor(number: f64) -> f64 {
    -ceil(-number)
}

pub(crate) fn max(one: f64, other: f64) -> f64 {
    one.max(other)
}

pub(crate) fn min(one: f64, other: f64) -> f64 {
    one.min(other)
}

/// A number of things.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and nothing here is below zero"
)]
pub(crate) fn whole(number: f64) -> u64 {
    ceil(number) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_keeps_its_formula_and_a_given_one_replaces_it() {
        let mut sheet = Sheet::new([("b", 7.0)].into());
        sheet.write("a", 3.0);
        assert_eq!(figure!(sheet, b = a * 2.0; a), 7.0);
        assert_eq!(figure!(sheet, c = a + b; a, b), 10.0);
        let origins: Vec<Origin> = sheet.entries().iter().map(|entry| entry.origin).collect();
        let calculated = Origin::Calculated { formula: "a + b", inputs: &["a", "b"] };
        let given = Origin::Given { instead_of: Some(6.0) };
        assert_eq!(origins, [Origin::Written, given, calculated]);
    }

    #[test]
    fn rounding_forgives_floating_point() {
        assert_eq!(ceil(0.1 + 0.2 - 0.3 + 2.0), 2.0);
        assert_eq!(ceil(28.29), 29.0);
        assert_eq!(floor(3.0 - 1e-12), 3.0);
        assert_eq!(floor(2.9), 2.0);
        assert_eq!(whole(0.0), 0);
    }
}
