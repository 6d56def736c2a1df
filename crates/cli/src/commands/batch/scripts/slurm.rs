//! Slurm: an array job, and a merge after it.
//!
//! * `--requeue` covers a lost node and preemption. A part that exits with 75 puts itself into the
//!   queue again, three times at most; `RequeueExit` would need the site's configuration.
//! * The merge waits with `afterany`: an array remembers its worst exit code, so `afterok` is never
//!   satisfied once a task has failed, even if it was requeued and completed.
//! * A search goes on in rounds: the merge's job submits the next one when the last is complete.
//! * Defaults stand in `#SBATCH` lines, which the environment overrides (`SBATCH_PARTITION`,
//!   `SBATCH_TIMELIMIT`, ...).

use brunt_host::shell::quoted;
use brunt_lab::batch::ranges;

use super::Job;

/// The script.
pub(in super::super) fn script(job: &Job) -> String {
    let about = job.about();
    let label = job.label();
    let dir = quoted(&job.folder.to_string_lossy());
    let brunt = quoted(&job.program.to_string_lossy());
    let logs = quoted(&job.folder.join("logs").to_string_lossy());
    let merge = format!(
        r#"#!/bin/sh
#SBATCH --ntasks=1 --cpus-per-task=1 --mem=500M --requeue --open-mode=append
next=$({brunt} plan {dir} --for slurm --after {asked}) || exit
if [ -n "$next" ]; then
  printf '%s\n' "$next" | sh
else
  exec {brunt} merge {dir} --out {dir}/runs
fi
"#,
        asked = job.asked
    );
    let (after, array) = match job.lacking.as_slice() {
        [] => (String::new(), String::new()),
        lacking => {
            let list = ranges(lacking);
            let array = format!(
                r#"array=$(sbatch --parsable --job-name={label} --array={list} --output="$logs/%A_%a.txt" <<'PART'
#!/bin/sh
#SBATCH --ntasks=1 --cpus-per-task=1 --mem=500M --requeue --open-mode=append
{brunt} part {dir} auto
code=$?
# 75: it may do better later.
if [ $code -eq 75 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt 3 ]; then
  scontrol requeue "$SLURM_JOB_ID"
  sleep 60
fi
exit $code
PART
)
echo "parts: job $array, which writes to $logs"
"#
            );
            (" --dependency=afterany:\"$array\"".to_owned(), array)
        }
    };
    format!(
        r#"#!/bin/sh
{about}.
# Partition, account, time and so on: SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT in the environment.
set -eu
logs={logs}
mkdir -p "$logs"
{array}merge=$(sbatch --parsable --job-name={label}-merge{after} --output="$logs/merge-%j.txt" <<'MERGE'
{merge}MERGE
)
echo "merge: job $merge"
"#
    )
}
