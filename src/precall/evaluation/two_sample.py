"""Is there any difference at all? The accuracy of a classifier as a test (Lopez-Paz & Oquab 2017).

Where both distributions are the same, no classifier can do better than chance on samples that it
has not seen.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows, check_same_features
from precall.data.splits import CrossFit, NoSplit, Split, as_split
from precall.engines import choose_engine
from precall.errors import InputError, check_integer
from precall.estimators import Estimator, as_estimator
from precall.evaluation.weighing import Pool, Sets, Weigher
from precall.neighbors.statistics import NeighborPlan
from precall.runtime.progress import progress_bar, silent

__all__ = ["TwoSampleTest", "binomial_test", "two_sample_test"]

Floats = NDArray[np.float64]
Ratios = tuple[Floats, Floats]  # p/q of each evaluated real and generated sample


@dataclass(frozen=True, slots=True)
class TwoSampleTest:
    """Whether a classifier tells real from generated better than chance."""

    accuracy: float  # mean over both classes of the share judged right
    p_value: float  # chance of such an accuracy, or a better one, were P = Q
    method: Literal["binomial", "permutation"]
    n_permutations: int | None = None


def accuracy(ratios: Ratios) -> float:
    """Mean over both classes of the share on the right side of p = q."""
    real, generated = ratios
    return float((_right(real, real=True).mean() + _right(generated, real=False).mean()) / 2)


def binomial_test(ratios: Ratios, seed: int) -> TwoSampleTest:
    """Test on the evaluated samples of a single split: then the number judged right is binomial.

    Over several folds it is not: the classifiers of different folds share samples, and the test
    would reject true hypotheses too often. Where one class has more samples, a random subset of it
    takes part, so that chance is right half the time.
    """
    from scipy.stats import binomtest

    n = min(map(len, ratios))
    n_right = 0
    for values, real, rng in zip(
        ratios, (True, False), np.random.default_rng(seed).spawn(2), strict=True
    ):
        n_right += int(_right(rng.permutation(values)[:n], real=real).sum())
    p_value = float(binomtest(n_right, 2 * n, alternative="greater").pvalue)
    return TwoSampleTest(accuracy(ratios), p_value, "binomial")


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
    if isinstance(chosen, NoSplit):
        raise InputError("a two-sample test needs samples that were not fitted; pass a split.")
    for name, value, least in (("n_permutations", n_permutations, 1), ("seed", seed, 0)):
        check_integer(name, value, least)
    if threads is not None:
        check_integer("threads", threads, 1)
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    weigher = Weigher(choose_engine(engine), seed, threads)
    if not isinstance(chosen, CrossFit):
        return binomial_test(_judge(sets, settled, chosen, weigher), seed)
    rows = np.concatenate([side.rows.tile(0, len(side)) for side in sets])
    rng = np.random.default_rng((seed, 1))
    permuted = []
    with progress_bar(1 + n_permutations, shown=progress) as next_progress:
        found = accuracy(_judge(sets, settled, chosen, weigher))
        next_progress()(1, 1)
        for _ in range(n_permutations):
            order = rng.permutation(len(rows))
            parts = np.split(order, [len(sets[0])])
            dealt = [
                replace(side, rows=Rows(rows, np.sort(part)))
                for side, part in zip(sets, parts, strict=True)
            ]
            permuted.append(accuracy(_judge((dealt[0], dealt[1]), settled, chosen, weigher)))
            next_progress()(1, 1)
    n_as_good = sum(value >= found for value in permuted)
    p_value = (1 + n_as_good) / (1 + n_permutations)
    return TwoSampleTest(found, p_value, "permutation", n_permutations)


def _judge(sets: Sets, estimator: Estimator, split: Split, weigher: Weigher) -> Ratios:
    """Return p/q at each sample that is evaluated in some fold."""
    resolved = estimator.resolved(*map(len, sets))
    pool = Pool(sets)
    for number, fold in enumerate(split.folds(*sets, weigher.seed)):
        resolved.check(fold)
        weighed = weigher.weigh({"": resolved}, fold, number, NeighborPlan(), lambda: silent)
        pool.add(resolved, weighed.estimators[""], fold, weighed.evidence[""])
    real, generated = (ratios[~np.isnan(ratios)] for ratios in pool.likelihood_ratios)
    return real, generated


def _right(ratios: Floats, *, real: bool) -> Floats:
    """1 for each sample judged right, ½ where both are as likely."""
    judged_real = np.where(ratios == 1.0, 0.5, (ratios > 1.0).astype(np.float64))
    return judged_real if real else 1 - judged_real
