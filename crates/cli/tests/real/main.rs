//! The program on real storage and with real mail servers, over a longer while: `crash` kills it at
//! random moments, `console` looks with a
//! browser, `drill` fails a site over, `fleet` tests several hosts at once, `load` kills mail
//! servers, `slurm` loses nodes of a cluster. Most of the time they wait, so they share the machine
//! with other tests.

mod console;
mod crash;
mod drill;
mod fleet;
mod load;
mod slurm;

/// What a busy machine does to latencies is not judged.
pub(crate) const LENIENT: [&str; 4] = [
    "--set=limits.read_average=1h",
    "--set=limits.read_sample=1h",
    "--set=limits.log_average=1h",
    "--set=limits.log_sample=1h",
];
