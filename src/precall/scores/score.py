"""A score: one number, and what is known about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from precall.runtime.read_only import make_read_only


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A score that real samples reach, and what the generated ones reach at the same sizes.

    Scores depend on the number of samples, so that only these two compare.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 500, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=(), scores=["coverage"], ceiling=True
    ... )
    >>> ceiling = result.scores["coverage"].ceiling  # half of real against the other half
    >>> ceiling.n, ceiling.m, abs(ceiling.perfect - ceiling.generated) < 0.1
    (250, 250, True)
    """

    perfect: float
    generated: float
    n: int  # real samples that both are compared with
    m: int  # samples that are compared with them


@dataclass(frozen=True, slots=True)
class Score:
    """One number, and what it would be if both distributions were the same.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 500, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=(), scores=["coverage"], intervals=True
    ... )
    >>> score = result.scores["coverage"]
    >>> round(score.value, 2), score.k, round(score.expected_if_equal, 2)
    (0.96, 5, 0.97)
    >>> score.interval[0] <= score.value <= score.interval[1]
    True
    """

    value: float
    k: int | None = None
    expected_if_equal: float | None = None
    interval: tuple[float, float] | None = None
    standard_deviation: float | None = None  # over subsets, of kernel_distance
    ceiling: Ceiling | None = None
    tests: Mapping[str, float] = field(default_factory=dict)  # of a support: share by each test
    epsilon: float | None = None  # of a support: share of its own class that a test leaves out
    surely_outside: float | None = None  # of a support: lower confidence bound of the share,
    surely_epsilon: float | None = None  # by tests that leave out at most this of its own class

    def __post_init__(self) -> None:
        make_read_only(self)
