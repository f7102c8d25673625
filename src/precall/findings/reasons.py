"""Why samples are outside of the support of the other class."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from precall.headline.support import Support

_MOST_REASONS = 8
_MOST_ROWS = 8


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason, and who it holds for."""

    text: str
    share: float  # of the class
    rows: tuple[int, ...]  # the farthest out of those, the farthest first


@dataclass(frozen=True, slots=True)
class Reasons:
    """By the test that most samples fail; the most frequent first."""

    generated: tuple[Reason, ...] = ()  # outside of the support of real
    real: tuple[Reason, ...] = ()  # outside of the support of generated


def reasons_of(support: Support) -> tuple[Reason, ...]:
    """Group the samples outside by why they are."""
    test = support.deciding()
    outside = np.flatnonzero(test.of_queries > test.threshold)
    farthest = outside[np.argsort(-test.of_queries[outside], kind="stable")]
    by_text: dict[str, list[int]] = defaultdict(list)
    for row in farthest.tolist():
        by_text[test.reason(row)].append(row)
    ordered: Sequence[str] = sorted(by_text, key=lambda text: -len(by_text[text]))
    m = len(test.of_queries)
    return tuple(
        Reason(text, len(by_text[text]) / m, tuple(by_text[text][:_MOST_ROWS]))
        for text in ordered[:_MOST_REASONS]
    )
