"""How the CPU engine arranges its work: which blocks meet when, how rows are packed, in chunks."""

import itertools

import numpy as np
import pytest

from precall.data.feature_sets import Rows
from precall.engines.cpu.candidates import Candidates
from precall.engines.cpu.engine import CpuEngine
from precall.engines.cpu.mutual import all_pairs
from precall.engines.cpu.tiling.tiles import pack_grid
from precall.engines.protocol import Neighbors
from precall.engines.reference import ReferenceEngine


@pytest.mark.parametrize("n_blocks", [*range(1, 20), 32])
def test_any_two_blocks_meet_once(n_blocks):
    pairs = all_pairs(n_blocks)
    assert sorted(pairs) == list(itertools.combinations_with_replacement(range(n_blocks), 2))


@pytest.mark.parametrize("n_blocks", range(8, 33))
def test_a_thread_does_not_wait_for_the_other_ones_blocks(n_blocks):
    """Those who meet next, and those after them, are not meeting now."""
    pairs = all_pairs(n_blocks)
    for later in (1, 2):
        assert all(not set(a) & set(b) for a, b in zip(pairs, pairs[later:], strict=False))


@pytest.mark.parametrize("n_features", [1, 2, 7, 64])
@pytest.mark.parametrize("height", [6, 12, 32])
def test_rows_are_packed_pair_by_pair(n_features, height):
    rng = np.random.default_rng(0)
    q = rng.integers(-(2**15), 2**15, (50, n_features)).astype(np.int16)
    rows = rng.permutation(50)[:41]
    packed = pack_grid(q, rows, height)
    n_pairs = -(-n_features // 2)
    assert packed.shape == (-(-41 // height), n_pairs, height, 2)
    for panel, pair, r, of_pair in itertools.product(*map(range, packed.shape)):
        place, feature = panel * height + r, 2 * pair + of_pair
        is_padding = place >= len(rows) or feature >= n_features
        expected = 0 if is_padding else q[rows[place], feature]
        assert packed[panel, pair, r, of_pair] == expected


def test_long_lists_keep_chunks_small(monkeypatch):
    """Lists are of a few MB, however many queries would fit the cache; no number depends on it."""
    room = 2**21
    monkeypatch.setattr("precall.engines.cpu.placed_session._CHUNK_ROOM", room)
    begin, sizes = Candidates.none.__func__, []

    def none(cls, error, capacity, n_padded):
        sizes.append(8 * len(error) * capacity)
        return begin(cls, error, capacity, n_padded)

    monkeypatch.setattr(Candidates, "none", classmethod(none))
    rng = np.random.default_rng(0)
    queries, references = (Rows(rng.normal(size=(n, 4))) for n in (3000, 900))
    question = Neighbors(queries, (references,), [200])
    found = []
    for engine in (CpuEngine(), ReferenceEngine()):
        with engine.open(1, lambda n_pairs: None) as session:
            session.place(queries, references)
            found.append(session.kth([question])[0])
    np.testing.assert_array_equal(*found)
    assert len(sizes) > 1
    assert max(sizes) <= room
