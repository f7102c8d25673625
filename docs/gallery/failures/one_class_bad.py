"""
One bad class
=============

With labels every score is measured class by class. Here the model is good at nine digits and makes
sevens upside down.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import precall

images, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
images, digit = images[order], digit[order]
real, generated = images[:890], images[890:1780].copy()
labels_real, labels_generated = digit[:890], digit[890:1780]
sevens = labels_generated == 7
generated[sevens] = generated[sevens].reshape(-1, 8, 8)[:, ::-1, ::-1].reshape(-1, 64)
result = precall.evaluate(
    real,
    generated,
    estimators=(),
    headline=False,
    scores=["precision_cover", "recall_cover"],
    labels_real=labels_real,
    labels_generated=labels_generated,
)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for shift, name in ((-0.2, "precision_cover"), (0.2, "recall_cover")):
    values = [result.classes[str(label)].scores[name].value for label in range(10)]
    ax.bar(np.arange(10) + shift, values, 0.4, label=name)
ax.set(xticks=range(10), xlabel="class", ylabel="score")
ax.legend(loc="lower left")
assert result.classes["7"].scores["recall_cover"].value < 0.3
print(f"all classes together: {result.scores['recall_cover'].value:.2f}")
