"""Are equal models left alone, and unequal ones told apart? python -m benchmarks.comparisons.

Arguments: runs, sizes; by default 100 comparisons of four equal models at 600, 60 at 1000 and 40 at
2000 samples, and as many with one model that differs. A run *announces* something if a difference
is clear of chance, or a curve above another anywhere, in words, tables or on the page.
"""

import sys
import warnings

import numpy as np
from tabulate import tabulate

import precall

D = 8
MODELS = ("a", "b", "c", "d")
REAL = {"as real": (0.0, 1.0), "shifted by .4, narrower": (0.4, 0.8)}  # what all models are like
ODD = {  # what one of the models does on top of it
    "shift of .1 in every feature": lambda rows: rows + 0.1,
    "shift of .25 in every feature": lambda rows: rows + 0.25,
    "tenth of it is far away": lambda rows: np.where(np.arange(len(rows))[:, None] % 10, rows, 8.0),
}


def compared(n: int, seed: int, shift: float, scale: float, odd=None) -> precall.Comparison:
    rng = np.random.default_rng((seed, n))
    real, *generated = rng.normal(size=(1 + len(MODELS), n, D))
    models = {name: shift + scale * rows for name, rows in zip(MODELS, generated, strict=True)}
    if odd is not None:
        models["d"] = odd(models["d"])
    return precall.compare(real, models, seed=seed, threads=1)


def announced(comparison: precall.Comparison) -> set[tuple[str, str]]:
    """Pairs of models that are said to differ in any way."""
    found = {(d.first, d.second) for d in comparison.differences if d.is_clear}
    return found | {
        (d.first, d.second) for d in comparison.curve_differences if d.band.better or d.band.worse
    }


def false_alarms(n: int, runs: int, what: str) -> list[str]:
    wrong = sum(bool(announced(compared(n, seed, *REAL[what]))) for seed in range(runs))
    return [f"four equal models, {what}", str(n), f"{wrong} of {runs}"]


def power(n: int, runs: int, what: str) -> list[str]:
    found = [announced(compared(n, seed, 0.0, 1.0, ODD[what])) for seed in range(runs)]
    right = sum(any("d" in pair for pair in pairs) for pairs in found)
    wrong = sum(any("d" not in pair for pair in pairs) for pairs in found)
    return [f"one of four: {what}", str(n), f"{right} of {runs} found, {wrong} about the others"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else None
    sizes = [int(n) for n in sys.argv[2:]] or [600, 1000, 2000]
    of_size = {600: 100, 1000: 60, 2000: 40}
    rows = [
        row(n, runs or of_size.get(n, 40), what)
        for row, cases in ((false_alarms, REAL), (power, ODD))
        for what in cases
        for n in sizes
    ]
    print(tabulate(rows, ["models", "n = m", "comparisons"], "github", disable_numparse=True))
