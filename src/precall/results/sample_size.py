"""How many samples it takes to know a score well enough."""

import math
from collections.abc import Iterable, Mapping, Sized
from fractions import Fraction

from precall.errors import InputError
from precall.results.evaluation import Evaluation
from precall.results.tables import half_width as half_width_of
from precall.scores import DISTANCES, Score

_LOOKED_FOR = 0.02  # differences of scores that people publish


def sample_size(result: Evaluation, half_width: float) -> dict[str, int]:
    """Estimate how many samples of each class give every score an interval of ± ``half_width``.

    Variances fall like 1/n, so that an interval seen at one size tells of others. The scores
    themselves change with the number of samples, too.

    Parameters
    ----------
    result
        An evaluation with intervals.
    half_width
        Half the width of the intervals to reach.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> result = precall.evaluate(*rng.normal(size=(2, 1000, 4)), estimators=(), intervals=True)
    >>> 2000 < precall.sample_size(result, half_width=0.01)["recall"] < 5000
    True
    """
    if not half_width > 0:
        raise InputError(f"half_width must be positive; got {half_width!r}.")
    smaller = min(result.protocol.n, result.protocol.m)
    found = {
        name: _n_needed(smaller, width, half_width)
        for name, score in result.scores.items()
        if (width := half_width_of(score)) is not None
    }
    if not found:
        raise InputError("result has no intervals; evaluate with intervals=True.")
    return found


def wide_intervals(scores: Mapping[str, Score], sets: Iterable[Sized]) -> list[str]:
    """Say which scores are less certain than the differences that people look for.

    Distances are in units of the features, where no difference is large or small by itself.
    """
    widths = {name: half_width_of(score) for name, score in scores.items() if name not in DISTANCES}
    wide = {name: width for name, width in widths.items() if width and width > _LOOKED_FOR}
    if not wide:
        return []
    worst = max(wide, key=lambda name: wide[name])
    needed = _n_needed(min(map(len, sets)), wide[worst], _LOOKED_FOR)
    return [
        f"{len(wide)} of {len(scores)} scores are known to no more than ± {_LOOKED_FOR:g} (worst: "
        f"{worst}, ± {wide[worst]:.2g}); about {needed} samples of each class would do."
    ]


def _n_needed(n: int, width: float, wanted: float) -> int:
    return math.ceil(n * (Fraction(width) / Fraction(wanted)) ** 2)  # beyond floats, for distances
