"""extract(): from pictures, texts or sounds to features, read once and never again."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from precall.data.extraction_notes import write_beside
from precall.data.feature_sets import FeatureSet
from precall.data.readers.notes import note, noted
from precall.errors import InputError
from precall.extraction.reading import read_batches
from precall.extraction.record import Record
from precall.extraction.settings import Features, located_weights
from precall.extraction.store import Entry, Finished, Unfinished
from precall.extractors.catalog import find_extractor
from precall.extractors.protocol import Extractor, Network
from precall.inputs.items import Inputs, digest
from precall.inputs.sources import kind_of, open_inputs
from precall.runtime.cache_folder import cache_folder
from precall.runtime.output_files import check_target, replacing, write_text
from precall.runtime.threads import in_threads, n_threads

_MOST_NAMED = 3


def extract(
    inputs: object,
    features: object = "auto",
    *,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> FeatureSet:
    """Make features of pictures, texts or sounds.

    What was extracted before, with the same model and preprocessing, is read from a cache; an
    interrupted run goes on where it stopped.

    Parameters
    ----------
    inputs
        A folder, a ``.zip`` or ``.tar``, a column of a ``.parquet`` or ``.arrow`` file, an array
        of pixels, a list of PIL images, tensors or texts, a ``.txt`` or ``.jsonl`` file, ...; see
        ``docs/features.md``.
    features
        Name of an extractor, a function from a list of inputs to an array, or
        :class:`precall.Features` with further settings.
    out
        A ``.npy`` file to write the features to; how they were made stands beside it.
    progress
        Whether to show a progress bar on standard error.

    Returns
    -------
    FeatureSet
        To be passed to :func:`precall.evaluate`; ``numpy.asarray`` gives the matrix.

    Examples
    --------
    >>> import numpy as np, precall
    >>> pictures = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), dtype=np.uint8)
    >>> features = precall.extract(pictures, "pixels:8")
    >>> np.asarray(features).shape
    (10, 192)
    """
    target = None if out is None else Path(out)
    if target is not None:
        if target.suffix.lower() != ".npy":
            raise InputError(f"cannot write to {target}: features are written as .npy.")
        given = [Path(inputs)] if isinstance(inputs, str | os.PathLike) else []
        check_target(target, given)
    found = extract_all({"inputs": inputs}, features, progress=progress)["inputs"]
    if target is not None:
        with replacing(target) as temporary, temporary.open("wb") as file:
            np.save(file, np.asarray(found))
        write_beside(target, found)
    return found


def extract_all(
    inputs: Mapping[str, object], features: object, *, progress: bool = False
) -> dict[str, FeatureSet]:
    """Make features of several sets with one model, by role; what is fitted is fitted on the first.

    A :class:`FeatureSet` that was extracted already stays as it is.
    """
    settings = Features.of(features)
    first = next(iter(inputs.items()))
    extractor = find_extractor(settings.model, lambda: kind_of(first[1], first[0]), settings.resize)
    path, sha256 = located_weights(extractor, settings)
    job = _Job(settings, extractor, path, Record.of(extractor, sha256), progress, [])
    sets = {
        role: replace(data, role=role) if isinstance(data, FeatureSet) else job.run(data, role)
        for role, data in inputs.items()
    }
    return extractor.fit(sets) if extractor.fit is not None else sets


class _Job(NamedTuple):
    """One extractor, at work on several sets."""

    settings: Features
    extractor: Extractor
    weights: Path | None
    record: Record
    progress: bool
    network: list[Network]  # loaded when it is first needed

    def run(self, data: object, role: str) -> FeatureSet:
        """Extract the features of one set, or find them in the cache."""
        if self.extractor.kind == "rows":
            return replace(FeatureSet.of(data, role), extraction=self.record.flat())
        with noted() as notes:
            inputs = open_inputs(data, self.extractor.kind, role)
            for text in inputs.notes:
                note(role, text)
            with self._entry(inputs) as entry:
                finished = entry.finished() or self._extract(inputs, entry, role)
                broken = {int(row): why for row, why in finished.notes["broken"].items()}
                self._check_broken(inputs, broken, role)
                record = replace(self.record, skipped=[inputs.name(row) for row in broken])
                for text in record.caveats():
                    note(role, text)
                rows: Any = finished.path if self._is_kept else np.load(finished.path)
                found = FeatureSet.of(rows, role)
        kept = inputs
        if broken:
            kept = inputs.select(np.setdiff1d(np.arange(len(inputs)), list(broken)))
        texts = tuple(one.text for one in notes)
        extraction = record.flat()
        return replace(found, source=inputs.source, notes=texts, extraction=extraction, inputs=kept)

    @property
    def _is_kept(self) -> bool:
        return self.settings.cache is not False and self.extractor.is_fixed

    @contextmanager
    def _entry(self, inputs: Inputs) -> Iterator[Entry]:
        """Where the features of a set are kept, or are put together if they are not to be kept."""
        if not self._is_kept:
            with tempfile.TemporaryDirectory(prefix="precall-") as folder:
                yield Entry(Path(folder), "features")
            return
        cache = self.settings.cache
        root = cache_folder() if isinstance(cache, bool) else Path(cache)
        how = json.dumps(self.record.extractor, sort_keys=True).encode()
        content = self._content(inputs, root)
        kept_in = root / "features" / _slug(self.extractor.name)
        yield Entry(kept_in, hashlib.sha256(how + content.encode()).hexdigest()[:40])

    def _content(self, inputs: Inputs, root: Path) -> str:
        """Name a set by the content of its samples, which are only read if they may be new."""
        listing = inputs.listing()
        known = root / "contents" / f"{listing}.txt"
        if listing is not None and known.is_file():
            return known.read_text(encoding="ascii")
        hashed = hashlib.sha256(inputs.kind.encode())
        threads = min(8, 4 * n_threads(None))
        rows = self._shown(range(len(inputs)), len(inputs), f"{inputs.source}: looking")
        for block in _blocks(rows, 256):
            for one in in_threads(lambda row: _digest(inputs, row), block, threads):
                hashed.update(one)
        if listing is not None:
            known.parent.mkdir(parents=True, exist_ok=True)
            write_text(known, hashed.hexdigest())
        return hashed.hexdigest()

    def _extract(self, inputs: Inputs, entry: Entry, role: str) -> Finished:
        batch_size = self.settings.batch_size or self.extractor.batch_size
        with entry.writing(len(inputs)) as unfinished:
            if (done := entry.finished()) is not None:  # somebody else was faster
                return done
            if not self.network:
                self.network.append(self.extractor.load(self.weights, self.settings.device))
            batches = read_batches(
                inputs,
                self.extractor.prepare,
                first=unfinished.done,
                batch_size=batch_size,
                workers=self.settings.workers,
            )
            bar = self._shown(None, len(inputs), f"{role}: {self.extractor.name}", inputs.kind)
            bar.update(unfinished.done)
            with bar:
                for batch in batches:
                    broken = {batch.start + place: why for place, why in batch.broken.items()}
                    self._check_broken(inputs, broken, role)
                    rows = self._rows(batch.items, unfinished)
                    unfinished.write(batch.start, rows, broken)
                    bar.update(batch.size)
            if len(inputs) - len(unfinished.broken) < 2:
                raise InputError(
                    f"{role}: only {len(inputs) - len(unfinished.broken)} of {len(inputs)} "
                    f"{inputs.kind} can be read; pass at least two."
                )
            how = {"broken": unfinished.broken, "source": inputs.source, **self.record.flat()}
            return entry.finish(unfinished, how)

    def _rows(self, items: list[Any], unfinished: Unfinished) -> Any:
        if not items:
            return np.empty((0, 0), np.float32)
        rows = self.network[0](items)
        expected = self.extractor.dimension
        if expected is not None and rows.shape != (len(items), expected):
            raise InputError(
                f"{self.extractor.name} made an array of shape {rows.shape} of {len(items)} "
                f"inputs; expected {expected} features."
            )
        return rows

    def _check_broken(self, inputs: Inputs, broken: Mapping[int, str], role: str) -> None:
        """Name what cannot be read, unless it may be left out."""
        if not broken or self.settings.skip_broken:
            return
        row, why = next(iter(broken.items()))
        others = len(broken) - 1
        why = f"{why.rstrip('.')}." + (f" {others} more cannot be read." if others else "")
        raise InputError(
            f"{role}: {inputs.name(row)} {why} Mend or remove it, or leave out what cannot be read "
            "(--skip-broken, skip_broken=True)."
        )

    def _shown(self, items: Iterable[Any] | None, n: int, what: str, unit: str = "files") -> Any:
        """Show how far the work is, with rate and time left."""
        from tqdm.auto import tqdm

        return tqdm(
            items,
            desc=what,
            total=n,
            unit=f" {unit}",
            disable=not self.progress,
            leave=False,
            delay=1.0,
        )


def _digest(inputs: Inputs, row: int) -> bytes:
    """What a sample is known by; one that cannot be read has none, and is met again later."""
    try:
        return digest(inputs.raw(row))
    except (OSError, RuntimeError, ValueError) as error:
        return repr(type(error)).encode()


def _blocks(rows: Iterable[int], size: int) -> Iterator[list[int]]:
    block: list[int] = []
    for row in rows:
        block.append(row)
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)
