//! The console as its users have it: files, commands, pages of the manual.

mod deliveries;
mod kit;
mod recipes;
