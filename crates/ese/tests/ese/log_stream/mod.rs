//! The log stream alone, in a virtual world whose device takes a known time and notes what it is asked.

mod commits;
mod failure;
mod pressure;
mod rolls;
mod stage;
