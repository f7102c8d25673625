"""
A map of both sets
==================

:func:`precall.report.plot_map` lays both sets out in a plane. With the samples of a result, real
samples that nothing generated covers and generated ones that nothing real holds stand out.
"""

import numpy as np
from sklearn.datasets import load_digits

import precall
from precall.report import plot_map

images, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
real, pool = images[order[:800]], images[order[800:]]
generated = pool[digit[order[800:]] < 8]  # never makes an 8 or a 9
result = precall.evaluate(real, generated, estimators=(), headline=False)
plot_map(real, generated, result.samples)
