//! The program on real storage over a longer while: `crash` kills it at random moments, `drill`
//! fails a site over. Most of the time both wait, so they share the machine with other tests.

mod crash;
mod drill;
