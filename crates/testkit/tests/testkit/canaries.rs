//! Checks that the patches under `canaries/` still apply: the text they replace occurs exactly
//! once.
//!
//! `canaries/run` builds the engine with each of them and runs the search; that takes minutes and
//! is done by hand.

use std::fs;
use std::path::Path;

/// The text that a patch's only hunk replaces, and its file.
fn replaced(patch: &str) -> (String, String) {
    let file = patch
        .lines()
        .find_map(|line| line.strip_prefix("--- a/"))
        .expect("the patch names its file");
    let hunk = patch.lines().skip_while(|line| !line.starts_with("@@")).skip(1);
    let old = hunk.filter_map(|line| line.strip_prefix([' ', '-']));
    (file.to_owned(), old.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_patch_fits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for entry in fs::read_dir(root.join("crates/testkit/canaries")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "patch") {
            let (file, old) = replaced(&fs::read_to_string(&path).unwrap());
            let source = fs::read_to_string(root.join(&file)).unwrap();
            let places = source.matches(&old).count();
            assert_eq!(places, 1, "{} does not fit {file}", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 6);
}
