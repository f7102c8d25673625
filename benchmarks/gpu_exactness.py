"""``python -m benchmarks.gpu_exactness``: many random and nasty pairs of sets on a GPU.

Each is asked for k-th neighbours, counts, relations and sums, and must give the bits of the
reference. Lists are as short as in the tests, so that small sets take every way there is.
"""

import argparse
import random
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from engine_cases import NASTY, assert_same, fold_of, measure, plan_for
from precall.data.splits import HoldOut
from precall.engines.reference import ReferenceEngine
from precall.errors import InputError


def engines():
    """Kernels with much room and with little, and ordinary operations; every how many cases."""
    from precall.engines.gpu import nearest, pairs
    from precall.engines.gpu.engine import GpuEngine
    from precall.engines.gpu.plain import PlainTiles

    nearest._FEWEST, nearest._SAMPLE, pairs._FEWEST = 48, 32, 2**10
    return {
        "kernels": (GpuEngine("cuda"), 1),
        "kernels, little room": (GpuEngine("cuda", room=2**20, fits=0), 16),
        "ordinary operations": (GpuEngine("cuda", tiles=PlainTiles(most_pairs=700)), 32),
    }


def draw(seed):
    """A pair of sets; of one kind, or of two kinds under each other."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)  # noqa: S311 - which cases
    d = choose.choice([1, 2, 3, 8, 16, 60, 64, 65, 130])
    sizes = [choose.randint(2, 260) for _ in range(2)]
    kinds = choose.sample(sorted(NASTY), choose.choice([1, 1, 2]))
    dtypes = [choose.choice(["float32", "float64"]) for _ in range(2)]
    sides = []
    with np.errstate(all="ignore"):
        for n, dtype in zip(sizes, dtypes, strict=True):
            rows = np.concatenate([NASTY[kind](rng, (n, d)) for kind in kinds])
            sides.append(rng.permutation(rows)[:n].astype(dtype))
    ks = choose.sample([1, 2, 3, 5, 9, 30, 100], 2)
    return sides, set(ks), HoldOut() if choose.random() < 0.3 else None, "+".join(kinds)


def case(seed):
    """The fold, what is asked of it and the reference's answer; nothing where it is refused."""
    (real, generated), ks, split, kind = draw(seed)
    try:
        fold = fold_of(real, generated, split)
    except InputError:  # values beyond float32, say
        return seed, kind, None
    plan = plan_for(fold, ks)
    if not plan.requests:  # too few samples
        return seed, kind, None
    with np.errstate(all="ignore"):
        return seed, kind, (fold, plan, measure(ReferenceEngine(), fold, plan))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3600, help="after which to stop")
    options = parser.parse_args()
    ours, equal, seconds, wrong = engines(), Counter(), Counter(), []
    start = time.perf_counter()
    seeds = range(options.first, options.first + options.cases)
    with get_context("spawn").Pool(options.processes) as pool:  # one process alone has the device
        for seed, kind, known in pool.imap(case, seeds, chunksize=16):
            if known is None:
                equal["refused"] += 1
                continue
            fold, plan, expected = known
            for name, (engine, every) in ours.items():
                if seed % every == 0:
                    began = time.perf_counter()
                    try:
                        assert_same(measure(engine, fold, plan), expected)
                        equal[name] += 1
                    except AssertionError as error:
                        wrong.append((seed, name, kind, str(error)[:300]))
                    seconds[name] += time.perf_counter() - began
            if time.perf_counter() - start > options.seconds:
                break
    print(f"{time.perf_counter() - start:.0f} s, {sum(equal.values())} equal, {len(wrong)} wrong")
    for name, n in equal.items():
        print(f"{n:6d} {name}: {seconds[name] / n:.3f} s each")
    for of_case in wrong[:20]:
        print(of_case)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
