"""Building our programs once, installing fio, running either."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parents[2]
# Nothing measured here takes this long unless it hangs.
TIMEOUT_SECONDS = 600


class Failed(Exception):
    """A program that could not be built, installed or run."""


def say(line):
    print(line, file=sys.stderr, flush=True)


def shown(command):
    """A command as a shell line, without the home folder."""
    if isinstance(command, str):
        return command
    return shlex.join(str(word) for word in command).replace(f"{HOME}/", "")


def run(command, accept=(0,)):
    """Runs a command with a timeout and returns its stdout. Exit codes other than `accept` are failures."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(
            command, cwd=HOME, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{shown(command)}: no end after {TIMEOUT_SECONDS} s") from error
    except OSError as error:
        raise Failed(f"{shown(command)}: {error}") from error
    if done.returncode not in accept:
        raise Failed(f"{shown(command)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


class Cost(NamedTuple):
    """What a program used."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def run_measured(command, accept=(0,)):
    """Runs a command and returns its stdout and its cost."""
    command = [str(word) for word in command]
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=HOME, stdout=out, stderr=errors)
        timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        wall = time.monotonic() - began
        # The process has been waited for here, not by its object.
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode not in accept:
            told = errors.read().decode(errors="replace").strip()
            raise Failed(f"{shown(command)}: exit code {process.returncode}\n{told}")
        cost = Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        return out.read().decode(), cost


def run_json(command, accept=(0,)):
    """Runs a command and returns the JSON it wrote last. fio may print something before."""
    out = run(command, accept)
    return json.loads(out[out.index("{") :])


def build(package, example=None):
    """Builds a release program with cargo (instant when nothing changed) and returns its path."""
    kind = ["--example", example] if example else ["--bin", package]
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo/bin/cargo")
    owner = package if example else f"{package}-cli"
    run([cargo, "build", "--release", "--quiet", "-p", owner, *kind])
    target = Path(os.environ.get("CARGO_TARGET_DIR", HOME / "target"))
    folder = target / "release" / "examples" if example else target / "release"
    return folder / (example or package)


def remove(path):
    """Removes a file or folder, and waits until the device knows.

    A file system that discards informs the device at the next commit of its journal, and a discard of gigabytes keeps the
    device busy for a second or two. The next measurement would pay for it.
    """
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    os.sync()


def provide_fio():
    """Installs fio from Debian when it is missing and we are root."""
    if shutil.which("fio"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failed("fio is missing (apt-get install fio)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "fio"]):
        done = subprocess.run(
            ["apt-get", *command], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Failed(f"installing fio: {done.stderr.strip()}")
    say("installed the Debian package fio")
