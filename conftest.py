"""Scripts of the site run when it is built, modules are read where their libraries are there."""

import sys
from importlib.util import find_spec

import pytest

collect_ignore_glob = ["docs/*.py"]
if not find_spec("torch"):
    collect_ignore_glob += ["src/precall/engines/gpu/*.py"]
if not find_spec("triton"):
    collect_ignore_glob += [f"src/precall/engines/gpu/{name}.py" for name in ("fused", "kernels")]
_integrations = "src/precall/integrations"
if not find_spec("torch"):
    collect_ignore_glob.append(f"{_integrations}/gathering.py")
if not find_spec("torchmetrics"):
    collect_ignore_glob.append(f"{_integrations}/torchmetrics.py")
if not (find_spec("torchmetrics") and find_spec("lightning")):
    collect_ignore_glob.append(f"{_integrations}/lightning.py")


@pytest.fixture(autouse=True)
def _close_pictures():
    """Examples open pictures, and nobody closes them."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
