"""A small variational autoencoder (Kingma & Welling 2014), in NumPy: seeded, trained in seconds."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]

_HIDDEN = 256
_LATENT = 16
_BATCH = 100
_RATE, _DECAYS, _TINY = 1e-3, (0.9, 0.999), 1e-8  # of Adam


@dataclass(slots=True, eq=False)
class Autoencoder:
    """Encoder x → N(μ, σ²), decoder z → pixels from 0 to 1; one hidden layer each."""

    weights: dict[str, Rows]
    moments: dict[str, tuple[Rows, Rows]] = field(default_factory=dict)
    steps: int = 0

    @classmethod
    def fresh(cls, n_pixels: int, rng: np.random.Generator) -> "Autoencoder":
        """Return one that has learnt nothing."""
        sizes = {
            "encode": (n_pixels, _HIDDEN),
            "mean": (_HIDDEN, _LATENT),
            "log_variance": (_HIDDEN, _LATENT),
            "decode": (_LATENT, _HIDDEN),
            "pixels": (_HIDDEN, n_pixels),
        }
        weights: dict[str, Rows] = {}
        for name, (n_in, n_out) in sizes.items():
            weights[name] = rng.normal(0, np.sqrt(2 / (n_in + n_out)), (n_in, n_out))
            weights[f"{name} bias"] = np.zeros(n_out)
        return cls(weights)

    def _linear(self, rows: Rows, name: str) -> Rows:
        return rows @ self.weights[name] + self.weights[f"{name} bias"]

    def decode(self, latent: Rows) -> Rows:
        """Return pictures of points of the latent space."""
        hidden = np.maximum(self._linear(latent, "decode"), 0)
        return 1 / (1 + np.exp(-self._linear(hidden, "pixels")))

    def draw(self, n: int, rng: np.random.Generator, truncation: float = 1.0) -> Rows:
        """Generate pictures; truncation below 1 draws nearer to the middle of the latent space."""
        return self.decode(truncation * rng.normal(size=(n, _LATENT)))

    def train(self, pixels: Rows, n_steps: int, rng: np.random.Generator) -> float | None:
        """Train on random batches, and return the loss of a picture in the last."""
        loss = None
        for _ in range(n_steps):
            loss = self._step(pixels[rng.choice(len(pixels), _BATCH)], rng)
        return loss

    def _step(self, x: Rows, rng: np.random.Generator) -> float:
        """Descend along the gradient of the evidence bound of one batch."""
        before = self._linear(x, "encode")
        hidden = np.maximum(before, 0)
        mean = self._linear(hidden, "mean")
        log_variance = np.clip(self._linear(hidden, "log_variance"), -10, 10)
        noise = rng.normal(size=mean.shape)
        deviation = np.exp(log_variance / 2)
        z = mean + deviation * noise
        inner_before = self._linear(z, "decode")
        inner = np.maximum(inner_before, 0)
        logits = self._linear(inner, "pixels")

        to_logits = (1 / (1 + np.exp(-logits)) - x) / len(x)
        to_inner = to_logits @ self.weights["pixels"].T * (inner_before > 0)
        to_z = to_inner @ self.weights["decode"].T
        to_mean = to_z + mean / len(x)
        variance = deviation**2
        to_log_variance = to_z * noise * deviation / 2 + (variance - 1) / (2 * len(x))
        to_hidden = to_mean @ self.weights["mean"].T
        to_hidden += to_log_variance @ self.weights["log_variance"].T
        to_hidden *= before > 0
        gradients = {
            "pixels": (inner, to_logits),
            "decode": (z, to_inner),
            "mean": (hidden, to_mean),
            "log_variance": (hidden, to_log_variance),
            "encode": (x, to_hidden),
        }
        self._adam({name: a.T @ b for name, (a, b) in gradients.items()})
        self._adam({f"{name} bias": b.sum(axis=0) for name, (_, b) in gradients.items()})
        cross = np.logaddexp(0, logits) - x * logits
        divergence = (mean**2 + variance - 1 - log_variance) / 2
        return float((cross.sum() + divergence.sum()) / len(x))

    def _adam(self, gradients: dict[str, Rows]) -> None:
        """Take one step of Adam (Kingma & Ba 2015)."""
        self.steps += any(not name.endswith("bias") for name in gradients)
        for name, gradient in gradients.items():
            first, second = self.moments.get(name, (0.0 * gradient, 0.0 * gradient))
            first = _DECAYS[0] * first + (1 - _DECAYS[0]) * gradient
            second = _DECAYS[1] * second + (1 - _DECAYS[1]) * gradient**2
            self.moments[name] = first, second
            scaled = first / (1 - _DECAYS[0] ** self.steps)
            spread = np.sqrt(second / (1 - _DECAYS[1] ** self.steps)) + _TINY
            self.weights[name] = self.weights[name] - _RATE * scaled / spread
