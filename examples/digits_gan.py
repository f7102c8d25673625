"""A small GAN on scikit-learn's handwritten digits, watched while it trains.

    pip install 'precall[lightning]'
    python examples/digits_gan.py

Takes about a minute on two cores. Leaves runs/digits-gan/watch.html: open it, also while the GAN
trains. Half of the digits are trained on, the other half is what precall compares with, by the 32
features of a classifier of digits.
"""

import sys
import warnings
from itertools import pairwise
from pathlib import Path

import lightning
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import precall
from precall.integrations.lightning import PrecisionRecallCallback

N_NOISE = 32
EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 240
EVERY = max(1, EPOCHS // 12)


def network(*sizes: int, dropout: float = 0.0) -> nn.Sequential:
    """Layers of these sizes, one after the other."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes[:-1]):
        layers += [nn.Linear(before, after), nn.LeakyReLU(0.2), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(*sizes[-2:]))


class DigitsGan(lightning.LightningModule):
    """A generator of digits, and a discriminator that it learns from."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False  # two networks that work against each other
        self.generator = nn.Sequential(network(N_NOISE, 256, 256, 64), nn.Sigmoid())
        self.discriminator = network(64, 256, 128, 1, dropout=0.3)

    def sample(self, n: int) -> Tensor:
        """What the callback calls: n digits."""
        return self.generator(torch.randn(n, N_NOISE, device=self.device))

    def training_step(self, batch: list[Tensor], _: int) -> None:
        """Let each network learn from the other."""
        (real,) = batch
        of_generator, of_discriminator = self.optimizers()
        generated = self.sample(len(real))
        judged = self.discriminator(torch.cat([real, generated.detach()]))
        truth = torch.cat([torch.full((len(real), 1), 0.9), torch.zeros(len(real), 1)])
        self._step(of_discriminator, judged, truth.to(judged))
        judged = self.discriminator(generated)
        self._step(of_generator, judged, torch.ones_like(judged))

    def _step(self, optimizer: torch.optim.Optimizer, judged: Tensor, truth: Tensor) -> None:
        optimizer.zero_grad()
        self.manual_backward(nn.functional.binary_cross_entropy_with_logits(judged, truth))
        optimizer.step()

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        """One a network."""
        parts = self.generator, self.discriminator
        return [torch.optim.Adam(part.parameters(), 5e-4, (0.5, 0.999)) for part in parts]


def features_of_digits(digits: Tensor, labels: Tensor) -> nn.Module:
    """Train a classifier of digits, and return it without its last layer."""
    classifier = network(64, 128, 32, 10)
    optimizer = torch.optim.Adam(classifier.parameters(), 2e-3, weight_decay=1e-3)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.cross_entropy(classifier(digits), labels).backward()
        optimizer.step()
    return classifier[:-1]


def main() -> None:
    """Train, and leave a page."""
    warnings.simplefilter("ignore", precall.PrecallWarning)
    lightning.seed_everything(0)
    torch.set_num_threads(1)  # for networks as small as these more take longer
    digits, labels = map(torch.from_numpy, load_digits(return_X_y=True))
    order = torch.randperm(len(digits))
    digits, labels = digits[order].float() / 16, labels[order]
    train, held_out = digits[:898], digits[898:]
    folder = Path("runs/digits-gan")
    callback = PrecisionRecallCallback(
        held_out,
        features=features_of_digits(train, labels[:898]),
        every_n_epochs=EVERY,
        folder=folder,
        estimators=["coverage", "knn"],
    )
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        logger=False,
        callbacks=[callback],
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=sys.stderr.isatty(),
    )
    data = torch.utils.data.TensorDataset(train)
    trainer.fit(DigitsGan(), torch.utils.data.DataLoader(data, batch_size=64, shuffle=True))
    print("\n".join(callback.result.diagnosis()))
    print(f"page: {folder / 'watch.html'}")


if __name__ == "__main__":
    main()
