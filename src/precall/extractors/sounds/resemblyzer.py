"""Resemblyzer (Wan et al. 2018, generalized end-to-end loss): who speaks; the default for sounds.

The network is an LSTM over 1.6 s of a mel spectrogram; a recording is the mean over windows, each
half over the one before. Only the weights of the package are used: its detection of silence needs
a compiled library, so silence is kept here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.extractors.protocol import Extractor, FloatRows, Network, Prepare, Prepared
from precall.extractors.torch_networks import chosen_device, import_torch
from precall.extractors.weights import Weights, checked_tensors
from precall.inputs.items import Sound
from precall.inputs.sounds import at_rate

_RATE = 16_000
_WINDOW, _STEP = 400, 160  # samples: 25 and 10 ms
_CHANNELS = 40
_FRAMES = 160  # of what the network sees at once
_FRAMES_BETWEEN = 77  # 1.3 windows a second
_LEAST_COVERAGE = 0.75  # of the last window
_LOUDNESS = 10 ** (-30 / 20)  # root mean square of what is too quiet
_HIDDEN = 256


@dataclass(frozen=True, slots=True)
class Windows(Prepare):
    """A recording as windows of its mel spectrogram: (n_windows, 160, 40)."""

    def __call__(self, item: Any) -> NDArray[np.float32]:
        """Resample, make quiet recordings louder, cut the spectrogram."""
        sound: Sound = item
        samples = at_rate(sound, _RATE)
        strength = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
        if 0 < strength < _LOUDNESS:
            samples = samples * np.float32(_LOUDNESS / strength)
        starts = _starts(len(samples))
        end = (starts[-1] + _FRAMES) * _STEP
        if end >= len(samples):
            samples = np.pad(samples, (0, end - len(samples)))
        mel = mel_spectrogram(samples)
        return np.stack([mel[start : start + _FRAMES] for start in starts])

    def __str__(self) -> str:
        return "16 kHz, at least -30 dB, mel spectrogram of 40 channels in windows of 1.6 s"


def _starts(n_samples: int) -> list[int]:
    """Frames at which windows begin; the last only if it is mostly filled."""
    n_frames = int(np.ceil((n_samples + 1) / _STEP))
    starts = list(range(0, max(1, n_frames - _FRAMES + _FRAMES_BETWEEN + 1), _FRAMES_BETWEEN))
    filled = (n_samples - starts[-1] * _STEP) / (_FRAMES * _STEP)
    return starts[:-1] if filled < _LEAST_COVERAGE and len(starts) > 1 else starts


def mel_spectrogram(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the energy in 40 mel channels every 10 ms: (n_frames, 40)."""
    padded = np.pad(samples.astype(np.float64), _WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_STEP]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)
    power = np.abs(np.fft.rfft(frames * hann)) ** 2
    return np.asarray(power @ mel_filters().T, np.float32)


@cache
def mel_filters() -> NDArray[np.float64]:
    """Triangles of equal area on the mel scale of Slaney 1998: (40, 201)."""
    edges = _from_mel(np.linspace(0, _to_mel(_RATE / 2), _CHANNELS + 2))
    frequencies = np.fft.rfftfreq(_WINDOW, 1 / _RATE)
    below, middle, above = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising = (frequencies - below) / (middle - below)
    falling = (above - frequencies) / (above - middle)
    filters: NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling))
    return filters * (2 / (above - below))


# Linear below 1 kHz, logarithmic above.
_LINEAR = 200 / 3  # Hz a mel
_KNEE = 1000.0 / _LINEAR
_LOG_STEP = np.log(6.4) / 27


def _to_mel(hertz: float) -> float:
    return float(_KNEE + np.log(hertz / 1000) / _LOG_STEP) if hertz >= 1000 else hertz / _LINEAR


def _from_mel(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    high = 1000 * np.exp(_LOG_STEP * (mel - _KNEE))
    return np.asarray(np.where(mel >= _KNEE, high, mel * _LINEAR), np.float64)


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"linear.weight": (256, _HIDDEN), "linear.bias": (256,)}
    for layer in range(3):
        n_inputs = _HIDDEN if layer else _CHANNELS
        shapes |= {
            f"lstm.weight_ih_l{layer}": (4 * _HIDDEN, n_inputs),
            f"lstm.weight_hh_l{layer}": (4 * _HIDDEN, _HIDDEN),
            f"lstm.bias_ih_l{layer}": (4 * _HIDDEN,),
            f"lstm.bias_hh_l{layer}": (4 * _HIDDEN,),
        }
    return shapes


def load(path: Path | None, device: str) -> Network:
    """Read the weights and return the network."""
    torch = import_torch("resemblyzer", "audio")
    device = chosen_device(device, "resemblyzer", "audio")
    tensors = checked_tensors(path or Path(), "resemblyzer", _shapes())
    lstm = torch.nn.LSTM(_CHANNELS, _HIDDEN, 3, batch_first=True)
    named = {n.removeprefix("lstm."): t for n, t in tensors.items() if n.startswith("lstm.")}
    lstm.load_state_dict(named)
    lstm = lstm.to(device).eval()
    weight, bias = tensors["linear.weight"].to(device), tensors["linear.bias"].to(device)

    def rows(batch: Sequence[Prepared]) -> FloatRows:
        with torch.inference_mode():
            windows = torch.from_numpy(np.concatenate(batch)).to(device)
            _, (hidden, _) = lstm(windows)
            raw = torch.relu(hidden[-1] @ weight.T + bias)
            each = (raw / raw.norm(dim=1, keepdim=True)).cpu().numpy()
        ends = np.cumsum([len(one) for one in batch])
        means = np.stack([part.mean(axis=0) for part in np.split(each, ends[:-1])])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)

    return rows


EXTRACTORS = (
    Extractor(
        name="resemblyzer",
        kind="sounds",
        dimension=256,
        version="1",
        prepare=Windows(),
        load=load,
        weights=Weights(
            "pretrained.pt",
            "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
            "resemblyzer",
        ),
        batch_size=16,
        summary="whose voice it is",
        licence="Apache-2.0",
        needs=("torch", "soundfile"),
        extra="audio",
    ),
)
