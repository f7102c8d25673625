"""The examples of docs/training-loop.md that need torch, one after the other."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchmetrics")
pytest.importorskip("lightning")

PAGE = Path(__file__).parents[2] / "docs" / "training-loop.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with_torch = [block for block in blocks if ">>>" not in block]
    assert len(with_torch) == 4
    exec(compile("\n".join(with_torch), str(PAGE), "exec"), {"__name__": "example"})  # noqa: S102
    assert (tmp_path / "epoch-1.json").exists()
    assert list(tmp_path.rglob("watch.html"))
