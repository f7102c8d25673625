"""Pairs of laws whose supports and densities are known, and what the headline must say of each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Draw = Callable[[int, int, np.random.Generator], Rows]  # from n and d
Pair = Callable[[int, int, int, np.random.Generator], tuple[Rows, Rows]]  # from n, m and d

_MODES = 10
_FAR = 50.0


def gaussian(n: int, d: int, rng: np.random.Generator) -> Rows:
    return rng.normal(size=(n, d))


def cube(n: int, d: int, rng: np.random.Generator) -> Rows:
    return rng.uniform(size=(n, d))


def integers(n: int, d: int, rng: np.random.Generator) -> Rows:
    return rng.poisson(5, size=(n, d)).astype(float)


def sparse_counts(n: int, d: int, rng: np.random.Generator) -> Rows:
    return (rng.uniform(size=(n, d)) < 0.003) * rng.integers(1, 4, size=(n, d)).astype(float)


def cauchy(n: int, d: int, rng: np.random.Generator) -> Rows:
    return rng.standard_cauchy(size=(n, d))


def centers(d: int) -> Rows:
    if d == 1:
        return 12.0 * np.arange(_MODES)[:, None]
    drawn = np.random.default_rng(3).normal(size=(_MODES, d))
    return 12.0 * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def modes(*weights: float) -> Draw:
    def draw(n: int, d: int, rng: np.random.Generator) -> Rows:
        chosen = rng.choice(_MODES, n, p=np.array(weights) / sum(weights))
        return centers(d)[chosen] + rng.normal(size=(n, d))

    return draw


mixture = modes(*[1.0] * _MODES)


def scaled(draw: Draw, factor: float) -> Draw:
    return lambda n, d, rng: factor * draw(n, d, rng)


def with_noise(share: float) -> Draw:
    def draw(n: int, d: int, rng: np.random.Generator) -> Rows:
        rows = gaussian(n, d, rng)
        far = rng.random(n) < share
        rows[far] = _FAR + 3 * rng.normal(size=(np.count_nonzero(far), d))
        return rows

    return draw


def shifted_cube(n: int, d: int, rng: np.random.Generator) -> Rows:
    """A cube that shares a fifth of its volume with the unit cube."""
    return cube(n, d, rng) + 1 - 0.2 ** (1 / d)


@dataclass(frozen=True)
class Case:
    """Two laws, and between which ends each number must lie; ``None`` where nothing is asked."""

    real: Draw
    generated: Draw
    support_precision: tuple[float, float] | None
    support_recall: tuple[float, float] | None
    recall_at_half: tuple[float, float] | None
    dimensions: tuple[int, ...] = (1, 8, 64)

    def draw(self, n: int, m: int, d: int, seed: int) -> tuple[Rows, Rows]:
        rng = np.random.default_rng((seed, d))
        return self.real(n, d, rng), self.generated(m, d, rng)

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        named = {
            "support_precision": self.support_precision,
            "support_recall": self.support_recall,
            "recall_at_half": self.recall_at_half,
        }
        return {name: ends for name, ends in named.items() if ends is not None}


_ALL = (0.985, 1.0)
_NEAR_ALL = (0.95, 1.0)
_EQUAL = {
    "Gaussian": gaussian,
    "mixture": mixture,
    "cube": cube,
    "integers": integers,
    "sparse counts": sparse_counts,
    "Cauchy": cauchy,
}
CASES = {f"P = Q, {name}": Case(law, law, _ALL, _ALL, (0.97, 1.0)) for name, law in _EQUAL.items()}
CASES |= {
    f"noise, share {s:g}": Case(
        gaussian, with_noise(s), (1 - s - 0.03, 1 - s + 0.03), None, (0.95, 1.0)
    )
    for s in (0.05, 0.2, 0.4)
}
CASES |= {
    "a mode of ten dropped": Case(
        mixture, modes(*[1.0] * 9, 0.0), (0.97, 1.0), (0.87, 0.93), (0.87, 0.93)
    ),
    "three modes of ten too rare": Case(
        mixture, modes(*[0.02] * 3, *[0.94 / 7] * 7), _NEAR_ALL, _NEAR_ALL, (0.78, 0.86)
    ),
    "narrower, d = 8": Case(
        gaussian, scaled(gaussian, 0.3), _NEAR_ALL, (0, 0.08), (0, 0.05), dimensions=(8,)
    ),
    "narrower, d = 64": Case(
        gaussian, scaled(gaussian, 0.3), _NEAR_ALL, (0, 0.02), (0, 0.05), dimensions=(64,)
    ),
    "wider, d = 8": Case(
        gaussian, scaled(gaussian, 3.0), (0, 0.08), _NEAR_ALL, None, dimensions=(8,)
    ),
    "wider, d = 64": Case(
        gaussian, scaled(gaussian, 3.0), (0, 0.02), _NEAR_ALL, None, dimensions=(64,)
    ),
    "cubes that share a fifth": Case(cube, shifted_cube, (0.15, 0.25), (0.15, 0.25), (0.15, 0.25)),
}
