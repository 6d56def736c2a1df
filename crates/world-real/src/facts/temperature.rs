//! Temperatures of processors and drives, where the machine reports them. Virtual machines rarely
//! do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{number, text};

/// The warmest sensor of each chip, in degrees Celsius, by driver name: `coretemp`, `nvme`,
/// `drivetemp`.
///
/// Source: kernel documentation, `Documentation/hwmon/sysfs-interface.rst`: `tempN_input` is in
/// thousandths of a degree.
pub fn temperatures() -> BTreeMap<String, f64> {
    chips(Path::new("/sys/class/hwmon"))
}

fn chips(folder: &Path) -> BTreeMap<String, f64> {
    let mut warmest = BTreeMap::new();
    for chip in fs::read_dir(folder).into_iter().flatten().flatten() {
        let chip = chip.path();
        let Some(name) = text(&chip.join("name")) else {
            continue;
        };
        for degrees in sensors(&chip) {
            let most = warmest.entry(name.clone()).or_insert(degrees);
            *most = degrees.max(*most);
        }
    }
    warmest
}

fn sensors(chip: &Path) -> Vec<f64> {
    let files = fs::read_dir(chip).into_iter().flatten().flatten();
    let inputs = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("temp") && name.ends_with("_input")
    });
    let millidegrees = inputs.filter_map(|file| number::<i64>(&file.path()));
    millidegrees.map(|m| m as f64 / 1000.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warmest_sensor_of_each_chip_is_told() {
        let root = tempfile::tempdir().unwrap();
        let chip = |at: &str, files: &[(&str, &str)]| {
            let folder = root.path().join(at);
            fs::create_dir(&folder).unwrap();
            for (name, content) in files {
                fs::write(folder.join(name), content).unwrap();
            }
        };
        let two = [("temp1_input", "41850\n"), ("temp2_input", "47000\n")];
        chip("hwmon0", &[&[("name", "nvme\n")], &two[..]].concat());
        chip("hwmon1", &[("name", "nvme\n"), ("temp1_input", "39000\n")]);
        chip("hwmon2", &[("name", "fan\n"), ("fan1_input", "900\n")]);
        let found = chips(root.path());
        assert_eq!(found, BTreeMap::from([("nvme".to_owned(), 47.0)]));
        assert!(chips(Path::new("/nowhere")).is_empty());
    }
}
