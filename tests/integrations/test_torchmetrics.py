"""The metric of torchmetrics: equal to evaluate(), for any shards; what it forgets and refuses."""

import copy
import pickle

import numpy as np
import pytest

import precall

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

import gloo_processes  # noqa: E402
from precall.integrations.gathering import as_rows, in_canonical_order, row_hashes  # noqa: E402
from precall.integrations.torchmetrics import PrecisionRecall  # noqa: E402

REAL, GENERATED = gloo_processes.samples()
FAST = {"estimators": (), "scores": ["precision", "recall"]}


def filled(metric, real=REAL, generated=GENERATED):
    for batch in real.split(64):
        metric.update(batch, real=True)
    for batch in generated.split(64):
        metric.update(batch, real=False)
    return metric


def test_numbers_are_those_of_evaluate():
    metric = filled(PrecisionRecall(prefix="val/", **FAST))
    found = metric.compute()
    expected = precall.evaluate(REAL, GENERATED, **FAST)
    assert {name: pytest.approx(value.item()) for name, value in found.items()} == (
        expected.to_flat_dict("val/")
    )
    assert isinstance(metric.result, precall.Evaluation)


def test_with_indices_the_whole_result_is_that_of_evaluate_in_their_order():
    metric = PrecisionRecall(**gloo_processes.OPTIONS)
    for role, rows in (("real", REAL), ("generated", GENERATED)):
        for batch in torch.randperm(len(rows)).split(50):
            metric.update(rows[batch], real=role == "real", indices=batch)
    metric.compute()
    expected = precall.evaluate(REAL, GENERATED, **gloo_processes.OPTIONS)
    assert metric.result.to_json() == expected.to_json()


def test_the_order_of_batches_does_not_matter():
    one = filled(PrecisionRecall(**gloo_processes.OPTIONS))
    other = filled(PrecisionRecall(**gloo_processes.OPTIONS), REAL.flip(0), GENERATED.flip(0))
    one.compute()
    other.compute()
    assert one.result.to_json() == other.result.to_json()


def test_reset_can_keep_real_samples():
    metric = filled(PrecisionRecall(**FAST))
    first = metric.compute()
    metric.reset(real=False)
    assert sum(map(len, metric.real_rows)) == len(REAL)
    with pytest.raises(precall.InputError) as error, pytest.warns(UserWarning, match="before"):
        metric.compute()
    assert str(error.value) == (
        "there are no generated samples; call update(..., real=False) first."
    )
    metric.update(GENERATED, real=False)
    assert metric.compute() == first
    metric.reset()
    assert metric.real_rows == []
    kept = filled(PrecisionRecall(reset_real_features=False, **FAST))
    kept.reset()
    assert sum(map(len, kept.real_rows)) == len(REAL)
    assert kept.generated_rows == []


def test_real_samples_may_be_given_once():
    metric = PrecisionRecall(real=REAL.numpy(), **FAST)
    metric.update(GENERATED, real=False)
    metric.compute()
    assert metric.result.scores == precall.evaluate(REAL, GENERATED, **FAST).scores
    with pytest.raises(precall.InputError, match="real samples were given with real="):
        metric.update(REAL, real=True)


def test_in_a_collection():
    both = torchmetrics.MetricCollection(
        {
            "three": PrecisionRecall(prefix="k3/", score_k=3, **FAST),
            "five": PrecisionRecall(prefix="k5/", score_k=5, **FAST),
        }
    )
    both.update(REAL, real=True)
    both.update(GENERATED, real=False)
    found = both.compute()
    assert set(found) == {"k3/precision", "k3/recall", "k5/precision", "k5/recall"}
    expected = precall.evaluate(REAL, GENERATED, score_k=5, **FAST).scores["recall"].value
    assert found["k5/recall"].item() == pytest.approx(expected)
    both.reset()
    assert both(REAL, real=True) == {}  # a batch alone has no precision
    both(GENERATED, real=False)
    again = both.compute()
    assert again == found
    assert [sum(map(len, metric.real_rows)) for metric in both.values()] == [len(REAL)] * 2


def test_copies_and_pickles():
    metric = filled(PrecisionRecall(features=torch.nn.Identity(), **FAST))
    expected = metric.compute()
    for other in (metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):  # noqa: S301 our own
        assert other.compute() == expected
    assert metric.state_dict() == {}  # neither samples nor somebody's network


def test_a_network_makes_features_and_stays_as_it_was():
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3), torch.nn.Dropout(0.5))
    network.train()
    metric = PrecisionRecall(network, **FAST)
    images = torch.randn(100, 3, 2, 2)
    metric.update(images, real=True)
    metric.update(images + 0.1, real=False)
    assert network.training
    assert not metric.real_rows[0].requires_grad
    metric.compute()
    assert metric.result.protocol.extraction["real"]["model"] == "own: Sequential"
    assert metric.result.protocol.d == 3


def test_extractors_by_name_make_the_features_of_extract():
    pytest.importorskip("PIL")
    pixels = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (30, 3, 9, 9), np.uint8))
    metric = PrecisionRecall(features="pixels:8", **FAST)
    for start in (0, 15):
        rows = torch.arange(start, start + 15)
        metric.update(pixels[rows], real=True, indices=rows)
        metric.update(255 - pixels[rows], real=False, indices=rows)
    metric.compute()
    options = {"features": "pixels:8", **FAST}
    expected = precall.evaluate(pixels, 255 - pixels, **options)
    assert metric.result.protocol.fingerprints == expected.protocol.fingerprints
    assert metric.result.protocol.extraction == expected.protocol.extraction
    with pytest.raises(precall.InputError, match="is fitted on all real samples"):
        PrecisionRecall(features="pca:2", **FAST).update(pixels, real=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PrecisionRecall(score=3), "PrecisionRecall takes no option 'score'; see precall."),
        (lambda: PrecisionRecall(labels_real=[1]), "PrecisionRecall takes no option 'labels_real'"),
        (lambda: PrecisionRecall().result, "there is no result yet; call compute() first."),
        (
            lambda: PrecisionRecall().update(torch.zeros(2, 3, 8, 8), real=True),
            "real must have two dimensions (samples, features); got shape (2, 3, 8, 8). Of pictures"
            ", say how to make features of them: features='efficientnet-lite0'.",
        ),
        (
            lambda: PrecisionRecall().update(REAL, real=True, indices=torch.zeros(3)),
            "real: indices must be 201 integers of at least 0, one a sample; got shape (3,), "
            "torch.float32.",
        ),
        (
            lambda: filled(PrecisionRecall(), torch.zeros(100, 2)).update(REAL, real=True),
            "real: a batch has 3 features, earlier ones 2.",
        ),
        (
            lambda: filled(PrecisionRecall(n_real=150, **FAST)).compute(),
            "real has 201 samples in 1 processes; expected 150, and at most one more a process. "
            "Pass indices= to tell copies by.",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(precall.InputError) as error:
        call()
    assert str(error.value).startswith(message)


def test_indices_come_with_every_batch_or_with_none():
    metric = PrecisionRecall(**FAST)
    metric.update(REAL, real=True, indices=torch.arange(len(REAL)))
    metric.update(REAL, real=True)
    metric.update(GENERATED, real=False)
    with pytest.raises(precall.InputError) as error:
        metric.compute()
    assert str(error.value) == "real: pass indices= with every batch, or with none."


def test_widening_loses_nothing():
    for kind in (torch.float16, torch.bfloat16, torch.uint8, torch.int16):
        assert as_rows(torch.ones(2, 2, dtype=kind)).dtype == torch.float32
    for kind in (torch.float64, torch.int32, torch.int64):
        assert as_rows(torch.ones(2, 2, dtype=kind)).dtype == torch.float64


def test_hashes_tell_rows_apart_and_zeros_together():
    noise = torch.Generator().manual_seed(0)
    for kind in (torch.float32, torch.float64):
        rows = torch.randint(0, 2, (100_000, 40), generator=noise).to(kind)
        n_different = len(torch.unique(rows, dim=0))
        assert len(torch.unique(row_hashes(rows))) == n_different
    assert row_hashes(torch.tensor([[0.0], [-0.0]])).unique().numel() == 1


def test_equal_samples_without_indices_are_all_kept():
    rows = torch.ones(4, 2)
    keys = torch.tensor([[-1, place, 0] for place in range(4)])
    assert len(in_canonical_order(rows, keys, None, "real")) == 4


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gloo")
    torch.multiprocessing.spawn(gloo_processes.run, (str(folder),), nprocs=gloo_processes.WORLD)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("case", [case.__name__ for case in gloo_processes.CASES])
def test_two_processes_find_what_one_does_to_the_bit(two_processes, case):
    metric = PrecisionRecall(**gloo_processes.OPTIONS)
    with_indices = case == "padded_with_indices"
    for role, rows in (("real", REAL), ("generated", GENERATED)):
        indices = torch.arange(len(rows)) if with_indices else None
        metric.update(rows, real=role == "real", indices=indices)
    expected = metric.compute()
    for rank in range(gloo_processes.WORLD):
        found = torch.load(two_processes / f"{case}-{rank}.pt", weights_only=True)
        assert found == expected
        document = (two_processes / f"{case}-{rank}.json").read_text()
        assert document == metric.result.to_json()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_tensors_on_a_gpu_stay_there():
    metric = filled(PrecisionRecall(**gloo_processes.OPTIONS), REAL.cuda(), GENERATED.cuda())
    assert metric.real_rows[0].is_cuda
    metric.compute()
    assert metric.result.protocol.engine.startswith("gpu")
    there = filled(PrecisionRecall(**gloo_processes.OPTIONS))
    there.compute()
    assert metric.result.scores == there.result.scores
    assert metric.result.protocol.fingerprints == there.result.protocol.fingerprints
