"""Which scores are wanted, at which k, under whose convention."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError
from precall.neighbors.statistics import ROLES, CrossPlan, Role
from precall.scores.catalog import DEFAULT_SCORES, METRICS
from precall.scores.conventions import Convention
from precall.scores.metric import Estimate, Metric, SamplePair, Sets
from precall.scores.score import Score

Floats = NDArray[np.float64]

_SWAPPED = {"precision_cover": "recall_cover", "recall_cover": "precision_cover"}


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A score at one k, under one convention."""

    name: str  # in the result
    metric: Metric  # by precall's definitions
    k: int | None
    convention: Convention

    @property
    def _k(self) -> int:
        return 1 if self.k is None else self.k

    @property
    def needs(self) -> CrossPlan | None:
        """What has to be found between the classes."""
        return self.metric.needs(self._k)

    def n_needed(self, role: Role) -> int:
        """SamplePair that a class must have at least."""
        ks = self.needs.radius_ks(role) if self.needs else ()
        of_balls = max(ks) + self.convention.spare_samples if ks else 1
        return max(of_balls, self.metric.fewest[ROLES.index(role)])

    def shortage(self, sets: Sets) -> str | None:
        """Say which side has too few samples for this score, if one has."""
        at_k = "" if self.k is None else f" at k={self.k}"
        asked = self.name.removesuffix(f"_k{self.k}")
        for features, role in zip(sets, ROLES, strict=True):
            if len(features) < (least := self.n_needed(role)):
                return (
                    f"score {asked!r}{at_k} needs at least {least} samples; {features.role} has "
                    f"{len(features)}."
                )
        return self.metric.refuses(sets) if self.metric.refuses else None

    def measure(self, pair: SamplePair) -> Score:
        """Compute the score."""
        found, expected = self.value(pair), self.metric.expected
        value, spread = found if isinstance(found, Estimate) else (float(found), None)
        n, m = map(len, pair.sets)
        return Score(
            value,
            self.k,
            expected(n, m, self._k) if expected else None,
            standard_deviation=spread,
        )

    def value(self, pair_or_blocks: Any) -> Any:
        """Compute its value, of all samples or of all blocks."""
        return self.metric.value(pair_or_blocks, self._k)

    def before(self, pair_or_blocks: Any) -> Any:
        """Compute what it is before it is folded: what its intervals are made of."""
        if self.metric.folded is None:
            return self.value(pair_or_blocks)
        return self.metric.folded.before(pair_or_blocks, self._k)

    def fold(self, n: int, m: int) -> Callable[[Floats], Floats] | None:
        """Return what makes scores of it, if it is folded."""
        if (folded := self.metric.folded) is None:
            return None
        return partial(folded.after, n, m, self._k)

    def inside(self, pair: SamplePair) -> Any:
        """Of a score that is a share: which samples of its class are inside."""
        return self.metric.inside.flags(pair, self._k) if self.metric.inside else None


def as_score_requests(
    scores: Sequence[str | Metric] | str | None,
    score_k: int | Sequence[int] | None,
    convention: Convention,
) -> list[ScoreRequest]:
    """Read the ``scores`` and ``score_k`` arguments of :func:`precall.evaluate`."""
    ks = _as_ks(score_k)
    requests = []
    for name, metric in _as_metrics(scores, convention).items():
        default_k = convention.default_k.get(name, metric.default_k)
        for k in ks if default_k is not None and ks else [default_k]:
            at_k = f"{name}_k{k}" if len(ks) > 1 and default_k is not None else name
            requests.append(ScoreRequest(at_k, metric, k, convention))
    return requests


def _as_metrics(
    scores: Sequence[str | Metric] | str | None, convention: Convention
) -> dict[str, Metric]:
    """Name every wanted score, and find its definition."""
    known = convention.scores or tuple(METRICS)
    if scores is None:
        scores = convention.scores or DEFAULT_SCORES
    elif isinstance(scores, str) and scores == "all":
        scores = known
    if isinstance(scores, str) or not isinstance(scores, Sequence):
        raise InputError(f"scores must be a list of names or metrics, or 'all'; got {scores!r}.")
    metrics: dict[str, Metric] = {}
    for score in scores:
        name = score.name if isinstance(score, Metric) else score
        if not isinstance(score, Metric) and (not isinstance(name, str) or name not in known):
            raise InputError(
                f"scores names {name!r}, which convention={convention.name!r} does not have; "
                f"choose from {', '.join(known)}."
            )
        if name in metrics:
            raise InputError(f"scores names {name!r} twice.")
        defined_as = _SWAPPED.get(name, name) if convention.swaps_cover else name
        metrics[name] = score if isinstance(score, Metric) else METRICS[defined_as]
    return metrics


def _as_ks(score_k: int | Sequence[int] | None) -> list[int]:
    if score_k is None:
        return []
    is_list = isinstance(score_k, Sequence | np.ndarray) and np.ndim(score_k) == 1
    ks: list[Any] = list(score_k) if is_list else [score_k]  # type: ignore[arg-type]
    valid = all(isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in ks)
    if not ks or not valid or len(set(ks)) < len(ks):
        raise InputError(
            f"score_k must be a positive integer or a list of different ones; got {score_k!r}."
        )
    return [int(k) for k in ks]
