"""The same results before and after a change: ``python -m benchmarks.golden write|compare FOLDER``.

A few dozen evaluations through the public functions alone, so that any two versions of the source
can be compared. Curves, exact scores and tables of samples must be equal to the bit, Fréchet and
kernel distances to 1e-9, soft covers to 1e-12 and intervals to 1e-3 of their width.
"""

import argparse
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import precall

SOFT = ("probabilistic",)
DISTANCES = ("frechet", "kernel_distance")


def _pair(seed=0, n=500, m=450, d=6, shift=0.3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n, d)).astype(dtype), rng.normal(shift, 1.1, (m, d)).astype(dtype)


def _integers(seed=1, n=400, m=380, d=3):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (n, d)), rng.integers(-3, 5, (m, d))


def _copies(seed=2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 4))
    return rows[rng.integers(0, 60, 400)], rows[rng.integers(0, 50, 300)]


def _outlier(seed=3):
    real, generated = _pair(seed)
    generated[7] = 1e9
    return real, generated


def _clusters(seed=4, n=900):
    rng = np.random.default_rng(seed)
    places = rng.normal(0, 8, (6, 5))
    return (
        places[rng.integers(0, 6, n)] + rng.normal(size=(n, 5)),
        places[rng.integers(0, 5, n)] + rng.normal(size=(n, 5)),
    )


def _memory_mapped():
    folder = Path(tempfile.mkdtemp())
    paths = []
    for name, rows in zip(("real", "generated"), _pair(5, dtype=np.float32), strict=True):
        paths.append(folder / f"{name}.npy")
        np.save(paths[-1], rows)
    return tuple(paths)


def _labels(n, seed):
    return np.random.default_rng(seed).integers(0, 3, n)


def _evaluations() -> dict[str, Callable[[], object]]:
    e = precall.evaluate
    every = ["ipr", "coverage", "knn", "parzen", "classifier", "clusters"]
    splits = {
        "none": False,
        "half": True,
        "third": 0.3,
        "cross-fit 3": precall.CrossFit(3),
        "coin": precall.CoinFlip(),
        "repeated": precall.RepeatedHoldOut(3),
    }
    data = {
        "float32": lambda: _pair(dtype=np.float32),
        "mixed": lambda: (_pair()[0].astype(np.float32), _pair()[1]),
        "integers": _integers,
        "copies": _copies,
        "outlier": _outlier,
        "clusters": _clusters,
        "mapped": _memory_mapped,
        "wide": lambda: _pair(6, 300, 350, 400, 0.1, np.float32),
        "offset": lambda: tuple(rows + 1e6 for rows in _pair(7)),
        "one feature": lambda: _pair(8, d=1),
        "large": lambda: _pair(9, 2600, 2300, 12, 0.2, np.float32),
    }
    cases = {f"data {name}": lambda f=f: e(*f(), scores="all") for name, f in data.items()}
    cases |= {
        f"data {name}, intervals": lambda f=f: e(*f(), scores="all", intervals=True)
        for name, f in data.items()
    }
    cases |= {
        f"split {name}": lambda s=s: e(*_pair(), split=s, estimators=every)
        for name, s in splits.items()
        if s
    }
    cases["split none"] = lambda: e(*_pair(), split=False, estimators=["knn", "ipr", "clusters"])
    for convention in (
        "prdc", "kynkaanniemi", "torch-fidelity", "guided-diffusion", "eas", "prc-authors",
    ):  # fmt: skip
        for name in ("float32", "integers"):
            cases[f"convention {convention}, {name}"] = lambda c=convention, f=data[name]: e(
                *f(), convention=c, estimators=(), scores="all"
            )
    cases |= {
        "k cv": lambda: e(*_pair(), estimators=[precall.KNN(k="cv"), precall.IPR(k="cv")]),
        "k 4": lambda: e(*_pair(), estimators=[precall.KNN(k=4), precall.KNN(k=9), "parzen"]),
        "several k": lambda: e(*_pair(), scores="all", score_k=[1, 3, 10], intervals=True),
        "labels": lambda: e(
            *_pair(), labels_real=_labels(500, 1), labels_generated=_labels(450, 2), intervals=True
        ),
        "labels of one side": lambda: e(*_pair(), labels_real=_labels(500, 1)),
        "ceiling": lambda: e(*_pair(), ceiling=True, scores="all"),
        "held out": lambda: e(*_pair(), ceiling=_pair(11)[0]),
        "modes": lambda: e(*_clusters(), modes="auto", intervals=True),
        "no curves": lambda: e(*_pair(), estimators=(), intervals=True, confidence=0.9),
        "no scores": lambda: e(*_pair(), scores=()),
        "one thread": lambda: e(*_pair(), threads=1, intervals=True, scores="all"),
        "reference": lambda: e(*_pair(n=200, m=180), engine="reference", scores="all"),
        "reference, intervals": lambda: e(
            *_pair(n=200, m=180), engine="reference", scores="all", intervals=True
        ),
        "compare": lambda: precall.compare(
            _clusters()[0], {"a": _clusters()[1], "b": _clusters(12)[0]}, modes="auto"
        ),
        "compare all scores": lambda: precall.compare(
            _pair()[0], {"a": _pair()[1], "b": _pair(13)[1][:400]}, subsample=True, scores="all"
        ),
        "few": lambda: e(*_pair(n=20, m=17), intervals=True, scores="all"),
        "trained": lambda: e(
            *_pair(), estimators=["classifier:best", "classifier:kernel"], split=precall.CrossFit(2)
        ),
    }
    cases["split half, tests"] = lambda: e(*_pair(), split=True, estimators=["classifier", "knn"])
    return cases


def _others() -> dict[str, Callable[[], object]]:
    return {
        "frechet": lambda: precall.frechet_distance(*_pair()),
        "find_modes": lambda: [repr(mode) for mode in precall.find_modes(*_clusters())],
        "two-sample": lambda: repr(
            precall.two_sample_test(*_pair(n=80, m=80), estimator="knn", n_permutations=9)
        ),
        "two-sample, half": lambda: repr(precall.two_sample_test(*_pair(), split=True)),
    }


def _as_document(found: object) -> object:
    if isinstance(found, precall.Evaluation | precall.Comparison):
        document = json.loads(found.to_json())
        models = found.results if isinstance(found, precall.Comparison) else {"": found}
        document["samples"] = {
            f"{name} {side}": {
                column: [value if not _is_odd(value) else repr(value) for value in values.tolist()]
                for column, values in getattr(result.samples, side).columns.items()
            }
            for name, result in models.items()
            if result.samples is not None
            for side in ("real", "generated")
        }
        document["diagnosis"] = {name: result.diagnosis() for name, result in models.items()}
        return document
    return found


def _is_odd(value):
    return isinstance(value, float) and not math.isfinite(value)


def _produce(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in {**_evaluations(), **_others()}.items():
        (folder / f"{name}.json").write_text(json.dumps(_as_document(make())), encoding="utf-8")
        print(".", end="", flush=True)
    print()


def _differences(path, old, new, found):
    """Collect (path, old, new, kind) wherever two documents differ beyond what is allowed."""
    if path.endswith(("/call", "/engine", "/versions", "/fingerprints", "/sources")):
        return
    if "/interval" in path or "/summaries/" in path:
        _compare_interval(path, old, new, found)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if (key in old) != (key in new):
                found.append((f"{path}/{key}", old.get(key, "absent"), new.get(key, "absent")))
            else:
                _differences(f"{path}/{key}", old[key], new[key], found)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            _differences(f"{path}/{i}", a, b, found)
    elif old != new and not _is_allowed(path, old, new):
        found.append((path, old, new))


def _compare_interval(path, old, new, found):
    if old is None or new is None or not isinstance(old, list):
        if old != new:
            found.append((path, old, new))
        return
    width = max(abs(old[1] - old[0]), 1e-12)
    if max(abs(a - b) for a, b in zip(old, new, strict=True)) > 1e-3 * width:
        found.append((path, old, new))


def _is_allowed(path, old, new):
    if not (isinstance(old, float) and isinstance(new, float)):
        return False
    if any(word in path for word in SOFT):
        return abs(old - new) <= 1e-12
    if any(word in path for word in DISTANCES) or path.startswith("/differences/"):
        return abs(old - new) <= 1e-9 * max(abs(old), abs(new))
    return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.action == "write":
        _produce(arguments.folder)
        return
    n_different = 0
    for name, make in {**_evaluations(), **_others()}.items():
        if arguments.only not in name:
            continue
        found: list = []
        try:
            new = json.loads(json.dumps(_as_document(make())))
        except Exception as error:
            found.append((type(error).__name__, str(error)[:300], ""))
        else:
            old = json.loads((arguments.folder / f"{name}.json").read_text(encoding="utf-8"))
            _differences("", old, new, found)
        if found:
            n_different += 1
            print(f"\n{name}: {len(found)} differences")
            for path, old, new in found[:6]:
                print(f"  {path}: {str(old)[:160]} -> {str(new)[:160]}")
        else:
            print(".", end="", flush=True)
    print(f"\n{n_different} cases differ")
    sys.exit(n_different > 0)


if __name__ == "__main__":
    main()
