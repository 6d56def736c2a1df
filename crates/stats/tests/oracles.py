"""Answers the questions on stdin with libraries that share no code with ours."""

import json
import sys

import numpy
from arch.bootstrap import MovingBlockBootstrap, optimal_block_length
from otava.analysis import compute_change_points_orig
from scipy import stats

asked = json.load(sys.stdin)


def scatter(series):
    values = numpy.array(series["values"])
    resampled = MovingBlockBootstrap(series["block"], values, seed=1)
    return float(numpy.sqrt(resampled.cov(lambda x: numpy.array([x.mean()]), reps=4000)[0, 0]))


def delta(a, b):
    return float(2 * stats.mannwhitneyu(b, a).statistic / (len(a) * len(b)) - 1)


json.dump({
    "student": [float(stats.t.isf(share / 2, freedom)) for share, freedom in asked["student"]],
    "beyond": [float(2 * stats.norm.sf(deviations)) for deviations in asked["beyond"]],
    "block": [float(optimal_block_length(numpy.array(s))["circular"].iloc[0]) for s in asked["block"]],
    "scatter": [scatter(series) for series in asked["scatter"]],
    "delta": [delta(a, b) for a, b in asked["delta"]],
    "changes": [[int(point.index) for point in compute_change_points_orig(numpy.array(s), 0.05, 1)[0]] for s in asked["changes"]],
}, sys.stdout)
