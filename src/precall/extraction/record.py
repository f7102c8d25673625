"""How features were made, to be kept beside them: what a paper should report."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from precall.extractors.protocol import Extractor
from precall.version import __version__

_LIBRARIES = {
    "PIL": "pillow",
    "torch": "torch",
    "soundfile": "soundfile",
    "sentence_transformers": "sentence-transformers",
    "wordllama": "wordllama",
}
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Record:
    """How the features of one set came about."""

    extractor: Mapping[str, str]  # what makes features differ: equal if and only if made alike
    libraries: Mapping[str, str]  # versions, which change features by rounding only
    source: str = ""
    skipped: Sequence[str] = field(default_factory=tuple)  # names of inputs left out

    @classmethod
    def of(cls, extractor: Extractor, sha256: str | None) -> "Record":
        """Record an extractor and the weights it uses."""
        how = {
            "model": extractor.name,
            "version": extractor.version,
            "weights": sha256 or "none",
            "preprocessing": str(extractor.prepare),
        }
        return cls(how, _versions(extractor.needs))

    def flat(self) -> dict[str, str]:
        """As it stands in a result's protocol."""
        libraries = ", ".join(f"{name} {number}" for name, number in self.libraries.items())
        return {**self.extractor, "libraries": libraries, "skipped": str(len(self.skipped))}

    def caveats(self) -> tuple[str, ...]:
        """Say which inputs are left out, if any are."""
        if not self.skipped:
            return ()
        named = ", ".join(self.skipped[:_MOST_NAMED])
        more = ", ..." if len(self.skipped) > _MOST_NAMED else ""
        return (f"{len(self.skipped)} inputs cannot be read and are left out: {named}{more}.",)


def _versions(modules: Sequence[str]) -> dict[str, str]:
    found = {"precall": __version__, "python": platform.python_version()}
    for module in modules:
        package = _LIBRARIES.get(module, module)
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
