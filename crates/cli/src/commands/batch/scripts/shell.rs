//! A shell on one machine: GNU parallel runs a part on each core, then the merge.

use brunt_host::shell::quoted;

use super::Job;

/// The script.
pub(in super::super) fn script(job: &Job) -> String {
    let (about, parts) = (job.about(), job.parts);
    let dir = quoted(&job.folder.to_string_lossy());
    let brunt = quoted(&job.program.to_string_lossy());
    let numbers: Vec<String> = job.lacking.iter().map(u64::to_string).collect();
    let numbers = numbers.join(" ");
    let compute = match job.lacking.as_slice() {
        [] => String::new(),
        _ => format!(
            "# A part that fails does not end the others; the merge names what is missing.\nparallel --will-cite --quote {brunt} part --threads 1 {dir} {{}}/{parts} ::: {numbers} || true\n"
        ),
    };
    format!(
        r#"#!/bin/sh
{about}.
{compute}exec {brunt} merge {dir}
"#
    )
}
