//! Tests of the public interface, in one program: one file for each subject.

mod compare;
mod damaged_folder;
mod drill;
mod jetstress_readers;
mod mail;
mod measured;
mod report_html;
mod result_json;
mod sample;
mod together;
mod validator;
