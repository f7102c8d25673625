"""How features were extracted, written beside a file of them and read with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from precall.runtime.output_files import write_text

if TYPE_CHECKING:
    from precall.data.feature_sets import FeatureSet

_ROUNDING = {"libraries", "skipped"}  # differences here are no other features


def beside(path: Path) -> Path:
    """Where it stands: ``features.npy.json`` for ``features.npy``."""
    return path.with_name(f"{path.name}.json")


def write_beside(path: Path, features: "FeatureSet") -> None:
    """Write how the features in a file were made, and which features that were."""
    document = {
        "fingerprint": features.fingerprint,
        "source": features.source,
        "extraction": dict(features.extraction),
    }
    write_text(beside(path), json.dumps(document, indent=1) + "\n")


def read_beside(path: Path, fingerprint: str) -> dict[str, str]:
    """Read how features were made; nothing if that is not known, or of others than these."""
    try:
        document = json.loads(beside(path).read_text(encoding="utf-8"))
        found = document["extraction"] if document["fingerprint"] == fingerprint else {}
        return {str(key): str(value) for key, value in found.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def differences(one: Mapping[str, str], other: Mapping[str, str], roles: tuple[str, str]) -> str:
    """Say how two sets were extracted differently; nothing if they were not, or nobody knows."""
    if not one and not other:
        return ""
    if not one or not other:
        known, unknown = roles if one else roles[::-1]
        model = (one or other).get("model", "a known model")
        return (
            f"the features of {known} were extracted with {model}; how those of {unknown} were is "
            "not known. Numbers mean something only if both were extracted alike."
        )
    keys = [key for key in {**one, **other} if key not in _ROUNDING]
    unequal = [key for key in keys if one.get(key) != other.get(key)]
    if not unequal:
        return ""
    listed = "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in unequal)
    return (
        f"{roles[0]} and {roles[1]} were extracted differently, so their distances mean little "
        f"({listed})."
    )
