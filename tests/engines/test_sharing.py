"""Many questions about the same rows: one pass over all pairs, the same answers to the bit."""

from contextlib import nullcontext

import numpy as np
import pytest

from engine_cases import NASTY, assert_same, own_balls
from precall.data.feature_sets import FeatureSet, Rows
from precall.data.splits import NoSplit, RepeatedHoldOut
from precall.engines.cpu import grid
from precall.engines.cpu.engine import CpuEngine, CpuSession
from precall.engines.cpu.kernel_choice import KERNELS, is_supported
from precall.engines.cpu.sharing import acquaintances
from precall.engines.cpu.sharing.acquaintances import Introduction
from precall.engines.protocol import Neighbors
from precall.engines.reference import ReferenceEngine
from precall.neighbors.statistics import Ball, CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps

SUPPORTED = [name for name, kernel in KERNELS.items() if is_supported(kernel)]
ONE_SCALE = ("normal", "offset 1e6", "scale 1e18", "integer grid", "outlier", "low rank")


@pytest.fixture(autouse=True)
def held(monkeypatch):
    """Few rows are enough to share a pass; whether each was held to its end."""
    found = []
    hold = Introduction.hold

    def watched(self, *arguments):
        found.append(hold(self, *arguments))
        return found[-1]

    monkeypatch.setattr(Introduction, "hold", watched)
    monkeypatch.setattr(acquaintances, "_FEWEST", 2)
    monkeypatch.setattr(acquaintances, "_PER_LISTED", 1e-9)
    return found


@pytest.fixture(params=["of the grid", "measured"])
def codes(request, monkeypatch):
    """Lists keep their codes of the grid, or all that are on them are measured, in a few runs."""
    is_measured = request.param == "measured"
    monkeypatch.setattr(acquaintances, "_is_worth_measuring", lambda *arguments: is_measured)
    monkeypatch.setattr(acquaintances, "_MEASURED_BYTES", 5000)
    return request.param


def asked(real, generated, ks=(3, 20)):
    """Two random halves and the whole sample, as a default run asks about them."""
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    requests = frozenset((ball, k) for ball in Ball for k in ks)
    asks = [Ask(fold, NeighborPlan(requests)) for fold in RepeatedHoldOut(2).folds(*sets, seed=0)]
    cross = CrossPlan(balls=own_balls({5}), nearest=True, realism=frozenset({3}))
    return [*asks, Ask(NoSplit().folds(*sets, seed=0)[0], NeighborPlan(cross=cross))]


def measured(engine, asks, threads=2, advance=lambda n_pairs: None):
    with engine.open(threads, advance) as session:
        session.place(asks[-1].fold.real.fit, asks[-1].fold.generated.fit)
        return Sweeps(session).measure(asks)


def drawn(kind, n=310, m=260, d=7):
    rng = np.random.default_rng(3)
    return NASTY[kind](rng, (n, d)), NASTY[kind](rng, (m, d))


def assert_all_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("kind", sorted(NASTY))
def test_shared_answers_are_those_of_the_reference(held, codes, kind):
    asks = asked(*drawn(kind))
    expected = measured(ReferenceEngine(), asks)
    for threads in (1, 3):
        assert_all_same(measured(CpuEngine(), asks, threads), expected)
    if kind in ONE_SCALE:
        assert len(held) == 2
        assert all(known is not None for known in held)
        assert all(known.ruler.is_direct == (codes == "measured") for known in held)


@pytest.mark.parametrize("kernel", SUPPORTED)
@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0])
def test_classes_that_differ(held, codes, kernel, shift):
    """Where the other class is far away, its k-th neighbour is beyond most of one's own class."""
    real, generated = drawn("normal")
    asks = asked(real, 0.7 * generated + shift)
    assert_all_same(measured(CpuEngine(kernel), asks), measured(ReferenceEngine(), asks))
    assert held


def test_more_rows_are_met_in_more_blocks(held, codes):
    asks = asked(*drawn("normal", n=1900, m=1500, d=4), ks=(2, 40))
    assert_all_same(measured(CpuEngine(), asks), measured(ReferenceEngine(), asks))
    (known,) = held
    assert all((lists.sizes > 0).all() for lists in known.lists.values())


def test_a_bound_of_zero_is_noticed(held, codes, monkeypatch):
    """Pairs that the grid cannot tell apart are measured; without that, answers differ."""
    monkeypatch.setattr(grid, "MAX_NORM", 4000)  # a coarse grid
    asks = asked(*drawn("offset 1e6", d=40))
    expected = measured(ReferenceEngine(), asks)
    assert_all_same(measured(CpuEngine(), asks), expected)
    assert held[0] is not None
    of = Introduction.__init__

    def without_error(self, *arguments):
        of(self, *arguments)
        for lists in self.lists.values():
            lists.error[:] = 0.0

    monkeypatch.setattr(Introduction, "__init__", without_error)
    with pytest.raises(AssertionError):
        assert_all_same(measured(CpuEngine(), asks), expected)


def shared_lists(real, generated, ks):
    """Lists of a pass that both classes share."""
    sides = Rows(real), Rows(generated)
    with CpuEngine().open(2, lambda n_pairs: None) as session, session.sharing():
        session.place(*sides)
        session.kth([Neighbors(rows, sides, ks) for rows in sides])
        return session._known


@pytest.mark.parametrize("codes", ["measured"], indirect=True)
def test_everybody_up_to_a_limit_is_listed(codes, monkeypatch):
    """By direct codes, too, although limits were found on a coarse grid."""
    monkeypatch.setattr(grid, "MAX_NORM", 400_000)
    sets = drawn("normal", n=600, m=550, d=40)
    known, n_limited = shared_lists(*sets, [10]), 0
    for (a, b), lists in known.lists.items():
        own, other = (sets[c][known.classes[c].order] for c in (a, b))
        squared = ((own[:, None] - other[None]) ** 2).sum(axis=2)
        upper = (squared.view(np.int64) + 2**32 - 1) >> 32
        for i, limit in enumerate(lists.limits):
            listed = lists.cols[i, : lists.sizes[i]]
            np.testing.assert_allclose(lists.codes[i, : len(listed)], upper[i, listed], atol=1)
            assert np.isin(np.flatnonzero(upper[i] < limit), listed).all()
            n_limited += len(listed) < len(other)
    assert n_limited > 2000


def test_whether_lists_are_measured():
    """With many features, where the grid leaves many in doubt; never where it is exact."""
    rng = np.random.default_rng(0)
    few, many = ([rng.normal(size=(700, d)).astype(np.float32) for _ in range(2)] for d in (8, 900))
    whole = [np.sign(rows) for rows in many]
    ks = range(10, 71)
    is_direct = [shared_lists(*sets, ks).ruler.is_direct for sets in (few, many, whole)]
    assert is_direct == [False, True, False]


def test_lists_that_take_too_much_room_are_not_begun(held, monkeypatch):
    monkeypatch.setattr(acquaintances, "_MOST_BYTES", 0)
    asks = asked(*drawn("normal", d=2))
    assert_all_same(measured(CpuEngine(), asks), measured(ReferenceEngine(), asks))
    assert not held


def test_nothing_is_held_after_the_last_question():
    asks = asked(*drawn("normal"))
    with CpuEngine().open(1, lambda n_pairs: None) as session:
        session.place(asks[-1].fold.real.fit, asks[-1].fold.generated.fit)
        sweeps = Sweeps(session)
        with session.sharing():
            sweeps.measure(asks)
            assert session._known is not None
        assert session._known is None
        sweeps.measure(asks)
        assert session._known is None


def test_as_many_pairs_are_reported_as_were_asked_about():
    asks, compared = asked(*drawn("normal")), []
    measured(CpuEngine(), asks, advance=compared.append)
    assert sum(compared) == pytest.approx(sum(ask.n_pairs for ask in asks), rel=0.02)


@pytest.mark.parametrize("n_unknown", [0, 3])
@pytest.mark.parametrize("kind", ["normal", "copies"])
def test_who_is_listed_around_rows(codes, n_unknown, kind):
    """Sums of measured lists are told to 2⁻²⁰, but never in another order."""
    real, generated = drawn(kind, d=3)
    sides = Rows(real), Rows(generated)
    questions = [Neighbors(rows, sides, [30]) for rows in sides]
    with CpuEngine().open(2, lambda n_pairs: None) as session, session.sharing():
        session.place(*sides)
        session.kth(questions)
        of_real = session._known.classes[0].index
        session._known.lists[0, 1].limits[of_real[40 : 40 + n_unknown]] = -1
        found = session.listed(sides[0], slice(40, 90), sides[1], 12)
        assert session.listed(sides[0], slice(0, 5), Rows(generated.copy()), 12) is None
    own, other = (((real[40:90, None] - rows[None]) ** 2).sum(axis=2) for rows in (real, generated))
    own[np.arange(50), np.arange(40, 90)] = np.inf
    expected = np.sort(own, axis=1)[:, :12]
    tolerance = 2**-19 if codes == "measured" else 1e-12
    np.testing.assert_allclose(found.distances, expected, tolerance)
    np.testing.assert_allclose(np.take_along_axis(own, found.places, axis=1), expected, 1e-12)
    row = np.repeat(np.arange(50), np.diff(found.starts))
    np.testing.assert_allclose(found.far, other[row, found.columns], tolerance)
    is_listed = np.zeros_like(other, bool)
    is_listed[row, found.columns] = True
    np.testing.assert_array_equal(is_listed, other <= expected[:, -1:])


@pytest.mark.parametrize("codes", ["measured"], indirect=True)
def test_rows_that_share_a_code_are_told_apart(codes):
    """Thousands of pairs have the same code, and differ behind it."""
    rng = np.random.default_rng(0)
    sides = [rng.integers(0, 2, (n, 3)) + 1e-8 * rng.normal(size=(n, 3)) for n in (310, 260)]
    real, generated = map(Rows, sides)
    with CpuEngine().open(2, lambda n_pairs: None) as session, session.sharing():
        session.place(real, generated)
        session.kth([Neighbors(rows, (real, generated), [100]) for rows in (real, generated)])
        found = session.listed(real, slice(0, 310), generated, 60)
    own, other = (((sides[0][:, None] - rows[None]) ** 2).sum(axis=2) for rows in sides)
    np.fill_diagonal(own, np.inf)
    expected = np.sort(own, axis=1)[:, :60]
    told = np.take_along_axis(own, found.places, axis=1)
    np.testing.assert_allclose(told, expected, 1e-12)
    row = np.repeat(np.arange(310), np.diff(found.starts))
    is_listed = np.zeros_like(other, bool)
    is_listed[row, found.columns] = True
    np.testing.assert_array_equal(is_listed, other <= expected[:, -1:])
    counts = [
        (distances[row] < far[:, None]).sum(axis=1)
        for distances, far in ((found.distances, found.far), (expected, other[row, found.columns]))
    ]
    np.testing.assert_array_equal(*counts)


def test_without_sharing_every_question_stands_alone(held, monkeypatch):
    monkeypatch.setattr(CpuSession, "sharing", lambda self: nullcontext())
    asks = asked(*drawn("normal"))
    assert_all_same(measured(CpuEngine(), asks), measured(ReferenceEngine(), asks))
    assert not held
