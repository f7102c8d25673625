"""How busy reading keeps the network: python -m benchmarks.extraction [MODEL] [N] [WORKERS].

Pictures are written as PNG; the rate from files to features is set beside that of the bare network
on batches at hand, in turns, as medians. Where the network computes on the same cores, what
workers decode with is taken from it, so three more numbers are told: how much of the processor time
of the process that computes is the network's, which no other load disturbs; what reading a picture
takes on one core; and what the network takes.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from PIL import Image

import precall
from precall.extraction.reading import prepare_batch
from precall.extractors.catalog import EXTRACTORS

ROUNDS = 3
TRIED = 256  # pictures that reading alone is measured with


class Spent(NamedTuple):
    """Seconds a picture."""

    wall: float
    processor: float


def spent(work, n):
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Spent((time.perf_counter() - wall) / n, (time.process_time() - processor) / n)


def write_pictures(folder, n):
    rng = np.random.default_rng(0)
    for row, pixels in enumerate(rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)):
        Image.fromarray(pixels).save(folder / f"{row:06d}.png")


def main(model="efficientnet-lite0", n=10_000, workers=None):
    extractor = EXTRACTORS[model]
    network, size = extractor.load(extractor.weights.present(), "auto"), extractor.batch_size
    n = max(1, n // size) * size
    settings = precall.Features(model, cache=False, workers=workers)
    with tempfile.TemporaryDirectory() as name:
        write_pictures(Path(name), n)
        files = sorted(Path(name).iterdir())[:TRIED]
        reading = spent(lambda: prepare_batch(0, files, "pictures", extractor.prepare), len(files))
        batch = prepare_batch(0, files[:size], "pictures", extractor.prepare).items
        precall.extract(name, settings)  # processes and kernels are warm
        rounds = [
            (
                spent(lambda: [network(batch) for _ in range(n // size)], n),
                spent(lambda: precall.extract(name, settings), n),
            )
            for _ in range(ROUNDS)
        ]
    bare, whole = (median(one.wall for one in side) for side in zip(*rounds, strict=True))
    share = median(alone.wall / files.wall for alone, files in rounds)
    busy = median(alone.processor / files.processor for alone, files in rounds)
    computing = median(alone.processor for alone, _ in rounds)
    print(f"{model}, {n} pictures, batches of {size}")
    print(f"network alone {1 / bare:.1f}/s, from files {1 / whole:.1f}/s: {100 * share:.0f} %")
    print(
        f"of the processor time of the process that computes, {100 * busy:.0f} % is the network's"
    )
    print(f"a picture: {1e3 * reading.processor:.2f} ms to read, {1e3 * computing:.1f} to compute")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:4]))
