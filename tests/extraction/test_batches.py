"""Features of one batch after the other are those of the whole."""

import numpy as np
import pytest

import precall
from precall.extraction.batches import BatchExtractor

pytest.importorskip("PIL")
PICTURES = np.random.default_rng(0).integers(0, 256, (9, 12, 12, 3), np.uint8)


def test_batches_of_any_size_give_the_features_of_extract():
    model = BatchExtractor("pixels:8", PICTURES)
    whole = np.asarray(precall.extract(PICTURES, "pixels:8"))
    parts = [model(PICTURES[rows]) for rows in np.split(np.arange(9), [1, 4])]
    assert np.array_equal(np.concatenate(parts), whole)
    assert model.record == precall.extract(PICTURES, "pixels:8").extraction


def test_a_batch_is_cut_where_the_model_takes_fewer():
    sizes = []

    def means(pictures):
        sizes.append(len(pictures))
        return np.array([[np.mean(picture)] for picture in pictures])

    rows = BatchExtractor(precall.Features(means, batch_size=4), PICTURES)(PICTURES)
    assert (sizes, rows.shape) == ([4, 4, 1], (9, 1))


def test_what_is_refused():
    with pytest.raises(precall.InputError) as error:
        BatchExtractor("pca:2", PICTURES)
    assert str(error.value) == (
        "pca:2 is fitted on all real samples, so that it cannot make features batch by batch; "
        "extract them with precall.extract() and pass features."
    )
    model = BatchExtractor("pixels:8", PICTURES)
    with pytest.raises(precall.InputError) as error:
        model(np.full((3, 8, 8, 3), 2.0))
    assert str(error.value) == (
        "the batch: sample 0 has values outside of 0 to 1; rescale them, or pass uint8."
    )
