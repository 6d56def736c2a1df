//! Results of predictions in `target/predictions`, so that a run which was interrupted goes on
//! where it was.
//!
//! A result is used again only by the same program, for the same scenario with the same settings.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use brunt_report::RunResult;

use crate::prediction::scenario;
use crate::predictions::Request;
use crate::root;

/// The folder, for this program.
pub(crate) struct Kept {
    folder: PathBuf,
    program: u64,
}

impl Kept {
    /// Without its own file, a program keeps nothing.
    pub(crate) fn here() -> Option<Self> {
        let program = fs::read(std::env::current_exe().ok()?).ok()?;
        Some(Self { folder: root().join("target/predictions"), program: hash(&program) })
    }

    /// The place of the result of `request`, whose scenario is as it is now.
    pub(crate) fn place(&self, request: &Request) -> Place {
        let text = scenario(&request.scenario, &[]).map(|scenario| scenario.to_toml());
        let key = hash(&(self.program, request, text.unwrap_or_default()));
        let name = format!("{}-{key:016x}.json", request.scenario);
        Place(self.folder.join(name))
    }
}

/// The place of one result.
pub(crate) struct Place(PathBuf);

impl Place {
    /// The result, if it is there and whole.
    pub(crate) fn get(&self) -> Option<RunResult> {
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Keeps a result. What cannot be kept is simulated again.
    pub(crate) fn put(&self, result: &RunResult) {
        let (folder, begun) = (self.0.parent(), self.0.with_extension("part"));
        let text = serde_json::to_vec(result).expect("a result has no maps with odd keys");
        let made = folder.map_or(Ok(()), fs::create_dir_all);
        let written = made.and_then(|()| fs::write(&begun, text));
        // It gets its name when it is whole.
        let _ = written.and_then(|()| fs::rename(&begun, &self.0));
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_again_only_for_the_same_request_and_program() {
        let folder = tempfile::tempdir().unwrap();
        let kept = |program| Kept { folder: folder.path().join("predictions"), program };
        let request = |set: &[&str]| Request {
            scenario: "emc-cx3-20-performance".to_owned(),
            set: set.iter().map(|word| (*word).to_owned()).collect(),
            checksum: false,
            is_drill: false,
        };
        let mut result: RunResult =
            serde_json::from_str(include_str!("../../report/tests/report/result_v2.json")).unwrap();
        result.storage.achieved_iops = Some(1234.0);
        kept(1).place(&request(&[])).put(&result);
        assert_eq!(kept(1).place(&request(&[])).get(), Some(result));
        assert!(kept(2).place(&request(&[])).get().is_none());
        let other = request(&["test.seed=2"]);
        assert!(kept(1).place(&other).get().is_none());
    }
}
