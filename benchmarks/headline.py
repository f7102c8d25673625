"""Does the headline say what is known? python -m benchmarks.headline PART [repetitions] [case].

PART is truth, outliers, digits, intervals, claims or cost.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from tabulate import tabulate

import precall
from benchmarks.headline_cases import CASES, Case, Rows, centers, modes
from benchmarks.measuring import interleaved, samples

NAMES = ("support_precision", "support_recall", "recall_at_half")
N = 1000
DIGITS = {  # ends of support precision and of recall at ½
    "held-out real": ((0.97, 1), (0.97, 1)),
    "three digits dropped": ((0.97, 1), (0.67, 0.80)),
    "30 % blurred": ((0.66, 0.82), (0.97, 1)),
    "all blurred": ((0, 0.1), (0, 0.05)),
    "noise": ((0, 0.05), (0, 0.05)),
}


def measure(real: Rows, generated: Rows, seed: int, **options: object) -> precall.Evaluation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return precall.evaluate(
            real, generated, estimators=(), scores=list(NAMES), seed=seed, **options
        )


def values(result: precall.Evaluation) -> list[float]:
    return [result.scores[name].value for name in NAMES]


def cells(only: str) -> Iterator[tuple[str, Case, int]]:
    for name, case in CASES.items():
        if only in name:
            yield from ((name, case, d) for d in case.dimensions)


def truth(repetitions: int, only: str) -> None:
    """Means over fresh draws, and whether they lie where they must."""
    rows = []
    for name, case, d in cells(only):
        found = [values(measure(*case.draw(N, N, d, s), s)) for s in range(repetitions)]
        means = dict(zip(NAMES, np.mean(found, axis=0).tolist(), strict=True))
        held = all(low <= means[what] <= high for what, (low, high) in case.ends.items())
        rows.append([name, d, *means.values(), "" if held else "missed"])
        print(rows[-1], flush=True)
    print(tabulate(rows, ["case", "d", *NAMES, ""], "github", floatfmt=".3f"))


def spoiled(real: Rows, generated: Rows) -> Iterator[tuple[str, Rows, Rows]]:
    for where in (10, 1e2, 1e6, 1e18):
        row = np.full((1, real.shape[1]), where)
        yield f"real, a row at {where:g}", np.concatenate([real[:-1], row]), generated
        yield f"generated, a row at {where:g}", real, np.concatenate([generated[:-1], row])
    for factor in (1e3, 1e-3):
        by = np.append(factor, np.ones(real.shape[1] - 1))
        yield f"a feature times {factor:g}", real * by, generated * by


def outliers(repetitions: int, only: str) -> None:
    """How far one outlier, or the unit of one feature, moves each mean: at most .02."""
    rows = []
    for name, case, d in cells(only):
        plain, moved = [], {}
        for seed in range(repetitions):
            real, generated = case.draw(N, N, d, seed)
            plain.append(values(measure(real, generated, seed)))
            for what, *sets in spoiled(real, generated):
                moved.setdefault(what, []).append(values(measure(*sets, seed)))
        base = np.mean(plain, axis=0)
        differences = {what: np.abs(np.mean(v, axis=0) - base).max() for what, v in moved.items()}
        worst = max(differences, key=differences.get)
        rows.append([name, d, differences[worst], worst])
        print(rows[-1], flush=True)
    print(tabulate(rows, ["case", "d", "moved by", "by"], "github", floatfmt=".3f"))


def digit_generators(seed: int) -> tuple[Rows, dict[str, Rows]]:
    """Half of the digits as real, and models made of the other half."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    pixels, labels = load_digits(return_X_y=True)
    varies = pixels.std(axis=0) > 0.1

    def noisy(rows: Rows, deviation: float = 0.3) -> Rows:
        return (rows + rng.normal(0, deviation, rows.shape))[:, varies]

    first, second = np.array_split(rng.permutation(len(pixels)), 2)
    held_out = noisy(pixels[second])
    blurred = noisy(
        gaussian_filter(pixels[second].reshape(-1, 8, 8), (0, 1.2, 1.2)).reshape(-1, 64)
    )
    some = rng.random(len(second)) < 0.3
    return noisy(pixels[first]), {
        "held-out real": held_out,
        "three digits dropped": held_out[~np.isin(labels[second], [7, 8, 9])],
        "30 % blurred": np.where(some[:, None], blurred, held_out),
        "all blurred": blurred,
        "noise": held_out + rng.normal(0, 3, held_out.shape),
    }


def digits(repetitions: int, only: str) -> None:
    """Handwritten digits, as they are and spoiled."""
    found: dict[str, list[list[float]]] = {}
    for seed in range(repetitions):
        real, models = digit_generators(seed)
        for name, generated in models.items():
            if only in name:
                found.setdefault(name, []).append(values(measure(real, generated, seed)))
    rows = []
    for name, v in found.items():
        means = np.mean(v, axis=0)
        (p_low, p_high), (r_low, r_high) = DIGITS[name]
        held = p_low <= means[0] <= p_high and r_low <= means[2] <= r_high
        rows.append([name, *means, "" if held else "missed"])
    print(tabulate(rows, ["generated", *NAMES, ""], "github", floatfmt=".3f"))


def intervals(repetitions: int, only: str) -> None:
    """How often an interval holds the mean over all fresh draws."""
    rows = []
    for name, case, d in cells(only):
        if name.startswith("P = Q"):
            continue  # at a bound
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(repetitions):
            result = measure(*case.draw(N, N, d, seed), seed, intervals=True)
            for what in NAMES:
                score = result.scores[what]
                found.setdefault(what, []).append((score.value, *score.interval))
        covered = []
        for what in NAMES:
            value, low, high = np.transpose(found[what])
            mean = value.mean()
            at_bound = mean < 0.005 or mean > 0.985
            share = float(np.mean((low <= mean) & (mean <= high)))
            covered.append(f"({share:.1%})" if at_bound else f"{share:.1%}")
        rows.append([name, d, *covered])
        print(rows[-1], flush=True)
    print(tabulate(rows, ["case", "d", *NAMES], "github"))
    print(f"{repetitions} draws, n = m = {N}; in parentheses where the mean is at a bound")


def largest_excess(p: object, q: object, epsilon: float) -> float:
    """Largest (Q − P)/(1 − P) outside of any region that P leaves at most ε of, by its density."""
    rng = np.random.default_rng(1)
    x, y = p.sample(400_000, rng), q.sample(400_000, rng)
    ratio_x, ratio_y = (q.log_density(z) - p.log_density(z) for z in (x, y))
    cuts = np.quantile(ratio_x, 1 - np.linspace(epsilon / 50, epsilon, 50))
    excess = [((ratio_y > c).mean() - (ratio_x > c).mean()) / (ratio_x <= c).mean() for c in cuts]
    return max(0.0, *excess)


@dataclass(frozen=True)
class Independent:
    """A law of which every feature is alike and independent."""

    d: int
    feature: object  # a frozen law of scipy.stats

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        return self.feature.rvs((n, self.d), random_state=rng).astype(float)

    def log_density(self, z: Rows) -> Rows:
        discrete = hasattr(self.feature, "pmf")
        return (self.feature.logpmf if discrete else self.feature.logpdf)(z).sum(axis=1)


@dataclass(frozen=True)
class Modes:
    """Gaussians around the modes of the cases, with weights."""

    d: int
    weights: tuple[float, ...]

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        return modes(*self.weights)(n, self.d, rng)

    def log_density(self, z: Rows) -> Rows:
        squared = cdist(z, centers(self.d), "sqeuclidean")
        return logsumexp(-squared / 2, axis=1, b=np.array(self.weights) / sum(self.weights))


def normal(d: int, mean: float = 0.0, deviation: float = 1.0) -> Independent:
    return Independent(d, stats.norm(mean, deviation))


_EVEN, _RARE = (1.0,) * 10, (0.02,) * 3 + (0.94 / 7,) * 7
PAIRS = {  # all but the last with equal supports
    "Gaussian against itself, d = 2": (normal(2), normal(2)),
    "Gaussian against itself, d = 64": (normal(64), normal(64)),
    "N(0, .7²), d = 16": (normal(16), normal(16, 0, 0.7)),
    "N(.2, .9²), d = 16": (normal(16), normal(16, 0.2, 0.9)),
    "N(.5, 1), d = 16": (normal(16), normal(16, 0.5)),
    "N(0, 1.3²), d = 8": (normal(8), normal(8, 0, 1.3)),
    "N(2, 1), d = 1": (normal(1), normal(1, 2.0)),
    "Student's t with 3, d = 8": (normal(8), Independent(8, stats.t(3))),
    "Laplace, d = 16": (normal(16), Independent(16, stats.laplace())),
    "Beta(2, 2) in the cube, d = 8": (
        Independent(8, stats.uniform()),
        Independent(8, stats.beta(2, 2)),
    ),
    "Poisson of 5 and of 6, d = 4": (
        Independent(4, stats.poisson(5)),
        Independent(4, stats.poisson(6)),
    ),
    "modes with other weights, d = 8": (Modes(8, _EVEN), Modes(8, _RARE)),
    "a mode dropped, d = 8": (Modes(8, _EVEN), Modes(8, (1.0,) * 9 + (0.0,))),
}


def claims(repetitions: int, only: str) -> None:
    """How often more is said to be outside of a support than is, by the known laws."""
    rows = []
    for name, laws in PAIRS.items():
        if only not in name:
            continue
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(repetitions):
            rng = np.random.default_rng((9, seed))
            result = measure(*(law.sample(N, rng) for law in laws), seed)
            for what in NAMES[:2]:
                score = result.scores[what]
                found.setdefault(what, []).append((score.surely_outside, score.surely_epsilon))
        for what, (p, q) in zip(NAMES[:2], (laws, laws[::-1]), strict=True):
            said, epsilon = np.transpose(found[what])
            known = largest_excess(p, q, float(epsilon[0]))
            wrong = float(np.mean(said > known))
            rows.append([name, what, known, said.mean(), f"{wrong:.1%}"])
            print(rows[-1], flush=True)
    print(
        tabulate(
            rows, ["laws", "support", "known", "said, mean", "too much"], "github", floatfmt=".3f"
        )
    )


def cost(rounds: int, only: str) -> None:
    """In units of one n × m × d product of single precision, beside a default run."""
    rows = []
    for d in (64, 2048):
        real, generated = samples(10_000, d)
        timed = interleaved(
            {
                "unit": lambda r=real, g=generated: r @ g.T,
                "headline": lambda r=real, g=generated: measure(r, g, 0),
                "with intervals": lambda r=real, g=generated: measure(r, g, 0, intervals=True),
                "default run": lambda r=real, g=generated: precall.evaluate(
                    r, g, intervals=True, headline=False
                ),
            },
            rounds,
        )
        unit = timed.pop("unit")
        rows.append([d, unit, *(seconds / unit for seconds in timed.values())])
    headings = ["d", "unit (s)", "headline", "with intervals", "default run without"]
    print(tabulate(rows, headings, "github", floatfmt=".3g"))


PARTS = {
    "truth": (truth, 10),
    "outliers": (outliers, 10),
    "digits": (digits, 10),
    "intervals": (intervals, 1000),
    "claims": (claims, 200),
    "cost": (cost, 3),
}

if __name__ == "__main__":
    part, repetitions = PARTS[sys.argv[1]]
    started = time.perf_counter()
    part(int(sys.argv[2]) if len(sys.argv) > 2 else repetitions, *sys.argv[3:4] or [""])
    print(f"{time.perf_counter() - started:.0f} s")
