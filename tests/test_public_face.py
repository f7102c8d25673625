import inspect
import subprocess
import sys

import precall


def test_all_is_sorted_and_complete():
    public = [
        name
        for name, value in vars(precall).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    ]
    assert sorted(precall.__all__) == sorted([*public, "__version__"])
    assert all(hasattr(precall, name) for name in precall.__all__)


def test_everything_public_is_documented():
    for name in precall.__all__:
        value = getattr(precall, name)
        if not isinstance(value, str):
            assert inspect.getdoc(value), name


def test_import_leaves_heavy_libraries_alone():
    heavy = {"numba", "matplotlib", "sklearn", "scipy.optimize", "torch", "pandas"}
    code = f"import sys, precall; print(*(set(sys.modules) & {heavy}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == ""
