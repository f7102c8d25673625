"""Estimators: one file a hypothesis class."""

from precall.errors import InputError
from precall.estimators.base import Estimator, NeighborEstimator, Task
from precall.estimators.coverage import Coverage
from precall.estimators.ipr import IPR
from precall.estimators.knn import KNN
from precall.estimators.likelihood import Likelihood
from precall.estimators.parzen import Parzen

__all__ = [
    "IPR",
    "KNN",
    "NEIGHBOR_ESTIMATORS",
    "Coverage",
    "Estimator",
    "Likelihood",
    "NeighborEstimator",
    "Parzen",
    "Task",
    "as_estimator",
]

NEIGHBOR_ESTIMATORS: dict[str, type[NeighborEstimator]] = {
    cls.name: cls for cls in (IPR, Coverage, KNN, Parzen)
}


def as_estimator(estimator: str | Estimator) -> Estimator:
    """Turn a name into an estimator with its default parameters."""
    if not isinstance(estimator, str):
        if isinstance(estimator, type) or not hasattr(estimator, "needs"):
            raise InputError(
                f"estimators must hold names or estimator objects such as precall.KNN(k=100); "
                f"got {estimator!r}."
            )
        return estimator
    if estimator not in NEIGHBOR_ESTIMATORS:
        known = ", ".join(repr(name) for name in NEIGHBOR_ESTIMATORS)
        raise InputError(f"estimator {estimator!r} is unknown; choose from {known}.")
    return NEIGHBOR_ESTIMATORS[estimator]()
