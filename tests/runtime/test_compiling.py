"""Kernels find a place to be kept, and whoever waits for them is told."""

import os
import subprocess
import sys

import pytest
from numba import njit

from precall.runtime.compiling import announced_compiling, compiling, helper
from precall.runtime.compiling import njit as njit_of_ours
from precall.runtime.progress import Progress

KEEP_ONE = """
import sys
from numba.core import caching

caching.CacheImpl._locator_classes = [caching.UserProvidedCacheLocator]  # no folder can be written
if sys.argv[1] == "nowhere":
    import tempfile
    def gettempdir():
        raise FileNotFoundError("no usable temporary directory")
    tempfile.gettempdir = tempfile.mkdtemp = lambda *_, **__: gettempdir()

import numpy as np
import precall.data._row_hash_kernel  # decorated when it is imported
from precall.data.feature_sets import FeatureSet
from precall.runtime import compiling
import numba

print(FeatureSet.of(np.eye(3), "real").fingerprint, compiling._CAN_KEEP, numba.config.CACHE_DIR)
"""


def run(*arguments, **environment):
    command = [sys.executable, "-c", KEEP_ONE, *arguments]
    env = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    env |= environment
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    return done.stdout.rstrip("\n").split(" ")


def test_a_private_folder_where_no_other_can_be_written(tmp_path):
    fingerprint, can_keep, folder = run("somewhere", TMPDIR=str(tmp_path))
    assert can_keep == "True"
    (kept,) = tmp_path.iterdir()
    assert folder == str(kept)
    assert kept.stat().st_mode & 0o077 == 0
    assert any(path.suffix == ".nbi" for path in kept.rglob("*"))
    assert run("somewhere", TMPDIR=str(tmp_path))[0] == fingerprint


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path):
    open_to_all = tmp_path / f"precall-kernels-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    _, can_keep, folder = run("somewhere", TMPDIR=str(tmp_path))
    assert can_keep == "True"
    assert folder != str(open_to_all)
    assert not any(open_to_all.iterdir())


def test_nothing_is_kept_where_nothing_can_be(tmp_path):
    fingerprint, can_keep, folder = run("nowhere")
    assert can_keep == "False"
    assert folder == ""
    assert fingerprint == run("somewhere", TMPDIR=str(tmp_path))[0]


def test_compiling_is_announced():
    said = []
    progress = Progress(lambda share, doing: said.append(doing))
    progress.doing("comparing samples")

    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) + 1

    with announced_compiling(progress):
        assert outer(1) == 3
        assert outer(1) == 3
    assert said == [
        "comparing samples",
        "compiling kernels, once on this machine",
        "comparing samples",
    ]


def test_other_compilers_are_announced_too():
    said = []
    progress = Progress(lambda share, doing: said.append(doing))
    progress.doing("comparing samples")
    with announced_compiling(progress), compiling(), compiling():
        pass
    with compiling():  # nobody listens any more
        pass
    assert said == [
        "comparing samples",
        "compiling kernels, once on this machine",
        "comparing samples",
    ]


def test_helpers_run_in_python_as_they_are():
    @helper()
    def twice(x):
        return 2 * x

    @njit_of_ours()
    def four_times(x):
        return twice(twice(x))

    assert twice([1]) == [1, 1]  # which no compiled function would return
    assert four_times(1.5) == 6.0
    assert twice([1]) == [1, 1]
    assert twice("a") == "aa"


COUNT_SIGNATURES = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
import precall

rng = np.random.default_rng(0)
real, generated = (rng.normal(size=(1500, 16)).astype(np.float32) for _ in range(2))
precall.evaluate(real, generated, headline=False, intervals=True)
kernels = {
    value
    for name, module in list(sys.modules.items()) if name.startswith("precall")
    for value in vars(module).values() if isinstance(value, Dispatcher)
}
print(sum(bool(kernel.signatures) for kernel in kernels))
print(*(kernel.py_func.__qualname__ for kernel in kernels if len(kernel.signatures) > 1))
"""


@pytest.mark.slow
def test_a_default_evaluation_compiles_every_kernel_once(tmp_path):
    """Types that differ without need (int32 and int64, strides, precision) cost seconds each."""
    command = [sys.executable, "-W", "ignore", "-c", COUNT_SIGNATURES]
    nothing_compiled = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=nothing_compiled)
    n_compiled, several = done.stdout.split("\n")[:2]
    assert int(n_compiled) >= 8
    assert several == ""
