"""The network of FID, against a definition that others wrote."""

import numpy as np
import pytest

from precall.extractors.pictures import inception
from precall.extractors.pictures.sizes import SquarePicture, bilinear

pytestmark = pytest.mark.slow


def random_weights(torch, shapes):
    generator = torch.Generator().manual_seed(0)
    found = {}
    for name, shape in shapes.items():
        values = torch.randn(shape, generator=generator)
        if name.endswith("running_var"):
            values = 0.5 + torch.rand(shape, generator=generator)
        elif len(shape) == 4:  # keep the size of activations
            values = values * (2 / np.prod(shape[1:])) ** 0.5
        found[name] = values
    return found


@pytest.fixture
def theirs(torch, torch_fidelity, tmp_path):
    from torch_fidelity import feature_extractor_inceptionv3 as module

    theirs = module.FeatureExtractorInceptionV3
    shapes = inception.shapes() | {"fc.weight": (1008, 2048), "fc.bias": (1008,)}
    torch.save(random_weights(torch, shapes), tmp_path / "weights.pth")
    path = str(tmp_path / "weights.pth")
    network = theirs("inception", ["2048"], feature_extractor_weights_path=path).eval()
    return network, tmp_path / "weights.pth"


def test_names_and_shapes_are_those_of_the_published_weights(theirs):
    network, _ = theirs
    expected = {
        name: tuple(tensor.shape)
        for name, tensor in network.state_dict().items()
        if not name.endswith("num_batches_tracked") and not name.startswith("fc.")
    }
    assert inception.shapes() == expected


def test_features_of_pictures_are_those_of_torch_fidelity(torch, theirs):
    from PIL import Image

    network, path = theirs
    pixels = np.random.default_rng(0).integers(0, 256, (2, 40, 32, 3), dtype=np.uint8)
    with torch.inference_mode():
        batch = torch.from_numpy(pixels).permute(0, 3, 1, 2)
        (expected,) = network(batch)
    rows = inception.load(path, "cpu")
    prepare = inception.EXTRACTORS[0].prepare
    found = rows([prepare(Image.fromarray(picture)) for picture in pixels])
    assert found.shape == (2, 2048)
    scale = float(expected.abs().mean())
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-4 * scale, rtol=1e-4)


def test_legacy_scaling_is_that_of_the_programs_it_is_named_after(torch, torch_fidelity):
    from torch_fidelity.interpolate_compat_tensorflow import (
        interpolate_bilinear_2d_like_tensorflow1x as tensorflow,
    )

    pixels = np.random.default_rng(0).integers(0, 256, (17, 23, 3)).astype(np.float32)
    batch = torch.from_numpy(pixels).permute(2, 0, 1)[None]
    for size in ((31, 8), (299, 299), (17, 23)):
        found = bilinear(pixels, *size, "legacy-tensorflow")
        expected = tensorflow(batch, size=size, align_corners=False)[0].permute(1, 2, 0)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-2)
        found = bilinear(pixels, *size, "legacy-pytorch")
        expected = torch.nn.functional.interpolate(
            batch, size=size, mode="bilinear", align_corners=False
        )[0].permute(1, 2, 0)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-2)


def test_other_weights_are_refused(torch, tmp_path):
    from precall import InputError

    torch.save({"a": torch.zeros(3)}, tmp_path / "a.pth")
    with pytest.raises(InputError, match=r"holds no weights of inception-fid: there is no Conv2d"):
        inception.load(tmp_path / "a.pth", "cpu")


def test_default_scaling_is_that_of_the_graph():
    assert inception.EXTRACTORS[0].prepare == SquarePicture(299, "legacy-tensorflow")
