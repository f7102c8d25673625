"""Without their libraries integrations say what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["torchmetrics", "lightning"])
@pytest.mark.parametrize("missing", ["torch", "library"])
def test_what_to_install(module, missing):
    library = "torch" if missing == "torch" else module
    if library != "torch":
        pytest.importorskip("torch")
    code = f"import sys; sys.modules[{library!r}] = None; import precall.integrations.{module}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stderr.splitlines()[-1] == (
        f"ImportError: precall.integrations.{module} needs {library}. Install it with: pip install "
        f"'precall[{module}]'"
    )


def test_precall_itself_imports_none_of_them():
    names = "precall.integrations.huggingface, precall.integrations.loggers"
    code = f"import sys, {names}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "torchmetrics", "lightning", "wandb", "mlflow"} & set(loaded)
