//! The virtual world from outside, in one program: each file is a subject.

mod closed_model;
mod conformance;
mod crash;
mod faults;
mod net;
mod world;
