"""two_sample_test(): whether there is any difference at all."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows, check_same_features
from precall.data.splits import CrossFit, Split, as_split
from precall.errors import InputError, check_integer
from precall.estimators import Estimator, as_estimator
from precall.evaluation.evidence_pool import (
    Ratios,
    Sets,
    expected_work,
    plan_folds,
    pool_evidence,
)
from precall.neighbors.sweeps import Sweeps, open_sweeps
from precall.runtime.threads import single_threaded_libraries
from precall.uncertainty.two_sample import TwoSampleTest, accuracy, binomial_test


def two_sample_test(
    real: object,
    generated: object,
    *,
    estimator: str | Estimator = "classifier",
    split: bool | float | Split = CrossFit(5),  # noqa: B008 - immutable
    n_permutations: int = 99,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    progress: bool = False,
) -> TwoSampleTest:
    """Test whether real and generated are of the same distribution.

    After a single split the number of samples judged right is binomial. Over folds it is not: the
    labels are then permuted and everything is fitted again, which is what it costs.

    Parameters
    ----------
    real, generated, estimator, split, seed, engine, threads, progress
        As in :func:`precall.evaluate`; without a split there is no test.
    n_permutations
        Number of permutations over folds; the smallest p-value is 1/(1 + n_permutations).

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, generated = rng.normal(0, 1, (300, 8)), rng.normal(0.2, 1, (300, 8))
    >>> test = precall.two_sample_test(real, generated, split=True)
    >>> test.method, test.p_value < 0.01
    ('binomial', True)
    """
    chosen, settled = as_split(split), as_estimator(estimator)
    if not chosen.judges_unseen:
        raise InputError("a two-sample test needs samples that were not fitted; pass a split.")
    for name, value, least in (("n_permutations", n_permutations, 1), ("seed", seed, 0)):
        check_integer(name, value, least)
    if threads is not None:
        check_integer("threads", threads, 1)
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    with (
        open_sweeps(
            engine, rows=[side.rows for side in sets], threads=threads, progress=progress
        ) as sweeps,
        single_threaded_libraries(),  # asked for once, not by every classifier
    ):
        if chosen.is_single:
            with sweeps.placed(*sets):
                return binomial_test(_judge(sweeps, sets, settled, chosen, seed), seed)
        rows = np.concatenate([side.rows.tile(0, len(side)) for side in sets])
        sweeps.session.place(Rows(rows))
        rng = np.random.default_rng((seed, 1))
        permutations = [rng.permutation(len(rows)) for _ in range(n_permutations)]
        work = expected_work([settled.resolved(*map(len, sets))], chosen.folds(*sets, seed))
        sweeps.progress.announce((1 + n_permutations) * work)
        found, *permuted = (
            accuracy(_judge(sweeps, _dealt(sets, rows, order), settled, chosen, seed))
            for order in (np.arange(len(rows)), *permutations)
        )
    n_as_good = sum(value >= found for value in permuted)
    p_value = (1 + n_as_good) / (1 + n_permutations)
    return TwoSampleTest(found, p_value, "permutation", n_permutations)


def _dealt(sets: Sets, rows: NDArray[Any], order: NDArray[np.intp]) -> Sets:
    """Deal the samples of both sets out again."""
    parts = np.split(order, [len(sets[0])])
    real, generated = (
        replace(side, rows=Rows(rows, np.sort(part)))
        for side, part in zip(sets, parts, strict=True)
    )
    return real, generated


def _judge(sweeps: Sweeps, sets: Sets, estimator: Estimator, split: Split, seed: int) -> Ratios:
    """Return p/q at each sample that is evaluated in some fold."""
    resolved = estimator.resolved(*map(len, sets))
    for fold in split.folds(*sets, seed):
        resolved.check(fold)
    plans = plan_folds(sweeps, {"": resolved}, sets, split, seed)
    found = sweeps.measure([plan.ask for plan in plans])
    return pool_evidence(sweeps, {"": resolved}, sets, plans, found)[""].judged_ratios
