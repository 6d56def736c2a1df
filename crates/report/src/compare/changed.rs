//! What changed between two resolved scenarios: every key that differs, named as `--set` names it.
//!
//! ```text
//!   array.controller.read 100us -> 300us
//!   test.sessions 8 -> 16
//! ```

use toml::Value;

use super::Difference;

/// Keys that differ between any two runs and say nothing of the storage.
const OTHER_NAMES: [&str; 3] = ["name", "description", "test.seed"];

/// What is shown where one scenario lacks a key.
const NOT_SET: &str = "not set";

impl Difference {
    /// `array.controller.read 100us -> 300us`.
    pub fn in_words(&self) -> String {
        format!("{} {} -> {}", self.what, self.a, self.b)
    }
}

/// The first few of `differences`, and how many more there are; `None` without any.
pub fn in_short(differences: &[Difference], most: usize) -> Option<String> {
    let shown = differences.iter().take(most).map(Difference::in_words);
    let shown: Vec<String> = shown.collect();
    match differences.len().saturating_sub(most) {
        0 if shown.is_empty() => None,
        0 => Some(shown.join("; ")),
        more => Some(format!("{}; and {more} more", shown.join("; "))),
    }
}

/// A scenario, key by key.
pub(super) struct Keys(Vec<(String, String)>);

impl Keys {
    /// The keys of `scenario`, in its order; `None` when it is not known.
    pub(super) fn of(scenario: &str) -> Option<Self> {
        let table: toml::Table = scenario.parse().ok()?;
        let mut keys = Vec::new();
        flatten("", &Value::Table(table), &mut keys);
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// What it says of `key`.
    pub(super) fn get(&self, key: &str) -> &str {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map_or(NOT_SET, |(_, value)| value)
    }

    /// Every key that differs from `other`.
    pub(super) fn differences(&self, other: &Self) -> Vec<Difference> {
        let new = other.0.iter().filter(|(key, _)| self.get(key) == NOT_SET);
        let keys = self.0.iter().chain(new).map(|(key, _)| key.as_str());
        let keys = keys.filter(|key| !OTHER_NAMES.contains(key));
        let differences = keys.map(|key| Difference {
            what: key.to_owned(),
            a: self.get(key).to_owned(),
            b: other.get(key).to_owned(),
        });
        differences.filter(|one| one.a != one.b).collect()
    }
}

fn flatten(path: &str, value: &Value, keys: &mut Vec<(String, String)>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    };
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(key, value)| flatten(&below(key), value, keys));
        }
        Value::Array(all) if all.iter().any(Value::is_table) => {
            for (at, value) in all.iter().enumerate() {
                flatten(&below(&at.to_string()), value, keys);
            }
        }
        Value::String(text) => keys.push((path.to_owned(), text.clone())),
        other => keys.push((path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_they_are_set() {
        let keys = |text| Keys::of(text).unwrap();
        let a = keys(
            "name = \"a\"\n[test]\nseed = 1\nsessions = 8\n[array.controller]\nread = \"100us\"\n[[load]]\nblock = 1\n",
        );
        let b = keys(
            "name = \"b\"\n[test]\nseed = 2\n[array]\ncontroller.read = \"300us\"\n[[load]]\nblock = 2\nof = [1, 2]\n",
        );
        let found = a.differences(&b);
        let said: Vec<String> = found.iter().map(Difference::in_words).collect();
        assert_eq!(
            said,
            [
                "test.sessions 8 -> not set",
                "array.controller.read 100us -> 300us",
                "load.0.block 1 -> 2",
                "load.0.of not set -> [1, 2]"
            ]
        );
        assert_eq!(in_short(&found, 1).unwrap(), "test.sessions 8 -> not set; and 3 more");
        assert_eq!(in_short(&[], 3), None);
        assert!(Keys::of("").is_none() && Keys::of("= ] wrong").is_none());
    }
}
