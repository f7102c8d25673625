"""Blocks that are measured one by one: every sample once, the same on any number of threads."""

import numpy as np
import pytest

import precall
from precall.data.feature_sets import FeatureSet
from precall.neighbors.blocks.recomputed import (
    N_PARTITIONS,
    Division,
    by_partition,
    n_in_blocks,
)
from precall.scores import METRICS
from precall.uncertainty.intervals import Replicates

RNG = np.random.default_rng(0)


def sets_of(n, m, d=2):
    return (
        FeatureSet.of(RNG.normal(size=(n, d)), "real"),
        FeatureSet.of(RNG.normal(size=(m, d)), "generated"),
    )


def measure_sums(sets):
    """Halves and quarters of the sum of the first feature, of n and of m."""
    division = Division.draw(sets, seed=0)
    blocks = [division.samples(members) for members in division.blocks]
    sums = [real.rows.tile(0, len(real))[:, 0].sum() for real, _ in blocks]
    sizes = [list(map(len, of_side)) for of_side in zip(*blocks, strict=True)]
    found = [by_partition(np.array(values, float)) for values in (sums, *sizes)]
    return tuple(zip(*found, strict=True))


def test_blocks_of_a_partition_make_up_the_whole():
    sets = sets_of(403, 250)
    halves, quarters = measure_sums(sets)
    assert halves[1].sum(axis=1).tolist() == [403] * N_PARTITIONS
    assert quarters[2].sum(axis=1).tolist() == [250] * N_PARTITIONS
    whole = float(sets[0].rows.tile(0, 403)[:, 0].sum())
    for blocks in (halves[0], quarters[0]):
        np.testing.assert_allclose(blocks.sum(axis=1), whole)


def test_quarters_make_up_the_halves():
    for s in range(N_PARTITIONS):
        halves_and_quarters = Division.draw(sets_of(43, 50), seed=1).blocks[6 * s : 6 * s + 6]
        for c in (0, 1):
            blocks = [set(members[c].tolist()) for members in halves_and_quarters]
            assert blocks[0] == blocks[2] | blocks[4]
            assert blocks[1] == blocks[3] | blocks[5]


def test_of_many_samples_some_are_divided():
    """As many of each class as their sizes are to each other."""
    halves, _ = measure_sums(sets_of(6000, 2000))
    assert n_in_blocks(6000, 2000) == (3000, 1000)
    assert n_in_blocks(3000, 1000) == (3000, 1000)
    assert halves[1].tolist() == [[1500, 1500]] * N_PARTITIONS
    assert halves[2].tolist() == [[500, 500]] * N_PARTITIONS


@pytest.mark.slow
def test_intervals_do_not_depend_on_threads():
    real, generated = RNG.normal(size=(300, 4)), RNG.normal(0.3, 1, (250, 4))
    one, two = (
        precall.evaluate(
            real, generated, estimators=(), scores="all", intervals=True, threads=threads
        )
        for threads in (1, 3)
    )
    assert {n: s.interval for n, s in one.scores.items()} == {
        n: s.interval for n, s in two.scores.items()
    }
    assert all(score.interval is not None for score in one.scores.values())


def test_what_is_due_to_pairs_vanishes_faster():
    """For T = L + Q blocks have variances L + 2Q and L + 4Q; the whole has L + Q."""
    rng = np.random.default_rng(0)
    linear, pairs = 3.0, 2.0
    halves = rng.normal(scale=np.sqrt(2 * (linear + 2 * pairs)), size=(200_000, 2))
    quarters = rng.normal(scale=np.sqrt(4 * (linear + 4 * pairs)), size=(200_000, 4))
    whole = Replicates(METRICS["frechet_distance"], halves, quarters)
    assert whole.variance == pytest.approx(linear + pairs, rel=0.03)
    tenth = Replicates(METRICS["frechet_distance"], halves, quarters, share=0.1)
    assert tenth.variance == pytest.approx(linear / 10 + pairs / 100, rel=0.06)


@pytest.mark.parametrize(("deviations", "expected"), [((1.0, 3.0), 9 / 4), ((3.0, 1.0), 9 - 1 / 4)])
def test_a_score_that_turns_back_varies_as_much_as_any_block_says(deviations, expected):
    """V₂ = σ²/2 of halves, V₄ = σ²/4 of quarters: the larger of V₄ and 2V₂ − V₄."""
    rng = np.random.default_rng(0)
    halves = rng.normal(scale=deviations[0], size=(200_000, 2))
    quarters = rng.normal(scale=deviations[1], size=(200_000, 4))
    folded = Replicates(METRICS["alpha_precision"], halves, quarters)
    assert folded.variance == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("n", "m", "share"), [(400, 400, 1.0), (4000, 4000, 0.5)], ids=["all", "some"]
)
@pytest.mark.slow
def test_the_interval_of_a_frechet_distance_has_the_right_width(n, m, share):
    """In closed form where only the mean differs: Var = 4‖Δ‖²(1/n + 1/m), and a little more."""
    variances = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        result = precall.evaluate(
            rng.normal(size=(n, 3)),
            rng.normal((2.0, 0.0, 0.0), size=(m, 3)),
            estimators=(),
            scores=["frechet_distance"],
            intervals=True,
            seed=seed,
        )
        replicates = result.replicates["frechet_distance"]
        low, high = result.scores["frechet_distance"].interval
        assert replicates.share == share
        assert high - low == pytest.approx(2 * 2.037 * np.sqrt(replicates.variance), rel=0.01)
        variances.append(replicates.variance)
    assert np.mean(variances) == pytest.approx(16 * (1 / n + 1 / m), rel=0.3)


@pytest.mark.parametrize("scale", [1.0, 1e120])
def test_an_interval_holds_its_score(scale):
    """Those that may fall below 0 included, and those whose squares overflow."""
    rng = np.random.default_rng(0)
    names = ["alpha_precision", "beta_recall", "frechet_distance", "nearest_recall"]
    far = rng.normal(50, 0.01, (60, 3))  # outside of every sphere of real
    result = precall.evaluate(
        scale * rng.normal(size=(80, 3)), scale * far, estimators=(), scores=names, intervals=True
    )
    assert result.scores["alpha_precision"].value < 0
    for name, score in result.scores.items():
        low, high = score.interval
        assert low <= score.value <= high < np.inf, name


def test_too_few_samples_have_no_interval():
    result = precall.evaluate(
        RNG.normal(size=(20, 2)),
        RNG.normal(size=(20, 2)),
        estimators=(),
        scores=["nearest_precision", "authenticity"],
        score_k=5,
        intervals=True,
    )
    assert result.scores["nearest_precision"].interval is None
    assert result.scores["authenticity"].interval is not None


def test_one_row_far_out_does_not_blur_the_others():
    """Blocks are measured exactly: an outlier at 1e9 leaves the widths as they are."""
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(300, 4)), rng.normal(0.3, 1, (300, 4))
    names = ["nearest_precision", "authenticity", "clipped_coverage"]

    def widths(generated):
        found = precall.evaluate(
            real, generated, estimators=(), scores=names, intervals=True
        ).scores.values()
        return [score.interval[1] - score.interval[0] for score in found]

    without = widths(generated)
    generated[7] = 1e9
    np.testing.assert_allclose(widths(generated), without, rtol=0.2)
