"""Alternating rounds of A and B, and the median of their ratios.

Two programs that run minutes apart on a shared machine cannot be compared; two that take turns can. Each round gives one ratio
of the same moment, and the median stands for all of them.
"""

import argparse
import json
import statistics
import sys
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

from .machine import machine
from .programs import Failed, say, shown


def parser(story):
    """The options common to all scripts."""
    options = argparse.ArgumentParser(
        description=story, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=5, help="rounds of A and B (5)")
    options.add_argument(
        "--scratch", type=Path, default=Path("."), help="folder to make a scratch folder in (.)"
    )
    return options


@contextmanager
def scratch(folder):
    """A folder of our own inside `folder`, removed afterwards."""
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="brunt-bench-", dir=folder) as path:
        yield Path(path).resolve()


class Comparison:
    """The ratios of one goal. With `lower`, a ratio below the goal is better."""

    def __init__(self, name, goal, command_a, command_b=None, unit="", lower=False):
        self.name, self.goal, self.unit, self.lower = name, goal, unit, lower
        self.command_a, self.command_b = command_a, command_b
        self.rounds = []

    def add(self, a, b, **more):
        """Adds a round: the values of A and B."""
        ratio = a / b
        self.rounds.append({"a": a, "b": b, "ratio": ratio, **more})
        if len(self.rounds) == 1:
            sign = "<=" if self.lower else ">="
            say(f"{'goal':24} {'round':>5} {'a':>14} {'b':>14} {'a/b':>7} {sign}  {self.unit}")
        say(
            f"{self.name:24} {len(self.rounds):5} {a:14,.2f} {b:14,.2f} {ratio:7.3f} {self.goal:5}"
        )

    def take(self, a, found, **more):
        """Adds a round against several kinds of B, kind to (value, command), the one that counts first."""
        counted, command = next(iter(found.values()))
        self.command_b = shown(command)
        self.add(a, counted, **more, b_by_kind={kind: value for kind, (value, _) in found.items()})
        for kind, (value, _) in list(found.items())[1:]:
            say(f"{'':24} {kind:>20} {value:14,.2f} {a / value:7.3f}")

    def result(self, place):
        ratios = [entry["ratio"] for entry in self.rounds]
        median = statistics.median(ratios)
        met = median <= self.goal if self.lower else median >= self.goal
        return {
            "name": self.name,
            "unit": self.unit,
            "command_a": self.command_a,
            "command_b": self.command_b,
            "goal": self.goal,
            "better": "lower" if self.lower else "higher",
            "ratios": [round(ratio, 4) for ratio in ratios],
            "median": round(median, 4),
            "min": round(min(ratios), 4),
            "max": round(max(ratios), 4),
            "met": met,
            "rounds": self.rounds,
            "machine": machine(place),
        }


def finish(comparisons, place):
    """Prints a line of JSON for each goal; exits with 1 when one is missed."""
    results = [comparison.result(place) for comparison in comparisons]
    for result in results:
        print(json.dumps(result), flush=True)
        verdict = "met" if result["met"] else "MISSED"
        spread = f"[{result['min']:.3f} to {result['max']:.3f}]"
        say(f"{result['name']:24} median {result['median']:.3f} {spread}, goal {result['goal']}: {verdict}")
    sys.exit(0 if all(result["met"] for result in results) else 1)


def main(measure, options):
    """Runs `measure(options, scratch folder)`, which returns comparisons. Exits with 2 if it could not measure."""
    try:
        with scratch(options.scratch) as folder:
            comparisons = measure(options, folder)
    except Failed as error:
        say(f"error: {error}")
        sys.exit(2)
    finish(comparisons, options.scratch)
