"""``python -m benchmarks.memory WHAT``: how much memory a run takes, each in a process of its own.

``four``: the four scores of 50 000 × 50 000 × 64, beyond the arrays. ``default``: a default run of
the same with intervals, without the headline. ``files``: a default run of 50 000 × 50 000 × 2048
from memory-mapped files; here everything counts, libraries and what is mapped of the files, too.
"""

import multiprocessing
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from tabulate import tabulate

import precall
from benchmarks import contenders
from benchmarks.measuring import extra_memory, peak_memory, samples

N = 50_000


def default_run(real, generated, k=None):
    """What the command line does by default, without headline, page and modes."""
    precall.evaluate(real, generated, headline=False, intervals=True)


def four(n):
    """MB beyond the arrays."""
    return extra_memory(contenders.precall_four, n, 64, 5)


def default(n):
    """MB beyond the arrays."""
    return extra_memory(default_run, n, 64, None)


def files(n, d=2048):
    """MB of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{side}.npy" for side in ("real", "generated")]
        for seed, path in enumerate(paths):
            rng = np.random.default_rng(seed)
            rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
            for start in range(0, n, 1000):
                rows[start : start + 1000] = rng.standard_normal((1000, d), dtype=np.float32)
            rows.flush()
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            return pool.apply(_from_files, (paths,))


def _from_files(paths):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these are few samples
        default_run(*samples(6000, 64))  # compiles
    threading.Thread(target=_tell, daemon=True).start()
    default_run(*paths)
    return peak_memory()


def _tell():
    """Print now and then how much it is by now."""
    began = time.perf_counter()
    while True:
        status = Path("/proc/self/status").read_text().splitlines()
        now = [line.split()[1] for line in status if line.startswith(("RssAnon", "RssFile"))]
        print(f"{time.perf_counter() - began:.0f} s:", *now, f"{peak_memory():.0f}", flush=True)
        time.sleep(10)


def table(n):
    """What runs from arrays take."""
    rows = [
        ["four scores, k = 5", f"{four(n):.0f}"],
        ["default run with intervals, without headline, page and modes", f"{default(n):.0f}"],
    ]
    return f"### Memory: n = m = {n}, d = 64\n\n" + tabulate(rows, ["", "extra MB"], "github")


PARTS = {"four": four, "default": default, "files": files}

if __name__ == "__main__":
    n = int(sys.argv[2]) if len(sys.argv) > 2 else N
    print(f"{sys.argv[1]}, n = m = {n}: {PARTS[sys.argv[1]](n):.0f} MB")
