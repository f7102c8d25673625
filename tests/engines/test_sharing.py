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


@pytest.fixture(params=["on the grid", "measured"])
def lists(request, monkeypatch):
    """Lists keep their codes of the grid, or all that are on them are measured."""
    is_measured = request.param == "measured"
    monkeypatch.setattr(acquaintances, "_is_worth_measuring", lambda *arguments: is_measured)
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
def test_shared_answers_are_those_of_the_reference(held, lists, kind):
    asks = asked(*drawn(kind))
    expected = measured(ReferenceEngine(), asks)
    for threads in (1, 3):
        assert_all_same(measured(CpuEngine(), asks, threads), expected)
    if kind in ONE_SCALE:
        assert len(held) == 2
        assert all(known is not None for known in held)
        assert all(known.ruler.is_direct == (lists == "measured") for known in held)


@pytest.mark.parametrize("kernel", SUPPORTED)
@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0])
def test_classes_that_differ(held, lists, kernel, shift):
    """Where the other class is far away, its k-th neighbour is beyond most of one's own class."""
    real, generated = drawn("normal")
    asks = asked(real, 0.7 * generated + shift)
    assert_all_same(measured(CpuEngine(kernel), asks), measured(ReferenceEngine(), asks))
    assert held


def test_more_rows_are_met_in_more_blocks(held, lists):
    asks = asked(*drawn("normal", n=1900, m=1500, d=4), ks=(2, 40))
    assert_all_same(measured(CpuEngine(), asks), measured(ReferenceEngine(), asks))
    (known,) = held
    assert all((lists.sizes > 0).all() for lists in known.lists.values())


def test_a_bound_of_zero_is_noticed(held, lists, monkeypatch):
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
def test_who_is_listed_around_rows(lists, n_unknown, kind):
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
    tolerance = 2**-19 if lists == "measured" else 1e-12
    np.testing.assert_allclose(found.distances, expected, tolerance)
    np.testing.assert_allclose(np.take_along_axis(own, found.places, axis=1), expected, 1e-12)
    row = np.repeat(np.arange(50), np.diff(found.starts))
    np.testing.assert_allclose(found.far, other[row, found.columns], tolerance)
    is_listed = np.zeros_like(other, bool)
    is_listed[row, found.columns] = True
    np.testing.assert_array_equal(is_listed, other <= expected[:, -1:])


def test_without_sharing_every_question_stands_alone(held, monkeypatch):
    monkeypatch.setattr(CpuSession, "sharing", lambda self: nullcontext())
    asks = asked(*drawn("normal"))
    assert_all_same(measured(CpuEngine(), asks), measured(ReferenceEngine(), asks))
    assert not held
