//! Copies and their active, in one program: one file for each subject.

mod activation;
mod pages;
mod real_world;
mod refusals;
mod search;
mod seeding;
mod stage;
