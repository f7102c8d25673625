"""Networks that others wrote, of which parts can be used without torchvision."""

import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest


def without_its_start(package):
    """Import parts of a package without what its __init__ imports."""
    spec = find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed")
    module = types.ModuleType(package)
    module.__path__ = [str(Path(spec.origin).parent)]
    return module


@pytest.fixture
def torch_fidelity(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "torch_fidelity", without_its_start("torch_fidelity"))


@pytest.fixture
def torch():
    return pytest.importorskip("torch")
