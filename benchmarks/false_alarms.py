"""How often is something seen that is not there?

python -m benchmarks.false_alarms modes|influences [repetitions].
Modes of laws that have one, or a known number; rows that decide a score in clean samples.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from tabulate import tabulate

import precall
from precall.findings.separation import separated
from precall.runtime.threads import single_threaded_libraries

Rows = NDArray[np.float64]
Law = Callable[[np.random.Generator, int, int], Rows]

NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30)
CENTERS = np.random.default_rng(0).normal(0, 3, (20, 16))


def _ball(rng: np.random.Generator, n: int, d: int) -> Rows:
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def _elliptic(rng: np.random.Generator, n: int, d: int) -> Rows:
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3)


def _two(apart: float, share: float = 0.5) -> Law:
    def draw(rng: np.random.Generator, n: int, d: int) -> Rows:
        return rng.normal(size=(n, d)) + apart * (rng.random((n, 1)) < share) * np.eye(1, d)

    return draw


def _of_centers(k: int) -> Law:
    return lambda rng, n, d: CENTERS[rng.integers(k, size=n)] + rng.normal(size=(n, d))


ONE_MODE: dict[str, Law] = {
    "Gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "stretched Gaussian": lambda rng, n, d: rng.normal(size=(n, d)) * np.geomspace(1, 100, d),
    "cube": lambda rng, n, d: rng.random((n, d)),
    "ball": _ball,
    "product of t": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "elliptic t": _elliptic,
    "lognormal": lambda rng, n, d: np.exp(rng.normal(size=(n, d))),
    "integers": lambda rng, n, d: rng.integers(0, 40, (n, d)).astype(np.float64),
}
SEVERAL: dict[str, tuple[int, int, int, Law]] = {  # modes, n, d
    "two, 4 apart": (2, 1000, 4, _two(4)),
    "two, 5 apart": (2, 1000, 64, _two(5)),
    "a small one of 5 %": (2, 1000, 8, _two(8, 0.05)),
    "four of Fig. 3": (4, 1000, 16, _of_centers(4)),
    "twenty": (20, 4000, 16, _of_centers(20)),
    "digits": (10, 1797, 64, lambda rng, n, d: load_digits().data[rng.permutation(n)]),
}


def modes(repetitions: int) -> list[list[object]]:
    """Count the modes of every law."""
    cases = [(name, 1, 1000, d, law) for d in (2, 16, 64) for name, law in ONE_MODE.items()]
    cases += [(name, k, n, d, law) for name, (k, n, d, law) in SEVERAL.items()]
    rows: list[list[object]] = []
    for name, k, n, d, law in cases:
        found = []
        for seed in range(repetitions):
            rng = np.random.default_rng(seed)
            with single_threaded_libraries():
                clustering = separated(
                    law(rng, n, d), [number for number in NUMBERS if 20 * number <= n], 0.05, rng
                )
            found.append(clustering.n_modes if clustering else 1)
        rows.append([name, d, k, np.mean(found), max(found), np.mean(np.array(found) > 1)])
    return [["law", "d", "modes", "found", "at most", "several"], *rows]


def influences(repetitions: int) -> list[list[object]]:
    """Count the clean samples in which single rows are said to decide a score."""
    changes: dict[str, Callable[[Rows], Rows]] = {
        "equal": lambda rows: rows,
        "shifted": lambda rows: rows + 0.5,
        "narrower": lambda rows: 0.7 * rows,
        "wider": lambda rows: 1.4 * rows,
    }
    scores = ["precision", "recall", "density", "coverage", "precision_cover", "recall_cover"]
    scores += ["probabilistic_recall", "frechet_distance"]
    rows: list[list[object]] = []
    for name in ("Gaussian", "product of t", "cube", "lognormal"):
        for d in (1, 2, 8, 64):
            for how, change in changes.items():
                n_said = {"distance": 0, "neighbours": 0}
                for seed in range(repetitions):
                    rng = np.random.default_rng(seed)
                    real, generated = ONE_MODE[name](rng, 600, d), ONE_MODE[name](rng, 600, d)
                    result = precall.evaluate(
                        real, change(generated), estimators=(), headline=False, scores=scores
                    )
                    decided = {c.score for found in result.influences for c in found.changed}
                    n_said["distance"] += "frechet_distance" in decided
                    n_said["neighbours"] += bool(decided - {"frechet_distance"})
                rows.append([name, d, how, *n_said.values()])
    return [["law", "d", "generated", "distance", "neighbours"], *rows]


if __name__ == "__main__":
    warnings.simplefilter("ignore", precall.PrecallWarning)
    measure = {"modes": modes, "influences": influences}[sys.argv[1]]
    headings, *table = measure(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    print(tabulate(table, headings, floatfmt=".3g"))
