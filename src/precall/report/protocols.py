"""Whether results may be put side by side."""

from collections.abc import Callable, Mapping

from precall.report.words import in_words
from precall.results.evaluation import Evaluation

_MATTERS: dict[str, Callable[[Evaluation], object]] = {
    "the number of real samples": lambda result: result.protocol.n,
    "the number of generated samples": lambda result: result.protocol.m,
    "the number of features": lambda result: result.protocol.d,
    "the real samples": lambda result: result.protocol.fingerprints.get("real"),
    "the extraction of features": lambda result: _extraction(result),
    "the split": lambda result: result.protocol.split,
    "the convention of the scores": lambda result: result.protocol.convention,
    "the tie rule": lambda result: result.protocol.tie_rule,
    "the confidence of intervals": lambda result: result.confidence,
    "the version of precall": lambda result: result.protocol.versions.get("precall"),
}
_TOO_LONG_TO_SHOW = {"the real samples"}


def protocol_differences(results: Mapping[str, Evaluation]) -> list[str]:
    """Say in sentences what was done differently; such numbers cannot be compared."""
    found = [
        _sentence(what, {name: read(result) for name, result in results.items()})
        for what, read in _MATTERS.items()
    ]
    curves = dict.fromkeys(name for result in results.values() for name in result.curves)
    for curve in curves:
        ks = {n: r.protocol.k[curve] for n, r in results.items() if curve in r.curves}
        found.append(_sentence(f"the k of the {in_words(curve)} curve", ks))
    scores = dict.fromkeys(name for result in results.values() for name in result.scores)
    for score in scores:
        ks = {n: r.scores[score].k for n, r in results.items() if score in r.scores}
        found.append(_sentence(f"the k of the score {in_words(score)}", ks))
    return [sentence for sentence in found if sentence]


def _extraction(result: Evaluation) -> str:
    """How real samples became features, as far as it decides numbers."""
    how = result.protocol.extraction.get("real", {})
    kept = ("model", "version", "weights", "preprocessing")
    return "; ".join(how[key] for key in kept if key in how) or "unknown"


def _sentence(what: str, values: Mapping[str, object]) -> str:
    if len(set(values.values())) <= 1:
        return ""
    if what in _TOO_LONG_TO_SHOW:
        return f"{what[0].upper()}{what[1:]} differ."
    listed = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{what[0].upper()}{what[1:]} differs ({listed})."
