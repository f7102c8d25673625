"""What the cluster engine takes: time beside the CPU engine, memory, and faults.

``python -m benchmarks.cluster overhead|scaling|features|neighbors|kills|lost-scheduler``. Results
are in ``benchmarks/cluster.md``.
"""

import argparse
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import dask
import numpy as np
import psutil
from distributed import Client, LocalCluster

import precall
from precall.engines.cluster.connecting import QUIET

WARM = 30_000  # rows: enough for every kind of order
FOUR = {"estimators": (), "scores": ["precision", "recall", "density", "coverage"]}


class Watch:
    """Largest resident memory of this process and of workers, and what workers spilled."""

    def __init__(self, client):
        self.client, self.peaks, self.spilled = client, {}, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _look(self):
        pids = {"client and scheduler": os.getpid()}
        for i, pid in enumerate(self.client.run(os.getpid).values()):
            pids[f"worker {i}"] = pid
        said = time.monotonic()
        while not self._over.wait(0.2):
            for name, pid in pids.items():
                rss = psutil.Process(pid).memory_info().rss / 1e6
                self.peaks[name] = max(self.peaks.get(name, 0), round(rss))
            for worker in self.client.scheduler_info(n_workers=-1)["workers"].values():
                spilled = worker["metrics"].get("spilled_bytes", {}).get("disk", 0)
                self.spilled = max(self.spilled, spilled)
            if time.monotonic() > said + 30:
                said = time.monotonic()
                print(self.peaks, self.spilled, file=sys.stderr, flush=True)


def local(n_workers, threads, **options):
    """Workers on this machine, as ``engine="dask"`` starts them."""
    with dask.config.set(QUIET):
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, dashboard_address=":0", **options
        )
    return Client(cluster), cluster


def timed(function):
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def write_shards(folder, n, d, n_shards, seed, shift):
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n_shards):
        path = folder / f"{i}.npy"
        if not path.exists():
            rng = np.random.default_rng((seed, i))
            rows = rng.standard_normal((n // n_shards, d), dtype=np.float32)
            np.save(path, rows + np.float32(shift))
    return str(folder)


def sets(n, d):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, d), dtype=np.float32) + s for s in np.float32([0, 0.1])]


def large(work, n, d, **options):
    """Sets in shards, two workers with 700 MB each."""
    real = write_shards(work / f"real-{n}-{d}", n, d, 10, 1, 0)
    generated = write_shards(work / f"generated-{n}-{d}", n, d, 10, 2, 0.02)
    client, cluster = local(2, 1, memory_limit="700MB")
    with client, cluster, Watch(client) as watch:
        seconds, result = timed(
            lambda: precall.evaluate(
                real, generated, engine=client, headline=False, progress=True, **options
            )
        )
    scores = {name: score.value for name, score in result.scores.items()}
    curves = {name: curve.median().precision for name, curve in result.curves.items()}
    told = {"seconds": round(seconds), "MB": watch.peaks, "spilled": watch.spilled}
    return told | scores | curves


def evaluated(real, generated, engine, options):
    return precall.evaluate(real, generated, headline=False, **engine, **options)


def beside_cpu(n, d, rounds, n_workers, threads, options):
    """Seconds of the cluster, of the CPU engine on as many threads, in turns."""
    real, generated = sets(n, d)
    client, cluster = local(n_workers, threads)
    with client, cluster:
        cpu = {"engine": "cpu", "threads": n_workers * threads}
        engines = {"engine": client}, cpu
        for engine in engines:
            evaluated(real[:WARM], generated[:WARM], engine, options)
        seconds, are_same = [], []
        for _ in range(rounds):
            taken, results = zip(
                *[
                    timed(lambda e=engine: evaluated(real, generated, e, options))
                    for engine in engines
                ],
                strict=True,
            )
            seconds.append(taken)
            are_same.append(same(*results))
    cluster_seconds, cpu_seconds = zip(*seconds, strict=True)
    return {"cluster": cluster_seconds, "cpu": cpu_seconds, "same": are_same}


def scaling(n, d, rounds, options):
    """Seconds with one worker, and with two, of one thread each, in turns.

    Of each cluster twice: the memory of a virtual machine may take long to come when first touched.
    """
    real, generated = sets(n, d)
    found = {1: [], 2: []}
    for _ in range(rounds):
        for n_workers, seconds in found.items():
            client, cluster = local(n_workers, 1)
            with client, cluster:
                engine = {"engine": client}
                evaluated(real[:WARM], generated[:WARM], engine, options)
                work = partial(evaluated, real, generated, engine, options)
                seconds.append([timed(work)[0] for _ in range(2)])
    ratios = np.divide(found[1], found[2])
    return found | {"ratio, first": ratios[:, 0].tolist(), "ratio, next": ratios[:, 1].tolist()}


def kills(moments, n=12000, d=64):
    """Kill a worker at random moments, of a new cluster each time; count results that differ."""
    real, generated = sets(n, d)
    options = {"headline": False}
    expected = precall.evaluate(real, generated, engine="cpu", **options)
    rng, outcomes = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("real", real), ("generated", generated)):
            np.save(f"{folder}/{name}.npy", rows)
        paths = f"{folder}/real.npy", f"{folder}/generated.npy"
        for i in range(moments):
            client, cluster = local(2, 1)
            with client, cluster:
                whole, _ = timed(lambda c=client: precall.evaluate(*paths, engine=c, **options))
                pid = next(iter(client.run(os.getpid).values()))
                delay = float(rng.uniform(0.05, 0.9)) * whole
                timer = threading.Timer(delay, os.kill, (pid, signal.SIGKILL))
                timer.start()
                given = paths if i % 2 else (real, generated)
                result = precall.evaluate(*given, engine=client, **options)
                timer.join()
            outcomes.append((round(delay, 2), round(whole, 2), same(result, expected)))
    return outcomes


def same(one, other):
    """Whether all numbers are equal to the bit."""
    documents = [json.loads(result.to_json()) for result in (one, other)]
    for document in documents:
        del document["protocol"]
    return documents[0] == documents[1]


COMMAND = """
import sys, json, logging, warnings
import precall
warnings.simplefilter("ignore")
logging.getLogger("distributed").setLevel(logging.CRITICAL)
if __name__ == "__main__":
    engine = precall.Cluster(sys.argv[3], checkpoint=sys.argv[4])
    result = precall.evaluate(sys.argv[1], sys.argv[2], engine=engine, headline=False)
    result.to_json(sys.argv[5])
"""


def start_cluster(folder):
    """A scheduler in a process of its own, and two workers."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    place = ["--scheduler-file", str(file)]
    scheduler = subprocess.Popen(
        [*dask, "scheduler", *place, "--port", "0", "--no-dashboard"], **quiet
    )
    command = [*dask, "worker", *place, "--nthreads", "1", "--no-dashboard", "--death-timeout", "5"]
    workers = [subprocess.Popen(command, **quiet, cwd=folder) for _ in range(2)]
    while True:
        try:
            return json.loads(file.read_text())["address"], scheduler, workers
        except (OSError, ValueError, KeyError):
            time.sleep(0.1)


def end(*processes):
    """Kill processes, and then their children: a nanny would start new ones."""
    for process in processes:
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):  # it saw that its parent is gone
                child.kill()


def lost_scheduler(moments, n=12000, d=64):
    """Kill the scheduler, start another, run the same again; count pieces computed twice."""
    outcomes, rng = [], np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        real, generated = sets(n, d)
        np.save(folder / "real.npy", real)
        np.save(folder / "generated.npy", generated)
        paths = [str(folder / "real.npy"), str(folder / "generated.npy")]
        expected = precall.evaluate(*paths, engine="cpu", headline=False)
        for i in range(moments):
            checkpoint, out = folder / f"checkpoint-{i}", folder / f"{i}.json"
            outcomes.append(_lose_once(folder, paths, checkpoint, out, rng))
            result = precall.Evaluation.from_json(out.read_text())
            outcomes[-1]["same"] = same(result, expected)
    return outcomes


def _lose_once(folder, paths, checkpoint, out, rng):
    address, scheduler, workers = start_cluster(folder)
    command = [sys.executable, "-c", COMMAND, *paths, address, str(checkpoint), str(out)]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wanted = int(rng.integers(1, 16))
    while len(list(checkpoint.glob("*.piece"))) < wanted and run.poll() is None:
        time.sleep(0.01)
    end(scheduler)
    _, said = run.communicate(timeout=180)
    end(*workers)
    before = {path.name: path.stat().st_mtime_ns for path in checkpoint.glob("*.piece")}
    address, scheduler, workers = start_cluster(folder)
    command[-3] = address
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    end(scheduler, *workers)
    after = {path.name: path.stat().st_mtime_ns for path in checkpoint.glob("*.piece")}
    twice = sum(after[name] != written for name, written in before.items())
    return {
        "finished before": len(before),
        "in all": len(after),
        "computed twice": twice,
        "said": said.strip().splitlines()[-1][:60] if said.strip() else "",
    }


def main():
    warnings.simplefilter("ignore")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    work = Path(tempfile.gettempdir()) / "precall-cluster"
    parser.add_argument("--work", type=Path, default=work)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    curve = {"estimators": [precall.KNN(k=632)], "scores": ()}
    found = {
        "features": lambda: large(given.work, given.rows, 2048, **FOUR),
        "neighbors": lambda: large(given.work, 400_000, 16, **curve),
        "overhead": lambda: beside_cpu(given.rows, 256, given.rounds, 2, 1, FOUR),
        "scaling": lambda: scaling(given.rows, 256, given.rounds, FOUR),
        "kills": lambda: kills(given.moments),
        "lost-scheduler": lambda: lost_scheduler(given.moments),
    }[given.what]()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
