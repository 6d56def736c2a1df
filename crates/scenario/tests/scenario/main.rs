//! The language of scenarios, from text to plan and back.

mod faults;
mod goals;
mod mistakes;
