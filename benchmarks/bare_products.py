"""What one unit takes: a bare product of single precision, as different kernels of OpenBLAS do it.

``python -m benchmarks.bare_products SAMPLES FEATURES`` prints the seconds of this process. Which
kernels OpenBLAS takes is decided when it is loaded, so that others need processes of their own.
"""

import os
import subprocess
import sys

import numpy as np
from tabulate import tabulate
from threadpoolctl import threadpool_info

from benchmarks.measuring import interleaved, samples

_CORE = "OPENBLAS_CORETYPE"  # set from outside it would slow down everything that is compared
_AVX2 = "Haswell"  # the name of kernels without AVX-512


def seconds(n, d, rounds=5):
    """Seconds of one product."""
    real, generated = samples(n, d)
    product = np.empty((n, n), np.float32)
    return interleaved({"": lambda: np.matmul(real, generated.T, out=product)}, rounds)[""]


def blas():
    """Name, version and kernels of NumPy's BLAS."""
    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    if not found:
        return "unknown"
    pool = found[0]
    kernels = f" ({pool['architecture']} kernels)" if "architecture" in pool else ""
    return f"{pool['internal_api']} {pool['version']}{kernels}"


def _elsewhere(n, d, core):
    environment = {name: value for name, value in os.environ.items() if name != _CORE}
    environment |= {_CORE: core} if core else {}
    command = [sys.executable, "-m", "benchmarks.bare_products", str(n), str(d)]
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return told.stdout.strip()


def table(n, features=(64, 2048)):
    """By the kernels that OpenBLAS chooses for this machine, and by those without AVX-512."""
    rows = [
        [name, *(_elsewhere(n, d, core) for d in features)]
        for name, core in (("chosen for this machine", ""), (f"AVX2 ({_CORE}={_AVX2})", _AVX2))
    ]
    headings = ["kernels of OpenBLAS", *(f"d = {d}: seconds" for d in features)]
    return f"### One unit: n = m = {n}\n\n" + tabulate(rows, headings, "github")


if __name__ == "__main__":
    print(f"{seconds(*map(int, sys.argv[1:])):.3f}")
