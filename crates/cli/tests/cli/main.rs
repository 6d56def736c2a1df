//! The program, as its users meet it: a file for each subject.

mod architecture;
mod batch;
mod compare;
mod copies;
mod folders;
mod guide;
mod hostile;
mod killed_simulation;
mod lying_disk;
mod package;
mod pages;
mod papers;
mod program;
mod records;
mod run_folder;
mod shards;
mod simulated_load;
mod simulated_pool;
mod simulated_test;
mod truncated;
mod verify;
mod way_in;
mod words;
