"""Is there any difference at all? The accuracy of a classifier as a test (Lopez-Paz & Oquab 2017).

Where both distributions are the same, no classifier can do better than chance on samples that it
has not seen.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ratios = tuple[Floats, Floats]  # p/q of each evaluated real and generated sample


@dataclass(frozen=True, slots=True)
class TwoSampleTest:
    """Whether a classifier tells real from generated better than chance.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, generated = rng.normal(0, 1, (300, 4)), rng.normal(1, 1, (300, 4))
    >>> test = precall.two_sample_test(real, generated, split=True)
    >>> test.p_value < 0.001, test.accuracy > 0.7, test.method
    (True, True, 'binomial')
    """

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


def _right(ratios: Floats, *, real: bool) -> Floats:
    """1 for each sample judged right, ½ where both are as likely."""
    judged_real = np.where(ratios == 1.0, 0.5, (ratios > 1.0).astype(np.float64))
    return judged_real if real else 1 - judged_real
