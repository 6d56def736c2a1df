//! Holds the scenarios of published tests to what their papers print: `scenarios/papers/inputs`,
//! one table for each paper.
//!
//! | in the table | in the scenarios |
//! | --- | --- |
//! | `key` and `value` of an input | have that value, with every default filled in; `databases` is the size of all of them |
//! | numbers of `printed` | remarks that begin with *Printed* have no others |
//! | `not_printed` | nothing else is said not to be printed |
//!
//! Results are not in these tables. An input without `tests` is one of all tests of its paper.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use brunt_units::ByteSize;
use serde::Deserialize;
use toml::Value;

use crate::prediction::scenario;
use crate::published::scenarios;

/// What a paper prints.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    source: Source,
    #[serde(rename = "input")]
    inputs: Vec<Input>,
    not_printed: NotPrinted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    title: String,
    publisher: String,
    date: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotPrinted {
    phrases: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    printed: String,
    key: Option<String>,
    value: Option<Value>,
    tests: Option<Vec<String>>,
}

/// A scenario of a paper: its name, its name without that of the paper, and its text with those of
/// its bases.
struct Test {
    name: String,
    short: String,
    text: String,
}

fn files(folder: PathBuf) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|own| own == "toml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// `text` with those of the systems below it. A base that is a test itself answers for its remarks.
fn with_bases(mut text: String) -> String {
    let mut folder = scenarios();
    let mut last: toml::Table = text.parse().unwrap();
    while let Some(base) = last.get("base").and_then(Value::as_str) {
        let path = folder.join(base);
        let own = fs::read_to_string(&path).unwrap();
        folder = path.parent().unwrap().to_owned();
        if folder != scenarios() {
            text = format!("{text}\n{own}");
        }
        last = own.parse().unwrap();
    }
    text
}

/// Every paper with its tests. Every scenario is one of a paper.
fn papers() -> Vec<(Paper, Vec<Test>)> {
    let all = files(scenarios());
    let mut count = 0;
    let papers = files(scenarios().join("inputs")).into_iter();
    let papers: Vec<(Paper, Vec<Test>)> = papers
        .map(|(paper, text)| {
            let own = all.iter().filter_map(|(name, text)| {
                let short = name.strip_prefix(&paper)?.strip_prefix('-')?;
                let text = with_bases(text.clone());
                Some(Test { name: name.clone(), short: short.to_owned(), text })
            });
            let own: Vec<Test> = own.collect();
            count += own.len();
            (toml::from_str(&text).unwrap(), own)
        })
        .collect();
    assert_eq!(count, all.len(), "a scenario without a table of inputs");
    papers
}

impl Paper {
    fn of<'p>(&'p self, test: &'p Test) -> impl Iterator<Item = &'p Input> {
        let is_own = |input: &&Input| {
            let tests = input.tests.as_ref();
            tests.is_none_or(|tests| tests.contains(&test.short))
        };
        self.inputs.iter().filter(is_own)
    }
}

/// The value at `key`; of a list the first entry, if the key has no number for it.
fn at<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    key.split('.').try_fold(value, |value, part| match value {
        Value::Array(list) => match part.parse::<usize>() {
            Ok(number) => list.get(number),
            Err(_) => list.first()?.get(part),
        },
        table => table.get(part),
    })
}

fn bytes(value: &Value) -> Option<u64> {
    Some(value.as_str()?.parse::<ByteSize>().ok()?.get())
}

/// The size of all databases of a server.
fn databases(scenario: &Value) -> u64 {
    let instances = at(scenario, "instance").and_then(Value::as_array).unwrap();
    let sizes = instances.iter().map(|instance| {
        let files = at(instance, "databases").and_then(Value::as_array);
        bytes(&instance["database_size"]).unwrap() * files.unwrap().len() as u64
    });
    sizes.sum()
}

#[test]
fn scenarios_have_the_inputs_that_their_papers_print() {
    for (paper, tests) in papers() {
        let Source { title, publisher, date } = &paper.source;
        assert!(![title, publisher, date].iter().any(|said| said.is_empty()));
        for input in &paper.inputs {
            assert_eq!(input.key.is_some(), input.value.is_some());
            for test in input.tests.iter().flatten() {
                let is_one = tests.iter().any(|one| one.short == *test);
                assert!(is_one, "{test}: {}", input.printed);
            }
        }
        for test in &tests {
            let text = scenario(&test.name, &[]).unwrap().to_toml();
            let resolved: Value = toml::from_str(&text).unwrap();
            for input in paper.of(test) {
                let Some((key, value)) = input.key.as_ref().zip(input.value.as_ref()) else {
                    continue;
                };
                let what = format!("{}: {key}: {}", test.name, input.printed);
                if key == "databases" {
                    let (one, all) = (databases(&resolved), value.as_integer().unwrap());
                    // A printed sum need not be a multiple of the number of files.
                    assert!(one.abs_diff(all.cast_unsigned()) < 1 << 20, "{what}: {one}");
                    continue;
                }
                let own = at(&resolved, key).unwrap_or_else(|| panic!("{what}: is not there"));
                match bytes(value) {
                    Some(size) => assert_eq!(bytes(own), Some(size), "{what}"),
                    None => assert_eq!(number(own), number(value), "{what}"),
                }
            }
        }
    }
}

/// 1800 and 1800.0 are the same.
fn number(value: &Value) -> Value {
    match value {
        Value::Integer(whole) => Value::Float(*whole as f64),
        other => other.clone(),
    }
}

/// Sentences of comments. A line without words and a dot of a list end one, too.
fn sentences(text: &str) -> Vec<String> {
    let mut remarks = vec![String::new()];
    for line in text.lines() {
        let said = line.strip_prefix('#').map(str::trim);
        match said.filter(|said| !said.is_empty()) {
            None => remarks.push(String::new()),
            Some(said) => match said.strip_prefix("* ") {
                Some(point) => remarks.push(point.to_owned()),
                None => {
                    let last = remarks.last_mut().unwrap();
                    last.push(' ');
                    last.push_str(said);
                }
            },
        }
    }
    let of = |remark: &String| {
        let parts: Vec<&str> = remark.trim().split(". ").collect();
        parts.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    remarks.iter().flat_map(of).collect()
}

/// Every number in `text`, in digits or as a word, without commas and without zeros behind the
/// point.
fn numbers(text: &str) -> BTreeSet<String> {
    const WORDS: [(&str, &str); 12] = [
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("ten", "10"),
        ("eleven", "11"),
        ("twelve", "12"),
        ("twenty", "20"),
    ];
    let of = |word: &str| {
        let lower = word.to_lowercase();
        if let Some((_, digits)) = WORDS.iter().find(|(name, _)| *name == lower) {
            return Some((*digits).to_owned());
        }
        let digits: String = word.chars().filter(|c| *c != ',').collect();
        let digits = digits.trim_matches('.');
        let number: f64 = digits.parse().ok()?;
        Some(number.to_string())
    };
    let is_part = |c: char| c.is_ascii_digit() || ",.".contains(c);
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    let digits = text.split(|c: char| !is_part(c));
    words.chain(digits).filter(|word| !word.is_empty()).filter_map(of).collect()
}

#[test]
fn remarks_say_of_papers_what_they_print() {
    for (paper, tests) in papers() {
        let phrases = &paper.not_printed.phrases;
        for test in &tests {
            let printed: Vec<&str> = paper.of(test).map(|one| one.printed.as_str()).collect();
            let known = numbers(&printed.join("; "));
            for sentence in sentences(&test.text) {
                let name = &test.name;
                if ["Printed", "Of the printed"].iter().any(|own| sentence.starts_with(own)) {
                    let unknown: Vec<String> =
                        numbers(&sentence).difference(&known).cloned().collect();
                    assert_eq!(unknown, [""; 0], "{name}: {sentence}");
                }
                let says_nothing = sentence.contains("ot printed")
                    || (sentence.contains("is printed")
                        && ["No ", "Nothing "].iter().any(|own| sentence.starts_with(own)));
                let is_known = phrases.iter().any(|phrase| sentence.contains(phrase));
                assert!(!says_nothing || is_known, "{name}: {sentence}");
            }
        }
    }
}

#[test]
fn a_remark_is_read_by_its_numbers() {
    let text = "# Printed: two groups of 1,800 drives,\n# 0.10 ms (4+1).\n# * Printed: RAID 1/0\nkey = 3\n#\n# Sizes are not printed.";
    let said = sentences(text);
    let said: Vec<&str> = said.iter().map(String::as_str).filter(|s| !s.is_empty()).collect();
    assert_eq!(
        said,
        [
            "Printed: two groups of 1,800 drives, 0.10 ms (4+1).",
            "Printed: RAID 1/0",
            "Sizes are not printed."
        ]
    );
    let found: Vec<String> = numbers(said[0]).into_iter().collect();
    assert_eq!(found, ["0.1", "1", "1800", "2", "4"]);
    assert!(numbers(said[1]).contains("0"));
}
