//! A tiny engine in a virtual world, from the test kit; shared by several test files.

#![allow(dead_code, unused_imports, reason = "each test file uses its part")]

pub(crate) mod pages;

pub(crate) use brunt_testkit::tiny::{
    INDEX, RUN, SIZE, TABLE, blank_database, database_path, message_database, open, options,
    tree_database, tree_files,
};
