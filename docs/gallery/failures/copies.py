"""
Copies of the training set
==========================

A model that stores its training data is realistic and diverse. Only authenticity, asked against the
*training* set, sees what it does. Fresh real samples are needed for everything else.
"""

import numpy as np

import precall

rng = np.random.default_rng(0)
training, fresh, honest = rng.normal(size=(3, 1000, 8))
copied = training[rng.permutation(1000)] + rng.normal(0, 0.02, (1000, 8))
names = ["precision", "recall", "coverage", "authenticity"]
for model, rows in {"honest": honest, "copies": copied}.items():
    for against, reference in {"training": training, "fresh": fresh}.items():
        found = precall.evaluate(reference, rows, estimators=(), scores=names).scores
        values = ", ".join(f"{name} {found[name].value:.2f}" for name in names)
        print(f"{model} against {against:8}: {values}")
        if (model, against) == ("copies", "training"):
            assert found["authenticity"].value < 0.02

# %%
# Nearest neighbours show it, too: how far is each sample from the nearest of the training set?
import matplotlib.pyplot as plt

result = precall.evaluate(training, copied, estimators=(), headline=False)
other = precall.evaluate(training, honest, estimators=(), headline=False)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bins = np.linspace(0, 4, 60)
for name, found in {"copies": result, "honest": other}.items():
    table = found.samples.generated
    nearest = np.linalg.norm(
        (copied if name == "copies" else honest) - training[table["nearest_real"]], axis=1
    )
    ax.hist(nearest, bins, alpha=0.6, label=name)
ax.set(xlabel="distance to the nearest training sample", ylabel="samples")
ax.legend()
