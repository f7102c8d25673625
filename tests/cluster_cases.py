"""Small clusters on this machine, and engines that cut everything into small pieces."""

import os
import signal
import threading

import numpy as np
from distributed import Client, LocalCluster

from precall.engines.cluster.cut import Cut
from precall.engines.cluster.engine import Cluster


def start(n_workers, threads=1):
    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=threads, dashboard_address=":0", memory_limit="1GB"
    )
    return Client(cluster, set_as_default=False), cluster


class Cutting(Cluster):
    """Cuts questions as if workers had little memory, or were many."""

    def __init__(self, client, memory, n_workers=2, checkpoint=None):
        Cluster.__init__(self, client, checkpoint)
        self.__class__.cut = Cut(memory, n_workers)

    def open(self, threads, advance):
        session = Cluster.open(self, threads, advance)
        session.cut = self.cut
        return session


def kill_a_worker(client, after):
    """Kill one of the workers after a while; return who does it."""
    pid = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
    timer.start()
    return timer


def two_sets(n=3000, m=2600, d=24, seed=0):
    rng = np.random.default_rng(seed)
    real = rng.normal(size=(n, d)).astype(np.float32)
    return real, (rng.normal(size=(m, d)) + 0.2).astype(np.float32)
