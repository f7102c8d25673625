"""The pairs of distributions of Cheema & Urner 2023, appendix B.1, Figures 7–12.

The paper draws the shapes of Figure 12 with uniform polar coordinates, not uniformly in their
volume: samples crowd at the centre of the ball and in the core of the doughnut.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from precall.curves.pr_curve import Curve, PRCurve
from precall.experiments.experiment import Floats
from precall.truth import Distribution, Gaussian, UniformBox, true_curve

_TURN = 2 * math.pi


class _Drawable(Protocol):
    """What samples can be drawn from."""

    def draw(self, n: int, rng: Any) -> Floats:
        """Draw ``n`` rows."""
        ...


class _PolarBall:
    """A ball of radius 5 around the origin."""

    def draw(self, n: int, rng: Any) -> Floats:
        """Draw a radius, an azimuth and a polar angle for each row: shape (n, 3)."""
        radius, azimuth, polar = (rng.uniform(0, top, n) for top in (5.0, _TURN, _TURN / 2))
        return _turned(radius * np.sin(polar), azimuth, radius * np.cos(polar))


class _PolarDoughnut:
    """A torus that touches the ball from outside: a tube of radius 0.5, 5.5 from the axis."""

    def draw(self, n: int, rng: Any) -> Floats:
        """Draw a radius in the tube, an azimuth and an angle in the tube: shape (n, 3)."""
        radius, azimuth, angle = (rng.uniform(0, top, n) for top in (0.5, _TURN, _TURN))
        return _turned(5.5 + radius * np.cos(angle), azimuth, radius * np.sin(angle))


def _turned(distance: Floats, azimuth: Floats, height: Floats) -> Floats:
    """Return points at a distance from the vertical axis."""
    return np.stack([distance * np.cos(azimuth), distance * np.sin(azimuth), height], axis=1)


@dataclass(frozen=True, slots=True)
class Toy:
    """Two distributions, and how many samples a figure shows of each."""

    title: str
    real: _Drawable
    generated: _Drawable
    n: int = 1000
    m: int = 1000

    @property
    def truth(self) -> Curve:
        """The true curve; ball and doughnut are disjoint."""
        if isinstance(self.real, Distribution) and isinstance(self.generated, Distribution):
            return true_curve(self.real, self.generated)
        return PRCurve.from_histograms([1, 0], [0, 1])


def _cube(d: int, low: float) -> UniformBox:
    return UniformBox(np.full(d, low), np.full(d, low + 10))


TOYS = {  # by the number of the figure; the paper tells the sizes of Figures 7 and 8
    7: Toy("equal, d = 1", _cube(1, 0), _cube(1, 0)),
    8: Toy("squares, 36 % shared", _cube(2, 4), _cube(2, 0), n=3000),
    9: Toy("disjoint cubes, d = 3", _cube(3, 0), _cube(3, 10)),
    10: Toy("Gaussians, d = 2", Gaussian(np.zeros(2)), Gaussian(np.full(2, 2.0))),
    11: Toy("Gaussians, d = 3", Gaussian(np.zeros(3)), Gaussian(np.full(3, 2.0)), n=3000),
    12: Toy("ball in a doughnut", _PolarBall(), _PolarDoughnut(), n=3000),
}
