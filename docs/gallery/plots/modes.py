"""
Modes, and whether each has its share
=====================================

:func:`precall.report.plot_modes` draws the mass of each mode under both laws. Modes are found in
the union of both sets, blind to who is real, and their findings are tested
(:func:`precall.find_modes`).
"""

import numpy as np

import precall
from precall.report import plot_modes

rng = np.random.default_rng(0)
centres = rng.normal(0, 4, (5, 8))


def draw(weights, n=1500):
    return centres[rng.choice(5, n, p=weights)] + rng.normal(size=(n, 8))


real, generated = draw([0.3, 0.2, 0.3, 0.2, 0.0]), draw([0.3, 0.4, 0.1, 0.0, 0.2])
modes = precall.find_modes(real, generated)
plot_modes(modes)
