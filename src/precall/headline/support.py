"""Support precision: the share of generated within the support of real, by the test it fails most.

F = min over tests j of Q(S_j)/P(S_j), at most 1, where S_j keeps all but a share ε of real.
Support recall is the same with the sides exchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.headline.ball import ball_test
from precall.headline.box import box_test
from precall.headline.family import Scores
from precall.headline.gap import gap_test
from precall.headline.grid import grid_test
from precall.headline.outlyingness import (
    FEWEST_OUTSIDE,
    Flags,
    Floats,
    Outlyingness,
    n_outside,
    settled_epsilon,
)
from precall.headline.shell import shell_test
from precall.headline.views import View

Weights = NDArray[Any]  # (n_draws, n)


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """What several tests of the support say; references are the class whose support it is."""

    tests: Sequence[Outlyingness]
    judges: Flags  # (m,) half of the queries

    @classmethod
    def of(cls, view: View, half_spaces: Mapping[str, Scores], seed: int) -> Self:
        """Test the support of a view's references.

        Parameters
        ----------
        half_spaces
            Outlyingness of references and queries by linear classifiers, cross-fitted.
        seed
            Of the half of the queries that chooses the test.
        """
        share = 100 * (1 - settled_epsilon(len(view.reach)))
        reason = f"beyond a plane that {share:.3g} % of {view.role} keep to"
        tests = [ball_test(view), box_test(view), gap_test(view), shell_test(view)]
        tests += [
            Outlyingness(f"half-space ({name})", *outlyingness, lambda i: reason)
            for name, outlyingness in half_spaces.items()
        ]
        if (grid := grid_test(view)) is not None:
            tests.append(grid)
        m = len(view.query_reach)
        judges = np.zeros(m, bool)
        judges[np.random.default_rng((seed, 6)).permutation(m)[: m // 2]] = True
        return cls(tests, judges)

    def test(self, name: str) -> Outlyingness:
        """What the test of this name says."""
        return next(test for test in self.tests if test.test == name)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which queries each test lets in: (n_tests, m)."""
        return ~np.stack([test.outside for test in self.tests])

    def by_test(self) -> dict[str, float]:
        """Q(S_j)/P(S_j) of every test, on all samples; more than 1 by chance."""
        shares = self.inside.mean(axis=1) / self._kept
        return {test.test: float(share) for test, share in zip(self.tests, shares, strict=True)}

    @property
    def _kept(self) -> Floats:
        """P(S_j): the share of references within."""
        return np.array([np.mean(t.of_references <= t.threshold) for t in self.tests])

    def value(self) -> float:
        """The smallest, chosen on half of the queries and judged on the others, both ways."""
        shares = self.inside / self._kept[:, None]
        halves = shares[:, self.judges].mean(axis=1), shares[:, ~self.judges].mean(axis=1)
        return float(_cross(halves[0], halves[1], float(self.judges.mean())))

    def surely_outside(self, confidence: float) -> tuple[float, float]:
        """Lower confidence bound on 1 − F, simultaneous over the tests, and the ε it holds for.

        All but a few references keep to a threshold, so that with a certainty that the law of an
        order statistic tells, all but a share ε of their law does. How many queries are outside
        at least is told by Clopper & Pearson 1934. Half of the error is spent on each, a part on
        every test. Few references make for an ε that is more than a test's own.
        """
        from scipy.stats import beta

        error = (1 - confidence) / (2 * len(self.tests))
        n, m = len(self.tests[0].of_references), len(self.tests[0].of_queries)

        def left_out(allowed: int) -> float:
            return float(beta.ppf(1 - error, allowed + 1, n - allowed))

        allowed = n_outside(n)
        while allowed > FEWEST_OUTSIDE and left_out(allowed) > settled_epsilon(n):
            allowed -= 1
        epsilon, least = left_out(allowed), 0.0
        for test in self.tests:
            threshold = np.partition(test.of_references, n - 1 - allowed)[n - 1 - allowed]
            n_out = int(np.count_nonzero(test.of_queries > threshold))
            if n_out:
                least = max(least, float(beta.ppf(error, n_out, m - n_out + 1)))
        return max(0.0, (least - epsilon) / (1 - epsilon)), epsilon

    def deciding(self) -> Outlyingness:
        """The test that most queries fail."""
        by_test = list(self.by_test().values())
        return self.tests[int(np.argmin(by_test))]

    def reasons(self) -> list[str]:
        """Why each query is outside, by every test that says so; empty for those that are not."""
        texts: list[str] = []
        for i, column in enumerate(self.inside.T):
            failed = [
                t.reason(i) for t, inside in zip(self.tests, column, strict=True) if not inside
            ]
            texts.append("; ".join(dict.fromkeys(failed)))
        return texts

    def draws(self, of_references: Weights, of_queries: Weights) -> Floats:
        """The value of resampled sets, (n_draws,): samples count as often as their weight says."""
        kept, counted = [], []
        for test in self.tests:
            thresholds, share = _weighted_thresholds(test.of_references, of_references)
            kept.append(share)
            counted.append(
                [
                    _weighted_share(test.of_queries[half], of_queries[:, half], thresholds)
                    for half in (self.judges, ~self.judges)
                ]
            )
        first, second = (
            np.array([by_half[h] for by_half in counted]) / np.array(kept) for h in (0, 1)
        )
        weight = of_queries[:, self.judges].sum(axis=1) / of_queries.sum(axis=1)
        return np.asarray(_cross(first, second, weight))


def _cross(first: Floats, second: Floats, weight: Any) -> Any:
    """The share of one half by the test that the other half fails most, and vice versa."""
    by_first = np.take_along_axis(second, first.argmin(axis=0)[None], axis=0)[0]
    by_second = np.take_along_axis(first, second.argmin(axis=0)[None], axis=0)[0]
    return np.minimum(weight * by_second + (1 - weight) * by_first, 1.0)


def _weighted_thresholds(outlyingness: Floats, weights: Weights) -> tuple[Floats, Floats]:
    """What all but a few references keep to, draw by draw, and the share that does."""
    n = len(outlyingness)
    order = np.argsort(-outlyingness, kind="stable")
    few = order[: min(n, 8 * n_outside(n) + 64)]  # farther in, no draw finds its threshold
    counted = np.cumsum(weights[:, few], axis=1)
    place = np.minimum((counted <= n_outside(n)).sum(axis=1), len(few) - 1)
    thresholds = outlyingness[few][place]
    is_out = outlyingness[few] > thresholds[:, None]
    outside = (weights[:, few] * is_out).sum(axis=1)
    return thresholds, 1 - outside / weights.sum(axis=1)


def _weighted_share(outlyingness: Floats, weights: Weights, thresholds: Floats) -> Floats:
    """Share of queries within each draw's threshold."""
    order = np.argsort(outlyingness, kind="stable")
    counted = np.concatenate(
        [np.zeros((len(weights), 1)), np.cumsum(weights[:, order], axis=1, dtype=np.float64)],
        axis=1,
    )
    places = np.searchsorted(outlyingness[order], thresholds, side="right")
    return np.asarray(counted[np.arange(len(weights)), places] / np.maximum(counted[:, -1], 1))
