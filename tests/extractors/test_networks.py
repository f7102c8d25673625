"""Every network against another definition with the same weights, and against itself in batches."""

import sys
import types

import numpy as np
import pytest
from PIL import Image

from precall.extractors.pictures import efficientnet, vgg, vision_transformers
from precall.extractors.pictures.vision_transformers import Shape
from precall.extractors.sounds import resemblyzer
from precall.inputs.items import Sound

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(0)


def here(extractor):
    path = extractor.weights.present()
    if path is None:
        pytest.skip(f"the weights of {extractor.name} are not installed")
    return path


@pytest.mark.parametrize("extractor", efficientnet.EXTRACTORS, ids=lambda one: one.name)
def test_efficientnet_lite(torch, extractor):
    library = pytest.importorskip("efficientnet_lite_pytorch")
    path = here(extractor)
    side = extractor.prepare.side
    pixels = RNG.integers(0, 256, (2, side, side, 3), dtype=np.uint8)
    network = library.EfficientNet.from_pretrained(extractor.name, weights_path=str(path)).eval()
    with torch.inference_mode():
        scaled = (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() - 127) / 128
        expected = network.extract_features(scaled).mean((2, 3)).numpy()
    found = extractor.load(path, "cpu")(list(pixels))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def random_tensors(torch, shapes):
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(shape, generator=generator) * (0.5 if len(shape) == 1 else 0.05)
        for name, shape in shapes.items()
    }


def test_clip(torch):
    transformers = pytest.importorskip("transformers")
    shape = Shape(width=64, depth=3, heads=4, patch=32, projected=24)
    settings = transformers.CLIPVisionConfig(
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        patch_size=32,
        image_size=224,
        projection_dim=24,
    )
    network = transformers.CLIPVisionModelWithProjection(settings).eval()
    tensors = random_tensors(torch, vision_transformers.clip_shapes(shape))
    assert {
        name for name in network.state_dict() if not name.endswith("position_ids")
    } == tensors.keys()
    network.load_state_dict(tensors, strict=False)
    pixels = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = network(pixels).image_embeds
        found = vision_transformers.clip_forward(tensors, shape, pixels)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-4, rtol=1e-4)


def dino_names(name):
    """The name that transformers has for a weight, and which part of it."""
    if not name.startswith("blocks."):
        return {
            "cls_token": "embeddings.cls_token",
            "pos_embed": "embeddings.position_embeddings",
            "patch_embed.proj.weight": "embeddings.patch_embeddings.projection.weight",
            "patch_embed.proj.bias": "embeddings.patch_embeddings.projection.bias",
            "norm.weight": "layernorm.weight",
            "norm.bias": "layernorm.bias",
        }[name]
    _, layer, rest = name.split(".", 2)
    for ours, theirs in {
        "attn.proj": "attention.o_proj",
        "ls1.gamma": "layer_scale1.lambda1",
        "ls2.gamma": "layer_scale2.lambda1",
    }.items():
        rest = rest.replace(ours, theirs)
    return f"encoder.layer.{layer}.{rest}"


def test_dinov2(torch):
    transformers = pytest.importorskip("transformers")
    shape = Shape(width=64, depth=3, heads=4, patch=14)
    settings = transformers.Dinov2Config(
        hidden_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        patch_size=14,
        image_size=518,
        mlp_ratio=4,
    )
    network = transformers.Dinov2Model(settings).eval()
    tensors = random_tensors(torch, vision_transformers.dino_shapes(shape))
    # The same at every place: the two interpolate positions by slightly different rules.
    tensors["pos_embed"][:, 1:] = tensors["pos_embed"][:, 1:2]
    state = {}
    for name, tensor in tensors.items():
        if ".attn.qkv." in name:
            for part, piece in zip("qkv", tensor.chunk(3), strict=True):
                head, _, end = dino_names(name).partition("attn.qkv")
                state[f"{head}attention.{part}_proj{end}"] = piece
        else:
            state[dino_names(name)] = tensor
    missing = network.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys
    assert set(missing.missing_keys) <= {"embeddings.mask_token"}
    pixels = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = network(pixels).pooler_output
        found = vision_transformers.dino_forward(tensors, shape, pixels)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-3, rtol=1e-3)


def test_vgg(torch):
    nn = torch.nn
    layers, n_in = [], 3
    for n_out in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if n_out == 0:
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU()]
            n_in = n_out
    torch.manual_seed(0)
    whole = nn.Module()
    whole.features = nn.Sequential(*layers)
    whole.classifier = nn.Sequential(
        nn.Linear(25088, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU()
    )
    whole.eval()
    state = whole.state_dict()
    assert vgg.shapes() == {name: tuple(tensor.shape) for name, tensor in state.items()}
    pixels = torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        expected = whole.classifier(whole.features(pixels).flatten(1))
        found = vgg.forward(dict(state), pixels)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


def test_mel_spectrogram():
    librosa = pytest.importorskip("librosa")
    samples = RNG.normal(0, 0.1, 16000).astype(np.float32)
    expected = librosa.feature.melspectrogram(
        y=samples, sr=16000, n_fft=400, hop_length=160, n_mels=40
    ).T
    found = resemblyzer.mel_spectrogram(samples)
    np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())


@pytest.mark.parametrize("seconds", [0.4, 1.6, 3.1])
@pytest.mark.filterwarnings("ignore")
def test_resemblyzer(torch, monkeypatch, seconds):
    pytest.importorskip("librosa")
    (extractor,) = resemblyzer.EXTRACTORS
    path = here(extractor)
    # A compiled detector of silence that this comparison does without.
    monkeypatch.setitem(sys.modules, "webrtcvad", types.ModuleType("webrtcvad"))
    theirs = pytest.importorskip("resemblyzer.voice_encoder").VoiceEncoder("cpu", verbose=False)
    samples = RNG.normal(0, 0.1, int(16000 * seconds)).astype(np.float32)
    found = extractor.load(path, "cpu")([extractor.prepare(Sound(samples, 16000))])
    np.testing.assert_allclose(found[0], theirs.embed_utterance(samples), atol=1e-5)


def test_a_network_leaves_the_threads_of_torch_as_they_were(torch):
    from precall.extractors.torch_networks import of_pixels

    seen, before = [], torch.get_num_threads()

    def forward(pixels):
        seen.append((len(pixels), torch.get_num_threads()))
        return pixels.mean((2, 3))

    pictures = list(RNG.integers(0, 256, (5, 4, 4, 3), dtype=np.uint8))
    try:
        torch.set_num_threads(2)
        found = of_pixels(forward, "cpu", (0, 0, 0), (1, 1, 1))(pictures)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [(1, 1)] * 5
    np.testing.assert_allclose(found, np.stack(pictures).mean((1, 2)) / 255, atol=1e-6)


def inputs_of(kind, n):
    if kind == "pictures":
        return [
            Image.fromarray(RNG.integers(0, 256, (32, 32, 3), dtype=np.uint8)) for _ in range(n)
        ]
    if kind == "texts":
        words = ["a cat", "sat", "on the mat", "and then", "nothing else happened"]
        return [" ".join(RNG.choice(words, 1 + row % 5)) for row in range(n)]
    return [
        Sound(RNG.normal(0, 0.1, 4000 * (1 + row % 4)).astype(np.float32), 8000) for row in range(n)
    ]


@pytest.mark.parametrize(
    "name", ["efficientnet-lite0", "efficientnet-lite2", "minilm", "wordllama", "resemblyzer"]
)
@pytest.mark.filterwarnings("ignore")
def test_batch_sizes_change_nothing_but_rounding(name):
    from precall.extractors.catalog import EXTRACTORS

    extractor = EXTRACTORS[name]
    for module in extractor.needs:
        pytest.importorskip(module)
    network = extractor.load(here(extractor), "cpu")
    items = [extractor.prepare(item) for item in inputs_of(extractor.kind, 64)]
    whole = network(items)
    assert whole.shape == (64, extractor.dimension)
    assert whole.dtype == np.float32
    for size in (1, 7):
        parts = [network(items[start : start + size]) for start in range(0, 64, size)]
        np.testing.assert_allclose(np.concatenate(parts), whole, rtol=0, atol=1e-5)
        if extractor.kind == "pictures":
            np.testing.assert_array_equal(np.concatenate(parts), whole)
