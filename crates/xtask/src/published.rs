//! Figures of published tests: `scenarios/papers/published/*.toml`.
//!
//! Each file is one test that may be used in the fit, with its source. The scenario of the same
//! test is one folder above. Tests whose results are only to be predicted have a scenario but no
//! file here.

use std::fs;
use std::path::PathBuf;

use brunt_qualify::kinds::Work;
use serde::Deserialize;

use crate::figures::Figures;
use crate::prediction::scenario;
use crate::root;

/// The published results of one test.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Published {
    /// The scenario, without its file extension; the file has the same name.
    pub(crate) scenario: String,
    /// The system tested: tests of one system are left out together.
    pub(crate) system: String,
    /// The version of Exchange that the tool was made for.
    pub(crate) generation: String,
    /// Which counters were printed.
    pub(crate) counters: Counters,
    pub(crate) source: Source,
    /// Known errors of the prediction, and their cause.
    pub(crate) remark: Option<String>,
    /// Its figures; the first row covers everything.
    #[serde(rename = "row")]
    pub(crate) rows: Vec<Row>,
}

/// Which counters were printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Counters {
    /// The volume's: log writes include formatting.
    Volumes,
    /// The engine's: without formatting.
    Engine,
}

/// A paper.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Source {
    pub(crate) title: String,
    pub(crate) publisher: String,
    pub(crate) date: String,
    pub(crate) section: String,
}

/// Figures of the whole test, or of a part.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Only this server.
    pub(crate) server: Option<String>,
    /// Only these of its instances, counted from 1.
    pub(crate) instances: Option<Vec<usize>>,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub(crate) struct PublishedError {
    path: PathBuf,
    what: String,
}

impl Row {
    /// A row for the whole test without figures.
    pub(crate) fn everything() -> Self {
        Self { name: "all".to_owned(), server: None, instances: None, figures: Figures::default() }
    }
}

impl Published {
    /// The figures of the whole test.
    pub(crate) fn whole(&self) -> &Figures {
        &self.rows[0].figures
    }

    /// The test's outline.
    pub(crate) fn outline(&self) -> Outline {
        let servers = self.rows.iter();
        let servers = servers.filter(|row| row.server.is_some() && row.instances.is_none());
        Outline {
            replays_logs: self.whole().recovery_s_per_log.is_some(),
            servers: servers.count().max(1),
            is_drill: false,
        }
    }
}

/// The properties of a scenario that determine how long it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Whether it replays logs.
    pub(crate) replays_logs: bool,
    /// Number of servers tested together, at least one.
    pub(crate) servers: usize,
    /// Whether it is a drill.
    pub(crate) is_drill: bool,
}

/// The lines of remark that a scenario begins with.
pub(crate) fn head(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix('#'))
}

/// The folder with the scenarios of published tests.
pub(crate) fn scenarios() -> PathBuf {
    root().join("scenarios/papers")
}

/// Every published test that may be used in the fit, by name.
///
/// # Errors
/// [`PublishedError`] for the first file that cannot be used.
pub(crate) fn all() -> Result<Vec<Published>, PublishedError> {
    let folder = scenarios().join("published");
    toml_files(&folder)?.into_iter().map(read).collect()
}

/// The scenarios without published figures here, by name.
///
/// # Errors
/// [`PublishedError`] when the folder cannot be read.
pub(crate) fn only_predicted(published: &[Published]) -> Result<Vec<String>, PublishedError> {
    let files = toml_files(&scenarios())?.into_iter();
    let names = files.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let known = |name: &String| published.iter().any(|one| one.scenario == *name);
    Ok(names.filter(|name| !known(name)).collect())
}

/// The outline of the scenario called `name`.
///
/// # Errors
/// [`PublishedError`] when it cannot be read.
pub(crate) fn outline(name: &str) -> Result<Outline, PublishedError> {
    let path = scenarios().join(format!("{name}.toml"));
    let refuse = |what: String| PublishedError { path: path.clone(), what };
    let text = fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
    let is_drill = head(&text).any(|line| line.trim().starts_with("brunt drill "));
    let read = scenario(name, &[]).map_err(refuse)?;
    Ok(Outline {
        replays_logs: read.scenario.test.kind.work() == Work::Replay,
        servers: read.servers.len(),
        is_drill,
    })
}

fn toml_files(folder: &PathBuf) -> Result<Vec<PathBuf>, PublishedError> {
    let refused =
        |error: std::io::Error| PublishedError { path: folder.clone(), what: error.to_string() };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: PathBuf) -> Result<Published, PublishedError> {
    let refuse = |what: String| PublishedError { path: path.clone(), what };
    let text = fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
    let published: Published = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    if published.rows.is_empty() {
        return Err(refuse("has no row".to_owned()));
    }
    if path.file_stem().is_none_or(|stem| stem != published.scenario.as_str()) {
        return Err(refuse(format!("is not called after {}", published.scenario)));
    }
    Ok(published)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_has_a_scenario() {
        let published = all().unwrap();
        assert!(published.len() >= 4);
        for one in &published {
            let scenario = scenarios().join(format!("{}.toml", one.scenario));
            assert!(scenario.exists(), "{}", one.scenario);
            assert!(!one.source.title.is_empty() && !one.source.section.is_empty());
            assert_eq!(one.rows[0].name, "all");
            assert_eq!(one.outline(), outline(&one.scenario).unwrap());
        }
        let predicted = only_predicted(&published).unwrap();
        assert!(predicted.contains(&"emc-cx4-960-backup".to_owned()));
        assert!(!predicted.contains(&"emc-cx3-20-performance".to_owned()));
        assert!(outline("emc-cx4-960-soft-recovery").unwrap().replays_logs);
        assert!(!outline("emc-cx4-960-backup").unwrap().replays_logs);
        assert!(outline("hp-eva5000-ca-whl-merge").unwrap().is_drill);
        assert!(!outline("hp-eva5000-ca-phase1-jetstress-latency-replicated").unwrap().is_drill);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        for one in all().unwrap() {
            let servers = one.rows.iter().filter(|row| row.instances.is_none());
            let reads: Vec<f64> =
                servers.skip(1).filter_map(|row| row.figures.reads_per_s).collect();
            let Some(whole) = one.whole().reads_per_s.filter(|_| !reads.is_empty()) else {
                continue;
            };
            let sum: f64 = reads.iter().sum();
            assert!((sum / whole - 1.0).abs() < 1e-3, "{}: {sum} of {whole}", one.scenario);
        }
    }
}
