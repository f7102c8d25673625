"""
Blurred pictures
================

A third of the generated digits is out of focus. Which pictures are outside of the support of real?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits

import precall

images = load_digits().images[np.random.default_rng(0).permutation(1797)]
real, generated = images[:900], images[900:1790].copy()
blurred = np.arange(len(generated)) % 3 == 0
generated[blurred] = [gaussian_filter(picture, 1.0) for picture in generated[blurred]]
result = precall.evaluate(real.reshape(-1, 64), generated.reshape(-1, 64), estimators=())
outside = np.array([bool(tests) for tests in result.samples.generated["outside_support"]])

fig, axes = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for row, chosen, word in zip(axes, (outside, ~outside), ("outside", "inside"), strict=True):
    row[0].set_title(word, loc="left", fontsize=10)
    for ax, i in zip(row, np.flatnonzero(chosen), strict=False):
        ax.imshow(generated[i], cmap="gray_r")
        ax.axis("off")

# %%
print(f"support precision {result.scores['support_precision'].value:.2f}")
print(
    f"of the blurred ones {outside[blurred].mean():.0%} are outside, of the others "
    f"{outside[~blurred].mean():.0%}"
)
assert outside[blurred].mean() > 0.9
assert outside[~blurred].mean() < 0.05
