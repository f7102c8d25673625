"""What the code of a pair says about its distance. docs/exactness.md derives every bound.

A *grid* code is Q of rows on a grid (``grid``): D = s(√Q ± ρ ± ρ′). A *direct* code is the upper
word of a float64 sum F of squared differences, rounded up: F is between the floats that begin with
this word and with the one before, and as near to the canonical squared distance as ``Slack`` says.
Code 0 of the direct ruler is F = 0, which is D̂² = 0. Both codes grow with the distance.
"""

import math
from typing import NamedTuple

import numpy as np

from precall.engines.cpu.tiling.bits import code_of, float_of
from precall.engines.cpu.tiling.tiles import ALL
from precall.runtime.compiling import helper


class Ruler(NamedTuple):
    """How codes are read."""

    is_direct: bool
    step: float  # s; 1 of the direct ruler
    relative: float  # see grid.Slack
    absolute: float


@helper()
def largest_of(code):
    """The largest F with this direct code."""
    return float_of(np.int64(code) << 32)


@helper()
def _floor_code(squared):
    """The largest direct code that only numbers up to ``squared`` have; -1 if there is none."""
    if not squared >= 0.0:
        return -1
    code = code_of(squared)
    return code if largest_of(code) <= squared else code - 1


@helper()
def largest_code_below(squared, ruler):
    """A direct code: pairs up to it are nearer than this true squared distance."""
    return _floor_code(squared * (1.0 - 4.0 * ruler.relative) - 4.0 * ruler.absolute)


@helper()
def code_limits(threshold, error, ruler):
    """Return (inner, outer): a code up to inner proves D̂² ≤ threshold, one above outer D̂² > it.

    ``error`` bounds ρ + ρ′ of the pair, in steps. On the grid, from (1), widened by the rounding of
    the canonical distance: D ≤ R holds if s·√Q + ρ + ρ′ ≤ R and fails if s·√Q − ρ − ρ′ > R.
    """
    relative, absolute = ruler.relative, ruler.absolute
    if threshold < 0.0:
        return -1, -1
    if ruler.is_direct:
        lowest = threshold * (1.0 - 2.0 * relative) - 2.0 * absolute
        highest = threshold * (1.0 + 2.0 * relative) + 2.0 * absolute
        return max(_floor_code(lowest), 0), code_of(highest)
    if error == 0.0:  # everything on the grid: the canonical distance is s²·Q itself
        limit = min(threshold / ruler.step / ruler.step, float(ALL))
        return math.floor(limit), math.floor(limit)
    widest = (math.sqrt(threshold + absolute) * (1 + relative)) / ruler.step + error
    inmost = (math.sqrt(max(threshold - absolute, 0.0)) * (1 - relative)) / ruler.step - error
    outer = widest * widest * (1 + relative) + 1.0
    outer = ALL if not outer < ALL else int(outer)
    if not inmost > 0.0:
        return -1, outer
    inner = min(inmost * inmost * (1 - relative) - 1.0, float(ALL))
    return math.floor(inner), outer


@helper()
def is_exact(code, error, ruler):
    """Whether pairs with this code all have the same canonical distance, and no others do."""
    return code == 0 if ruler.is_direct else error == 0.0


@helper()
def widened(code, error, ruler):
    """Largest code of a pair that may be as near as one with this code: both may err."""
    if is_exact(code, error, ruler):
        return code
    if ruler.is_direct:
        return code_of(largest_of(code) * (1.0 + 4.0 * ruler.relative) + 4.0 * ruler.absolute)
    root = (math.sqrt(float(code)) + 2.0 * error) * (1.0 + 4.0 * ruler.relative)
    return math.floor(root * root) + 1 if root * root < ALL else ALL


@helper()
def narrowed(code, error, ruler):
    """Largest code of a pair that is surely nearer than one with this code."""
    if is_exact(code, error, ruler):
        return code - 1
    if ruler.is_direct:
        least = largest_of(code - 1) * (1.0 - 4.0 * ruler.relative) - 4.0 * ruler.absolute
        return max(_floor_code(least), 0)
    root = (math.sqrt(float(code)) - 2.0 * error) * (1.0 - 4.0 * ruler.relative)
    return math.floor(root * root) - 1 if root > 0.0 else -1


@helper()
def least_distance(code, error, ruler):
    """No pair with this code is nearer, but for what underflows."""
    if ruler.is_direct:
        return math.sqrt(largest_of(max(code - 1, 0))) * (1.0 - 1e-12 - ruler.relative)
    root = max(math.sqrt(float(code)) - error, 0.0)
    return root * ruler.step * (1.0 - 1e-12 - ruler.relative)


@helper()
def largest_distance(code, error, ruler):
    """No pair with this code is farther, but for what underflows."""
    if ruler.is_direct:
        return math.sqrt(largest_of(code)) * (1.0 + 1e-12 + ruler.relative)
    root = math.sqrt(float(code)) + error
    return root * ruler.step * (1.0 + 1e-12 + ruler.relative)
