"""Why samples are outside of the support of the other class."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from precall.headline.outlyingness import Outlyingness
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
    """Of the samples outside by the test that most fail; the most frequent first."""

    generated: tuple[Reason, ...] = ()  # outside of the support of real
    real: tuple[Reason, ...] = ()  # outside of the support of generated


def reasons_of(support: Support) -> tuple[Reason, ...]:
    """Group the samples that the deciding test finds outside by why they are.

    Where one feature tells of half of them it is named, rather than what that test says.
    """
    test = support.deciding()
    outside = np.flatnonzero(test.outside)
    farthest = outside[np.argsort(-test.of_queries[outside], kind="stable")].tolist()
    telling = _telling(support, farthest)
    is_told = telling.outside if telling is not None else np.zeros(len(test.of_queries), bool)
    by_text: dict[str, list[int]] = defaultdict(list)
    for row in farthest:
        by_text[telling.reason(row) if telling and is_told[row] else test.reason(row)].append(row)
    ordered: Sequence[str] = sorted(by_text, key=lambda text: -len(by_text[text]))
    m = len(test.of_queries)
    return tuple(
        Reason(text, len(by_text[text]) / m, tuple(by_text[text][:_MOST_ROWS]))
        for text in ordered[:_MOST_REASONS]
    )


def _telling(support: Support, rows: Sequence[int]) -> Outlyingness | None:
    """The test that says of half of the rows, at least, that the same feature is to blame."""
    for test in support.tests:
        if test.names_feature:
            is_outside = test.outside
            told = Counter(test.reason(row) for row in rows if is_outside[row])
            if told and 2 * max(told.values()) >= len(rows):
                return test
    return None
