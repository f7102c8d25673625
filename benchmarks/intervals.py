"""Do intervals cover what they promise? python -m benchmarks.intervals [repetitions] [n] [m].

Known truth is the expected value at this number of samples, taken from all fresh draws together.
"""

import sys
import warnings

import numpy as np
from tabulate import tabulate

import precall
from precall.curves.summaries import SUMMARIES
from precall.truth import Distribution, Gaussian, Mixture

SCORES = [
    "precision",
    "recall",
    "density",
    "coverage",
    "precision_cover",
    "recall_cover",
    "symmetric_precision",
    "symmetric_recall",
]
BLOCK_BY_BLOCK = [
    "probabilistic_precision",
    "probabilistic_recall",
    "nearest_precision",
    "nearest_recall",
    "clipped_density",
    "clipped_coverage",
    "alpha_precision",
    "beta_recall",
    "authenticity",
    "frechet_distance",
    "kernel_distance",
]
LAMBDAS = np.array([1 / 8, 0.5, 1.0, 2.0, 8.0])
D = 16
CENTERS = np.random.default_rng(1).normal(0, 2, (8, D))


def mixture(n_modes: int) -> Mixture:
    return Mixture(tuple(Gaussian(center) for center in CENTERS[:n_modes]))


CASES: dict[str, tuple[Distribution, Distribution]] = {
    "P = Q": (Gaussian(np.zeros(D)), Gaussian(np.zeros(D))),
    "shifted by 1": (Gaussian(np.zeros(D)), Gaussian(np.full(D, 1 / np.sqrt(D)))),
    "one of eight modes dropped": (mixture(8), mixture(7)),
    "shifted and narrower": (Gaussian(np.zeros(D)), Gaussian(np.full(D, 0.2), np.full(D, 0.81))),
}


def simulate(
    p: Distribution,
    q: Distribution,
    n: int,
    m: int,
    repetitions: int,
    scores: list[str],
    estimators: list[str],
) -> list[list[str]]:
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(repetitions):
        real, generated = p.sample(n, seed=2 * seed), q.sample(m, seed=2 * seed + 1)
        result = precall.evaluate(
            real,
            generated,
            estimators=estimators,
            scores=scores,
            intervals=True,
            seed=seed,
        )
        for name, score in result.scores.items():
            found.setdefault(name, []).append((score.value, *score.interval))
        for name, band in result.bands.items():
            curve = result.best_curve if name == "best" else result.curves[name]
            precision, (low, high) = curve.at(LAMBDAS).precision, band.at(LAMBDAS)
            for lam, *row in zip(LAMBDAS, precision, low, high, strict=True):
                found.setdefault(f"{name} curve, α at {lam:g}", []).append(tuple(row))
            for key in ("f_8", "f_1_8", "area"):
                row = (SUMMARIES[key](curve), *band.summaries[key])
                found.setdefault(f"{name} curve, {key}", []).append(row)
    rows = []
    for name, values in found.items():
        value, low, high = np.array(values).T
        expected, deviation = value.mean(), value.std(ddof=1)
        covered = np.mean((low <= expected) & (expected <= high))
        width = np.mean(high - low) / (2 * 1.96 * deviation)
        degenerate = " (degenerate)" if deviation < 3 / min(n, m) else ""
        rows.append(
            [name, f"{expected:.3f}", f"{deviation:.4f}", f"{100 * covered:.1f} %{degenerate}",
             f"{width:.2f}"]
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    m = int(sys.argv[3]) if len(sys.argv) > 3 else n
    headings = ["", "expected", "σ", "95 % interval covers", "width ÷ ideal"]
    for name, (p, q) in CASES.items():
        print(f"### {name}: n = {n}, m = {m}, d = {D}, {repetitions} repetitions\n")
        table = simulate(p, q, n, m, repetitions, SCORES, ["knn", "coverage"])
        by_blocks = simulate(p, q, n, m, repetitions, BLOCK_BY_BLOCK, [])
        table += [[f"{score} ²", *row] for score, *row in by_blocks]
        print(tabulate(table, headings, "github", disable_numparse=True), "\n", flush=True)
