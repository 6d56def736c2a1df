//! Whole tests, in one program: one file for each subject.

mod content;
mod copies;
mod cut_off;
mod faults;
mod growth;
mod honest_latency;
mod hosts;
mod integrity;
mod journal;
mod kinds;
mod limits;
mod machine;
mod profiles;
mod rules;
mod small;
mod stale;
mod tuning;
mod twin;
mod virtual_run;
