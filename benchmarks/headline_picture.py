"""What each test of the support sees: python -m benchmarks.headline_picture docs/headline.png."""

import sys

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from precall.data.feature_sets import FeatureSet
from precall.headline.ball import ball_test
from precall.headline.box import box_test
from precall.headline.gap import gap_test
from precall.headline.grid import grid_test
from precall.headline.outlyingness import threshold_of
from precall.headline.shell import shell_test
from precall.headline.views import View
from precall.neighbors.sweeps import open_sweeps

N_A_SIDE = 201


def two_moons(rng, n):
    t, side = rng.uniform(0, np.pi, n), rng.integers(0, 2, n)
    arcs = np.stack([np.cos(t) - 0.5 + side, (1 - 2 * side) * np.sin(t) + 0.25 * (2 * side - 1)], 1)
    return arcs + rng.normal(0, 0.09, (n, 2))


def ring(rng, n):
    rows = rng.normal(size=(n, 2))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) + rng.normal(0, 0.05, (n, 2))


def three_columns(rng, n):
    return rng.uniform((-0.2, -1), (0.2, 1), (n, 2)) + rng.integers(-1, 2, (n, 1)) * (1.2, 0)


def draw(ax, title, rows, test, half_width):
    ticks = np.linspace(-half_width, half_width, N_A_SIDE)
    asked = np.stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)], axis=1)
    with open_sweeps("auto", threads=1) as sweeps:
        view = View.of(FeatureSet.of(rows, "real"), FeatureSet.of(asked, "grid"), sweeps.session)
    found = test(view)
    inside = (found.of_queries <= threshold_of(found.of_references)).reshape(N_A_SIDE, N_A_SIDE)
    shade = mpl.colors.ListedColormap(["#f6d9d2", "#dcebf5"])
    extent = (-half_width, half_width, -half_width, half_width)
    ax.imshow(inside, origin="lower", extent=extent, cmap=shade, vmin=0, vmax=1, aspect="equal")
    ax.plot(*rows.T, ".", color="#20435c", ms=1.5)
    ax.set(xlim=(-half_width, half_width), ylim=(-half_width, half_width), title=title)
    ax.set_xticks([])
    ax.set_yticks([])


def half_space(ax, rng, rows):
    """The plane that 99.5 % of real keep to, across the way to a generated cloud."""
    generated = rng.normal((2.1, 1.2), 0.5, (300, 2))
    direction = np.array([2.1, 1.2]) / np.hypot(2.1, 1.2)
    cut = threshold_of(rows @ direction)
    ticks = np.linspace(-4, 4, N_A_SIDE)
    x, y = np.meshgrid(ticks, ticks)
    shade = mpl.colors.ListedColormap(["#f6d9d2", "#dcebf5"])
    inside = x * direction[0] + y * direction[1] <= cut
    ax.imshow(inside, origin="lower", extent=(-4, 4, -4, 4), cmap=shade, vmin=0, vmax=1)
    ax.plot(*rows.T, ".", color="#20435c", ms=1.5)
    ax.plot(*generated.T, ".", color="#c4553b", ms=1.5)
    ax.set(xlim=(-4, 4), ylim=(-4, 4), title="half-space: across the classes")
    ax.set_xticks([])
    ax.set_yticks([])


def main(path: str) -> None:
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(1, 6, figsize=(18, 3.3), layout="constrained")
    draw(axes[0], "ball: near three of real", two_moons(rng, 1500), ball_test, 2.2)
    draw(axes[1], "box: within every range", rng.uniform(-1, 1, (1500, 2)), box_test, 1.6)
    draw(axes[2], "gap: among every value", three_columns(rng, 1500), gap_test, 2.4)
    draw(axes[3], "shell: the radius of real", ring(rng, 1500), shell_test, 1.8)
    half_space(axes[4], rng, rng.normal(0, 0.8, (1500, 2)))
    draw(axes[5], "grid: on the steps of real", grid_rows(rng), wide_grid_test, 3.4)
    figure.savefig(path, dpi=110)


def grid_rows(rng):
    return np.stack([rng.integers(-3, 4, 1500), rng.normal(0, 1, 1500)], axis=1).astype(float)


def wide_grid_test(view):
    """The grid test, its lines as thick as a dot."""
    found = grid_test(view)
    near = np.abs(view.raw[1][:, 0] - np.round(view.raw[1][:, 0])) < 0.06
    return type(found)(found.test, found.of_references, np.where(near, 0.0, 2.0), found.reason)


if __name__ == "__main__":
    main(sys.argv[1])
