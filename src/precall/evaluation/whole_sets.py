"""What needs a whole set in the memory of one process, where rows are left in their files."""

import logging
from collections.abc import Sequence

from precall.data.feature_sets import Rows
from precall.data.stored.arrays import StoredArray
from precall.errors import InputError
from precall.estimators import Likelihood, NeighborEstimator
from precall.evaluation.settings import Settings

logger = logging.getLogger("precall.cluster")


def check_needs_no_whole_set(settings: Settings, rows: Sequence[Rows]) -> None:
    """Refuse, before any work is done, what one process would have to hold a whole set for."""
    needs = _needs(settings)
    if needs and any(isinstance(side.array, StoredArray) for side in rows):
        listed = "; ".join(f"{what} ({how})" for what, how in needs.items())
        raise InputError(
            "rows stay in their files, where the workers of a cluster read them, but whole sets in "
            f"one memory are needed for {listed}. Switch that off, or pass arrays if this machine "
            "can hold them: numpy.load(path)."
        )


def say_what_stays_here(settings: Settings) -> None:
    """Say what workers do not take over."""
    if needs := _needs(settings):
        logger.warning("computed by this machine alone, not by workers: %s", ", ".join(needs))


def _needs(settings: Settings) -> dict[str, str]:
    """What needs whole sets, and how it is switched off."""
    found = {}
    if settings.headline:
        found["the headline"] = "headline=False, --no-headline"
    if settings.intervals and settings.scores:
        found["intervals of scores"] = "intervals=False, --no-intervals"
    if settings.modes is not None:
        found["modes"] = "modes=None, --no-modes"
    for estimator in settings.estimators:
        if not isinstance(estimator, NeighborEstimator | Likelihood):
            found[f"the curve {estimator.name!r}"] = "choose others by estimators, --estimator"
    return found
