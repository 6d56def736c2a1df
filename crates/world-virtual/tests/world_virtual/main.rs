//! Tests of the public interface, in one program: one file for each subject.

mod closed_model;
mod conformance;
mod crash;
mod faults;
mod net;
mod world;
