import re
import subprocess
import sys

import numpy as np
import pytest

import precall
from precall.data.device_arrays import DeviceArray
from precall.data.feature_sets import Rows
from precall.engines import choose_engine
from precall.engines.gpu import device as devices


class FakeTensor:
    def __init__(self, device):
        self.device, self.dtype, self.shape = device, "torch.float32", (4, 2)

    def detach(self):
        return self


def test_auto_says_what_it_chose():
    assert choose_engine("auto").name == "cpu"


def test_a_named_engine_is_that_engine():
    assert choose_engine("reference").name == "reference"
    assert choose_engine("cpu").name == "cpu"


def test_an_unknown_engine_is_refused():
    message = "engine='warp' is unknown; choose from 'auto', 'cpu', 'gpu', 'dask', 'reference'."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        choose_engine("warp")


def test_tensors_on_different_devices_are_refused():
    rows = [Rows(DeviceArray.of(FakeTensor(name))) for name in ("cuda:0", "cuda:1")]
    message = "tensors are on different devices: cuda:0 and cuda:1. Move them to one of these."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        choose_engine("auto", rows)


def test_what_is_on_the_host_is_no_device_array():
    assert DeviceArray.of(FakeTensor("cpu")) is None
    assert DeviceArray.of(np.zeros((2, 2))) is None


def test_a_gpu_without_torch_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = "engine='gpu' needs torch. Install it with: pip install 'precall[gpu]'"
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        choose_engine("gpu")


class FakeTorch:
    """As much of torch as is looked at to find a device."""

    __version__ = "2.9"

    class version:  # noqa: N801
        hip = None

    class cuda:  # noqa: N801
        capability = (9, 0)

        @classmethod
        def get_device_capability(cls, device):
            return cls.capability

        @staticmethod
        def get_device_name(device):
            return "a card"

    class accelerator:  # noqa: N801
        kind, n_devices = "cuda", 1

        @classmethod
        def is_available(cls):
            return cls.n_devices > 0

        @classmethod
        def current_accelerator(cls):
            return type("Device", (), {"type": cls.kind})

        @classmethod
        def device_count(cls):
            return cls.n_devices

        @staticmethod
        def current_device_index():
            return 0

    @staticmethod
    def device(kind, index):
        return type("Device", (), {"type": kind, "index": index})


@pytest.fixture
def torch(monkeypatch):
    fake = type("Fake", (FakeTorch,), {})
    fake.accelerator = type("accelerator", (FakeTorch.accelerator,), {})
    fake.cuda = type("cuda", (FakeTorch.cuda,), {})
    monkeypatch.setattr(devices, "needed", lambda *_: fake)
    return fake


def test_a_device_is_found(torch):
    assert devices.find_device("gpu").index == 0


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("gpu:x", {}, "engine='gpu:x' is unknown; write 'gpu', or 'gpu:1' for another device."),
        ("gpu:3", {}, "engine='gpu:3' asks for device 3; torch sees 1, counted from 0."),
        (
            "gpu",
            {"n_devices": 0},
            "engine='gpu' finds no GPU: torch 2.9 sees none. Is a driver installed, and is this a "
            "build of torch for it? Use engine='cpu' meanwhile.",
        ),
        (
            "gpu",
            {"kind": "mps"},
            "engine='gpu': Apple's GPUs have no float64, which exact answers need. Use "
            "engine='cpu'.",
        ),
        (
            "gpu",
            {"capability": (6, 1)},
            "engine='gpu': a card has compute capability 6.1; 7.0 or newer is needed. Use "
            "engine='cpu'.",
        ),
    ],
)
def test_a_device_that_does_not_serve_is_refused(torch, name, change, message):
    for key, value in change.items():
        setattr(torch.cuda if key == "capability" else torch.accelerator, key, value)
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        devices.find_device(name)


def test_torch_is_not_imported_for_small_work():
    code = (
        "import sys, numpy, precall; x = numpy.random.default_rng(0).normal(size=(60, 2)); "
        "precall.evaluate(x, x + 1, scores=['precision'], estimators=()); "
        "sys.exit('torch' in sys.modules)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, check=False).returncode == 0
