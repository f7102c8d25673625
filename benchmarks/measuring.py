"""Time in interleaved rounds, and peak memory in a process of its own."""

import multiprocessing
import resource
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SETTLE = 0.15  # seconds: BLAS threads spin for a while after a product and hold a core


def samples(n, d):
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((n, d), dtype=np.float32) for _ in range(2))


def interleaved(functions, rounds):
    """Median seconds of each function, run in turns so that all see the same machine."""
    seconds = {name: [] for name in functions}
    for function in functions.values():
        function()  # compiles, warms up
    for _ in range(rounds):
        for name, function in functions.items():
            time.sleep(SETTLE)
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def extra_memory(function, n, d, k):
    """MB that ``function`` needed beyond its inputs and a warm start."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue, function, n, d, k))
    process.start()
    megabytes = queue.get()
    process.join()
    return megabytes


def _child(queue, function, n, d, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these are few samples
        function(*samples(300, d), k)  # imports and compiled kernels
    real, generated = samples(n, d)
    before = peak_memory()
    function(real, generated, k)
    queue.put(peak_memory() - before)


def peak_memory():
    """Peak resident memory in MB. (``ru_maxrss`` on Linux begins with that of the parent.)"""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
