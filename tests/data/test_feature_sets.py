import re

import numpy as np
import pytest

import precall
from precall.data.caveats import caveats
from precall.data.feature_sets import FeatureSet, check_same_features

RNG = np.random.default_rng(0)
MANY = RNG.normal(size=(1200, 3))
OTHER = RNG.normal(size=(1100, 3))


def check_refused(data, text):
    with pytest.raises(precall.InputError, match=f"^{re.escape(text)}$"):
        FeatureSet.of(data, "real")


def said(real, generated):
    return caveats(FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("bool", "float32"),
        (">f8", "float64"),
    ],
)
def test_widening_loses_nothing(given, kept):
    data = np.array([[0, 1], [1, 0]]).astype(given)
    features = FeatureSet.of(data, "real")
    assert features.dtype == kept
    np.testing.assert_array_equal(features.rows.array, data.astype(float))


def test_float_rows_are_not_copied():
    assert FeatureSet.of(MANY, "real").rows.array is MANY


def test_wrong_dimensions():
    check_refused(
        np.zeros(10),
        "real must have two dimensions (samples, features); got shape (10,). "
        "For samples with one feature each, pass real.reshape(-1, 1).",
    )
    check_refused(
        np.zeros((4, 3, 2, 2)),
        "real must have two dimensions (samples, features); got shape (4, 3, 2, 2). "
        "These look like images: extract features first.",
    )
    check_refused(
        np.zeros((4, 3, 2)),
        "real must have two dimensions (samples, features); got shape (4, 3, 2). "
        "Flatten each sample: real.reshape(len(real), -1).",
    )


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_empty(shape):
    check_refused(
        np.zeros(shape),
        f"real is empty: its shape is {shape}. Pass at least two samples and one feature.",
    )


def test_not_finite():
    data = np.zeros((5000, 700))
    data[4321, 5] = np.nan
    check_refused(
        data,
        "real holds 1 value that is NaN or infinite, the first in row 4321. "
        "Drop these rows or mend the extractor.",
    )
    data[4999] = np.inf
    check_refused(
        data,
        "real holds 701 values that are NaN or infinite, the first in row 4321. "
        "Drop these rows or mend the extractor.",
    )


def test_dtypes_that_are_not_numbers():
    check_refused(
        np.array([["a", 1], ["b", 2]], dtype=object),
        "real has dtype object: its rows are Python objects, not numbers. Build one numeric array: "
        "numpy.array(real.tolist(), dtype='float32').",
    )
    check_refused(
        np.zeros((2, 2), dtype=complex),
        "real has dtype complex128, which is not numeric here; expected float16, bfloat16, "
        "float32, float64 or integers.",
    )
    check_refused(
        np.array([["a"], ["b"]]),
        "real has dtype <U1, which is not numeric here; expected float16, bfloat16, "
        "float32, float64 or integers.",
    )


def test_values_that_float64_cannot_compare():
    check_refused(
        np.array([[2**53 + 1], [0]]),
        "real holds integers beyond 2**53, which float64 cannot tell apart; subtract an offset or "
        "rescale.",
    )
    check_refused(
        np.array([[1e200], [0.0]]),
        "real holds values up to 1e+200; above 1e+150 squared distances overflow. "
        "Rescale the features.",
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (MANY * 1e-165, "1200 rows that differ only in values below 7e-139, whose squared "
         "distances underflow to 0. Divide all features, of every set, by 1e-165, say."),
        (np.c_[MANY * 1e-165, np.ones(1200)], "1200 rows that differ only in values below 7e-139, "
         "whose squared distances underflow to 0. Divide all features, of every set, by 1e-149, "
         "say."),
    ],
)  # fmt: skip
def test_values_that_vanish_when_squared(rows, told):
    check_refused(rows, f"real holds {told}")
    divisor = float(told.split()[-2].rstrip(","))
    FeatureSet.of(rows / divisor, "real")  # the advice helps


def test_values_that_no_scale_suits():
    check_refused(
        np.r_[MANY * 1e-320, np.ones((1, 3))],
        "real holds 1200 rows that differ only in values below 7e-139, whose squared distances "
        "underflow to 0. Beside values up to 1 no scale suits them; leave out one or the other.",
    )


def test_small_values_that_do_no_harm():
    for rows in (
        MANY * 1e-130,
        np.where(MANY < 0, 1e-200, MANY),  # rows differ elsewhere
        MANY.astype(np.float32) * np.float32(1e-40),
        np.zeros((5, 2)),
    ):
        assert len(FeatureSet.of(rows, "real")) == len(rows)


@pytest.mark.parametrize("exponent", [-430, 480])
def test_powers_of_two_change_no_score(exponent):
    """At the ends of what is accepted scores are those of the same samples at scale 1."""
    rows = np.random.default_rng(0).normal(size=(2, 300, 5))
    near, far = (
        precall.evaluate(*(rows * scale), headline=False).to_json()
        for scale in (1.0, 2.0**exponent)
    )
    one, other = precall.Evaluation.from_json(near), precall.Evaluation.from_json(far)
    assert one.scores == other.scores
    assert [c.fpr.tolist() for c in one.curves.values()] == [
        c.fpr.tolist() for c in other.curves.values()
    ]


def test_different_feature_counts():
    message = (
        "real and generated must have the same number of features; got 2048 and 768. "
        "Were both extracted with the same network?"
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        check_same_features(
            FeatureSet.of(np.zeros((2, 2048)), "real"),
            FeatureSet.of(np.zeros((2, 768)), "generated"),
        )


def test_fingerprints_are_of_values_in_order():
    fingerprint = FeatureSet.of(MANY, "real").fingerprint
    assert FeatureSet.of(MANY.copy(order="F"), "generated").fingerprint == fingerprint
    assert FeatureSet.of(MANY[::-1], "real").fingerprint != fingerprint
    assert FeatureSet.of(MANY.reshape(600, 6), "real").fingerprint != fingerprint
    assert FeatureSet.of(MANY.astype(np.float32), "real").fingerprint != fingerprint


def test_selections_are_read_in_tiles():
    rows = FeatureSet.of(MANY, "real").select(np.array([5, 7, 900]))
    assert len(rows) == 3
    np.testing.assert_array_equal(np.concatenate(list(rows.tiles(2))), MANY[[5, 7, 900]])


def test_nothing_to_say_of_good_data():
    assert said(MANY, OTHER) == []


def test_caveat_few_samples():
    assert said(MANY[:999], OTHER) == [
        "real has only 999 samples; below 1000 every estimate is noisy and neighbour curves are "
        "biased upwards."
    ]


def test_caveat_duplicates():
    repeated = np.concatenate([OTHER, OTHER[:60]])
    assert said(MANY, repeated) == [
        "60 of the 1160 rows of generated repeat an earlier row exactly; repeated samples are "
        "neighbours at distance 0 and shrink the balls."
    ]
    assert said(MANY, np.concatenate([OTHER, OTHER[:1]])) == []


def test_caveat_constant_columns():
    padded = np.pad(OTHER, ((0, 0), (0, 2)))
    constant = (
        "constant: the same in every sample. Is the extractor saturated, or the input padded?"
    )
    assert said(np.pad(MANY, ((0, 0), (0, 2)), constant_values=1.0), padded) == [
        f"2 of the 5 features of real and of generated are {constant}"
    ]
    (text,) = said(np.c_[MANY, np.ones(1200)], np.c_[OTHER, OTHER[:, 0] ** 2])
    assert text == f"1 of the 4 features of real is {constant}"
    one, both = np.array([1, 1, 0, 0, 0]) == 1, np.array([1, 1, 1, 1, 0]) == 1
    varying = [np.random.default_rng(0).normal(size=(n, 5)) for n in (1200, 1100)]
    (text,) = said(np.where(one, 1.0, varying[0]), np.where(both, 1.0, varying[1]))
    assert text == (
        f"2 of the 5 features of real and 4 of the 5 features of generated are {constant}"
    )


def test_caveat_repeated_columns():
    twice = [np.c_[rows, rows[:, :2]] for rows in (MANY, OTHER)]
    assert said(*twice) == [
        "2 of the 5 features of real and of generated are copies of earlier features, which count "
        "twice in every distance. Were columns joined twice?"
    ]
    # Features that are 0 in all rows that are looked at first, and no copies of each other.
    late = np.zeros((30_000, 40))
    late[-5:] = np.arange(200).reshape(5, 40)
    assert FeatureSet.of(late, "real").n_copied == 0
    late[:, 17] = late[:, 3]
    assert FeatureSet.of(late, "real").n_copied == 1


def test_caveat_same_array_twice():
    single = MANY.astype(np.float32)
    for one, other in ((MANY, MANY.copy()), (single, single.astype(np.float64))):
        assert said(one, other) == [
            "real and generated are the same array; was one of the two passed twice by mistake?"
        ]


def test_a_sign_of_zero_makes_no_other_row():
    real, generated = MANY.copy(), OTHER.copy()
    real[3], generated[8] = 0.0, -0.0
    assert said(real, generated)[0].startswith("1 of the 1100 rows of generated are exact copies")


def test_caveat_shared_rows():
    assert said(MANY, np.concatenate([OTHER, MANY[10:13]])) == [
        "3 of the 1103 rows of generated are exact copies of rows of real; a model that copies its "
        "training set scores well on precision."
    ]
