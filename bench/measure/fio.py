"""fio as the other side of a comparison.

Our frames lie in huge pages, which matters on a virtio disk: 32 KiB in a huge page are one piece for the device, in pages of
4 KiB up to eight. So the fio that counts has its buffers in huge pages, too, reserved for the run and released afterwards. fio
in ordinary memory is shown beside it as `plain`, and counts where there are no huge pages.
"""

from contextlib import contextmanager
from pathlib import Path

from .programs import Failed, run_json, say

HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")
DIRECT = ["--ioengine=io_uring", "--direct=1"]


def fio(*options):
    """A command of one or more jobs."""
    return ["fio", "--output-format=json", *options]


def jobs(command):
    """Runs a command; returns its jobs by name."""
    result = run_json(command)
    found = {job["jobname"]: job for job in result["jobs"]}
    failed = [name for name, job in found.items() if job["error"]]
    if failed:
        raise Failed(f"fio's job {failed[0]} failed with error {found[failed[0]]['error']}")
    return found


def ios_per_second(job):
    return job["read"]["iops"] + job["write"]["iops"]


def bytes_per_second(job):
    return job["read"]["bw_bytes"] + job["write"]["bw_bytes"]


def cpu_us_per_io(job):
    """User and system time of a job per I/O. fio's percentages are of the run time."""
    busy = (job["usr_cpu"] + job["sys_cpu"]) / 100
    return busy * 1e6 / ios_per_second(job)


@contextmanager
def buffers(count=32):
    """The kinds of memory for fio's buffers as (name, option), the one that counts first.

    As root, reserves `count` huge pages and restores the former number afterwards.
    """
    plain = ("plain", "--mem=malloc")
    try:
        before = HUGE_PAGES.read_text().strip()
        if int(before) < count:
            HUGE_PAGES.write_text(f"{count}\n")
    except OSError:
        say("no huge pages for fio: only root can reserve them")
        yield [plain]
        return
    try:
        if int(HUGE_PAGES.read_text()) >= count:
            yield [("huge", "--mem=mmaphuge"), plain]
        else:
            say("no huge pages for fio: the kernel has not enough in one piece")
            yield [plain]
    finally:
        HUGE_PAGES.write_text(f"{before}\n")
