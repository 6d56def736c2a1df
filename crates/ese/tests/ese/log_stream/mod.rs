//! The log stream alone, in a virtual world whose device has a fixed latency and records its
//! requests.

mod commits;
mod failure;
mod fixture;
mod pressure;
mod rolls;
