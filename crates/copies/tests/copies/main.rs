//! Copies and their active, in one program: one file for each subject.

mod activation;
mod refusals;
mod search;
mod seeding;
mod stage;
