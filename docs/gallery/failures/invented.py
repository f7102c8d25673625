"""
Invented samples
================

A fifth of what is generated lies where real data never does. Precision and the top of the curve see
it, recall does not; ``result.reasons`` says by which test samples are outside.
"""

import numpy as np

import precall
from precall.report import plot_curves

rng = np.random.default_rng(0)
real, generated = rng.normal(size=(2, 1200, 8))
generated[:240, 2] += 9
result = precall.evaluate(real, generated, estimators=["coverage"], intervals=True)
plot_curves(result)

# %%
for name in ("support_precision", "recall_at_half", "precision", "recall"):
    print(f"{name:18} {result.scores[name].value:.2f}")
for reason in result.reasons.generated[:3]:
    print(f"{reason.text}: {reason.share:.0%}")
assert abs(result.scores["support_precision"].value - 0.8) < 0.03
assert result.scores["recall_at_half"].value > 0.97
