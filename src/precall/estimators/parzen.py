"""A Parzen window: improved precision and recall with one bandwidth a class."""

from dataclasses import dataclass
from typing import ClassVar

from precall.estimators.base import NeighborEstimator
from precall.neighbors.plan import Ball

__all__ = ["Parzen"]


@dataclass(frozen=True, slots=True)
class Parzen(NeighborEstimator):
    """Count the references within the mean k-neighbour radius of their class (000 §3.2).

    One bandwidth for a whole class, so a single outlier cannot claim a large ball.

    Examples
    --------
    >>> Parzen(k=4)
    Parzen(k=4)
    """

    name: ClassVar[str] = "parzen"
    ball: ClassVar[Ball] = Ball.MEAN
