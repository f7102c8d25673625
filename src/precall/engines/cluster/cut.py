"""How questions are cut into pieces: by the memory of a worker, and by the number of workers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from precall.engines.cluster.parts import Part

_BESIDE = 12  # bytes a value: integers, packed references, float64 where integers do not resolve
_BESIDE_A_PART = 8  # likewise, on average of queries and references
_FOR_SETS = 0.7  # of the memory, where sets are held whole
_FOR_PARTS = 0.6  # of the memory, where they are not
_A_NEIGHBOR = 64  # bytes of a query for each neighbour that is looked for
_ORDERS_PER_WORKER = 8
_MEETINGS_PER_WORKER = 2
_FEW_WORKERS, _MEETINGS_OF_FEW = 6, 2
_MOST_PRODUCTS = 3 * 10**13  # of a meeting: a few minutes of one thread, which may be lost
_FEWEST_QUERIES = {True: 128, False: 1024}  # of a piece, where sets are whole and where not
_MOST_REFERENCES = 250_000  # that a piece tells what they met


@dataclass(frozen=True, slots=True)
class Cut:
    """Sizes of pieces. The same cut gives the same pieces, whoever carries them out."""

    memory: int  # bytes of a worker for rows and what is found about them
    n_workers: int
    n_kinds: int = 1  # of workers: one may be faster than another

    def fits_whole(self, n_values: int, itemsize: int) -> bool:
        """Whether a worker holds all sets, of so many values together."""
        return n_values * (itemsize + _BESIDE) <= _FOR_SETS * self.memory

    def queries(
        self,
        n: int,
        n_features: int,
        itemsize: int,
        *,
        depth: int = 0,
        is_whole: bool,
        share: int = 1,
    ) -> list[tuple[int, int]]:
        """Cut queries, of which each keeps ``depth`` neighbours, for one of ``share`` questions."""
        most = self.rows_of_part(n_features, itemsize, depth)
        if is_whole:
            most = self.rows_of_question(n_features, depth)
        wanted = -(-_ORDERS_PER_WORKER * self.n_workers // share)
        wanted = min(wanted, -(-n // _FEWEST_QUERIES[is_whole]))
        return runs(n, max(wanted, -(-n // most)))

    def both_sides(self, n_products: float) -> tuple[int, int]:
        """Into how many pieces to cut either side where both sides look for their best.

        Queries begin to look anew in every piece, references on every worker or in every piece: few
        workers meet all references, many do better with square pieces.

        Parameters
        ----------
        n_products
            Of values, in all pieces together.
        """
        least = math.ceil(n_products / _MOST_PRODUCTS)
        if self.n_workers <= _FEW_WORKERS:
            return max(_MEETINGS_OF_FEW * self.n_workers, least), 1
        wanted = max(_MEETINGS_PER_WORKER * self.n_workers, least)
        n_queries = math.isqrt(wanted)
        return n_queries, -(-wanted // n_queries)

    def references(
        self, n: int, n_features: int, itemsize: int, *, is_whole: bool
    ) -> list[tuple[int, int]]:
        """Cut references. Lists are of queries: these may be few where they are long."""
        if is_whole:
            return [(0, n)]
        return runs(n, -(-n // self.rows_of_part(n_features, itemsize)))

    def rows_of_question(self, n_features: int, depth: int) -> int:
        """Return how many queries a worker has room for beside whole sets."""
        room = int((1 - _FOR_SETS) * self.memory)
        return max(1, room // (16 * n_features + _A_NEIGHBOR * (depth + 1)))

    def rows_of_part(self, n_features: int, itemsize: int, depth: int = 0) -> int:
        """Return how many queries and as many references a worker has room for."""
        a_pair = 2 * n_features * (itemsize + _BESIDE_A_PART) + 2 * _A_NEIGHBOR * depth
        return max(1, int(_FOR_PARTS * self.memory) // a_pair)


def runs(n: int, n_parts: int) -> list[tuple[int, int]]:
    """Cut n rows into parts of nearly the same size."""
    n_parts = min(max(1, n_parts), n)
    ends = [n * i // n_parts for i in range(n_parts + 1)]
    return list(pairwise(ends))


def spans(parts: Sequence[Part]) -> list[list[Part]]:
    """Put parts of references together, as far as one answer may tell of them."""
    found: list[list[Part]] = []
    for part in parts:
        if not found or sum(map(len, found[-1])) + len(part) > _MOST_REFERENCES:
            found.append([])
        found[-1].append(part)
    return found
