//! The program on real storage and with real mail servers, over a longer while: `crash` kills it at
//! random moments, `drill` fails a site over, `fleet` tests several hosts at once, `load` kills mail servers, `slurm`
//! loses nodes of a cluster. Most of the time they wait,
//! so they share the machine with other tests.

mod crash;
mod drill;
mod fleet;
mod load;
mod slurm;
