//! Reports from outside, in one program: each file is a subject.

mod damaged_folder;
mod jetstress_readers;
mod report_html;
mod result_json;
mod sample;
mod together;
