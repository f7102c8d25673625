"""Hashes and fingerprints: the same in every process, and for any cut into shards."""

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from precall.data.feature_sets import FeatureSet
from precall.data.row_hashes import Fingerprint, hash_rows

ROWS = hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)),
                  elements=st.integers(-2, 2).map(float))  # fmt: skip


@given(ROWS)
def test_hashes_are_equal_where_rows_are(rows):
    _, of_rows = np.unique(rows + 0.0, axis=0, return_inverse=True)
    _, of_hashes = np.unique(hash_rows(rows), return_inverse=True)
    same_rows = of_rows.reshape(-1, 1) == of_rows.reshape(-1)
    np.testing.assert_array_equal(same_rows, of_hashes[:, None] == of_hashes)
    np.testing.assert_array_equal(hash_rows(rows), hash_rows(rows.astype(np.float32)))
    np.testing.assert_array_equal(hash_rows(rows), hash_rows(np.where(rows == 0, -0.0, rows)))


@given(ROWS, st.randoms())
def test_any_cut_in_any_order_has_the_same_fingerprint(rows, random):
    hashes = hash_rows(rows)
    whole = Fingerprint.of(hashes)
    cuts = sorted(random.randint(0, len(rows)) for _ in range(3))
    parts = [
        Fingerprint.of(hashes[start:stop], start)
        for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]
    random.shuffle(parts)
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert merged == whole


def test_order_shape_and_precision_matter():
    rows = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    fingerprints = {
        FeatureSet.of(data, "real").fingerprint
        for data in (rows, rows[::-1], rows.reshape(100, 2), rows.astype(np.float64), rows[:49])
    }
    assert len(fingerprints) == 5


def test_a_subset_has_the_fingerprint_of_the_same_rows():
    features = FeatureSet.of(np.random.default_rng(0).normal(size=(50, 4)), "real")
    chosen = np.arange(0, 50, 3)
    alone = FeatureSet.of(features.rows.array[chosen], "real")
    assert features.subset(chosen, "third").fingerprint == alone.fingerprint


def test_no_process_has_a_salt_of_its_own():
    code = (
        "import numpy as np; from precall.data.row_hashes import hash_rows;"
        "print(hash_rows(np.arange(6.0).reshape(2, 3)).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(hash_rows(np.arange(6.0).reshape(2, 3)).tolist())
