"""How often does a gate stop a model that is no worse, and one that is? And a time-line?

python -m benchmarks.gates gate|watch [repetitions] [epochs].
Gates: pairs of results against the same real samples. Time-lines: equal models, one an epoch.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

import precall
from precall.monitoring.timeline import TimeLine

Rows = NDArray[np.float64]
Model = Callable[[np.random.Generator, int], Rows]

N, D = 500, 4
LIMITS = ("precision", "recall", "area")
OPTIONS = {
    "estimators": ["knn"],
    "scores": ["precision", "recall"],
    "intervals": True,
    "threads": 1,
}


def _plain(rng: np.random.Generator, n: int) -> Rows:
    return rng.normal(size=(n, D))


def _narrow(spread: float) -> Model:
    """Misses the outskirts."""
    return lambda rng, n: rng.normal(size=(n, D)) * spread


def _nonsense(share: float) -> Model:
    """Makes nonsense, in a share of its samples."""
    return lambda rng, n: np.where(
        rng.random((n, 1)) < share, rng.normal(3, 1, (n, D)), rng.normal(size=(n, D))
    )


MODELS: dict[str, Model] = {
    "equal": _plain,
    "3 % narrower": _narrow(0.97),
    "20 % narrower": _narrow(0.8),
    "3 % nonsense": _nonsense(0.03),
    "20 % nonsense": _nonsense(0.2),
}


def gates(repetitions: int) -> list[list[object]]:
    """Judge every model against the plain one, again and again."""
    rows: list[list[object]] = []
    for name, model in MODELS.items():
        pairs = []
        for seed in tqdm(range(repetitions), desc=name, leave=False):
            rng = np.random.default_rng((seed, 22))
            real = _plain(rng, N)
            baseline = precall.evaluate(real, _plain(rng, N), **OPTIONS)
            pairs.append((precall.evaluate(real, model(rng, N), **OPTIONS), baseline))
        free = [precall.gate(*pair, max_drop=dict.fromkeys(LIMITS, 0.0)) for pair in pairs]
        drops = [np.mean([g.checks[i].worse_by for g in free]) for i in range(len(LIMITS))]
        true = dict(zip(LIMITS, np.maximum(drops, 0.0), strict=True))  # all of it is allowed
        at_margin = [precall.gate(*pair, max_drop=true) for pair in pairs]
        rows.append(
            [
                name,
                *(f"{drop:z.3f}" for drop in drops),
                _share([not found.passed for found in free]),
                _share([not found.passed for found in at_margin]),
            ]
        )
    return rows


def watches(repetitions: int, n_epochs: int) -> list[list[object]]:
    """Look at time-lines of equal models; and of one whose second half is worse."""
    rows: list[list[object]] = []
    for spread in (1.0, 0.85):
        said, ever, right = [], [], []
        for seed in tqdm(range(repetitions), desc=f"{n_epochs} epochs", leave=False):
            rng = np.random.default_rng((seed, 23))
            real = _plain(rng, N)
            results = {
                f"epoch-{i:03}": precall.evaluate(
                    real, _narrow(spread if 2 * i >= n_epochs else 1.0)(rng, N), **OPTIONS
                )
                for i in range(n_epochs)
            }
            looks = [
                bool(TimeLine.of(dict([*results.items()][:many])).clear)
                for many in range(2, n_epochs + 1)
            ]
            said.append(looks[-1])
            ever.append(any(looks))
            best = TimeLine.of(results).tracks["area"].best
            right.append(2 * [*results].index(best) < n_epochs)
        they_are = "equal" if spread == 1 else f"in the second half {spread:.0%} as wide"
        rows.append([n_epochs, they_are, *map(_share, (said, ever, right))])
    return rows


def _share(flags: list[bool]) -> str:
    return f"{np.mean(flags):.1%} ({sum(flags)}/{len(flags)})".replace("%", " %")


HEADINGS = {
    "gate": ["the model is", *(f"drop of {n}" for n in LIMITS), "stopped, nothing allowed",
             "stopped, just its drop allowed"],
    "watch": ["epochs", "they are", "a difference is said", "at some look",
              "best is in the first half"],
}  # fmt: skip


def main() -> None:
    what = sys.argv[1]
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    n_epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", precall.PrecallWarning)
        rows = gates(repetitions) if what == "gate" else watches(repetitions, n_epochs)
    print(tabulate(rows, HEADINGS[what], "github", disable_numparse=True))


if __name__ == "__main__":
    main()
