"""Inputs read and prepared ahead of the network, in processes of their own, in order."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from precall.extractors.protocol import Prepare, Prepared
from precall.inputs.items import BrokenInputError, Inputs, Kind, Raw
from precall.inputs.sources import READERS
from precall.runtime.refusals import needed
from precall.runtime.threads import n_threads

_MOST_WORKERS = 8
_FEW = 512  # inputs, for which no process is worth its start
_AHEAD = 2  # batches that wait for the network, a worker


@dataclass(frozen=True, slots=True)
class Batch:
    """Some inputs in a row, as the network takes them."""

    start: int  # row of the first
    size: int  # with the broken ones
    items: list[Prepared]  # without them
    broken: dict[int, str]  # place in the batch -> why


def prepare_batch(start: int, raws: Sequence[Raw], kind: Kind, prepare: Prepare) -> Batch:
    """Read and prepare some inputs; what a worker process does."""
    read = READERS[kind]
    items: list[Prepared] = []
    broken: dict[int, str] = {}
    for place, raw in enumerate(raws):
        try:
            items.append(prepare(read(raw)))
        except BrokenInputError as error:
            broken[place] = str(error)
    return Batch(start, len(raws), items, broken)


def read_batches(
    inputs: Inputs, prepare: Prepare, *, first: int, batch_size: int, workers: int | None
) -> Iterator[Batch]:
    """Return all inputs from a row on in batches, at most a few of which wait in memory."""
    n, kind = len(inputs), inputs.kind

    def raw_batches() -> Iterator[tuple[int, list[Raw]]]:
        for start in range(first, n, batch_size):
            rows = range(start, min(start + batch_size, n))
            yield start, [inputs.raw(row) for row in rows]

    if workers is None:
        is_little = kind == "texts" or n - first <= _FEW
        workers = 0 if is_little else min(_MOST_WORKERS, n_threads(None))
    if workers == 0:
        for start, raws in raw_batches():
            yield prepare_batch(start, raws, kind, prepare)
        return
    yield from _in_processes(raw_batches(), prepare_batch, (kind, prepare), workers)


def _in_processes(
    batches: Iterator[tuple[int, list[Raw]]],
    task: Callable[..., Batch],
    arguments: tuple[Any, ...],
    workers: int,
) -> Iterator[Batch]:
    """Keep every worker busy and a few batches ahead, no more: memory stays bounded."""
    loky = needed("loky", "reading in worker processes needs", "'precall[images]'")
    # Unlike the standard library's, these need no guard in the caller's script.
    pool = loky.get_reusable_executor(max_workers=workers, timeout=60)
    waiting: deque[Any] = deque()
    try:
        for start, raws in batches:
            waiting.append(pool.submit(task, start, raws, *arguments))
            while len(waiting) >= _AHEAD * workers + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
