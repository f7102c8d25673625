"""``python -m benchmarks.nasty``: data that has no one scale, against Gaussian data of its size.

Seconds are CPU time of one thread: on a busy machine they vary less than the clock's. A default run
is all curves and scores that neighbours tell, without the headline.
"""

import statistics
import sys
import time
from functools import partial

import numpy as np
from tabulate import tabulate

import precall
from benchmarks import contenders

N = 8000


def clusters(ratio, n_clusters=10):
    """As far apart, each from the next, as ``ratio`` times the distance of two of its members."""

    def draw(rng, n, d):
        centers = ratio * np.random.default_rng(1).normal(size=(n_clusters, d))
        return centers[rng.integers(0, n_clusters, n)] + rng.normal(size=(n, d))

    return draw


def with_outlier(distance):
    def draw(rng, n, d):
        rows = rng.normal(size=(n, d))
        rows[0] *= distance
        return rows

    return draw


def copies(rng, n, d):
    return np.repeat(rng.normal(size=(n // 100, d)), 100, axis=0)[rng.permutation(n)]


def some_far(rng, n, d):
    return rng.normal(size=(n, d)) * np.where(rng.random(n) < 0.05, 1e4, 1.0)[:, None]


def heavy_rows(rng, n, d):
    return rng.normal(size=(n, d)) * np.abs(rng.standard_cauchy((n, 1)))


def tiny_clusters(rng, n, d):
    centers = np.random.default_rng(1).normal(size=(2, d))
    return centers[rng.integers(0, 2, n)] + 1e-9 * rng.normal(size=(n, d))


def unequal_relu(rng, n, d):
    scales = np.exp(np.random.default_rng(1).normal(0, 2, d))
    return np.maximum(rng.normal(size=(n, d)), 0.0) * scales


def one_large_feature(rng, n, d):
    rows = rng.normal(size=(n, d))
    rows[:, 0] *= 1e4
    return rows


KINDS = {
    "Gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "one outlier, 1e6 times as far": with_outlier(1e6),
    "one outlier, 1e18 times as far": with_outlier(1e18),
    "clusters 100 times as far apart as wide": clusters(100),
    "clusters 10 000 times as far apart": clusters(10_000),
    "one feature × 1e4": one_large_feature,
    "100 copies of each row": copies,
    "lognormal, σ = 2": lambda rng, n, d: rng.lognormal(0, 2, (n, d)),
    "Cauchy": lambda rng, n, d: rng.standard_cauchy((n, d)),
    "heavy-tailed rows": heavy_rows,
    "two clusters of width 1e-9": tiny_clusters,
    "5 % of rows × 1e4": some_far,
    "ReLU with unequal scales": unequal_relu,
}
WIDE = ("Gaussian", "clusters 100 times as far apart as wide", "ReLU with unequal scales")


def cpu_seconds(function, rounds):
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def default_run(real, generated):
    """All curves and scores that neighbours tell."""
    precall.evaluate(real, generated, headline=False, threads=1)


def table(n, d, kinds, rounds, with_prdc):
    peers = contenders.installed_peers() if with_prdc else {}
    rows, of_gaussian = [], 0.0
    for name in kinds:
        rng = np.random.default_rng(0)
        dtype = np.float64 if "1e-9" in name else np.float32
        real, generated = (KINDS[name](rng, n, d).astype(dtype) for _ in range(2))
        default_run(real[:2000], generated[:2000])  # compiles, for either type
        seconds = cpu_seconds(partial(default_run, real, generated), rounds)
        four = cpu_seconds(partial(contenders.precall_four, real, generated, 5, threads=1), rounds)
        prdc = "prdc 0.2"
        theirs = cpu_seconds(partial(peers[prdc], real, generated, 5), 1) if prdc in peers else 0.0
        of_gaussian = of_gaussian or seconds
        against = f"{theirs / four:.1f}" if theirs else ""
        rows.append(
            [name, f"{seconds:.2f}", f"{seconds / of_gaussian:.1f}", f"{four:.2f}", against]
        )
        print(rows[-1], flush=True)
    headings = ["", "default run (s)", "times Gaussian", "four scores (s)", "prdc takes times"]
    heading = f"### Data without one scale: n = m = {n}, d = {d}\n\n"
    said = (
        "Processor seconds of one thread: a default run of curves and scores without headline and "
        "intervals; the four scores, and how many times that prdc takes for them.\n\n"
    )
    return heading + said + tabulate(rows, headings, "github")


def tables(rounds=3, with_prdc=True, n=N):
    """Two tables: many kinds of data at d = 64, a few at d = 512."""
    return "\n\n".join(
        [table(n, 64, KINDS, rounds, with_prdc), table(n, 512, WIDE, rounds, with_prdc)]
    )


if __name__ == "__main__":
    print(tables(int(sys.argv[1]) if len(sys.argv) > 1 else 3, "--alone" not in sys.argv))
