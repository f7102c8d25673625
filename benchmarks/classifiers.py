"""How close curves come to the truth, side by side: python -m benchmarks.classifiers [--quick].

Gaussian shifts of 000 §4.1 (d = 64) and §4.4 (d = 2048), IoU with the closed form.
"""

import sys
import time

import numpy as np
from tabulate import tabulate

import precall
from precall.truth import Gaussian

NEIGHBORS = (precall.IPR, precall.Coverage, precall.KNN, precall.Parzen)


def compare(d: int, shifts: list[float], folds: int, seeds: int, n: int) -> str:
    rows = []
    for shift in shifts:
        p, q = Gaussian(np.zeros(d)), Gaussian(np.full(d, shift / np.sqrt(d)))
        truth = precall.true_curve(p, q)
        found: list[dict[str, float]] = []
        start = time.perf_counter()
        for seed in range(seeds):
            real, generated = p.sample(n, seed=2 * seed), q.sample(n, seed=2 * seed + 1)
            result = precall.evaluate(
                real.astype(np.float32),
                generated.astype(np.float32),
                estimators=[precall.Likelihood(p, q), "classifier", *(cls() for cls in NEIGHBORS)],
                split=precall.CrossFit(folds),
                scores=(),
                seed=seed,
            )
            found.append({name: curve.iou(truth) for name, curve in result.curves.items()})
        names = list(found[0])
        means = [f"{np.mean([one[name] for one in found]):.3f}" for name in names]
        rows.append([f"{shift:.2f}", *means])
        took = (time.perf_counter() - start) / seeds
        print(f"d = {d}, shift {shift:.2f}: {took:.0f} s a seed", file=sys.stderr, flush=True)
    title = f"d = {d}, n = m = {n}, {folds} folds, mean of {seeds} seeds"
    return f"### {title}\n\n{tabulate(rows, ['shift', *names], 'github', disable_numparse=True)}\n"


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    n = 2000 if quick else 10_000
    print(compare(64, [1.0, 5 / 3, 7 / 3, 3.0], folds=5, seeds=2 if quick else 5, n=n))
    print(compare(256 if quick else 2048, [1.0, 2.0], folds=10, seeds=1, n=n))
