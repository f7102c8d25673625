"""How busy reading keeps the network: python -m benchmarks.extraction [MODEL] [N].

Pictures are written as PNG; the rate from files to features is set beside that of the bare network
on batches that are at hand, in turns, as medians. Both use all cores: where the network computes on
these, what workers decode with is taken from it, so that the share also has a bound: what the same
work takes one after the other, network and reading, in processor time.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

import precall
from precall.extractors.catalog import EXTRACTORS

ROUNDS = 3


def write_pictures(folder, n):
    rng = np.random.default_rng(0)
    for row, pixels in enumerate(rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)):
        Image.fromarray(pixels).save(folder / f"{row:06d}.png")


def bare_rate(network, batch, n):
    start = time.perf_counter()
    for _ in range(max(1, n // len(batch))):
        network(batch)
    return max(1, n // len(batch)) * len(batch) / (time.perf_counter() - start)


def whole_rate(folder, settings, n):
    start = time.perf_counter()
    precall.extract(folder, settings)
    return n / (time.perf_counter() - start)


def main(model="efficientnet-lite0", n=10_000):
    extractor = EXTRACTORS[model]
    network = extractor.load(extractor.weights.present(), "auto")
    with tempfile.TemporaryDirectory() as name:
        write_pictures(Path(name), n)
        pictures = [
            Image.open(Path(name) / f"{row:06d}.png") for row in range(extractor.batch_size)
        ]
        batch = [extractor.prepare(picture.convert("RGB")) for picture in pictures]
        settings = precall.Features(model, cache=False)
        precall.extract(name, settings)  # processes and kernels are warm
        rates = [
            (bare_rate(network, batch, n), whole_rate(name, settings, n)) for _ in range(ROUNDS)
        ]
    bare, whole = (median(side) for side in zip(*rates, strict=True))
    share = median(files / alone for alone, files in rates)
    print(f"{model}, {n} pictures, batches of {extractor.batch_size}")
    print(f"network alone {bare:.1f}/s, from files {whole:.1f}/s: {100 * share:.0f} %")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
