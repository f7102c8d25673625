"""
Noise beside the data
=====================

Some samples are noise from everywhere. How do the scores of the field see it, as their share
grows? Support precision should follow the dotted line.
"""

import matplotlib.pyplot as plt
import numpy as np

import precall

rng = np.random.default_rng(0)
real = rng.normal(size=(1000, 16))
shares = (0.0, 0.1, 0.2, 0.4)
names = ("support_precision", "precision", "density", "precision_cover", "recall")
rows = []
for share in shares:
    generated = rng.normal(size=(1000, 16))
    generated[: int(1000 * share)] = rng.uniform(-8, 8, (int(1000 * share), 16))
    found = precall.evaluate(real, generated, estimators=()).scores
    rows.append([found[name].value for name in names])

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, values in zip(names, np.transpose(rows), strict=True):
    ax.plot(shares, values, "o-", label=name)
ax.plot(shares, 1 - np.array(shares), "k:", label="truth")
ax.set(xlabel="share of noise", ylabel="score", ylim=(0, 1.05))
ax.legend(loc="lower left")
assert all(abs(row[0] - (1 - share)) < 0.02 for row, share in zip(rows, shares, strict=True))
