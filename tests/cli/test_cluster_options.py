"""--cluster, --checkpoint and --worker-memory."""

import json
import subprocess
import sys

import numpy as np
import pytest


def run(*arguments):
    command = [sys.executable, "-m", "precall", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def paths(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("real", "generated"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(300, 4)))
    return tmp_path / "real.npy", tmp_path / "generated.npy"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--checkpoint", "c"], "--checkpoint is for a cluster; name one with --cluster."),
        (["--worker-memory", "1GB"], "--worker-memory is for a cluster; name one with --cluster."),
        (
            ["--engine", "cpu", "--cluster", "local"],
            "--engine cannot be combined with --cluster.",
        ),
    ],
)
def test_options_that_need_a_cluster(paths, options, message):
    done = run("evaluate", *paths, *options)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
def test_a_cluster_on_this_machine(paths, tmp_path):
    """The same numbers; a second run with the same folder, and a refusal with another seed."""
    short = ["--no-headline", "--no-intervals", "--no-modes", "--quiet", "--json"]
    cluster = ["--cluster", "local", "--checkpoint", tmp_path / "c", "--threads", "2"]
    results = []
    for i, options in enumerate(([], cluster, cluster)):
        done = run("evaluate", *paths, *options, *short, tmp_path / f"{i}.json")
        assert done.returncode == 0, done.stderr
        document = json.loads((tmp_path / f"{i}.json").read_text())
        assert document.pop("protocol")["engine"] == ("dask" if options else "cpu")
        results.append(document)
    assert results[0] == results[1] == results[2]
    done = run("evaluate", *paths, *cluster, "--seed", "1", *short, tmp_path / "3.json")
    assert done.returncode == 2
    assert "is of other inputs or choices: seed is 0 there, 1 now." in done.stderr
