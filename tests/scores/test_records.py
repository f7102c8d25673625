"""Every score against its definition, written out over a full distance matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

import precall
from precall.scores import HEADLINE, METRICS
from strategies import pairs_with_k


def distances_and_radii(real, generated, k):
    """(n, m) squared distances, r_k² of real and s_k² of generated: itself left out by index."""
    radii = []
    for points in (real, generated):
        own = cdist(points, points, "sqeuclidean")
        np.fill_diagonal(own, np.inf)
        radii.append(np.sort(own, axis=1)[:, k - 1])
    return cdist(real, generated, "sqeuclidean"), *radii


def by_definition(real, generated, k):
    d, r, s = distances_and_radii(real, generated, k)
    in_real, in_generated = d <= r[:, None], d <= s
    nearest_real, nearest_generated = d == d.min(axis=0), d == d.min(axis=1, keepdims=True)
    precision, recall = in_real.any(axis=0).mean(), in_generated.any(axis=1).mean()
    coverage, precision_coverage = in_real.any(axis=1).mean(), in_generated.any(axis=0).mean()
    soft = []
    for radius, axis in ((1.2 * np.sqrt(r).mean(), 0), (1.2 * np.sqrt(s).mean(), 1)):
        with np.errstate(divide="ignore", invalid="ignore"):
            missed = np.nan_to_num(np.minimum(1, np.sqrt(d) / radius), nan=0.0)
        soft.append((1 - missed.prod(axis=axis)).mean())
    return {
        "precision": precision,
        "recall": recall,
        "f_score": 2 * precision * recall / max(1e-5, precision + recall),
        "density": in_real.sum(axis=0).mean() / k,
        "coverage": coverage,
        "precision_coverage": precision_coverage,
        "symmetric_precision": min(precision, precision_coverage),
        "symmetric_recall": min(recall, coverage),
        "nearest_precision": (in_real & nearest_real).any(axis=0).mean(),
        "nearest_recall": (in_generated & nearest_generated).any(axis=1).mean(),
        "probabilistic_precision": soft[0],
        "probabilistic_recall": soft[1],
    }


@settings(max_examples=60)
@given(pairs_with_k())
def test_scores_follow_their_definitions(pair):
    real, generated, k = pair
    expected = by_definition(real, generated, k)
    found = precall.evaluate(real, generated, estimators=(), scores=list(expected), score_k=k)
    for name, value in expected.items():
        assert found.scores[name].value == pytest.approx(value, abs=1e-12), name
        assert found.scores[name].k == k


@settings(max_examples=40)
@given(pairs_with_k())
def test_cover_follows_definition_2(pair):
    """001: the 3k-ball of a sample holds at least k of the other class."""
    real, generated, _ = pair
    smallest = min(len(real), len(generated))
    if smallest < 4:
        return
    k = (smallest - 1) // 3
    d, r, s = distances_and_radii(real, generated, 3 * k)
    found = precall.evaluate(
        real, generated, estimators=(), scores=["precision_cover", "recall_cover"], score_k=k
    )
    assert found.scores["precision_cover"].value == ((d <= s).sum(axis=0) >= k).mean()
    assert found.scores["recall_cover"].value == ((d <= r[:, None]).sum(axis=1) >= k).mean()


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 5)), rng.normal(0.4, 1.1, size=(300, 5))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_clipped_scores(pair, k):
    """Salvy 2025: clipped radii and contributions, in units of real; calibrated coverage."""
    real, generated = pair
    neighbors = NearestNeighbors(n_neighbors=k + 1).fit(real)
    near, who = neighbors.kneighbors(real)
    radii = near[:, -1]
    clipped = np.minimum(radii, np.median(radii))
    balls = (cdist(real, generated) <= clipped[:, None]).sum(axis=0)
    real_balls = np.bincount(who[:, 1:][near[:, 1:] <= clipped[:, None]], minlength=len(real))
    density = np.minimum(balls / k, 1).mean() / np.minimum(real_balls / k, 1).mean()
    raw = np.minimum((cdist(real, generated) <= radii[:, None]).sum(axis=1), k).mean() / k
    found = precall.evaluate(
        real, generated, estimators=(), scores=["clipped_density", "clipped_coverage"], score_k=k
    )
    assert found.scores["clipped_density"].value == pytest.approx(min(density, 1))
    coverage = found.scores["clipped_coverage"].value
    # The share of good samples that would have scored so, by simulation of the spacings.
    rng = np.random.default_rng(1)
    good = round(coverage * len(generated))
    mass = rng.beta(k, len(real) - k, 200_000)
    simulated = np.minimum(rng.binomial(good, mass), k).mean() / k
    assert simulated == pytest.approx(raw, abs=0.01)


def test_clipped_scores_are_1_where_p_is_q():
    rng = np.random.default_rng(0)
    found = precall.evaluate(
        rng.normal(size=(3000, 4)),
        rng.normal(size=(3000, 4)),
        estimators=(),
        scores=["clipped_density", "clipped_coverage"],
    )
    assert found.scores["clipped_density"].value == pytest.approx(1, abs=0.03)
    assert found.scores["clipped_coverage"].value == pytest.approx(1, abs=0.08)


def test_alpha_precision_beta_recall_and_authenticity(pair):
    """Alaa 2022, by scikit-learn's neighbours."""
    real, generated = pair
    steps = np.linspace(0, 1, 30)
    to_center = np.linalg.norm(real - real.mean(axis=0), axis=1)
    radii = np.quantile(to_center, steps)
    inside = (np.linalg.norm(generated - real.mean(axis=0), axis=1)[:, None] <= radii).mean(axis=0)
    to_generated, who = NearestNeighbors(n_neighbors=1).fit(generated).kneighbors(real)
    to_real = NearestNeighbors(n_neighbors=2).fit(real).kneighbors(real)[0][:, 1]
    centered = np.linalg.norm(generated - generated.mean(axis=0), axis=1)[who[:, 0]]
    met = (to_generated[:, 0] <= to_real)[:, None] & (
        centered[:, None] <= np.quantile(centered, steps)
    )
    nearest, which = NearestNeighbors(n_neighbors=1).fit(real).kneighbors(generated)
    scores = precall.evaluate(real, generated, estimators=(), scores="all").scores
    step = 2 / 29
    assert scores["alpha_precision"].value == pytest.approx(1 - step * np.abs(inside - steps).sum())
    expected = 1 - step * np.abs(met.mean(axis=0) - steps).sum()
    assert scores["beta_recall"].value == pytest.approx(expected)
    assert scores["authenticity"].value == (nearest[:, 0] > to_real[which[:, 0]]).mean()


def test_several_k_share_names_and_a_table(pair):
    result = precall.evaluate(*pair, estimators=(), scores=["recall", "density"], score_k=[1, 5])
    assert list(result.scores) == ["recall_k1", "recall_k5", "density_k1", "density_k5"]
    assert "k = 1" in repr(result)
    single = precall.evaluate(*pair, estimators=(), scores=["recall"], score_k=5)
    assert single.scores["recall"] == result.scores["recall_k5"]


def test_defaults(pair):
    result = precall.evaluate(*pair, estimators=())
    assert {name: score.k for name, score in result.scores.items()} == {
        **dict.fromkeys(HEADLINE),
        "precision": 3,
        "recall": 3,
        "density": 5,
        "coverage": 5,
        "precision_cover": 3,
        "recall_cover": 3,
    }


def test_all_is_every_score(pair):
    assert set(precall.evaluate(*pair, estimators=(), scores="all").scores) == {*HEADLINE, *METRICS}


def test_scores_do_not_depend_on_the_split_or_the_engine(pair):
    first = precall.evaluate(*pair, estimators=["knn"], scores="all", split=False)
    for options in ({"split": True}, {"engine": "reference"}, {"threads": 5}):
        other = precall.evaluate(*pair, estimators=["knn"], scores="all", **options)
        assert other.scores == first.scores


@settings(max_examples=30)
@given(pairs_with_k())
def test_exchanging_the_sets_exchanges_the_mirrors(pair):
    real, generated, k = pair
    mirrors = {
        "precision": "recall",
        "coverage": "precision_coverage",
        "symmetric_precision": "symmetric_recall",
        "nearest_precision": "nearest_recall",
        "probabilistic_precision": "probabilistic_recall",
    }
    names = [*mirrors, *mirrors.values()]
    there = precall.evaluate(real, generated, estimators=(), scores=names, score_k=k).scores
    back = precall.evaluate(generated, real, estimators=(), scores=names, score_k=k).scores
    for name, mirror in mirrors.items():
        assert there[name] == back[mirror]
        assert there[mirror] == back[name]


def test_too_few_samples_leave_out_defaults_with_a_warning():
    rng = np.random.default_rng(0)
    result = precall.evaluate(rng.normal(size=(5, 2)), rng.normal(size=(30, 2)), estimators=())
    assert list(result.scores) == ["precision", "recall", "precision_cover"]
    assert (
        "score 'coverage' at k=5 needs at least 6 samples; real has 5. It is left out."
        in result.warnings
    )


@pytest.mark.slow
def test_naeem_in_1000_dimensions():
    """Published: precision .48 ± .04, recall .47 ± .03, density 1 ± .15, coverage .97 ± .015."""
    rng = np.random.default_rng(0)
    real, generated = (rng.standard_normal((10_000, 1000), dtype=np.float32) for _ in range(2))
    names = ["precision", "recall", "density", "coverage"]
    scores = precall.evaluate(real, generated, estimators=(), scores=names, score_k=5).scores
    for name, expected, tolerance in zip(
        names, (0.48, 0.47, 1, 0.97), (0.04, 0.03, 0.15, 0.015), strict=True
    ):
        assert scores[name].value == pytest.approx(expected, abs=tolerance), name


def test_a_score_needs_only_the_samples_that_it_uses():
    """Precision at k = 2 asks for balls of real; two generated samples are enough."""
    real, generated = np.array([[0.0], [1.0], [3.0]]), np.array([[0.5], [9.0]])
    result = precall.evaluate(real, generated, estimators=(), scores=["precision"], score_k=2)
    assert result.scores["precision"].value == 0.5
    alone = precall.evaluate(generated, real, estimators=(), scores=["recall"], score_k=2)
    assert alone.scores["recall"].value == 0.5
    with pytest.raises(precall.InputError, match=r"^score 'recall' at k=2 needs at least 3 samp"):
        precall.evaluate(real, generated, estimators=(), scores=["recall"], score_k=2)


def test_every_record_says_what_it_is():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.sentence
        low, high = metric.bounds
        assert low < high
        assert (metric.unit == "distance") == name.endswith("distance")


def test_a_record_has_no_default_that_could_lie():
    with pytest.raises(TypeError, match="bounds"):
        precall.Metric(name="x", sentence="x", unit="share", default_k=1, needs=None, value=None,
                       of_blocks="one sweep", variance="single samples", expected=None)  # fmt: skip


def test_a_score_of_ones_own():
    """In ten lines: the share of generated within 1 of the origin, block by block."""
    near = precall.Metric(
        name="near_origin",
        sentence="share of generated near the origin",
        unit="share",
        bounds=(0.0, 1.0),
        default_k=None,
        needs=lambda k: None,
        value=lambda pair, k: float((np.abs(pair.sets[1].rows.tile(0, 10**6)) < 1).all(1).mean()),
        of_blocks="each block",
        variance="single samples",
        expected=None,
    )
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(2, 400, 2))
    scores = ["density", near]
    result = precall.evaluate(real, generated, estimators=(), scores=scores, intervals=True)
    found = result.scores["near_origin"]
    assert found.value == (np.abs(generated) < 1).all(axis=1).mean()
    half = (found.interval[1] - found.interval[0]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(found.value * (1 - found.value) / 400), rel=0.3)
    assert "near_origin" in repr(result)
    with pytest.raises(precall.InputError, match=r"^scores names 'near_origin' twice\.$"):
        precall.evaluate(real, generated, scores=[near, near])
