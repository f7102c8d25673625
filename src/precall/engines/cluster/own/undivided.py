"""Questions of rows about themselves that are not cut: one worker each answers them.

Pieces of a set that meet on different workers know little of each other, each worker has to have
all of the rows, and in the end some wait for the last piece. Where there are about as many sets as
workers, none of this need be.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_MOST_ROWS = 200_000  # of more the engine of a CPU keeps no lists, and looks at each pair twice
_MOST_PRODUCTS = 10**13  # under a minute of one thread
_LATER = 1 / 16  # of its share of the work, that a worker may be behind the others


@dataclass(frozen=True, slots=True)
class Size:
    """How large a question is."""

    n_pairs: int  # of rows that have to be looked at
    n_rows: int
    n_features: int
    is_own: bool  # whether rows are compared among themselves

    @property
    def may_be_undivided(self) -> bool:
        """Whether a worker can answer it in one go, and little is lost if that is lost."""
        is_short = self.n_pairs * self.n_features <= _MOST_PRODUCTS
        return self.is_own and self.n_rows <= _MOST_ROWS and is_short


def undivided(questions: Sequence[Size], n_workers: int) -> dict[int, int]:
    """Which questions are not cut, and the numbers of the workers that answer them.

    Those that are cut fill up what is left. If any worker were behind with what is not, the largest
    question is cut.
    """
    share = sum(question.n_pairs for question in questions) / n_workers
    largest_first = sorted(range(len(questions)), key=lambda i: -questions[i].n_pairs)
    chosen = [i for i in largest_first if questions[i].may_be_undivided]
    while chosen:
        loads, workers = [0] * n_workers, {}
        for i in chosen:
            workers[i] = loads.index(min(loads))
            loads[workers[i]] += questions[i].n_pairs
        if max(loads) <= (1 + _LATER) * share:
            return workers
        chosen.pop(0)
    return {}
