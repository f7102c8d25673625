"""The GPU engine: products of float16 first, float64 where their bound leaves a doubt.

Each answer is that of ``reference.py``, to the bit. A session keeps its sets on one scale, chosen
anew when other sets are placed.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from precall.data.feature_sets import Rows
from precall.data.value_checks import ValueCheck
from precall.engines.answers import NOBODY, Counts, Floats, Met, Nearest, Relation, Vicinity
from precall.engines.gpu.device import current, ieee_products
from precall.engines.gpu.inspection import check_on_device
from precall.engines.gpu.levels import Doubt, Level
from precall.engines.gpu.meetings import PairsOfSets
from precall.engines.gpu.nearest import NearestSearch
from precall.engines.gpu.pairs import PairMeasure
from precall.engines.gpu.placing import Base, Placed, Stored, upload
from precall.engines.gpu.plain import PlainTiles
from precall.engines.gpu.products import operand_of, product_of, scatter_of, vicinity_of
from precall.engines.gpu.scale import Scale
from precall.engines.gpu.tiles import Tiles
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Operand, Session

Answer = TypeVar("Answer")

_ROOM = {"cpu": 2**27}
_SHARE_OF_SETS, _SHARE_OF_STEPS = 0.6, 0.15  # of the memory that is free
_LEAST_ROOM = 2**20
_TALLEST, _COPIES = 2048, 8  # rows that products are taken of at a time; copies of these there are
_NO_BALLS = (np.empty((0, 0)), np.empty((0, 0)))
_DIGITS = 1e-11  # of squared distances whose logarithms are summed


class GpuEngine:
    """Exact answers by float16 products.

    Parameters
    ----------
    device
        As torch names it.
    tiles
        How pairs are computed; by default kernels of Triton where there are any for the device.
    room
        Bytes that one step may take; by default a share of what is free. Changes no number.
    fits
        Bytes of sets that are kept on the device; larger ones are sent part by part.
    """

    def __init__(
        self,
        device: str | torch.device = "cuda",
        *,
        tiles: Tiles | None = None,
        room: int | None = None,
        fits: int | None = None,
    ) -> None:
        self.device = torch.device(device)
        self.tiles = tiles or best_tiles(self.device)
        self.room, self.fits = room, fits

    @property
    def name(self) -> str:
        """Name in results."""
        if self.device.type == "cuda":
            return f"gpu ({torch.cuda.get_device_name(self.device)})"
        return f"gpu ({self.device})"

    def open(self, threads: int, advance: Advance) -> "GpuSession":
        """Return a session that holds no rows yet."""
        return GpuSession(self, threads, advance)


class GpuSession(Session):
    """Sets on the device, and questions about them."""

    def __init__(self, engine: GpuEngine, threads: int, advance: Advance) -> None:
        super().__init__(threads, advance)
        self.engine, self.device = engine, engine.device
        self._arrays: list[Any] = []
        self._bases: list[Base] = []
        self._sets: list[Stored] = []  # of the arrays; empty until a question is asked
        self._scale: Scale | None = None
        self._lock = threading.Lock()
        free = _free_bytes(self.device)
        self._room = engine.room or _ROOM.get(self.device.type) or int(_SHARE_OF_STEPS * free)
        self._left = int(_SHARE_OF_SETS * free) if engine.fits is None else engine.fits

    # Sets

    def keep(self, rows: Rows) -> Rows:
        """Leave rows where they are: on the device, or to be sent there."""
        return rows

    def check_values(self, rows: Rows, check: ValueCheck) -> None:
        """Bring rows to the device, and look at them there if they fit."""
        self.place(rows)
        base = self._base(rows)
        if base is not None and base.is_here and self.device.type != "cpu":
            check_on_device(rows, base.rows, check)
        else:
            super().check_values(rows, check)

    def _base(self, rows: Rows) -> Base | None:
        for array, base in zip(self._arrays, self._bases, strict=True):
            if array is rows.array:
                return base
        return None

    def place(self, *sets: Rows) -> None:
        """Bring the arrays that these rows are stored in to the device, as far as they fit."""
        for rows in sets:
            if not any(array is rows.array for array in self._arrays):
                self._arrays.append(rows.array)
                self._bases.append(upload(rows.array, self.device, fits=self._fits))
                self._sets = []

    def _fits(self, nbytes: int) -> bool:
        """Whether an array, and float16 numbers as many, are kept on the device."""
        held = sum(base.rows.nbytes for base in self._bases if base.is_here)
        return bool(1.6 * (held + nbytes) <= self._left)

    def drop(self, *sets: Rows) -> None:
        """Forget the arrays that these rows are stored in."""
        dropped = [rows.array for rows in sets]
        kept = [i for i, a in enumerate(self._arrays) if not any(a is array for array in dropped)]
        self._arrays = [self._arrays[i] for i in kept]
        self._bases = [self._bases[i] for i in kept]
        self._sets = []

    def close(self) -> None:
        """Let go of all rows."""
        self._arrays, self._bases, self._sets = [], [], []

    def _placed(self, rows: Rows) -> Placed:
        with self._lock, current(self.device):
            if not self._sets:
                self._approximate()
        for array, stored in zip(self._arrays, self._sets, strict=True):
            if array is rows.array and self._scale is not None:
                places = rows.selection
                chosen = None if places is None else torch.from_numpy(places).to(self.device)
                return Placed(stored, self._scale, self.device, self.engine.tiles.halve, chosen)
        raise LookupError("these rows were not placed")

    def _approximate(self) -> None:
        """Choose the scale, and bring all rows to it."""
        scale = Scale.around([base.rows for base in self._bases], self.device)
        self._scale = scale
        halve = self.engine.tiles.halve
        self._sets = [Stored.of(base, scale, self.device, halve) for base in self._bases]

    # Questions

    def _answer(self, question: Callable[[PairMeasure], Answer]) -> Answer:
        """Answer in the room there is; where memory runs out, in half of it."""
        while True:
            measure = PairMeasure(self.engine.tiles, self.device, self._room, self.advance)
            try:
                with current(self.device), ieee_products(), torch.inference_mode():
                    return question(measure)
            except torch.OutOfMemoryError:
                if self._room < _LEAST_ROOM:
                    raise
            self._room //= 2
            torch.cuda.empty_cache()

    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """See :meth:`Session.nearest`."""
        every = [Neighbors(q.queries, q.references, range(1, max(q.ks) + 1)) for q in questions]
        return [
            [Nearest(of[:, c]) for c in range(len(question.references))]
            for question, of in zip(questions, self.kth(every), strict=True)
        ]

    def kth(self, questions: Sequence[Neighbors]) -> list[Floats]:
        """See :meth:`Session.kth`."""

        def answer(question: Neighbors) -> Floats:
            queries = self._placed(question.queries)
            classes = [
                queries if rows is question.queries else self._placed(rows)
                for rows in question.references
            ]
            ks = list(question.ks)
            found = self._answer(lambda m: NearestSearch(m, queries, classes, ks).found())
            return np.asarray(found.cpu().numpy())

        return [answer(question) for question in questions]

    def _pairs(self, measure: PairMeasure, balls: Balls) -> PairsOfSets:
        return PairsOfSets(measure, self._placed(balls.queries), self._placed(balls.references))

    def _floats(self, values: Floats) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""

        def answer(balls: Balls) -> Counts:
            own, others = self._floats(balls.around_queries), self._floats(balls.around_references)
            found, _ = self._answer(lambda m: self._pairs(m, balls).counts(own, others, both=False))
            return np.asarray(found.T.cpu().numpy())

        return [answer(balls) for balls in questions]

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        return [self._relate(meeting) for meeting in questions]

    def _relate(self, meeting: Meeting) -> Relation:
        balls, wanted = meeting.balls, meeting.wants_best
        own, others = self._floats(balls.around_queries), self._floats(balls.around_references)
        found = self._answer(lambda m: self._pairs(m, balls).counts(own, others, both=True))
        of_queries, of_references = (counts.T.cpu().numpy() for counts in found)
        n_own, no_ratio = len(own), np.zeros((len(of_queries), 0))
        turned = Balls(balls.references, balls.queries, *_NO_BALLS)
        best_of_queries = self._nearest(balls, others, wanted=wanted)
        best_of_references = self._nearest(turned, own, wanted=wanted)
        ratios = self._ratios(meeting)
        return Relation(
            Met(of_queries[:, :n_own], of_queries[:, n_own:], *best_of_queries, no_ratio),
            Met(of_references[:, n_own:], of_references[:, :n_own], *best_of_references, ratios),
        )

    def _nearest(self, balls: Balls, around: Tensor, *, wanted: bool) -> tuple[Any, Any, Any]:
        """Tell the queries who is nearest, how far, and which of its balls hold them."""
        if not wanted:
            n = len(balls.queries)
            return np.full(n, NOBODY), np.full(n, np.inf), np.zeros((n, len(around)), np.bool_)
        found = self._answer(lambda m: self._pairs(m, balls).nearest(around))
        place, squared, held = (values.cpu().numpy() for values in found)
        return place, squared, held

    def _ratios(self, meeting: Meeting) -> Floats:
        """The largest ratios that references find, (n, n_ratios)."""
        n, weights = len(meeting.balls.references), meeting.weights
        if weights is None or not len(weights):
            return np.zeros((n, 0))
        found = [self._best_ratio(meeting, self._floats(weight)) for weight in weights]
        return np.asarray(torch.stack(found, dim=1).cpu().numpy())

    def _best_ratio(self, meeting: Meeting, weight: Tensor) -> Tensor:
        offset = meeting.offset
        return self._answer(lambda m: self._pairs(m, meeting.balls).best_ratios(weight, offset))

    # Products

    def operand(
        self, rows: Rows, center: Floats, dtype: type[np.floating], exponent: int = 0
    ) -> Operand:
        """See :meth:`Session.operand`."""
        if self._base(rows) is None:
            return super().operand(rows, center, dtype, exponent)
        return operand_of(self._placed(rows), center, dtype, exponent)

    def products(
        self,
        left: Operand,
        part: slice,
        right: Operand,
        right_part: slice = slice(None),
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """See :meth:`Session.products`."""
        if isinstance(left.rows, Tensor):
            return product_of(left, part, right, right_part, out)
        return super().products(left, part, right, right_part, out)

    def height(self, n_columns: int, itemsize: int) -> int:
        """See :meth:`Session.height`."""
        return max(64, min(_TALLEST, self._room // (_COPIES * n_columns * itemsize)))

    def vicinity(self, own: Operand, part: slice, other: Operand, depth: int) -> Vicinity | None:
        """See :meth:`Session.vicinity`."""
        if not isinstance(own.rows, Tensor):
            return None
        with self._lock, current(self.device):  # the room is for one at a time
            return vicinity_of(own, part, other, depth)

    def scatter(self, rows: Rows, center: Floats) -> Floats:
        """See :meth:`Session.scatter`."""
        if self._base(rows) is None:
            return super().scatter(rows, center)
        return scatter_of(self._placed(rows), center)

    # Sums of logarithms

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""

        def answer(question: Limits) -> Floats:
            found = self._answer(lambda m: self._log_sums(m, question))
            return np.asarray(found.cpu().numpy())

        return [answer(question) for question in questions]

    def _log_sums(self, measure: PairMeasure, question: Limits) -> Tensor:
        queries, references = self._placed(question.queries), self._placed(question.references)
        limits = np.asarray(question.limits, np.float64)
        sums = torch.zeros((len(limits), len(queries)), dtype=torch.float64, device=self.device)
        for first, b in measure.parts(references, Level.DOUBLE, None):
            places = torch.arange(first, first + len(b), device=self.device)
            height = measure.height(64 * len(b))
            for rows in torch.arange(len(queries), device=self.device).split(height):
                squared = self._measured(measure, queries, rows, references, places)
                for total, limit in zip(sums, limits, strict=True):
                    near = squared.sqrt() / float(limit) if limit else squared.sign()
                    total[rows] += near.log().clamp_max(0.0).sum(dim=1)
                self.advance(len(rows) * len(b))
        return sums

    def _measured(
        self,
        measure: PairMeasure,
        queries: Placed,
        rows: Tensor,
        references: Placed,
        places: Tensor,
    ) -> Tensor:
        """Squared distances to about eleven digits, (n_rows, n_places)."""
        a, b = queries.at(Level.DOUBLE, rows), references.at(Level.DOUBLE, places)
        q = measure.tiles.dense(a, b)
        doubt = Doubt.of(a, b, queries.scale)
        error = doubt.error + 2 * doubt.lost * (q.amax(dim=1).clamp_min(0).sqrt() + doubt.lost)
        is_poor = q * _DIGITS < error[:, None]
        squared = q * queries.scale.step**2
        if int(is_poor.sum()) > is_poor.numel() // 64:
            exact = queries.at(Level.EXACT, rows), references.at(Level.EXACT, places)
            return measure.tiles.dense(*exact)
        i, j = torch.nonzero(is_poor, as_tuple=True)
        squared[i, j] = measure.pairs(queries, rows[i], references, places[j])
        return squared


def _free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 2**32


def best_tiles(device: torch.device) -> Tiles:
    """Return kernels of Triton where there are any for the device, else ordinary operations."""
    is_interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device.type == "cuda" or is_interpreted:
        try:
            from precall.engines.gpu.fused import FusedTiles
        except ImportError:
            return PlainTiles()
        return FusedTiles(device)
    return PlainTiles()
