"""Every engine that keeps the contract, and data that is unkind to it."""

import dataclasses

import numpy as np

from precall.data.feature_sets import FeatureSet
from precall.data.splits import NoSplit
from precall.engines.cpu.engine import CpuEngine
from precall.engines.cpu.kernel_choice import KERNELS, is_supported
from precall.engines.reference import ReferenceEngine
from precall.neighbors.statistics import ROLES, Ball, CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps
from precall.neighbors.tie_rules import TieRule
from toy_engine import ToyEngine

ENGINES = {
    **{
        f"cpu {name}": lambda name=name: CpuEngine(name)
        for name, kernel in KERNELS.items()
        if is_supported(kernel)
    },
    **{
        f"cpu {name}, direct": lambda name=name: CpuEngine(name, is_direct=True)
        for name, kernel in KERNELS.items()
        if is_supported(kernel)
    },
    "cpu, small chunks": lambda: CpuEngine(chunk=41),
    "reference, odd tiles": lambda: ReferenceEngine(query_tile=41, reference_tile=97),
    "toy": ToyEngine,
}


def measure(engine, fold, plan, threads=2, advance=lambda n_pairs: None):
    """What the driver finds with an engine."""
    with engine.open(threads, advance) as session:
        session.place(*(rows for s in (fold.real, fold.generated) for rows in (s.fit, s.evaluated)))
        (found,) = Sweeps(session).measure([Ask(fold, plan)])
    return found


def fold_of(real, generated, split=None):
    """The first fold of two arrays."""
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    return (split or NoSplit()).folds(*sets, seed=0)[0]


def own_balls(ks):
    return frozenset((role, k) for role in ROLES for k in ks)


def plan_for(fold, ks, rule=TieRule.CLOSED, offset=0.0):
    smallest = min(len(fold.real.fit), len(fold.generated.fit))
    ks = frozenset(k for k in ks if k < smallest)
    has_split = fold.real.fit is not fold.real.evaluated
    cross = CrossPlan(
        balls=own_balls(ks),
        nearest=True,
        soft=own_balls(ks),
        clipped=ks,
        realism=ks,
        realism_offset=offset,
        tie_rule=rule,
    )
    requests = frozenset((ball, k) for ball in Ball for k in ks)
    return NeighborPlan(requests, None if has_split else cross)


def assert_same(found, expected, path=""):
    """Equal to the bit; sums of logarithms to 1e-12 of what becomes of them."""
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            name = field.name
            assert_same(getattr(found, name), getattr(expected, name), f"{path}.{name}")
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for key, values in expected.items():
            assert_same(found[key], values, f"{path}[{key}]")
    elif expected is None:
        assert found is None, path
    elif "log_missed" in path:
        np.testing.assert_allclose(np.exp(found), np.exp(expected), 0, 1e-12, err_msg=path)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=path)


# Each takes a generator and a shape, and returns data that is unkind in its own way.
NASTY = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "offset 1e6": lambda rng, shape: rng.normal(size=shape) + 1e6,
    "scale 1e-41": lambda rng, shape: rng.normal(size=shape) * 1e-41,
    "scale 1e18": lambda rng, shape: rng.normal(size=shape) * 1e18,
    "scale 1e-130": lambda rng, shape: rng.normal(size=shape) * 1e-130,
    "duplicates": lambda rng, shape: rng.normal(size=shape)[rng.integers(0, 2, shape[0])],
    "one point": lambda rng, shape: np.full(shape, 0.1),
    "integer grid": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "tenths": lambda rng, shape: rng.integers(0, 10, shape) / 10,
    "outlier": lambda rng, shape: np.where(
        np.arange(shape[0])[:, None] == 0, 1e18, rng.normal(size=shape)
    ),
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "vanishing in float32": lambda rng, shape: 1.0 + rng.integers(0, 4, shape) * 2.0**-40,
    "nearly tied": lambda rng, shape: rng.integers(0, 3, shape) * (1 + 1e-15),
    "two scales": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape),
    "copies": lambda rng, shape: (
        rng.normal(size=shape)[rng.integers(0, 9, shape[0]) % shape[0]] + 0.1
    ),
    "far clusters": lambda rng, shape: (
        rng.normal(size=shape) + 1e4 * rng.integers(0, 5, (shape[0], 1))
    ),
    "tiny clusters": lambda rng, shape: (
        1e-9 * rng.normal(size=shape) + rng.integers(0, 2, (shape[0], 1))
    ),
    "some rows far": lambda rng, shape: (
        rng.normal(size=shape) * np.where(rng.random(shape[0]) < 0.05, 1e4, 1)[:, None]
    ),
    "heavy rows": lambda rng, shape: (
        rng.normal(size=shape) * np.abs(rng.standard_cauchy((shape[0], 1)))
    ),
    "lognormal": lambda rng, shape: rng.lognormal(0, 2, shape),
    "one large feature": lambda rng, shape: (
        rng.normal(size=shape) * np.where(np.arange(shape[1]) == 0, 1e4, 1)
    ),
    "low rank": lambda rng, shape: rng.normal(size=(shape[0], 1)) * np.arange(1.0, shape[1] + 1),
}
