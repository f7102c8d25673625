"""
Right supports, wrong proportions
=================================

Everything real is generated and nothing is invented, but one mode is made four times as often as
the other three together should be. Scores of supports see nothing. The middle of the curve does.
"""

import numpy as np

import precall
from precall.report import plot_curves

rng = np.random.default_rng(0)
centres = rng.normal(0, 5, (4, 8))


def draw(weights, n=1500):
    return centres[rng.choice(4, n, p=weights)] + rng.normal(size=(n, 8))


real, generated = draw([0.25, 0.25, 0.25, 0.25]), draw([0.7, 0.1, 0.1, 0.1])
result = precall.evaluate(real, generated, intervals=True)
plot_curves(result)

# %%
# Total variation is the mass in the wrong place: .45 in truth.

for name in ("support_precision", "support_recall", "recall_at_half", "precision", "recall"):
    print(f"{name:18} {result.scores[name].value:.2f}")
print(f"total variation    {result.best_curve.total_variation:.2f}")
assert abs(result.best_curve.total_variation - 0.45) < 0.04
assert result.scores["support_precision"].value > 0.98
