//! What `--explain` says is what was calculated: an oracle reads each formula and works it out from
//! the inputs beside it.

use brunt_sizing::export;
use brunt_sizing::{catalog, size};
use serde_json::Value;

use super::organisation;

/// `+ - * /`, brackets, names, and four functions, by descent.
struct Reader<'a> {
    rest: &'a str,
    inputs: &'a Value,
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        loop {
            if self.take("+") {
                value += self.product();
            } else if self.take("-") {
                value -= self.product();
            } else {
                return value;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut value = self.atom();
        loop {
            if self.take("*") {
                value *= self.atom();
            } else if self.take("/") {
                value /= self.atom();
            } else {
                return value;
            }
        }
    }

    fn atom(&mut self) -> f64 {
        if self.take("(") {
            let value = self.sum();
            assert!(self.take(")"), "{}", self.rest);
            return value;
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if let Ok(number) = word.parse() {
            return number;
        }
        if !self.take("(") {
            let value = self.inputs[word].as_f64();
            return value.unwrap_or_else(|| panic!("{word} is no input of {}", self.inputs));
        }
        let first = self.sum();
        let value = match word {
            "ceil" => (first - 1e-9 * first.abs()).ceil(),
            "floor" => (first + 1e-9 * first.abs()).floor(),
            "max" | "min" => {
                assert!(self.take(","), "{}", self.rest);
                let second = self.sum();
                if (word == "max") == (first > second) { first } else { second }
            }
            other => panic!("no function {other}"),
        };
        assert!(self.take(")"), "{}", self.rest);
        value
    }
}

const TIERS: &str = "[[tier]]\nname = \"light\"\ncount = 3000\nquota = \"1 GiB\"\nmessages_per_day = 50\n\
    [[tier]]\nname = \"heavy\"\ncount = 1000\nquota = \"5 GiB\"\nio_per_s = 0.2\nmessage_size = \"150 KiB\"\n";
const STORAGE: &str = "[storage]\ndrive = \"savvio-10k6-900-sas\"\nlevel = \"raid10\"\ngroup_drives = 8\n\
    log_level = \"raid1\"\nlog_drives = 2\nbackup_level = \"raid6\"\nbackup_drives = 8\n";

fn organisations() -> Vec<String> {
    let mut all = Vec::new();
    for version in ["2003", "2007", "2010", "2013", "2016", "2019"] {
        for org in [
            "servers = 2\nfailures = 1\n",
            "servers = 5\ncopies = 3\nfailures = 2\nrestore_within = \"2h\"\n",
        ] {
            for figures in [
                "",
                "[figures]\non_disk_percent = 130\nserver_cores = 16\nmegacycles_per_mailbox = 3\nserver_memory_bytes = \"64 GiB\"\n",
            ] {
                all.push(format!(
                    "[profile]\nversion = {version}\n[org]\n{org}{TIERS}{STORAGE}{figures}"
                ));
            }
        }
    }
    let pool =
        STORAGE.replace("\"raid10\"", "\"pool\"").replace("group_drives = 8", "group_drives = 24");
    all.push(format!("[profile]\nversion = 2010\n[org]\nservers = 2\n{TIERS}{pool}"));
    all
}

#[test]
fn every_formula_gives_its_value() {
    let mut checked = std::collections::BTreeSet::new();
    for text in organisations() {
        let org = organisation(&text);
        let json = export::json(&size(&org));
        for figure in json["figures"].as_array().unwrap() {
            let Some(formula) = figure["formula"].as_str() else {
                continue;
            };
            if formula.starts_with("sum over") || formula.starts_with("between") {
                continue;
            }
            let mut reader = Reader { rest: formula, inputs: &figure["inputs"] };
            let (expected, value) = (reader.sum(), figure["value"].as_f64().unwrap());
            assert_eq!(reader.rest.trim(), "", "{formula}");
            let name = figure["name"].as_str().unwrap();
            assert!(
                (expected - value).abs() <= 1e-9 * value.abs(),
                "{name} = {formula} = {expected}, not {value}"
            );
            checked.insert(name.to_owned());
        }
    }
    assert!(checked.len() > 45, "{checked:?}");
}

#[test]
fn sums_are_those_of_the_tiers() {
    let org = organisation(&organisations()[20]);
    let sizing = size(&org);
    for (name, of) in [
        ("mailboxes", "count"),
        ("io_all", "io_per_mailbox"),
        ("logs_per_day", "logs_per_mailbox"),
        ("content_bytes", "mailbox_bytes"),
    ] {
        let each = |sheet: &brunt_sizing::sheet::Sheet| match of {
            "count" => sheet.get(of),
            of => sheet.get("count") * sheet.get(of),
        };
        let sum: f64 = sizing.tiers.iter().map(|(_, sheet)| each(sheet)).sum();
        assert!((sum - sizing.sheet.get(name)).abs() <= 1e-9 * sum, "{name}");
    }
}

#[test]
fn every_figure_has_a_meaning_and_every_meaning_is_used() {
    let mut used = std::collections::BTreeSet::new();
    for text in organisations() {
        let org = organisation(&text);
        let sizing = size(&org);
        let sheets = sizing.tiers.iter().map(|(_, sheet)| sheet).chain([&sizing.sheet]);
        // Unknown names panic.
        used.extend(
            sheets.flat_map(|sheet| sheet.entries()).map(|entry| catalog::meaning(entry.name).name),
        );
    }
    let unused: Vec<&str> = catalog::FIGURES
        .iter()
        .map(|figure| figure.name)
        .filter(|name| !used.contains(name))
        .collect();
    assert_eq!(unused, [""; 0]);
}

#[test]
fn a_given_figure_replaces_a_usual_one_and_says_so() {
    let text = &organisations()[22];
    let org = organisation(&format!(
        "{}\n[figures]\nfree_percent = 5\nio_per_message = 0.001\n",
        text.split("[figures]").next().unwrap()
    ));
    let json = export::json(&size(&org));
    let figures = json["figures"].as_array().unwrap();
    let find = |name: &str| figures.iter().find(|figure| figure["name"] == name).unwrap();
    assert_eq!(find("free_percent")["from"], "given");
    assert_eq!(find("free_percent")["instead_of"], 20.0);
    let light = figures
        .iter()
        .find(|figure| figure["name"] == "io_per_mailbox" && figure["tier"] == "light");
    assert_eq!(light.unwrap()["value"], 0.05);
}
