"""How long does the first call of all compile? In a process with nothing compiled before.

python -m benchmarks.cold_start [samples] [features].
Seconds of the first and of the second call, and what was compiled in between: how many functions,
and for how many combinations of types.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.event import Event, Listener, install_listener
from tabulate import tabulate

import precall
from benchmarks.measuring import samples

N, D = 6000, 64  # enough for every kernel of a default run
STAGES: dict[str, dict[str, Any]] = {"evaluation": {}, "with intervals": {"intervals": True}}


class Compiled(Listener):
    """Counts the signatures of each function of ours that is compiled."""

    def __init__(self) -> None:
        self.signatures: Counter[str] = Counter()

    def on_start(self, event: Event) -> None:
        pass

    def on_end(self, event: Event) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("precall."):
            self.signatures[f"{function.__module__}.{function.__name__}"] += 1


@contextmanager
def counted_signatures() -> Iterator[Counter[str]]:
    """How many signatures of each function are compiled in the meantime."""
    compiled = Compiled()
    with install_listener("numba:compile", compiled):
        yield compiled.signatures


def first_calls(n: int, d: int) -> list[tuple[str, float, float, Counter[str]]]:
    """Of each stage: seconds of the first call and of the second, and what was compiled."""
    real, generated = samples(n, d)
    rows = []
    for stage, options in STAGES.items():
        seconds = []
        with counted_signatures() as signatures:
            for _ in range(2):
                start = time.perf_counter()
                precall.evaluate(real, generated, headline=False, **options)
                seconds.append(time.perf_counter() - start)
        rows.append((stage, *seconds, signatures))
    return rows


def report(n: int, d: int) -> None:
    """Print a table, and what was compiled more than once."""
    found = first_calls(n, d)
    headers = ["", "first / s", "second / s", "functions", "signatures"]
    rows = [(*row[:3], len(row[3]), row[3].total()) for row in found]
    print(tabulate(rows, headers, floatfmt=".2f"))
    for stage, _, _, signatures in found:
        for name, times in signatures.items():
            if times > 1:
                print(f"{stage}: {times} signatures of {name}")


def with_nothing_compiled(*arguments: str) -> None:
    """Run this again, in a process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-m", "benchmarks.cold_start", *arguments, "--here"]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    if "--here" not in sys.argv:
        with_nothing_compiled(*sys.argv[1:])
    else:
        sizes = [int(argument) for argument in sys.argv[1:-1]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that these are few samples
            report(*sizes, *(N, D)[len(sizes) :])
