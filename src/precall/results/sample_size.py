"""How many samples it takes to know a score well enough."""

from precall.errors import InputError
from precall.results.evaluation import Evaluation
from precall.results.score_caveats import n_needed
from precall.results.tables import half_width as half_width_of


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
        name: n_needed(smaller, width, half_width)
        for name, score in result.scores.items()
        if (width := half_width_of(score)) is not None
    }
    if not found:
        raise InputError("result has no intervals; evaluate with intervals=True.")
    return found
