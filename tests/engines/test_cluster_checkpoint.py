"""Finished pieces on disk: found again, never believed when damaged, refused for other work."""

import re

import numpy as np
import pytest

import precall
from cluster_cases import start, two_sets
from engine_cases import assert_same, fold_of, measure, plan_for
from precall.engines.cluster.checkpoint import Checkpoint
from precall.engines.cluster.engine import Cluster
from precall.engines.cpu.engine import CpuEngine

pytestmark = pytest.mark.filterwarnings("default", "ignore::precall.PrecallWarning")  # Dask's own
PIECE = np.arange(6.0).reshape(2, 3), np.array([True, False]), np.array([[1], [2]])


@pytest.fixture(scope="module")
def client():
    client, cluster = start(2)
    with cluster, client:
        yield client


@pytest.fixture
def kept(tmp_path):
    checkpoint = Checkpoint(str(tmp_path / "checkpoint"))
    checkpoint.settle({"seed": 0}, {"memory": 5, "n_workers": 2})
    checkpoint.save("a" * 40, PIECE)
    return checkpoint, tmp_path / "checkpoint" / f"{'a' * 40}.piece"


def test_a_piece_comes_back(kept):
    for found, saved in zip(kept[0].load("a" * 40), PIECE, strict=True):
        np.testing.assert_array_equal(found, saved)
        assert found.dtype == saved.dtype
    assert kept[0].load("b" * 40) is None
    assert kept[0].count() == 1


def flip(data):
    data[-1] ^= 1
    return data


FORGERIES = {
    "a flipped bit": flip,
    "truncated": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "empty": lambda data: b"",
    "head only": lambda data: data[: data.index(b"\n") + 1],
    "no head": lambda data: data[data.index(b"\n") + 1 :],
    "pickled": lambda data: b"\x80\x04." + data,
    "objects": lambda data: data.replace(b'"float64"', b'"object"'),
    "another shape": lambda data: data.replace(b"[2, 3]", b"[3, 2, 9]"),
    "negative": lambda data: data.replace(b"[2, 3]", b"[-2, -3]"),
    "huge": lambda data: data.replace(b"[2, 3]", b"[99999999999, 3]"),
    "another order": lambda data: data.replace(b"a" * 40, b"b" * 40),
    "another format": lambda data: data.replace(b'"format": 1', b'"format": 2'),
    "a list": lambda data: b"[1, 2]\n" + data,
    "deep": lambda data: b"[" * 60000 + b"\n" + data,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_pieces_are_not_believed(kept, name):
    checkpoint, path = kept
    path.write_bytes(bytes(FORGERIES[name](bytearray(path.read_bytes()))))
    assert checkpoint.load("a" * 40) is None


def test_other_work_is_refused(kept):
    checkpoint, path = kept
    assert checkpoint.settle({"seed": 0}, {"memory": 7, "n_workers": 9}) == {
        "memory": 5,
        "n_workers": 2,
    }
    message = (
        f"checkpoint={checkpoint.folder!r} is of other inputs or choices: seed is 0 there, 1 now. "
        "Name another folder, or delete this one."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        checkpoint.settle({"seed": 1}, {})
    (path.parent / "checkpoint.json").write_text("[")
    with pytest.raises(precall.InputError, match=r"checkpoint.json is damaged; delete the folder"):
        checkpoint.settle({"seed": 0}, {})


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("…")
    message = f"checkpoint={str(tmp_path)!r} holds other files; name a new one."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        Checkpoint(str(tmp_path)).settle({}, {})


def test_the_next_run_computes_nothing_again(client, tmp_path):
    """But for pieces that were damaged, swapped, or whole but of another shape."""
    fold = fold_of(*two_sets(600, 500))
    plan = plan_for(fold, {1, 4})
    expected = measure(CpuEngine(), fold, plan)
    engine = Recording(client, tmp_path / "checkpoint")
    assert_same(measure(engine, fold, plan), expected)
    names = {path.name for path in (tmp_path / "checkpoint").glob("*.piece")}
    assert len(engine.last.computed) == len(names) > 20
    first, second, third, other, *_ = sorted((tmp_path / "checkpoint").glob("*.piece"))
    first.write_bytes(first.read_bytes()[:-8])
    second.write_bytes(third.read_bytes())
    other.unlink()
    Checkpoint(str(tmp_path / "checkpoint")).save(other.stem, PIECE)
    again = Recording(client, tmp_path / "checkpoint")
    assert_same(measure(again, fold, plan), expected)
    assert sorted(again.last.computed) == sorted([first.stem, second.stem, other.stem])
    assert len(again.last.found) == len(names) - 3


class Recording(Cluster):
    """Remembers what workers have reported."""

    def __init__(self, client, checkpoint):
        Cluster.__init__(self, client, checkpoint)

    def open(self, threads, advance):
        session = Cluster.open(self, threads, advance)
        session.begin({})
        type(self).last = session.gathering
        return session


@pytest.mark.slow
def test_a_scheduler_is_lost():
    """The error says so; the same call goes on from the pieces that are finished."""
    from benchmarks.cluster import lost_scheduler

    (outcome,) = lost_scheduler(1, n=3000, d=24)
    assert outcome["same"]
    assert outcome["computed twice"] == 0
    assert 0 < outcome["finished before"] < outcome["in all"]
    assert re.match(r"precall.errors.ClusterError: the scheduler at tcp://", outcome["said"])
