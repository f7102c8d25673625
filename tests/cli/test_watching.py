"""The command watch."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import precall
from precall.cli import main

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(size=(2, 100, 3))


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["precall", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(REAL, GENERATED, estimators=["knn"], scores=["recall"], intervals=True)


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["timeLine"]


def test_once_writes_the_page_and_says_what_it_says(run, result, tmp_path):
    for epoch in (2, 10, 1):
        result.to_json(tmp_path / f"epoch-{epoch}.json")
    (tmp_path / "broken.json").write_text("no JSON")
    code, out, err = run("watch", tmp_path, "--once", "--title", "My <model>")
    assert (code, err) == (0, "")
    assert out.startswith("Highest area of the knn curve: epoch-1\nRecall is highest at epoch-1 (")
    assert out.endswith(f"page: {tmp_path / 'watch.html'}\n")
    page = tmp_path / "watch.html"
    assert "<title>My &lt;model&gt;</title>" in page.read_text(encoding="utf-8")
    assert "broken.json: this is not a JSON document" in page.read_text(encoding="utf-8")
    data = data_of(page)
    assert data["labels"] == ["epoch-1", "epoch-2", "epoch-10"]
    assert data["refreshSeconds"] is None


def test_nothing_to_watch(run, tmp_path):
    code, out, err = run("watch", tmp_path, "--once")
    assert (code, out) == (2, "")
    assert err == f"precall: there are no results (.json) in {tmp_path}.\n"
    (tmp_path / "a.json").write_text("[]")
    _, _, err = run("watch", tmp_path, "--once")
    assert "; a.json: this is not a result of precall: expected a JSON object." in err
    code, _, err = run("watch", tmp_path / "none", "--once")
    assert code == 2


@pytest.mark.slow
def test_it_follows_until_it_is_interrupted(result, tmp_path):
    result.to_json(tmp_path / "epoch-1.json")
    command = [sys.executable, "-m", "precall", "watch", str(tmp_path), "--every", "0.2"]
    page = tmp_path / "watch.html"
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        _wait_for(lambda: page.exists() and len(data_of(page)["labels"]) == 1)
        assert data_of(page)["refreshSeconds"] == 0.2
        result.to_json(tmp_path / "epoch-2.json")
        _wait_for(lambda: len(data_of(page)["labels"]) == 2)
    finally:
        watching.send_signal(signal.SIGINT)
        out, _ = watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert out.endswith("stopped\n")
    assert data_of(page)["refreshSeconds"] is None  # nobody writes it any more
    assert {path.name for path in tmp_path.iterdir()} == {
        "epoch-1.json", "epoch-2.json", "watch.html"
    }  # fmt: skip


def _wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
