"""Estimators: hypothesis classes, each a family of classifiers."""

from collections.abc import Callable

from precall.errors import InputError
from precall.estimators.base import Estimator, Task
from precall.estimators.clusters import Clusters
from precall.estimators.likelihood import Likelihood
from precall.estimators.neighbor_counts import IPR, KNN, Coverage, NeighborEstimator, Parzen
from precall.estimators.trained import Trained

__all__ = [
    "ESTIMATORS",
    "IPR",
    "KNN",
    "NEIGHBOR_ESTIMATORS",
    "Clusters",
    "Coverage",
    "Estimator",
    "Likelihood",
    "NeighborEstimator",
    "Parzen",
    "Task",
    "Trained",
    "as_estimator",
]

NEIGHBOR_ESTIMATORS: dict[str, type[NeighborEstimator]] = {
    cls.name: cls for cls in (IPR, Coverage, KNN, Parzen)
}

ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    **NEIGHBOR_ESTIMATORS,
    "classifier": Trained,
    "clusters": Clusters,
}


def as_estimator(estimator: str | Estimator) -> Estimator:
    """Turn a name into an estimator with its default parameters.

    ``"classifier:forest"`` and ``"clusters:50"`` name their first parameter, too.
    """
    if not isinstance(estimator, str):
        if isinstance(estimator, type) or not hasattr(estimator, "needs"):
            raise InputError(
                f"estimators must hold names or estimator objects such as precall.KNN(k=100); "
                f"got {estimator!r}."
            )
        return estimator
    name, _, parameter = estimator.partition(":")
    if parameter and name == "classifier":
        return Trained(parameter)
    if parameter.isascii() and parameter.isdigit() and name == "clusters":
        return Clusters(int(parameter))
    if estimator not in ESTIMATORS:
        known = ", ".join(repr(name) for name in ESTIMATORS)
        raise InputError(f"estimator {estimator!r} is unknown; choose from {known}.")
    return ESTIMATORS[estimator]()
