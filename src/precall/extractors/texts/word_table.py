"""WordLlama: a table of one vector a token, of which a text is the mean. No torch, and fast.

Means are scaled to unit length: without that the length of a text decides more than its words.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from precall.errors import InputError
from precall.extractors.protocol import Extractor, FloatRows, Network, Prepared
from precall.extractors.texts.sentences import WholeText
from precall.extractors.weights import Weights
from precall.runtime.refusals import needed

_TOKENIZER = "l2_supercat_tokenizer_config.json"
_TABLE = "embedding.weight"


def load(path: Path | None, _device: str) -> Network:
    """Read the table and its tokenizer."""
    safe = needed("safetensors.numpy", "wordllama needs", "'precall[text]'")
    tokenizers = needed("tokenizers", "wordllama needs", "'precall[text]'")
    tensors = safe.load_file(path or Path())
    if _TABLE not in tensors:
        raise InputError(f"{path} holds no table of wordllama: there is no {_TABLE}.")
    table = np.asarray(tensors[_TABLE], np.float32)
    tokenizer = tokenizers.Tokenizer.from_file(str(_tokenizer()))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def rows(batch: Sequence[Prepared]) -> FloatRows:
        encoded = tokenizer.encode_batch(list(batch), add_special_tokens=False)
        found = np.zeros((len(batch), table.shape[1]), np.float32)  # of no tokens: nothing
        for row, one in zip(found, encoded, strict=True):
            if one.ids:
                mean = table[one.ids].mean(axis=0)
                row[:] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return found

    return rows


def _tokenizer() -> Path:
    spec = find_spec("wordllama")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for found in Path(root).rglob(_TOKENIZER):
            return found
    raise ImportError("wordllama needs its package. Install it with: pip install 'precall[text]'")


EXTRACTORS = (
    Extractor(
        name="wordllama",
        kind="texts",
        dimension=256,
        version="1",
        prepare=WholeText("all tokens, mean of their vectors, unit length"),
        load=load,
        weights=Weights(
            "l2_supercat_256.safetensors",
            "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
            "wordllama",
        ),
        batch_size=512,
        summary="mean of word vectors of Llama 2: fast, without torch",
        licence="MIT",
        needs=("safetensors", "tokenizers"),
        extra="text",
    ),
)
