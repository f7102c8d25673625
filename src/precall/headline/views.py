"""Both classes as one of them sees them: in its own units, its isolated samples known."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.engines.protocol import Neighbors, Session
from precall.headline.outlyingness import Flags, Floats, threshold_of
from precall.headline.scaling import RobustScale

_K = 3


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """References are the class that measures, queries the one that is measured."""

    role: str  # of the references
    references: Rows  # (n, d) scaled
    queries: Rows  # (m, d) scaled
    raw: tuple[NDArray[Any], NDArray[Any]]  # the same as they were
    reach: Floats  # (n,) distance of each reference to its third nearest other
    query_reach: Floats  # (m,) distance of each query to its third nearest reference
    core: Flags  # (n,) references that are not isolated by that measure
    threads: int

    @classmethod
    def of(cls, references: FeatureSet, queries: FeatureSet, session: Session) -> Self:
        """Scale both sets by the references, and measure how isolated each sample is."""
        scale = RobustScale.of(references.rows, session.threads)
        own, other = scale.apply(references.rows), scale.apply(queries.rows)
        k = min(_K, len(own) - 1)
        session.place(own, other)
        try:
            of_own, of_other = session.kth(
                [Neighbors(own, (own,), [k + 1]), Neighbors(other, (own,), [k])]
            )
        finally:
            session.drop(own, other)
        reach, query_reach = np.sqrt(of_own[:, 0, 0]), np.sqrt(of_other[:, 0, 0])
        core = reach <= threshold_of(reach)
        raw = _whole(references.rows), _whole(queries.rows)
        return cls(references.role, own, other, raw, reach, query_reach, core, session.threads)


def _whole(rows: Rows) -> NDArray[Any]:
    return rows.tile(0, len(rows))
