"""The interface of Hugging Face's evaluate."""

import numpy as np
import pytest

import precall
from precall.integrations import huggingface

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(size=(200, 3)), RNG.normal(size=(150, 3))
OPTIONS = {"estimators": (), "scores": ["precision", "recall"]}


def test_compute_is_evaluate():
    found = huggingface.compute(references=REAL, predictions=GENERATED, **OPTIONS)
    assert found == precall.evaluate(REAL, GENERATED, **OPTIONS).to_flat_dict()


def test_batches_single_samples_and_the_rest_are_evaluated_together():
    metric = huggingface.PrecisionRecall(**OPTIONS)
    metric.add_batch(references=REAL[:50], predictions=GENERATED[:100])
    metric.add(reference=REAL[50], prediction=GENERATED[100])
    metric.add_batch(references=REAL[51:].tolist())
    found = metric.compute(predictions=GENERATED[101:])
    expected = precall.evaluate(REAL, GENERATED, **OPTIONS)
    assert found == expected.to_flat_dict()
    assert metric.result.protocol.fingerprints == expected.protocol.fingerprints


def test_what_was_computed_is_forgotten():
    metric = huggingface.PrecisionRecall(**OPTIONS)
    with pytest.raises(precall.InputError) as error:
        _ = metric.result
    assert str(error.value) == "there is no result yet; call compute() first."
    metric.compute(references=REAL, predictions=GENERATED)
    with pytest.raises(precall.InputError) as error:
        metric.compute(references=REAL)
    assert str(error.value) == ("there are no predictions; pass them to compute() or add_batch().")


def test_texts_stay_texts():
    batches = [["a text", "another"], ["a third"]]
    assert huggingface._joined(batches, "references") == ["a text", "another", "a third"]


def test_options_of_compute_win():
    metric = huggingface.PrecisionRecall(**OPTIONS)
    found = metric.compute(references=REAL, predictions=GENERATED, scores=["coverage"])
    assert list(found) == ["coverage"]
