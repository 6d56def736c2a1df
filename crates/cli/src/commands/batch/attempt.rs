//! Which attempt of which job this is, from the environment that schedulers set.

use std::num::NonZero;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, process, thread};

/// One run of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Different for every attempt, and fit for a file name.
    pub(super) name: String,
    pub(super) node: String,
}

impl Attempt {
    /// This process.
    pub(super) fn own() -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::of(&|name| env::var(name).ok(), host.trim(), (process::id(), since.as_millis()))
    }

    /// A process with these `variables` on `host`: its number, and milliseconds since 1970.
    fn of(
        variables: &dyn Fn(&str) -> Option<String>,
        host: &str,
        (process, at): (u32, u128),
    ) -> Self {
        let node = ["SLURMD_NODENAME", "NODE_NAME"].iter().find_map(|name| variables(name));
        let restarts = variables("SLURM_RESTART_COUNT").unwrap_or_else(|| "0".to_owned());
        let name = match variables("SLURM_JOB_ID") {
            Some(job) => format!("job{job}-{restarts}-{process}-{at}"),
            None => format!("{host}-{process}-{at}"),
        };
        let plain = |c: char| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
            _ => '_',
        };
        let name: String = name.chars().take(120).map(plain).collect();
        Self { name, node: node.unwrap_or_else(|| host.to_owned()) }
    }
}

/// The number of the part that an array job says; `None` outside one.
pub(super) fn array_index() -> Option<u64> {
    let names = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];
    names.iter().find_map(|name| env::var(name).ok()?.trim().parse().ok())
}

/// Cores of this job: what Slurm says it has, or what affinity and control group leave.
pub(super) fn cores() -> usize {
    let slurm = env::var("SLURM_CPUS_PER_TASK").ok();
    let slurm = slurm.and_then(|text| text.trim().parse().ok()).filter(|cores| *cores > 0);
    slurm.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Attempt {
        let variable = |name: &str| {
            let found = set.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Attempt::of(&variable, "pod.7", (12, 345))
    }

    #[test]
    fn a_job_of_slurm_counts_its_restarts() {
        let job = [("SLURM_JOB_ID", "57"), ("SLURMD_NODENAME", "n2"), ("SLURM_RESTART_COUNT", "1")];
        let attempt = of(&job);
        assert_eq!((attempt.name.as_str(), attempt.node.as_str()), ("job57-1-12-345", "n2"));
        assert_eq!(of(&job[..2]).name, "job57-0-12-345");
    }

    #[test]
    fn elsewhere_it_is_the_host_and_the_process() {
        let attempt = of(&[]);
        assert_eq!((attempt.name.as_str(), attempt.node.as_str()), ("pod_7-12-345", "pod.7"));
        assert_eq!(of(&[("NODE_NAME", "worker-3")]).node, "worker-3");
        assert_eq!(of(&[("SLURM_JOB_ID", "../x")]).name, "job___x-0-12-345");
    }
}
