//! GitHub: a workflow whose matrix has a job for each part. Each uploads its records, and the merge
//! puts them together. The plan is in the repository; records are not, so every part runs.

use super::Job;

/// The most jobs of a matrix.
const JOBS_MAX: u64 = 256;

/// The workflow.
pub(in super::super) fn script(job: &Job) -> String {
    let (about, label) = (job.about(), job.label());
    // Any number of parts has the same points. Jobs do not see each other's records, so that the
    // rounds of a search are for one.
    let of = if job.is_in_rounds { 1 } else { job.parts.min(JOBS_MAX) };
    let matrix: Vec<String> = (0..of).map(|part| part.to_string()).collect();
    let matrix = matrix.join(", ");
    format!(
        r#"{about}.
# Put it into .github/workflows, the plan as {label}/plan.json into the repository, and brunt on the PATH.
name: {label}
on: workflow_dispatch
jobs:
  part:
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix:
        part: [{matrix}]
    steps:
    - uses: actions/checkout@v4
    - run: brunt part {label} ${{{{ matrix.part }}}}/{of}
    - uses: actions/upload-artifact@v4
      if: always()
      with:
        name: part-${{{{ matrix.part }}}}-${{{{ github.run_attempt }}}}
        path: {label}/points
  merge:
    runs-on: ubuntu-latest
    needs: part
    if: always()
    steps:
    - uses: actions/checkout@v4
    - uses: actions/download-artifact@v4
      with:
        pattern: part-*
        path: {label}/points
        merge-multiple: true
    - run: brunt merge {label}
    - uses: actions/upload-artifact@v4
      if: always()
      with:
        name: result-${{{{ github.run_attempt }}}}
        path: runs
"#
    )
}
