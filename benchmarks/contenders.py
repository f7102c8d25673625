"""Ways to the same four numbers: precision, recall, density and coverage at one k.

Each takes real, generated (float32, n × d) and k. Peers that are not installed are left out.
"""

import contextlib
import importlib.util
import io
import os

import numpy as np

import precall
from precall.data.feature_sets import FeatureSet
from precall.data.splits import NoSplit
from precall.engines.cpu.engine import CpuEngine
from precall.neighbors.statistics import CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps
from precall.runtime.threads import n_threads
from precall.scores import METRICS

NEIGHBOR_SCORES = [
    name for name in METRICS if not name.endswith("distance") and "probabilistic" not in name
]
BLOCK = 2000  # rows that the blocked peers compare at a time


def unit(real, generated, k, out=None):
    """One n × m × d product of single precision: what looks like the floor."""
    return np.matmul(real, generated.T, out=out)


def precall_four(real, generated, k, threads=None):
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    (fold,) = NoSplit().folds(*sets, seed=0)
    plan = NeighborPlan(cross=CrossPlan(balls=frozenset({("real", k), ("generated", k)})))
    with CpuEngine().open(n_threads(threads), lambda n_pairs: None) as session:
        session.place(*(side.rows for side in sets))
        (found,) = Sweeps(session).measure([Ask(fold, plan)])
    real_side, generated_side = found.cross.real, found.cross.generated
    return {
        "precision": (generated_side.held_by[k] > 0).mean(),
        "recall": (real_side.held_by[k] > 0).mean(),
        "density": generated_side.held_by[k].mean() / k,
        "coverage": (real_side.holds[k] > 0).mean(),
    }


def four_curves(real, generated, split, scores=None, score_k=None):
    """All four curves at k = √n, and scores: the default ones unless others are named."""
    choices = {"split": split, "scores": scores, "score_k": score_k, "headline": False}
    precall.evaluate(real, generated, **choices)


def prdc(real, generated, k):
    from prdc import compute_prdc

    with contextlib.redirect_stdout(io.StringIO()):
        return compute_prdc(real, generated, k)


def scikit_learn(real, generated, k):
    """Brute-force neighbours: radii, and counts within them."""
    from sklearn.neighbors import NearestNeighbors

    real_index = NearestNeighbors(algorithm="brute", n_jobs=-1).fit(real)
    generated_index = NearestNeighbors(algorithm="brute", n_jobs=-1).fit(generated)
    real_radii = real_index.kneighbors(n_neighbors=k)[0][:, -1]
    generated_radii = generated_index.kneighbors(n_neighbors=k)[0][:, -1]
    return _four(_blocks_of_numpy(real, generated), real_radii, generated_radii, k)


def torch_fidelity_way(real, generated, k):
    """Blocked ``torch.cdist`` and ``kthvalue``, as torch-fidelity does it."""
    import torch

    x, y = torch.from_numpy(real), torch.from_numpy(generated)

    def radii(rows):
        return torch.cat([torch.cdist(b, rows).kthvalue(k + 1).values for b in rows.split(BLOCK)])

    blocks = ((torch.cdist(b, y)).numpy() for b in x.split(BLOCK))
    return _four(blocks, radii(x).numpy(), radii(y).numpy(), k)


def faiss_flat(real, generated, k):
    """An exact flat index for the radii."""
    import faiss

    def radii(rows):
        index = faiss.IndexFlatL2(rows.shape[1])
        index.add(rows)
        return np.sqrt(index.search(rows, k + 1)[0][:, -1])

    return _four(_blocks_of_numpy(real, generated), radii(real), radii(generated), k)


def _blocks_of_numpy(real, generated):
    squares = (generated**2).sum(axis=1)
    for start in range(0, len(real), BLOCK):
        block = real[start : start + BLOCK]
        squared = (block**2).sum(axis=1)[:, None] + squares - 2 * block @ generated.T
        yield np.sqrt(np.maximum(squared, 0))


def _four(blocks, real_radii, generated_radii, k):
    held, start = np.zeros(len(generated_radii), int), 0
    recalled, covered = [], []
    for distances in blocks:
        inside = distances <= real_radii[start : start + len(distances), None]
        held += inside.sum(axis=0)
        covered.append(inside.any(axis=1))
        recalled.append((distances <= generated_radii).any(axis=1))
        start += len(distances)
    return {
        "precision": (held > 0).mean(),
        "recall": np.concatenate(recalled).mean(),
        "density": held.mean() / k,
        "coverage": np.concatenate(covered).mean(),
    }


def installed_peers():
    """Peers that can run here, by name."""
    peers = {
        "prdc 0.2": ("prdc", prdc),
        "torch-fidelity way": ("torch", torch_fidelity_way),
        "scikit-learn": ("sklearn", scikit_learn),
        "faiss-cpu": ("faiss", faiss_flat),
    }
    return {
        name: function
        for name, (module, function) in peers.items()
        if importlib.util.find_spec(module) is not None
    }


def n_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
