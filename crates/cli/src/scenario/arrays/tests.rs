//! The examples are read, and mean what their names say.

use std::path::Path;

use super::*;

fn parse(text: &str) -> Result<ArrayScenario, Refusal> {
    ArrayScenario::parse("array.toml", text, Path::new("/nowhere"), &[])
}

const SMALL: &str = r#"
[simulate]
duration = "1s"
[array]
[[array.drives]]
model = "cheetah-15k5-146-fc"
count = 12
[[array.group]]
level = "raid10"
drives = 4
name = "logs"
[[array.group]]
level = "raid6"
drives = 6
name = "data"
[[array.lun]]
group = "data"
size = "1 GiB"
[[load]]
kind = "sequential"
verb = "write"
size = "64 KiB"
rate_per_s = 10
"#;

#[test]
fn groups_take_drives_in_order() {
    let design = parse(SMALL).unwrap().simulation.design;
    assert_eq!(design.groups[0].drives, [0, 1, 2, 3]);
    assert_eq!(design.groups[1].drives, [4, 5, 6, 7, 8, 9]);
    assert_eq!((design.luns.len(), design.luns[0].group), (1, 1));
    assert!(design.cache.is_none());
}

#[test]
fn refusals_name_their_lines() {
    for (from, to, words) in [
        (
            "drives = 6",
            "drives = 3",
            "array.toml:14: `drives = 3`: RAID 6 cannot be built of 3 drives",
        ),
        (
            "group = \"data\"",
            "group = \"date\"",
            "did you mean \"data\"?",
        ),
        (
            "verb = \"write\"",
            "read_percent = 3",
            "`read_percent` is not for kind = \"sequential\"",
        ),
        ("rate_per_s = 10", "", "[[load]] lacks `outstanding`"),
        (
            "size = \"1 GiB\"",
            "size = \"9 TiB\"",
            "array.toml:18: `size = \"9 TiB\"`: LUN",
        ),
        (
            "duration = \"1s\"",
            "duration = \"0s\"",
            "is no time at all",
        ),
        (
            "count = 12",
            "count = 12\nfile = \"x.toml\"",
            "cannot be read",
        ),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL);
        let refusal = parse(&text).err().expect(words).to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn every_example_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arrays");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let scenario = ArrayScenario::parse(&name, &text, &folder, &[]);
        let scenario = scenario.unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(scenario.name, path.file_stem().unwrap().to_str().unwrap());
        count += 1;
    }
    assert_eq!(count, 10);
}
