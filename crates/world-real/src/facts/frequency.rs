//! Clock rate of the processors, where the kernel scales it. Virtual machines rarely report it.

use std::fs;
use std::path::Path;

use super::number;

/// The mean over all processors, in MHz.
///
/// Source: kernel documentation, `Documentation/admin-guide/pm/cpufreq.rst`: `scaling_cur_freq` is
/// in kHz.
pub fn frequency_mhz() -> Option<f64> {
    mean_mhz(Path::new("/sys/devices/system/cpu/cpufreq"))
}

fn mean_mhz(folder: &Path) -> Option<f64> {
    let policies = fs::read_dir(folder).ok()?.flatten();
    let rates = policies.filter_map(|policy| {
        let path = policy.path();
        let khz = number::<u64>(&path.join("scaling_cur_freq"))?;
        // A policy may hold several processors: `0 1 2 3`.
        let held = super::text(&path.join("affected_cpus"));
        let held = held.map_or(1, |held| held.split_whitespace().count().max(1));
        Some((khz as f64 / 1e3 * held as f64, held as f64))
    });
    let (sum, count) = rates.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_counts_once() {
        let root = tempfile::tempdir().unwrap();
        for (policy, khz, held) in [("policy0", "3000000", "0 1 2"), ("policy3", "1000000", "3")] {
            let folder = root.path().join(policy);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("scaling_cur_freq"), format!("{khz}\n")).unwrap();
            fs::write(folder.join("affected_cpus"), format!("{held}\n")).unwrap();
        }
        assert_eq!(mean_mhz(root.path()), Some(2_500.0));
        assert_eq!(mean_mhz(Path::new("/nowhere")), None);
    }
}
