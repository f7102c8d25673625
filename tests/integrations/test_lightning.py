"""The callback of Lightning: when it evaluates, what it logs and keeps, what it leaves alone."""

import csv

import numpy as np
import pytest

import precall

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning.pytorch")

from precall.integrations.lightning import PrecisionRecallCallback  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),  # Lightning's advice on speed
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
REAL = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
FAST = {"estimators": ["knn"], "scores": ["precision", "recall"], "threads": 1}


class Noise(lightning.LightningModule):
    """Learns nothing but a mean; makes Gaussian noise around it."""

    def __init__(self):
        super().__init__()
        self.mean = torch.nn.Parameter(torch.ones(3))
        self.dropout = torch.nn.Dropout(0.5)
        self.draws = []

    def training_step(self, batch, _):
        self.draws.append(torch.rand(()).item())
        return ((batch - self.mean) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.3)

    def sample(self, n):
        assert not self.dropout.training
        return self.mean + torch.randn(n, 3)


def fitted(tmp_path, *callbacks, logger=False, epochs=4):
    torch.manual_seed(0)
    module, keeps = Noise(), any("Checkpoint" in str(callback) for callback in callbacks)
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", callbacks=list(callbacks), logger=logger,
        default_root_dir=tmp_path, enable_checkpointing=keeps,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(torch.from_numpy(REAL), batch_size=40))
    return module, trainer


def test_numbers_go_to_csv_and_results_to_a_folder(tmp_path):
    from lightning.pytorch.loggers import CSVLogger

    callback = PrecisionRecallCallback(REAL, every_n_epochs=2, **FAST)
    _, trainer = fitted(tmp_path, callback, logger=CSVLogger(tmp_path))
    folder = tmp_path / "lightning_logs" / "version_0"
    with (folder / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get("precall/recall")]
    assert [row["epoch"] for row in rows] == ["1", "3"]
    names = {path.name for path in (folder / "precall").iterdir()}
    assert names == {"epoch-1.json", "epoch-3.json", "watch.html"}
    last = precall.Evaluation.from_json(folder / "precall" / "epoch-3.json")
    assert last.scores["recall"].value == pytest.approx(float(rows[-1]["precall/recall"]))
    assert last.scores["recall"].interval is not None
    assert last.protocol.m == len(REAL)
    assert set(rows[0]) == {"epoch", "step", "precall/precision", "precall/recall"} | {
        f"precall/knn_curve_{key}" for key in ("f_1", "f_8", "f_1_8", "area", "total_variation")
    }
    assert callback.result.to_json() == trainer.callbacks[0].result.to_json()


def test_checkpoints_can_be_chosen_by_what_is_logged(tmp_path):
    from lightning.pytorch.callbacks import ModelCheckpoint

    best = ModelCheckpoint(tmp_path, monitor="precall/knn_curve_area", mode="max")
    callback = PrecisionRecallCallback(REAL, folder=tmp_path / "kept", **FAST)
    fitted(tmp_path, callback, best)
    results = {path.stem: precall.Evaluation.from_json(path) for path in
               (tmp_path / "kept").glob("*.json")}  # fmt: skip
    areas = [result.curves["knn"].area for result in results.values()]
    assert best.best_model_score.item() == pytest.approx(max(areas))


def test_training_goes_on_as_if_nothing_had_been_evaluated(tmp_path):
    plain, _ = fitted(tmp_path)
    callback = PrecisionRecallCallback(REAL, folder=tmp_path / "kept", **FAST)
    module, _ = fitted(tmp_path, callback)
    assert module.draws == plain.draws
    assert torch.equal(module.mean, plain.mean)
    assert module.dropout.training == plain.dropout.training


def test_the_same_seed_gives_the_same_results(tmp_path):
    documents = []
    for name in ("one", "other"):
        callback = PrecisionRecallCallback(REAL, folder=tmp_path / name, n_generated=50, **FAST)
        fitted(tmp_path, callback, epochs=2)
        documents.append([(tmp_path / name / f"epoch-{i}.json").read_text() for i in (0, 1)])
    assert documents[0] == documents[1]
    assert documents[0][0] != documents[0][1]


def test_tensorboard_has_numbers_picture_and_table(tmp_path):
    pytest.importorskip("tensorboard")
    from lightning.pytorch.loggers import TensorBoardLogger
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    callback = PrecisionRecallCallback(REAL, report=False, **FAST)
    fitted(tmp_path, callback, logger=TensorBoardLogger(tmp_path), epochs=1)
    events = EventAccumulator(str(tmp_path / "lightning_logs" / "version_0"))
    events.Reload()
    tags = events.Tags()
    assert "precall/curves" in tags["images"]
    assert "precall/recall" in tags["scalars"]
    assert any(tag.startswith("precall/table") for tag in tags["tensors"])


def test_what_is_refused(tmp_path):
    with pytest.raises(precall.InputError, match="every_n_epochs must be an integer of at least 1"):
        PrecisionRecallCallback(REAL, every_n_epochs=0)
    few = PrecisionRecallCallback(
        REAL, lambda module, n: module.sample(n - 1), folder=tmp_path / "kept", **FAST
    )
    with pytest.raises(precall.InputError) as error:
        fitted(tmp_path, few)
    assert str(error.value) == "generate was asked for 120 samples and made 119."
