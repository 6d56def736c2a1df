//! Results of predictions in `target/predictions`, so that a run which was interrupted goes on where it was.
//!
//! A result is used again only by the same program, for the same scenario with the same settings.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use brunt_report::RunResult;

use crate::predictions::Request;
use crate::published::scenarios;
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
        Some(Self {
            folder: root().join("target/predictions"),
            program: hash(&program),
        })
    }

    fn path(&self, request: &Request) -> PathBuf {
        let text = fs::read(scenarios().join(format!("{}.toml", request.scenario)));
        let key = hash(&(self.program, request, text.unwrap_or_default()));
        self.folder
            .join(format!("{}-{key:016x}.json", request.scenario))
    }

    /// The result of `request`, if it is there and whole.
    pub(crate) fn get(&self, request: &Request) -> Option<RunResult> {
        let text = fs::read(self.path(request)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps a result. What cannot be kept is simulated again.
    pub(crate) fn put(&self, request: &Request, result: &RunResult) {
        let path = self.path(request);
        let begun = path.with_extension("part");
        let text = serde_json::to_vec(result).expect("a result has no maps with odd keys");
        let written = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&begun, text));
        // It gets its name when it is whole.
        let _ = written.and_then(|()| fs::rename(&begun, &path));
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
        let kept = |program| Kept {
            folder: folder.path().join("predictions"),
            program,
        };
        let request = |set: &[&str]| Request {
            scenario: "emc-cx3-20-performance".to_owned(),
            set: set.iter().map(|word| (*word).to_owned()).collect(),
            checksum: false,
        };
        let mut result: RunResult =
            serde_json::from_str(include_str!("../../report/tests/report/result_v2.json")).unwrap();
        result.storage.achieved_iops = Some(1234.0);
        kept(1).put(&request(&[]), &result);
        assert_eq!(kept(1).get(&request(&[])), Some(result));
        assert!(kept(2).get(&request(&[])).is_none());
        assert!(kept(1).get(&request(&["test.seed=2"])).is_none());
    }
}
