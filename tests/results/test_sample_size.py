import numpy as np
import pytest

import precall


def evaluate(n, **how):
    rng = np.random.default_rng(0)
    return precall.evaluate(
        rng.normal(0, 1, (n, 4)), rng.normal(0.5, 1, (n, 4)), estimators=(), **how
    )


def test_the_promised_number_gives_the_promised_width():
    needed = precall.sample_size(evaluate(500, intervals=True), half_width=0.025)
    n = needed["recall"]
    low, high = evaluate(n, intervals=True).scores["recall"].interval
    assert (high - low) / 2 == pytest.approx(0.025, rel=0.35)


def test_refusals():
    with pytest.raises(precall.InputError, match=r"^half_width must be positive; got 0\.$"):
        precall.sample_size(evaluate(50, intervals=True), half_width=0)
    message = r"^result has no intervals; evaluate with intervals=True\.$"
    with pytest.raises(precall.InputError, match=message):
        precall.sample_size(evaluate(50), half_width=0.1)


def test_widths_of_distances_beyond_floats():
    rng = np.random.default_rng(0)
    result = precall.evaluate(
        1e120 * rng.normal(size=(60, 3)),
        1e120 * rng.normal(1, 1, (60, 3)),
        estimators=(),
        scores=["frechet_distance"],
        intervals=True,
    )
    assert precall.sample_size(result, half_width=0.01)["frechet_distance"] > 10**300
