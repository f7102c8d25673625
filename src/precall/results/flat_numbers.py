"""Every number of a result under one flat name: for loggers, gates and time-lines."""

from typing import TYPE_CHECKING, NamedTuple

from precall.curves.summaries import CURVE_SUMMARIES
from precall.results.tables import best_first
from precall.scores import METRICS

if TYPE_CHECKING:
    from precall.results.evaluation import Evaluation

Interval = tuple[float, float]

_LOWER_IS_BETTER = {"total_variation", "jensen_shannon", "hellinger"}


class FlatNumber(NamedTuple):
    """A score, or a summary of a curve."""

    value: float
    interval: Interval | None
    k: int | None
    curve: str | None  # that it sums up; None of a score
    is_distance: bool  # whether less is better


def flat_numbers(result: "Evaluation") -> dict[str, FlatNumber]:
    """Return scores by their names, and summaries of curves as ``knn_curve_area``.

    Curves come with the best of several first: the one that models are compared by.
    """
    found = {}
    for name, score in result.scores.items():
        metric = METRICS.get(name.removesuffix(f"_k{score.k}"))
        is_distance = metric is not None and metric.unit == "distance"
        found[name] = FlatNumber(score.value, score.interval, score.k, None, is_distance)
    for name, curve in best_first(result).items():
        band = result.bands.get(name)
        for key, summary in CURVE_SUMMARIES.items():
            ends = None if band is None else band.summaries.get(key)
            found[f"{name}_curve_{key}"] = FlatNumber(
                summary.of(curve), ends, result.protocol.k.get(name), name, key in _LOWER_IS_BETTER
            )
    return found


def compared_summary(result: "Evaluation", key: str) -> str | None:
    """Return the flat name of a summary of the curve that models are compared by, if there is one.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 2))
    >>> compared_summary(precall.evaluate(real, generated, estimators=["knn"]), "area")
    'knn_curve_area'
    """
    curve = next(iter(best_first(result)), None)
    return None if curve is None else f"{curve}_curve_{key}"
