"""What goes wrong on a cluster: workers that die, tasks that fail, files that change, Ctrl-C."""

import json
import logging
import os
import re
import sys
from functools import partial

import cloudpickle
import numpy as np
import pytest
from distributed import Future
from distributed.comm import CommClosedError

import precall
from cluster_cases import Cutting, kill_a_worker, start, two_sets
from engine_cases import assert_same
from precall.data.feature_sets import FeatureSet, ReadFeatures, Rows
from precall.data.value_checks import ValueCheck
from precall.engines.cluster.engine import Cluster, as_bytes
from precall.engines.cluster.making import Making
from precall.engines.cluster.on_workers.workbench import clear_benches
from precall.engines.cluster.orders import HoldOrder
from precall.engines.cpu.engine import CpuEngine
from precall.engines.protocol import Balls, Meeting, Neighbors
from precall.version import __version__

pytestmark = pytest.mark.filterwarnings("default", "ignore::precall.PrecallWarning")  # Dask's own
cloudpickle.register_pickle_by_value(sys.modules[__name__])
QUICK = {"headline": False, "estimators": [precall.KNN(k=5)]}


@pytest.fixture
def client():
    client, cluster = start(2)
    with cluster, client:
        yield client


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two sets, in files."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "real").mkdir()
    real, generated = two_sets()
    for i, part in enumerate(np.array_split(real, 4)):
        np.save(folder / "real" / f"{i}.npy", part)
    np.save(folder / "generated.npy", generated)
    return folder / "real", folder / "generated.npy"


@pytest.fixture(scope="module")
def expected(saved):
    return precall.evaluate(*map(str, saved), engine="cpu", **QUICK)


def assert_equal(one, other):
    documents = [json.loads(result.to_json()) for result in (one, other)]
    for document in documents:
        del document["protocol"]
    assert documents[0] == documents[1]


@pytest.mark.parametrize("after", [0.3, 1.0])
@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_a_worker_is_killed(client, saved, expected, after, kind, caplog):
    given = saved if kind == "files" else two_sets()
    timer = kill_a_worker(client, after)
    with caplog.at_level(logging.WARNING, "precall.cluster"):
        found = precall.evaluate(*given, engine=Cutting(client, 600_000), **QUICK)
    timer.join()
    assert_equal(found, expected)
    if "left" in caplog.text:
        assert re.search(r"worker tcp://\S+ left; others do its pieces", caplog.text)


@pytest.mark.parametrize(("memory", "undivided"), [(600_000, 0), (10**8, 0), (10**8, 10**6)])
@pytest.mark.parametrize("after", [0.2, 1.0])
def test_a_worker_is_killed_while_rows_meet(
    client, expected, memory, undivided, after, monkeypatch
):
    """What was found in pieces is lost, and the rows that it was found with."""
    monkeypatch.setattr("precall.engines.cluster.own.groups._FEWEST_PRODUCTS", 10**5)
    monkeypatch.setattr("precall.engines.cluster.own.undivided._MOST_ROWS", undivided)
    timer = kill_a_worker(client, after)
    found = precall.evaluate(*two_sets(), engine=Cutting(client, memory), **QUICK)
    timer.join()
    assert_equal(found, expected)


def fail_once():
    from precall.engines.cluster import parts

    read = parts.FileSource.read

    def fail(self, *arguments):
        parts.FileSource.read = read
        raise OSError("the storage was away for a moment")

    parts.FileSource.read = fail


def test_a_worker_is_lost_while_something_is_sent(client, expected, monkeypatch, caplog):
    """Once on the way, it is sent again; always, the scheduler is lost."""
    scatter, failed = client.scatter, []

    def fail(*arguments, often=1, **options):
        if len(failed) < often:
            failed.append(arguments)
            raise CommClosedError("the stream is closed")
        return scatter(*arguments, **options)

    monkeypatch.setattr("precall.engines.cluster.gathering._BEFORE_SENDING_AGAIN", 0.01)
    monkeypatch.setattr(client, "scatter", fail)
    with caplog.at_level(logging.WARNING, "precall.cluster"):
        assert_equal(precall.evaluate(*two_sets(), engine=client, **QUICK), expected)
    assert "a worker was lost while an array was sent to it; it is sent again" in caplog.text
    monkeypatch.setattr(client, "scatter", partial(fail, often=99))
    with pytest.raises(precall.ClusterError, match=r"^the scheduler at tcp://\S+ was lost"):
        precall.evaluate(*two_sets(), engine=client, **QUICK)


def test_an_answer_is_lost_on_its_way(client, expected, monkeypatch):
    """It was there when its future was looked at, and is gone when it is asked for."""
    result, lost = Future.result, []

    def lose_first(future, *arguments, **options):
        if len(lost) < 3:
            lost.append(future.key)
            future.cancel(force=True)
        return result(future, *arguments, **options)

    monkeypatch.setattr(Future, "result", lose_first)
    assert_equal(precall.evaluate(*two_sets(), engine=client, **QUICK), expected)
    assert len(set(lost)) == 3


def test_rows_that_workers_have_lost_are_sent_again(client, monkeypatch):
    """Workers hold whole sets, and later orders come without them: to new workers, too."""
    monkeypatch.setattr("precall.engines.cluster.meetings._FEWEST_SCOUTS", 10)
    real, generated = map(Rows, two_sets(900, 700))
    around = np.full((1, 900), 20.0), np.full((1, 700), 25.0)
    meeting = Meeting(Balls(real, generated, *around), True, np.ones((1, 900)))
    asked = [Neighbors(generated, (real, generated), [3])]
    with CpuEngine().open(1, lambda n: None) as cpu:
        cpu.place(real, generated)
        expected, kth = cpu.relate([meeting])[0], cpu.kth(asked)[0]
    lacking = []
    monkeypatch.setattr(Making, "lacks", noted(Making.lacks, lacking))
    with Cluster(client).open(1, lambda n: None) as session:
        for is_lost in (False, False, True):
            if is_lost:
                client.run(clear_benches, session._name)
            assert_same(session.relate([meeting])[0], expected)
            assert bool(lacking) == is_lost
            if is_lost:
                client.run(clear_benches, session._name)
            np.testing.assert_array_equal(session.kth(asked)[0], kth)


def noted(method, calls):
    def call(*arguments, **options):
        calls.append(arguments)
        return method(*arguments, **options)

    return call


def test_an_order_for_one_worker_that_is_gone(client):
    """Others carry it out: a worker that never comes back is not waited for."""
    with Cluster(client).open(1, lambda n: None) as session:
        rows = Rows(two_sets()[0])
        session.place(rows)
        order, names = HoldOrder(session.sets.every_row()), list(session.gathering._sent)
        gone = sorted(session.gathering._workers)[0]
        client.retire_workers([gone], close_workers=True)

        def submit(i):
            return session.gathering.submit(
                order, names, session._terms(), worker=0, by_nobody_else=True
            )

        answers = []
        session.gathering.take(1, submit, lambda i, answer: answers.append(answer))
    assert answers == [()]


def test_nobody_waits_for_a_scheduler_that_is_lost(client, monkeypatch):
    asked = []
    session = Cluster(client).open(1, lambda n: None)
    monkeypatch.setattr(client, "run", lambda *arguments, **options: asked.append(arguments))
    monkeypatch.setattr(client, "status", "connecting")
    session.close()
    assert not asked


def test_a_task_that_fails_is_tried_again(client, saved, expected, caplog):
    client.run(fail_once)
    with caplog.at_level(logging.WARNING, "precall.cluster"):
        assert_equal(precall.evaluate(*saved, engine=client, **QUICK), expected)
    assert "a piece failed and is tried again: the storage was away for a moment" in caplog.text


@pytest.mark.parametrize("keeps_time", [False, True])
def test_a_file_that_changes_is_named(client, tmp_path, keeps_time):
    real, generated = two_sets(600, 500)
    paths = tmp_path / "real.npy", tmp_path / "generated.npy"
    for path, rows in zip(paths, (real, generated), strict=True):
        np.save(path, rows)
    with Cutting(client, 100_000).open(1, lambda n: None) as session:
        read = ReadFeatures.of(paths[0], "real", stays_in_files=True)
        features = FeatureSet.checked(read, session)
        assert features.fingerprint == FeatureSet.of(real, "real").fingerprint
        status = paths[0].stat()
        real[300] += 1
        np.save(paths[0], real)
        if keeps_time:
            os.utime(paths[0], ns=(status.st_atime_ns, status.st_mtime_ns))
        message = (
            f"{paths[0]} changed while it was read. Let nothing write to it, and run the same "
            "again."
        )
        with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
            session.total(features.rows)


def test_the_client_reads_no_set(client, saved, monkeypatch):
    from precall.data.stored.arrays import StoredArray

    rows, read = [], StoredArray.read

    def count(self, places):
        rows.append(len(places))
        return read(self, places)

    monkeypatch.setattr(StoredArray, "read", count)
    precall.evaluate(*saved, engine=client, **QUICK)
    assert sum(rows) < 100


def test_files_that_fsspec_opens(client, saved, expected):
    """By a URL, as object storage is: listed and read by workers, a range of bytes at a time."""
    assert_equal(
        precall.evaluate(*(f"file://{p}" for p in saved), engine=client, **QUICK), expected
    )


def other_version():
    from precall.engines.cluster import introductions

    introductions.__version__ = "0.0.1"


def test_another_version_is_refused_before_the_work_begins(client, saved):
    worker = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    client.run(other_version, workers=[worker])
    message = (
        f"worker {worker} has precall 0.0.1, this machine {__version__}. Install the same version "
        "everywhere."
    )
    with pytest.raises(precall.ClusterError, match=f"^{re.escape(message)}$"):
        precall.evaluate(*saved, engine=client, **QUICK)


def test_ctrl_c_leaves_the_cluster_usable(client, saved, expected):
    def interrupt(n_pairs):
        raise KeyboardInterrupt

    real = ReadFeatures.of(saved[0], "real", stays_in_files=True)
    engine = Cutting(client, 200_000)
    with engine.open(1, interrupt) as session, pytest.raises(KeyboardInterrupt):
        session.check_values(real.rows, ValueCheck("real"))
    assert not any(client.processing().values())
    assert_equal(precall.evaluate(*saved, engine=client, **QUICK), expected)


def test_too_little_memory_is_refused(client):
    message = (
        "workers may use 310 MB each, of which libraries take 280; at least 330 MB are needed. "
        "Start workers with more memory, or raise the limit."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        Cluster(client, memory="310 MB").open(1, print)


def test_sizes_are_read():
    assert [as_bytes(s) for s in (5, "700 MB", "2GiB", "1.5gb")] == [
        5,
        700_000_000,
        2**31,
        1_500_000_000,
    ]
    message = "memory='much' is no size; write it like '700 MB' or '2 GiB'."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        as_bytes("much")


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("precall.engines.cluster.connecting._CONNECT_WITHIN", 0.5)
    with pytest.raises(precall.ClusterError, match=r"^no scheduler answers at tcp://127.0.0.1:9: "):
        Cluster("tcp://127.0.0.1:9").open(1, print)
