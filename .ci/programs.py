#!/usr/bin/env python3
"""Runs every test program, two at a time and longest first: `programs.py FOLDER CARGO-TEST-ARGUMENT...`

Cargo runs one after the other, and many of ours wait for a disk or a clock most of the time. A
program runs as cargo would run it: in the folder of its package, with the variables that tests read.

The crash search runs beside them: another one for each commit, and one line of its output repeats
what it finds. $BRUNT_STEPS says how many crash points it tries.

* FOLDER gets the output of each program, `seconds.json`, by which the next run orders them, and
  `totals`: how many tests passed, failed and were ignored.
* `budgets` beside this file has the processor time of each program that takes more than a moment.
  A program that takes FACTOR times as much fails. Processor time, with that of its children, hardly
  depends on what else the machine does; seconds on the clock do.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

AT_ONCE = 2
FACTOR = 3
# Seconds of processor time for a program without a line.
MOMENT = 4

folder, arguments = Path(sys.argv[1]), sys.argv[2:]
lines = Path(__file__).with_name("budgets").read_text().splitlines()
budgets = {name: float(seconds) for seconds, name in (line.split(maxsplit=1) for line in lines)}
kept = folder / "seconds.json"
before = json.loads(kept.read_text()) if kept.exists() else budgets


def crash_search(brunt):
    """Its name, command and folder."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    steps = os.environ.get("BRUNT_STEPS", "5000")
    return "crash search", [brunt, "prove", "--steps", steps, "--seed", commit or "1"], Path()


def programs():
    """Name, command and folder of each program that cargo has built, and of the crash search."""
    build = ["cargo", "test", *arguments, "--no-run", "--message-format=json"]
    built = subprocess.run(build, stdout=subprocess.PIPE, check=True, text=True)
    for artifact in map(json.loads, built.stdout.splitlines()):
        if artifact["reason"] == "compiler-artifact" and artifact["profile"]["test"]:
            target, package = artifact["target"], Path(artifact["manifest_path"]).parent
            kind = target["kind"][0]
            name = f"{package.name}/{target['name'] if kind == 'test' else kind}"
            yield name, [artifact["executable"]], package
        elif artifact["reason"] == "compiler-artifact" and artifact["target"]["name"] == "brunt":
            yield crash_search(artifact["executable"])
    # One crate has examples in its documentation.
    yield "world-virtual/doc", ["cargo", "test", "--doc", "--package", "brunt-world-virtual"], Path()


def ran(name, command, package):
    """Runs one: what it said of failures, seconds on the clock and of processor time, and exit code."""
    log = folder / f"{name.replace('/', '-')}.log"
    variables = os.environ | {"CARGO_MANIFEST_DIR": str(package), "CARGO": "cargo"}
    begun = time.monotonic()
    with log.open("w") as out:
        child = subprocess.Popen(command, cwd=package, env=variables, stdout=out, stderr=out)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took, worked = time.monotonic() - begun, used.ru_utime + used.ru_stime
    text = re.sub(r"^test .* ok\n", "", log.read_text(errors="replace"), flags=re.M)
    return text, took, worked, child.returncode


def work():
    while True:
        with turn:
            if not left:
                return
            name, command, package = left.pop()
        text, took, worked, code = ran(name, command, package)
        results = re.findall(r"^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M)
        # A program without tests is one itself.
        results = results or [(int(code == 0), 0, 0)]
        passed, failed, ignored = (sum(map(int, column)) for column in zip(*results))
        budget = budgets.get(name, MOMENT)
        spent = f"{took:.1f} s, {worked:.1f} s of processor time"
        with turn:
            if code != 0 and failed == 0:
                failed = 1
                print(f"{text}FAILED  {name}: exit code {code} ({spent})", flush=True)
            elif failed > 0:
                print(f"{text}FAILED  {name}: {failed} of {passed + failed} tests ({spent})", flush=True)
            elif worked > FACTOR * budget:
                failed = 1
                print(f"FAILED  {name}: {spent}, {FACTOR} times its budget of {budget:g} s", flush=True)
            elif passed > 0:
                print(f"ok      {name}: {passed} test{'s' * (passed > 1)} ({spent})", flush=True)
            seconds[name] = took
            for at, count in enumerate((passed, failed, ignored)):
                totals[at] += count


turn, seconds, totals = threading.Lock(), {}, [0, 0, 0]
left = sorted(programs(), key=lambda program: before.get(program[0], 0.0))
workers = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
kept.write_text(json.dumps(seconds, indent=0))
(folder / "totals").write_text(" ".join(map(str, totals)) + "\n")
print("slowest:")
for name, took in sorted(seconds.items(), key=lambda one: -one[1])[:10]:
    print(f"  {took:7.1f} s  {name}")
