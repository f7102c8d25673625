"""Published settings, against the closed-form truth (000 §4.1, Table 1)."""

import numpy as np
import pytest

import precall
from precall.truth import Gaussian

pytestmark = pytest.mark.slow

SHIFTS = [1.0, 5 / 3, 7 / 3, 3.0]
EXPECTED_K4 = {  # IoU of exact curves with the exact truth, split, k = 4
    "ipr": [0.69, 0.43, 0.24, 0.12],
    "knn": [0.71, 0.49, 0.34, 0.25],
    "parzen": [0.72, 0.50, 0.32, 0.19],
    "coverage": [0.73, 0.55, 0.44, 0.35],
}


N_DRAWS = 8  # at the largest shift a single draw of coverage at k = 4 has a deviation of .014


@pytest.mark.parametrize("i", range(4))
def test_gaussian_shift(i):
    """n = m = 10 000, d = 64, the paper's 50 % split, k = 4 and √n at once, mean of some draws."""
    p, q = Gaussian(np.zeros(64)), Gaussian(np.full(64, SHIFTS[i] / 8))
    truth = precall.true_curve(p, q)
    classes = (precall.IPR, precall.KNN, precall.Parzen, precall.Coverage)
    found = []
    for draw in range(N_DRAWS):
        result = precall.evaluate(
            p.sample(10_000, seed=1000 + 2 * draw).astype(np.float32),
            q.sample(10_000, seed=1001 + 2 * draw).astype(np.float32),
            estimators=[cls(k) for cls in classes for k in (4, "sqrt")],
            split=True,
        )
        found.append({name: curve.iou(truth) for name, curve in result.curves.items()})
    iou = {name: np.mean([one[name] for one in found]) for name in found[0]}
    for name, expected in EXPECTED_K4.items():
        assert iou[f"{name}_k4"] == pytest.approx(expected[i], abs=0.02), name
    assert iou["coverage_k100"] >= 0.88
    assert iou["knn_k100"] >= 0.82


def test_coverage_in_high_dimension():
    """Naeem 2020 at P = Q: E[coverage] = 1 − ∏ (n−i)/(n+m−i), here at k = 5."""
    n = m = 1000
    draws = [Gaussian(np.zeros(64)).sample(n, seed=seed) for seed in range(12)]
    found = [
        precall.evaluate(a, b, estimators=[precall.Coverage(6)], split=False)
        .curves["coverage"]
        .max_recall
        for a, b in zip(draws[::2], draws[1::2], strict=True)
    ]
    expected = 1 - np.prod([(n - i) / (n + m - i) for i in range(1, 6)])
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(len(found)))
